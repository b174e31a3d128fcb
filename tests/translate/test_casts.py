"""Values that casts compute: asked for, compared, and asked whether they are there; Saxon judges."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Final

import pytest

from heptox.grammar import Expression, parse_query
from heptox.mapping import Mapping, parse_mapping_arrows
from heptox.store import Store, plan_query, query as answers
from heptox.translate import Direction
from heptox.verification.unasked import unasked
from tests.support.definition import Pair, check_equal, pairs

_VALUES: Final = (None, "", "abc", "2020-01-01", " 2020-01-01Z ", "2020-13-01", "7", "-2.50")
_QUERIES: Final = (
    "//b/p",
    "//b/q",
    "//b[p = '2020-01-01']/q",
    "//b[p != '2020-01-01']/p",
    "//b[p < '2020-01-02']/n",
    "//b[p = p]/p",
    "for $b in //b return <x>{$b/p}{$b/n}</x>",
    *(f"for $b in //b where {asked}($b/{leaf}) return <x/>" for asked in ("empty", "exists") for leaf in "pqnoli"),
    "for $b in //b where empty($b/o) and exists($b/p) return $b/p",
)


@pytest.fixture(scope="module")
def casting(tmp_path_factory: pytest.TempPathFactory) -> Mapping:
    folder: Path = tmp_path_factory.mktemp("casts")
    (folder / "s.dtd").write_text("<!ELEMENT r (a*)><!ELEMENT a (x?, y?)><!ELEMENT x (#PCDATA)><!ELEMENT y (#PCDATA)>")
    leaves = "".join(f"<!ELEMENT {name} (#PCDATA)>" for name in "pqnoli")
    (folder / "t.dtd").write_text(f"<!ELEMENT s (b*)><!ELEMENT b (p?, q?, n?, o?, l?, i?)>{leaves}")
    (folder / "codes.csv").write_text('abc,letters\n"",none\n7,number\n')
    arrows = """source "s.dtd"
target "t.dtd"
each a -> b
xs:date(a/x) -> b/p oneway
concat(xs:date(a/y), "!") -> b/q oneway
xs:decimal(a/y) -> b/n oneway
concat(a/x, xs:date(a/x), xs:decimal(a/y)) -> b/o oneway
lookup("codes.csv", a/x) -> b/l oneway
if (a/y = "abc") then "yes" else () -> b/i oneway
"""
    return parse_mapping_arrows(arrows, folder)


@pytest.fixture(scope="module")
def instances(casting: Mapping) -> list[Pair]:
    def leaf(name: str, value: str | None) -> str:
        return "" if value is None else f"<{name}>{value}</{name}>"

    each = [f"<a>{leaf('x', x)}{leaf('y', y)}</a>" for x, y in product(_VALUES, repeat=2)]
    return pairs(casting, [f"<r>{''.join(each)}</r>", *(f"<r>{one}</r>" for one in each[::5])])


@pytest.mark.parametrize("query", _QUERIES)
def test_what_casts_compute_is_asked_for(casting: Mapping, instances: list[Pair], query: str) -> None:
    found = check_equal(casting, query, instances, Direction.SOURCE)
    text, image = instances[0].document, instances[0].image
    with Store.open(None, casting.source.graph) as store, Store.open(None, casting.target.graph) as asking:
        store.load("d", text.encode())
        asking.load("d", image.encode())
        assert (
            _found(store, parse_query(found.text)) == _found(store, found.query) == _found(asking, parse_query(query))
        )


def test_what_stays_unasked_is_said_of_the_mapping(tmp_path: Path, casting: Mapping) -> None:
    assert not list(unasked(casting))
    (tmp_path / "s.dtd").write_text("<!ELEMENT r (a*)><!ELEMENT a (x, y)><!ELEMENT x (#PCDATA)><!ELEMENT y (#PCDATA)>")
    arrows = """source "s.dtd"
target "s.dtd"
xs:decimal(a/x) div xs:decimal(a/y) -> a/x oneway
if (a/x = "1") then a/y else () -> a/y oneway
"""
    assert list(unasked(parse_mapping_arrows(arrows, tmp_path))) == [
        "a/x cannot be asked for: a value computed by div cannot be said in a query here",
        "whether a/y is absent cannot be asked for: a value computed by if cannot be said in a query here",
    ]


def _found(store: Store, query: Expression) -> set[str]:
    return set(answers(store, plan_query(query, store.catalogue)))
