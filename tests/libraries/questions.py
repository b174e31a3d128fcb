"""What is asked in the words of each library, and what a person expects of what a library says.

Each question has its own oracle: a function of a :class:`Library`, which knows nothing of mappings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from tests.libraries.making import House, Library, Out, Work


class Question(NamedTuple):
    """A query, and the items that a library's document should give."""

    query: str
    expected: Callable[[Library], Iterable[str]]


def el(name: str, text: str | None) -> str:
    """An element, nothing where there is no text."""
    return "" if text is None else f"<{name}>{escape(text)}</{name}>"


def row(*parts: str) -> str:
    return f"<r>{''.join(parts)}</r>" if any(parts) else "<r/>"


def lent(library: Library) -> Iterator[tuple[Work, Out]]:
    for work in library.works:
        for out in work.outs:
            yield work, out


def placed(library: Library) -> Iterator[tuple[House, Work]]:
    """Works of houses that have a name."""
    return ((work.house, work) for work in library.works if work.house.name is not None)


def about(library: Library, *subjects: str) -> list[Work]:
    return [work for work in library.works if {*subjects} <= {*work.subjects}]


def printed(library: Library) -> list[tuple[Work, str]]:
    return [(work, work.printed) for work in library.works if work.printed is not None]


def twins(library: Library) -> list[Work]:
    """Works with the heading of another one."""
    return [a for a, b in product(library.works, repeat=2) if a.heading == b.heading and a.number != b.number]


def earlier(library: Library) -> Iterator[tuple[Work, Work]]:
    """Works of one house, of which the first was printed before the second."""
    for (a, before), (b, after) in product(printed(library), repeat=2):
        if a.house == b.house and before < after:
            yield a, b


STOCK: Final = (
    Question("//item/title", lambda its: (el("title", w.heading) for w in its.works)),
    Question("//item/code", lambda its: (el("code", w.number) for w in its.works)),
    Question("//maker/label", lambda its: (el("label", h.name) for h in its.houses)),
    Question(
        '//item[year = "1990"]/title',
        lambda its: (el("title", w.heading) for w, year in printed(its) if year == "1990"),
    ),
    Question(
        "for $i in //item return <r>{$i/code}{$i/year}</r>",
        lambda its: (row(el("code", w.number), el("year", w.printed)) for w in its.works),
    ),
    Question(
        "for $i in //item where empty($i/year) return $i/code",
        lambda its: (el("code", w.number) for w in its.works if w.printed is None),
    ),
    Question('//item[keyword = "Art"]/title', lambda its: (el("title", w.heading) for w in about(its, "Art"))),
    Question(
        '//item[keyword = "Art"][keyword = "History"]/code',
        lambda its: (el("code", w.number) for w in about(its, "Art", "History")),
    ),
    Question(
        "for $i in //item, $m in //maker where $i/@by = $m/@id return <r>{$i/code}{$m/label}</r>",
        lambda its: (row(el("code", w.number), el("label", h.name)) for h, w in placed(its)),
    ),
    Question(
        "for $i in //item, $m in //maker where $i/@by = $m/@id and $m/label = 'Kühn &amp; Söhne' return $i/title",
        lambda its: (el("title", w.heading) for h, w in placed(its) if h.name == "Kühn & Söhne"),
    ),
    Question(
        "for $i in //item where empty($i/@by) return $i/code",
        lambda its: (el("code", w.number) for w in its.works if w.house.name is None),
    ),
    Question(
        "for $l in //loan, $i in //item where $l/@item = $i/@id return <r>{$i/title}{$l/who}</r>",
        lambda its: (row(el("title", w.heading), el("who", o.reader)) for w, o in lent(its)),
    ),
    Question("//loan/who", lambda its: (el("who", o.reader) for _, o in lent(its))),
    Question(
        "for $l in //loan where empty($l/until) return $l/who",
        lambda its: (el("who", o.reader) for _, o in lent(its) if o.due is None),
    ),
    Question(
        "for $l in //loan, $i in //item, $m in //maker where $l/@item = $i/@id and $i/@by = $m/@id"
        " return <r>{$l/who}{$m/label}</r>",
        lambda its: (
            row(el("who", o.reader), el("label", w.house.name)) for w, o in lent(its) if w.house.name is not None
        ),
    ),
    Question(
        "for $i in //item where $i/year > 1995 return $i/title",
        lambda its: (el("title", w.heading) for w, year in printed(its) if int(year) > 1995),
    ),
    Question(
        "for $i in //item, $j in //item where $i/title = $j/title and $i/code != $j/code return $i/title",
        lambda its: (el("title", w.heading) for w in twins(its)),
    ),
    Question(
        'for $i in //item where $i/year >= "1990" and $i/year < "2000" return <r>{$i/title}{$i/year}</r>',
        lambda its: (
            row(el("title", w.heading), el("year", year)) for w, year in printed(its) if "1990" <= year < "2000"
        ),
    ),
    Question(
        "for $i in //item, $k in $i/keyword return <r>{$i/code}{data($k)}</r>",
        lambda its: (row(el("code", w.number), escape(s)) for w in its.works for s in w.subjects),
    ),
    Question("//item/tongue", lambda its: (el("tongue", w.tongue) for w in its.works if w.tongue is not None)),
    Question(
        "for $i in //item return <r>{$i/code}{$i/tongue}</r>",
        lambda its: (row(el("code", w.number), el("tongue", w.tongue)) for w in its.works),
    ),
    Question(
        "for $m in //maker where empty($m/town) return $m/label",
        lambda its: (el("label", h.name) for h in its.houses if h.place is None),
    ),
    Question(
        "for $m in //maker return <r>{$m/label}{$m/town}</r>",
        lambda its: (row(el("label", h.name), el("town", h.place)) for h in its.houses),
    ),
    Question(
        "for $i in //item where $i/title = 'The \"Blue\" Hour' return $i/code",
        lambda its: (el("code", w.number) for w in its.works if w.heading == 'The "Blue" Hour'),
    ),
    Question(
        "for $i in //item, $j in //item where $i/@by = $j/@by and $i/year < $j/year return <r>{$i/code}{$j/code}</r>",
        lambda its: (
            row(el("code", a.number), el("code", b.number)) for a, b in earlier(its) if a.house.name is not None
        ),
    ),
)

SHELVES: Final = (
    Question("//work/heading", lambda its: (el("heading", w.heading) for w in its.works)),
    Question("//work/number", lambda its: (el("number", w.number) for w in its.works)),
    Question("//house/name", lambda its: (el("name", h.name) for h in its.houses)),
    Question(
        '//work[printed = "1990"]/heading',
        lambda its: (el("heading", w.heading) for w, year in printed(its) if year == "1990"),
    ),
    Question(
        "for $w in //work return <r>{$w/number}{$w/printed}</r>",
        lambda its: (row(el("number", w.number), el("printed", w.printed)) for w in its.works),
    ),
    Question(
        "for $w in //work where empty($w/printed) return $w/number",
        lambda its: (el("number", w.number) for w in its.works if w.printed is None),
    ),
    Question('//work[subject = "Art"]/heading', lambda its: (el("heading", w.heading) for w in about(its, "Art"))),
    Question(
        'for $w in //work where $w/subject = "Art" and $w/subject = "Travel" return $w/number',
        lambda its: (el("number", w.number) for w in about(its, "Art", "Travel")),
    ),
    Question(
        "for $h in //house, $w in $h/work return <r>{$h/name}{$w/number}</r>",
        lambda its: (row(el("name", w.house.name), el("number", w.number)) for w in its.works),
    ),
    Question(
        "//house[name = 'Kühn &amp; Söhne']/work/heading",
        lambda its: (el("heading", w.heading) for h, w in placed(its) if h.name == "Kühn & Söhne"),
    ),
    Question(
        "for $h in //house, $w in $h/work where empty($h/name) return $w/number",
        lambda its: (el("number", w.number) for w in its.works if w.house.name is None),
    ),
    Question(
        "for $w in //work, $o in $w/out return <r>{$w/heading}{$o/reader}</r>",
        lambda its: (row(el("heading", w.heading), el("reader", o.reader)) for w, o in lent(its)),
    ),
    Question("//out/reader", lambda its: (el("reader", o.reader) for _, o in lent(its))),
    Question("//out[empty(due)]/reader", lambda its: (el("reader", o.reader) for _, o in lent(its) if o.due is None)),
    Question(
        "for $h in //house, $o in $h/work/out return <r>{$o/reader}{$o/due}{$h/name}</r>",
        lambda its: (row(el("reader", o.reader), el("due", o.due), el("name", w.house.name)) for w, o in lent(its)),
    ),
    Question(
        "for $w in //work where $w/printed > 1995 return $w/heading",
        lambda its: (el("heading", w.heading) for w, year in printed(its) if int(year) > 1995),
    ),
    Question(
        "for $v in //work, $w in //work where $v/heading = $w/heading and $v/number != $w/number return $v/heading",
        lambda its: (el("heading", w.heading) for w in twins(its)),
    ),
    Question(
        'for $w in //work where $w/printed = "1985" or $w/printed = "2001" return <r>{$w/heading}{$w/printed}</r>',
        lambda its: (
            row(el("heading", w.heading), el("printed", year)) for w, year in printed(its) if year in ("1985", "2001")
        ),
    ),
    Question(
        "for $w in //work, $s in $w/subject return <r>{$w/number}{data($s)}</r>",
        lambda its: (row(el("number", w.number), escape(s)) for w in its.works for s in w.subjects),
    ),
    Question("//house/place", lambda its: (el("place", h.place) for h in its.houses if h.place is not None)),
    Question(
        'for $h in //house where $h/place = "Oslo" return $h/name',
        lambda its: (el("name", h.name) for h in its.houses if h.place == "Oslo"),
    ),
    Question(
        "for $g in //house, $h in //house where $g/name = $h/name and $g/place != $h/place return $g/name",
        lambda its: (
            el("name", g.name)
            for g, h in product(its.houses, repeat=2)
            if g.name == h.name and g.place and h.place and g.place != h.place
        ),
    ),
    Question(
        "for $w in //work, $o in $w/out, $p in $w/out where $o/reader != $p/reader return $w/number",
        lambda its: (el("number", w.number) for w in its.works if len({o.reader for o in w.outs}) > 1),
    ),
    Question(
        "for $w in //work where $w/heading = \"O'Hara's Garden\" return $w/number",
        lambda its: (el("number", w.number) for w in its.works if w.heading == "O'Hara's Garden"),
    ),
    Question(
        "for $h in //house, $v in $h/work, $w in $h/work where $v/printed < $w/printed"
        " return <r>{$v/number}{$w/number}</r>",
        lambda its: (row(el("number", a.number), el("number", b.number)) for a, b in earlier(its)),
    ),
)


def carried(library: Library) -> Iterator[tuple[Work, str, str]]:
    """The fields of each work, by their codes."""
    return ((work, code, text) for work in library.works for code, text in work.fields())


CATALOGUE: Final = (
    Question(
        "for $f in //field return <f>{data($f/@code)}={data($f)}</f>",
        lambda its: (el("f", f"{code}={text}") for _, code, text in carried(its)),
    ),
    Question(
        'for $f in //field[@code = "heading"] return <h>{data($f)}</h>',
        lambda its: (el("h", w.heading) for w in its.works),
    ),
    Question(
        'for $f in //field where $f/@code = "number" return <n>{data($f)}</n>',
        lambda its: (el("n", w.number) for w in its.works),
    ),
    Question(
        "for $f in //field return <c>{data($f/@code)}</c>", lambda its: (el("c", code) for _, code, _ in carried(its))
    ),
    Question(
        "for $r in //record where exists($r/@house) return <h>{data($r/@house)}</h>",
        lambda its: (el("h", h.name) for h, _ in placed(its)),
    ),
    Question(
        'for $r in //record, $f in $r/field, $g in $r/field where $f/@code = "number" and $g/@code = "heading"'
        " return <r>{data($f)}-{data($g)}</r>",
        lambda its: (row(escape(f"{w.number}-{w.heading}")) for w in its.works),
    ),
    Question(
        'for $r in //record, $f in $r/field, $g in $r/field where $f/@code = "printed" and $f = "1990"'
        ' and $g/@code = "heading" return <h>{data($g)}</h>',
        lambda its: (el("h", w.heading) for w, year in printed(its) if year == "1990"),
    ),
    Question(
        'for $r in //record, $f in $r/field, $g in $r/field where $f/@code = "printed" and $g/@code = "number"'
        " return <r>{data($g)}:{data($f)}</r>",
        lambda its: (row(f"{w.number}:{year}") for w, year in printed(its)),
    ),
    Question(
        'for $r in //record, $f in $r/field, $g in $r/field where $f/@code = "subject" and $f = "Art"'
        ' and $g/@code = "number" return <n>{data($g)}</n>',
        lambda its: (el("n", w.number) for w in about(its, "Art")),
    ),
    Question(
        'for $r in //record, $e in $r/field, $f in $r/field, $g in $r/field where $e/@code = "subject" and $e = "Art"'
        ' and $f/@code = "subject" and $f = "History" and $g/@code = "number" return <n>{data($g)}</n>',
        lambda its: (el("n", w.number) for w in about(its, "Art", "History")),
    ),
    Question(
        'for $f in //field where $f/@code = "subject" return <s>{data($f)}</s>',
        lambda its: (el("s", s) for w in its.works for s in w.subjects),
    ),
    Question(
        "for $r in //record, $f in $r/field where $f/@code = 'number' and $r/@house = 'Kühn &amp; Söhne'"
        " return <n>{data($f)}</n>",
        lambda its: (el("n", w.number) for h, w in placed(its) if h.name == "Kühn & Söhne"),
    ),
    Question(
        'for $r in //record, $f in $r/field where empty($r/@house) and $f/@code = "number" return <n>{data($f)}</n>',
        lambda its: (el("n", w.number) for w in its.works if w.house.name is None),
    ),
    Question(
        'for $r in //record, $f in $r/field where $f/@code = "number" return <r>{data($r/@house)}/{data($f)}</r>',
        lambda its: (row(escape(f"{w.house.name or ''}/{w.number}")) for w in its.works),
    ),
    Question(
        "for $l in //lent return <r>{data($l/@to)}/{data($l/@until)}</r>",
        lambda its: (row(escape(f"{o.reader}/{o.due or ''}")) for _, o in lent(its)),
    ),
    Question("for $l in //lent return <t>{data($l/@to)}</t>", lambda its: (el("t", o.reader) for _, o in lent(its))),
    Question(
        "for $l in //lent where empty($l/@until) return <t>{data($l/@to)}</t>",
        lambda its: (el("t", o.reader) for _, o in lent(its) if o.due is None),
    ),
    Question(
        'for $r in //record, $f in $r/field, $l in $r/lent where $f/@code = "heading"'
        " return <r>{data($f)}{data($l/@to)}</r>",
        lambda its: (row(escape(f"{w.heading}{o.reader}")) for w, o in lent(its)),
    ),
    Question(
        "for $r in //record, $f in $r/field, $l in $r/lent, $m in $r/lent where $l/@to != $m/@to"
        ' and $f/@code = "number" return <n>{data($f)}</n>',
        lambda its: (el("n", w.number) for w in its.works if len({o.reader for o in w.outs}) > 1),
    ),
    Question(
        'for $f in //field where $f/@code = "printed" and $f > 1995 return <y>{data($f)}</y>',
        lambda its: (el("y", year) for _, year in printed(its) if int(year) > 1995),
    ),
    Question(
        "for $r in //record, $q in //record, $f in $r/field, $g in $q/field, $n in $r/field, $m in $q/field"
        ' where $f/@code = "heading" and $g/@code = "heading" and $f = $g and $n/@code = "number"'
        ' and $m/@code = "number" and $n != $m return <h>{data($f)}</h>',
        lambda its: (el("h", w.heading) for w in twins(its)),
    ),
    Question(
        'for $f in //field where $f/@code = "printed" and $f >= "1990" and $f < "2000" return <y>{data($f)}</y>',
        lambda its: (el("y", year) for _, year in printed(its) if "1990" <= year < "2000"),
    ),
    Question(
        "for $f in //field where $f = 'The \"Blue\" Hour' return <c>{data($f/@code)}</c>",
        lambda its: (el("c", "heading") for w in its.works if w.heading == 'The "Blue" Hour'),
    ),
    Question(
        'for $r in //record, $f in $r/field where $f/@code = "note" return <n>{data($f)}</n>',
        lambda its: (el("n", note) for w in its.works for note in w.notes),
    ),
    Question(
        "for $r in //record, $q in //record, $f in $r/field, $g in $q/field where $r/@house = $q/@house"
        ' and $f/@code = "printed" and $g/@code = "printed" and $f < $g return <r>{data($f)}-{data($g)}</r>',
        lambda its: (
            row(f"{a.printed}-{b.printed}")
            for (a, _), (b, _) in product(printed(its), repeat=2)
            if a.house.name is not None and a.house.name == b.house.name and str(a.printed) < str(b.printed)
        ),
    ),
)

QUESTIONS: Final = {"stock": STOCK, "shelves": SHELVES, "catalogue": CATALOGUE}
