"""Translation along a path: each hop reads what the one before it made, and the path means what its hops mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest

import heptox.demo
from heptox.demo.records import records
from heptox.errors import Fault, GrammarError, PeerError, TranslationError
from heptox.grammar import decode_query, encode_query, parse_query
from heptox.mapping import Mapping, exchange, load_mapping, parse_mapping_arrows
from heptox.schema import parse_dtd, random_document
from heptox.translate import Direction, Hop, translate, translate_path
from heptox.xml import parse_document, write_document
from tests.support import answer_set

HOSPITAL: Final = Path(heptox.demo.__file__).parent / "hospital"
SOURCE, TARGET = Direction.SOURCE, Direction.TARGET

SHELF: Final = (
    "<!ELEMENT shelf (book*)> <!ELEMENT book (title, by*)> <!ELEMENT title (#PCDATA)> <!ELEMENT by (#PCDATA)>"
)
LIST: Final = "<!ELEMENT list (item*)> <!ELEMENT item EMPTY> <!ATTLIST item name CDATA #REQUIRED who CDATA #REQUIRED>"
PEOPLE: Final = (
    "<!ELEMENT people (one*)> <!ELEMENT one (work*)> <!ATTLIST one n CDATA #IMPLIED> <!ELEMENT work (#PCDATA)>"
)
CARDS: Final = (
    "<!ELEMENT cards (card*)> <!ELEMENT card (author, text)> <!ELEMENT author (#PCDATA)> <!ELEMENT text (#PCDATA)>"
)


@pytest.fixture
def mapping(tmp_path: Path) -> Callable[[str, str, str], Mapping]:
    def made(source: str, target: str, arrows: str) -> Mapping:
        for name, dtd in (("source.dtd", source), ("target.dtd", target)):
            (tmp_path / name).write_text(dtd, encoding="utf-8")
        return parse_mapping_arrows(f'source "source.dtd"\ntarget "target.dtd"\n{arrows}', tmp_path)

    return made


@pytest.fixture
def three(mapping: Callable[[str, str, str], Mapping]) -> tuple[Mapping, Mapping, Mapping]:
    """Books on a shelf, as a list, by person, as cards: three mappings in a row."""
    return (
        mapping(SHELF, LIST, "book/title -> item/@name\nbook/by -> item/@who"),
        mapping(LIST, PEOPLE, "item/@who -> one/@n\nitem/@name -> one/work"),
        mapping(PEOPLE, CARDS, "one/@n -> card/author\none/work -> card/text"),
    )


def hospital(name: str) -> Mapping:
    return load_mapping(HOSPITAL / f"{name}.arrows")


def test_one_hop_is_a_translation() -> None:
    query = parse_query("//Symptom/Desc")
    path = translate_path([Hop(hospital("montreal-boston"), SOURCE)], query)
    assert path.last == translate(hospital("montreal-boston"), query, SOURCE)
    assert (path.text, path.query, path.pattern, path.empty) == (
        path.last.text,
        path.last.query,
        path.last.pattern,
        False,
    )


def test_two_hops_are_two_translations_with_nothing_printed_between() -> None:
    hops = [Hop(hospital("montreal-boston"), TARGET), Hop(hospital("stluke-boston"), SOURCE)]
    query = parse_query((HOSPITAL / "queries" / "example1.xq").read_text(encoding="utf-8"))
    path = translate_path(hops, query)
    first = translate(hops[0].mapping, query, TARGET)
    sent = decode_query(encode_query(first.query))
    assert path.last == translate(hops[1].mapping, sent, SOURCE)
    assert path.last.text == translate(hops[1].mapping, parse_query(first.text), SOURCE).text
    assert [hop.asked for hop in path.hops] == [query, first.query]
    assert path.seconds == sum(hop.seconds for hop in path.hops) > 0
    assert "<Name>" in "".join(answer_set(path.text, records("stluke", 200)))


@pytest.mark.parametrize(
    "query",
    [
        "//card/author",
        "//card[text = 'a']/author",
        "for $c in //card, $d in //card where $c/text = $d/text and $c/author != $d/author return <p>{$c/author}</p>",
        "//card[author = text]/text",
    ],
)
def test_three_hops_against_the_rules_ask_what_exchange_hop_by_hop_holds(
    three: tuple[Mapping, Mapping, Mapping], query: str
) -> None:
    path = translate_path([Hop(mapping, SOURCE) for mapping in reversed(three)], parse_query(query))
    assert len(path.hops) == 3
    schema = parse_dtd(SHELF, "shelf")
    answers = 0
    for seed in range(30):
        text = random_document(schema, Random(seed), elements=14, pool=["a", "b", "c", ""])
        image = parse_document(text)
        for mapping in three:
            image = parse_document(write_document(exchange(mapping, image).root))
        expected = answer_set(query, write_document(image.root))
        assert answer_set(path.text, text) == expected
        answers += len(expected)
    assert answers


def test_three_hops_along_the_rules_are_exact(three: tuple[Mapping, Mapping, Mapping]) -> None:
    query = "//book[title = 'a']/by"
    path = translate_path([Hop(mapping, TARGET) for mapping in three], parse_query(query))
    assert not path.empty
    schema = parse_dtd(SHELF, "shelf")
    answers = 0
    for seed in range(30):
        text = random_document(schema, Random(seed), elements=14, pool=["a", "b"])
        image = parse_document(text)
        for mapping in three:
            image = parse_document(write_document(exchange(mapping, image).root))
        found = answer_set(path.text, write_document(image.root))
        assert found <= answer_set(query, text)
        answers += len(found)
    assert answers


def test_what_is_lost_on_the_way_stays_lost_and_its_hop_tells_it(
    mapping: Callable[[str, str, str], Mapping], three: tuple[Mapping, Mapping, Mapping]
) -> None:
    nameless = mapping(LIST, PEOPLE, "item/@name -> one/work")
    path = translate_path([Hop(three[0], TARGET), Hop(nameless, TARGET), Hop(three[2], TARGET)], parse_query("//by"))
    assert [hop.translation.empty for hop in path.hops] == [False, True, True]
    assert path.empty
    assert path.text == "()"
    assert [loss.path for loss in path.hops[1].translation.losses] == [("item", "@who")]


def test_a_path_needs_a_hop() -> None:
    with pytest.raises(ValueError, match="at least one hop"):
        translate_path([], parse_query("//a"))


def test_adjacent_schemas_that_do_not_fit_are_all_named() -> None:
    montreal, stluke = hospital("montreal-boston"), hospital("stluke-boston")
    hops = [Hop(montreal, TARGET, "one"), Hop(stluke, TARGET, "two"), Hop(montreal, SOURCE, "three")]
    with pytest.raises(TranslationError) as refused:
        translate_path(hops, parse_query("//Name"))
    (first,) = refused.value.faults
    assert first.code == "HX5010"
    assert "hop 1 (one, to target) ends at MassGeneral" in first.message
    assert "hop 2 (two, to target) begins at StLuke" in first.message
    assert first.hint is not None
    assert "taken to source it fits" in first.hint
    with pytest.raises(TranslationError) as refused:
        translate_path([Hop(montreal, SOURCE), Hop(montreal, SOURCE), Hop(stluke, TARGET)], parse_query("//Name"))
    assert [fault.code for fault in refused.value.faults] == ["HX5010", "HX5010"]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (LIST.replace("name CDATA", "title CDATA"), "item has other attributes"),
        (LIST.replace("(item*)", "(item*, extra?)") + "<!ELEMENT extra EMPTY>", "only one declares extra"),
        (LIST.replace("(item*)", "(item+)"), "list has other children"),
        (LIST.replace("item EMPTY", "item (#PCDATA)"), "item has other text"),
    ],
)
def test_how_schemas_differ_is_told(
    mapping: Callable[[str, str, str], Mapping], three: tuple[Mapping, Mapping, Mapping], other: str, difference: str
) -> None:
    name = "@title" if "title" in other else "@name"
    after = mapping(other, PEOPLE, f"item/{name} -> one/work")
    with pytest.raises(TranslationError) as refused:
        translate_path([Hop(three[0], TARGET), Hop(after, TARGET)], parse_query("//by"))
    assert difference in str(refused.value)


def test_a_refusal_names_its_hop(three: tuple[Mapping, Mapping, Mapping]) -> None:
    path = [Hop(three[0], TARGET, "first"), Hop(three[1], TARGET, "second")]
    with pytest.raises(GrammarError) as refused:
        translate_path(path, parse_query("for $b in //book return <r>{data($b/by)}</r>"))
    assert [fault.code for fault in refused.value.faults] == ["HX3046"]
    assert refused.value.faults[0].message.startswith("hop 1 of 2 (first, to target): ")
    with pytest.raises(GrammarError) as alone:
        translate_path(path[:1], parse_query("for $b in //book return <r>{data($b/by)}</r>"))
    assert "hop" not in alone.value.faults[0].message


def test_a_check_stops_a_path(three: tuple[Mapping, Mapping, Mapping]) -> None:
    def stop() -> None:
        raise PeerError(Fault("HX7063", "enough"))

    with pytest.raises(PeerError, match="enough"):
        translate_path([Hop(mapping, SOURCE) for mapping in reversed(three)], parse_query("//author"), stop)
