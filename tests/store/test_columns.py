"""Items with inner loops are put together column by column as they are one by one, wherever rows are cut."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest

from heptox.grammar import parse_query
from heptox.schema import parse_dtd
from heptox.store import Store, answering, columnar
from heptox.store.columnar import Columns, NotColumnarError, Portion
from heptox.store.querying import plan_query, query

SCHEMA = """
<!ELEMENT l (r*)> <!ELEMENT r (t?, p*, q*)> <!ATTLIST r k CDATA #REQUIRED a CDATA #IMPLIED>
<!ELEMENT p (n, x*)> <!ATTLIST p b CDATA #IMPLIED>
<!ELEMENT t (#PCDATA)> <!ELEMENT n (#PCDATA)> <!ELEMENT x (#PCDATA)> <!ELEMENT q (#PCDATA)>
"""


def records(random: Random, count: int) -> Iterator[str]:
    for number in range(count):
        yield f'<r k="{number}"' + random.choice(["", f' a="&lt;{number}"']) + ">"
        yield random.choice(["", f"<t>t&amp;{number}</t>"])
        for part in range(random.choice([0, 0, 1, 2, 5])):
            inner = "".join(f"<x>{text}</x>" for text in range(random.choice([0, 1, 3])))
            attribute = random.choice(["", f' b="{part}"'])
            yield f"<p{attribute}><n>\N{LATIN SMALL LETTER E WITH ACUTE}{part}</n>{inner}</p>"
        yield "".join(f"<q>{text}</q>" for text in range(random.choice([0, 1, 3]))) + "</r>"


@pytest.fixture(scope="module")
def store() -> Store:
    made = Store.open(None, parse_dtd(SCHEMA, root="l"))
    made.load("d", f"<l>{''.join(records(Random(5), 1500))}</l>".encode())
    return made


@pytest.mark.parametrize(
    "text",
    [
        """for $r in //r return <o>{for $k in $r/@k return attribute k {data($k)}}{$r/t}{
           for $p in $r/p return <p>{for $b in $p/@b return attribute b {data($b)}}{$p/n}{
           for $x in $p/x return <x>{data($x)}</x>}</p>}{for $q in $r/q return <q>{data($q)}</q>}</o>""",
        """for $r in //r return <o a="{data($r/@a)}">{for $p in $r/p return ($p/n, $p/x)}t{
           for $p in $r/p where $p/n = $r/t return <same/>}</o>""",
        """for $r in //r where $r/q return <o>{
           for $p in $r/p, $q in $r/q where $p/@b = $q return <h>{$p/@b}{for $x in $p/x return $x}</h>}</o>""",
        "for $r in //r return ($r/t, <o>{for $p in $r/p return $p/n}</o>)",
        "for $r in //r return <o>{for $p in $r/p return text {data($p/n)}}</o>",
    ],
)
@pytest.mark.parametrize(("few", "most"), [(64, 1 << 24), (1, 1 << 14), (4, 3000)])
def test_rows_are_cut_where_matches_begin(store: Store, text: str, few: int, most: int) -> None:
    plan = plan_query(parse_query(text), store.catalogue)
    with patch.object(answering, "Columns", side_effect=NotColumnarError):
        one_by_one = list(query(store, plan))
    parts = list[int]()

    class Watched(Columns):
        def answers(self, rows: pa.RecordBatch) -> Portion:
            found = super().answers(rows)
            parts.append(len(rows))
            return found

    with (
        patch.object(columnar, "FEW", few),
        patch.object(columnar, "MOST_READ", most),
        patch.object(answering, "Columns", Watched),
    ):
        assert list(query(store, plan)) == one_by_one
    assert len(parts) > 1
    assert one_by_one
