"""What subscriptions in own words come to along a chain of mappings, and the mappings that are kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from heptox.checks import Check, no_check
from heptox.errors import Fault, PeerError
from heptox.feed import TEXT_LIMIT, Wording
from heptox.matching import Delivery
from heptox.peer.acquaintance import kept_mappings
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.acquaintance.kept_mappings import KeptMappings
from heptox.peer.feed import renderings
from heptox.peer.feed.renderings import Chain, OwnSubscription, Renderer, Rendering, Version, chain_of, judged
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.mapping_requests import Link
from heptox.peer.wire.standing import Side
from heptox.schema import parse_dtd, read_dtd
from heptox.translate import Direction
from heptox.xml import parse_document

HOSPITALS: Final = Path("examples/hospital").resolve()
MONTREAL, BOSTON, STLUKE = (
    read_dtd(HOSPITALS / f"{name}.dtd", root)
    for name, root in (("mongenhosp", "MonGenHosp"), ("massgeneral", "MassGeneral"), ("stluke", "StLuke"))
)
TO_MONTREAL, TO_STLUKE = (MappingFiles.pack(HOSPITALS / f"{name}-boston.arrows") for name in ("montreal", "stluke"))


def wording(*links: tuple[Side, MappingFiles], schema: str) -> Wording:
    return Wording(schema, 0, tuple(str(Link(side, files.digest)) for side, files in links))


def from_boston() -> Chain:
    """From Boston's words to those of Montreal."""
    return chain_of(BOSTON, wording((Side.SOURCE, TO_MONTREAL), schema=schema_key(MONTREAL)), [TO_MONTREAL])


def test_a_chain_leads_from_here_to_the_publisher() -> None:
    assert [hop.to for hop in from_boston().hops] == [Direction.SOURCE]
    links = ((Side.TARGET, TO_STLUKE), (Side.SOURCE, TO_MONTREAL))
    chain = chain_of(STLUKE, wording(*links, schema=schema_key(MONTREAL)), [TO_STLUKE, TO_MONTREAL])
    assert [hop.to for hop in chain.hops] == [Direction.TARGET, Direction.SOURCE]


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        (
            [(Side.TARGET, TO_MONTREAL)],
            "mapping 1 of 1 on the way does not begin where the one before it ends, at this",
        ),
        ([(Side.SOURCE, TO_STLUKE)], "do not lead to the schema of the publisher"),
        ([(Side.SOURCE, TO_STLUKE), (Side.SOURCE, TO_MONTREAL)], "mapping 2 of 2 on the way does not begin where"),
    ],
)
def test_mappings_that_do_not_fit_make_no_chain(links: Sequence[tuple[Side, MappingFiles]], reason: str) -> None:
    with pytest.raises(PeerError, match=reason) as error:
        chain_of(BOSTON, wording(*links, schema=schema_key(MONTREAL)), [files for _, files in links])
    assert [fault.code for fault in error.value.faults] == ["HX7085"]


def rendered(text: str, chain: Chain | None = None, deliver: Delivery = Delivery.ORIGINAL) -> Rendering:
    return Renderer().render(chain or from_boston(), OwnSubscription(1, "one", text, deliver), no_check)


def test_what_a_subscription_comes_to_is_told_with_what_is_lost() -> None:
    assert rendered("//Coronary").patterns and not rendered("//Coronary").reason
    found = rendered("//InsName")
    assert not found.patterns and "cannot" not in found.text
    assert found.reason == "nothing of it can be said in the publisher's words"
    assert any("InsName" in loss for loss in found.losses)


def test_what_cannot_be_translated_says_why() -> None:
    assert "inner" in rendered("//Progress = 'x'").reason or "leaf" in rendered("//Progress = 'x'").reason
    long = rendered(f"//Coronary[Patient = '{'x' * TEXT_LIMIT}']")
    assert not long.patterns and "others are told 65,536 at most" in long.reason
    same = Chain((), (), BOSTON)
    assert "others are told 65,536 at most" in rendered(f"//Patient = '{'x' * TEXT_LIMIT}'", same).reason


def test_a_translation_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderings, "MOST_SECONDS", -1.0)
    assert rendered("//Coronary").reason == "to translate it takes longer than -1 seconds"


def test_a_translation_that_nobody_waits_for_is_not_remembered() -> None:
    stopped = PeerError(Fault("HX7063", "nobody waits for the answer any more"))
    renderer, one = Renderer(), OwnSubscription(1, "one", "//Coronary")

    def stop() -> None:
        raise stopped

    with pytest.raises(PeerError, match="nobody waits"):
        renderer.render(from_boston(), one, stop)
    assert renderer.render(from_boston(), one, no_check).patterns


def test_a_defect_makes_a_dead_letter_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    version = Version("feed", Wording(), from_boston())
    known = {
        number: OwnSubscription(number, str(number), "//Coronary", deliver)
        for number, deliver in enumerate((Delivery.ORIGINAL, Delivery.OWN))
    }
    for one in known.values():
        version.add(one, rendered(one.text))
    document = parse_document((HOSPITALS / "montreal.xml").read_bytes())
    assert version.matching(document) == [0, 1]

    def defect(*_: object, check: Check = no_check) -> None:  # noqa: ARG001
        raise ZeroDivisionError

    monkeypatch.setattr(renderings, "exchange", defect)
    found = judged(version, document, known.values())
    assert (found.originals, found.own) == ((0,), ())
    assert found.dead == {1: "to rewrite it met a defect of heptox: ZeroDivisionError"}
    monkeypatch.setattr(Rendering, "matches", defect)
    assert judged(version, document, known.values()).dead == dict.fromkeys(
        known, "to match it met a defect of heptox: ZeroDivisionError"
    )
    version.remove(0)
    version.remove(7)
    assert version.matching(document) == [1]


def test_a_document_that_takes_too_much_is_a_dead_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """4,500 admissions of a patient with as many events were 20 million rows, in two gigabytes."""
    version = Version("feed", Wording(), from_boston())
    one = OwnSubscription(1, "one", "//Coronary", Delivery.OWN)
    version.add(one, rendered(one.text))
    document = parse_document((HOSPITALS / "montreal.xml").read_bytes())
    assert judged(version, document, [one]).own == (1,)
    with monkeypatch.context() as patch:
        patch.setattr("heptox.matching.followed.MOST_CALLS", 10)
        found = judged(version, document, [one])
        assert found.own == () and "HX9022 it makes more than 10 combinations of nodes" in found.dead[1]
    monkeypatch.setattr("heptox.matching.followed.MOST_SECONDS", -1.0)
    assert "HX9022 it takes longer than -1 seconds" in judged(version, document, [one]).dead[1]


def test_a_schema_that_adds_too_much_to_a_document_makes_a_dead_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = parse_dtd(f'<!ELEMENT a (b*)> <!ELEMENT b EMPTY> <!ATTLIST b k CDATA "{"x" * 100}">', "a")
    version = Version("feed", Wording(), Chain((), (), schema))
    known = [
        OwnSubscription(0, "path", "//b[@k != 'x']"),
        OwnSubscription(1, "query", "//b/@k", Delivery.ANSWERS),
    ]
    for one in known:
        version.add(one, rendered(one.text, version.chain, one.deliver))
    few, many = (parse_document(f"<a>{'<b/>' * number}</a>") for number in (4, 5))
    monkeypatch.setattr(renderings, "MOST_ADDED", 4 * 228)
    assert version.matching(few) == version.matching(many) == [0, 1]
    assert (judged(version, few, known).originals, judged(version, few, known).asked.numbers) == ((0,), (1,))
    found = judged(version, many, known)
    assert (found.originals, found.asked.numbers) == ((), ())
    assert all("HX9022 attributes that its schema adds" in found.dead[number] for number in (0, 1))


def test_what_a_default_may_fulfil_is_looked_through() -> None:
    schema = parse_dtd('<!ELEMENT a (b*)> <!ELEMENT b EMPTY> <!ATTLIST b k CDATA "x" n CDATA #IMPLIED>', "a")
    same = Chain((), (), schema)
    for text, asked in (("//b[@k = 'x']", "//b"), ("//b[@k = 'y']", None), ("//b[@n = 'x']", None)):
        found = rendered(text, same)
        assert (found.text, found.exact) == (asked or text, asked is None)
        assert found.matches(parse_document("<a><b k='z'/></a>")) == (asked is None), "judged where it is weakened"


def test_so_many_mappings_are_kept_and_those_that_are_damaged_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_mappings, "MOST_KEPT", 2)
    kept = KeptMappings(tmp_path / "mappings")
    made = [MappingFiles({"mapping.arrows": b"%d" % number}, "mapping.arrows") for number in range(3)]
    for number, files in enumerate(made):
        kept.keep(files)
        os.utime(tmp_path / "mappings" / f"{files.digest}.mapping", (number, number))
    assert [kept.get(files.digest) for files in made] == [None, *made[1:]]
    (tmp_path / "mappings" / f"{made[1].digest}.mapping").write_bytes(b"rubbish")
    (tmp_path / "mappings" / f"{made[2].digest}.mapping").replace(tmp_path / "mappings" / f"{made[0].digest}.mapping")
    assert [kept.get(files.digest) for files in made] == [None, None, None]
