"""A report as one HTML page that needs nothing else: no scripts, no files, no network.

Every text is escaped; the policy that the page states keeps a browser from loading anything even where one was not.
Figures stand in it as SVG, in colours that follow the page's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final
from xml.etree import ElementTree

from heptox.cluster.figures import BLUE, FAINT, GREY, INK, LINE, PAPER, RED, Drawing
from heptox.cluster.outcome import Check, Outcome
from heptox.cluster.tables import Table, check_line, result_tables, times_tables
from heptox.printable import on_one_line

_SVG: Final = "{http://www.w3.org/2000/svg}"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_COLOURS: Final = {
    INK: "ink",
    FAINT: "faint",
    LINE: "line",
    PAPER: "paper",
    BLUE: "blue",
    RED: "red",
    GREY: "grey",
}
_DARK: Final = {
    INK: "#e8eaed",
    FAINT: "#a4adb8",
    LINE: "#333a42",
    PAPER: "#14171a",
    BLUE: "#5ab4ea",
    RED: "#f08a4b",
    GREY: "#6d7782",
}
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:62rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{margin:0 0 .25rem;font-size:1.7rem;line-height:1.2}
h2{margin:2.75rem 0 .5rem;padding-top:.75rem;border-top:1px solid var(--line);font-size:1.25rem}
p{margin:.4rem 0;max-width:46rem}
.lead,.note,figcaption{color:var(--faint)}
.note,figcaption{font-size:.875rem}
.check{margin:1.25rem 0;padding:.7rem 1rem;border-left:.3rem solid var(--blue);background:var(--shade)}
.check.failed{border:.2rem solid var(--red);border-left-width:.6rem;font-size:1.15rem;font-weight:700}
.check ul{margin:.4rem 0 0;padding-left:1.2rem;font-size:.95rem;font-weight:400}
li{overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{margin:1.25rem 0 .25rem;border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
caption{padding-bottom:.3rem;text-align:left;font-weight:600;font-size:1rem}
th,td{padding:.25rem 1.1rem .25rem 0;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
th{font-weight:600}
thead th{color:var(--faint);font-weight:500;vertical-align:bottom}
.word{max-width:30rem;text-align:left;overflow-wrap:anywhere}
tbody th{font-weight:500}
figure{margin:1.5rem 0}
figure h3{margin:0 0 .4rem;font-size:1rem}
figure svg{display:block;width:100%;min-width:38rem;height:auto}
@media print{
body{max-width:none;padding:0;font-size:10pt}
h2{break-after:avoid}
figure,table{break-inside:avoid}
tr,.check{break-inside:avoid}
.wide{overflow:visible}
table{font-size:8.5pt}
th,td{padding-right:.6rem}
figure svg{min-width:0}
}
"""


def outcome_page(outcome: Outcome, drawings: Sequence[Drawing]) -> str:
    """The content of ``report.html`` about one emulation."""
    peers = sum(outcome.network.peers.values())
    queries = len(outcome.queries)
    lead = f"{peers:,} peer{'' if peers == 1 else 's'}, {queries:,} quer{'y' if queries == 1 else 'ies'}."
    found = result_tables(outcome), times_tables(outcome)
    return page(
        "Emulation",
        lead,
        [outcome.check],
        [
            (
                title,
                said,
                tables,
                [drawing for drawing in drawings if drawing.measured == measured],
            )
            for title, said, tables, measured in (
                ("Results", "All of this follows from the plan and its seed.", found[0], False),
                ("Times", "This was measured, and is different on every run.", found[1], True),
            )
        ],
    )


def page(
    title: str,
    lead: str,
    checks: Iterable[Check],
    sections: Iterable[tuple[str, str, Sequence[Table], Sequence[Drawing]]],
    remarks: Sequence[str] = (),
) -> str:
    """A page: each section has a title, a sentence, tables and figures. What the checks found stands at its top."""
    body = [
        f"<header><h1>{_text(title)}</h1><p class=lead>{_text(lead)}</p>",
        *(_check(check) for check in checks),
        "</header><main>",
        *(part for section in sections for part in _section(*section)),
        *_remarks(remarks),
        "</main>",
    ]
    head = (
        '<!doctype html><html lang=en><head><meta charset=utf-8><meta http-equiv="Content-Security-Policy"'
        f' content="{_POLICY}"><meta name=viewport content="width=device-width,initial-scale=1">'
        f'<meta name=color-scheme content="light dark"><title>{_text(title)}</title>'
        f"<style>{_palette()}{_STYLE}</style></head><body>"
    )
    return "\n".join([head, *body, "</body></html>", ""])


def _palette() -> str:
    """Both sets of colours; a printed page is a light one."""
    light = _variables({colour: colour for colour in _COLOURS}, "#f3f5f7")
    dark = _variables(_DARK, "#1e2328")
    return f":root{{color-scheme:light dark;{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _variables(colours: dict[str, str], shade: str) -> str:
    return "".join(f"--{_COLOURS[colour]}:{shown_as};" for colour, shown_as in colours.items()) + f"--shade:{shade}"


def _section(title: str, said: str, tables: Sequence[Table], drawings: Sequence[Drawing]) -> Iterator[str]:
    yield f"<section><h2>{_text(title)}</h2>"
    if said:
        yield f"<p class=lead>{_text(said)}</p>"
    yield from (_figure(drawing) for drawing in drawings)
    for table in tables:
        yield from _table(table)
    yield "</section>"


def _remarks(remarks: Sequence[str]) -> Iterator[str]:
    if remarks:
        yield "<section><h2>What differs, and why</h2><ul>"
        yield from (f"<li>{_text(remark)}</li>" for remark in remarks)
        yield "</ul></section>"


def _check(check: Check) -> str:
    faults = "".join(f"<li>{_text(fault)}</li>" for fault in check.faults)
    said = f"{_text(check_line(check))}{f'<ul>{faults}</ul>' if faults else ''}"
    return (
        f"<div class=check role=status>{said}</div>"
        if check.passed
        else f'<div class="check failed" role=alert>{said}</div>'
    )


def _table(table: Table) -> Iterator[str]:
    title = _text(table.title)
    words = [' class="word"' if column in table.words else "" for column in table.columns]
    yield f'<div class=wide role=region tabindex=0 aria-label="{title}"><table><caption>{title}</caption><thead><tr>'
    yield "".join(
        f"<th scope=col{word}>{_text(column)}</th>" for column, word in zip(table.columns, words, strict=True)
    )
    yield "</tr></thead><tbody>"
    for row in table.rows:
        first, *others = (_text(cell) for cell in row)
        cells = "".join(f"<td{word}>{cell}</td>" for cell, word in zip(others, words[1:], strict=True))
        yield f"<tr><th scope=row{words[0]}>{first}</th>{cells}</tr>"
    yield "</tbody></table></div>"
    if table.note:
        yield f"<p class=note>{_text(table.note)}</p>"


def _figure(drawing: Drawing) -> str:
    title = _text(drawing.title)
    svg = inline_svg(drawing)
    caption = _text(drawing.caption)
    return (
        f'<figure><h3>{title}</h3><div class=wide role=region tabindex=0 aria-label="{title}">{svg}</div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def inline_svg(drawing: Drawing) -> str:
    """The SVG of a figure as part of a page: in its colours, and with names that are no other figure's."""
    root = ElementTree.fromstring(drawing.svg)
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        link = element.attrib.pop(_LINK, None)
        if link is not None:
            element.set("href", f"#{drawing.name}-{link[1:]}")
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, f"{drawing.name}-{value}")
            elif name == "style":
                element.set(name, _in_colours(value))
            elif value.startswith("url(#"):
                element.set(name, value.replace("url(#", f"url(#{drawing.name}-"))
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", f"{drawing.title}. {drawing.caption}")
    return ElementTree.tostring(root, encoding="unicode")


def _in_colours(style: str) -> str:
    for colour, name in _COLOURS.items():
        style = style.replace(colour, f"var(--{name})")
    return style


def _text(text: str) -> str:
    return escape(on_one_line(text))
