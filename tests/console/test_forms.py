"""The form of an arrow, values that select nodes, and the live check on the peer's own records: MARC as Dublin Core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, expect

from heptox.grammar import Arrow, Entity, parse_arrow_lines
from heptox.mapping import load_mapping
from heptox.peer import PeerFolder, document_loading
from heptox.schema import read_schema, write_graph
from heptox.xml import read_document, write_document
from tests.console.conftest import Opening
from tests.console.drawing import Keyboard, Mouse, lines, row, verdict
from tests.peer.daemons import Daemon, daemon
from tests.support.shared import DATA, reads_shared

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "library"
LIBRARY: Final = DATA / "library"
RECORDS: Final = 25
"""How many of the records are held."""
TITLE: Final = 'record/datafield[@tag = "245"]'


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A peer that holds catalogue records."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "dublin-core.graph").write_text(write_graph(read_schema(EXAMPLE / "dublin-core.xsd")))
    PeerFolder.create(folder / "library", LIBRARY / "xsd" / "MARC21slim.xsd", root="collection")
    records = read_document(LIBRARY / "marc" / "loc_general.xml").root
    for record in list(records)[RECORDS:]:
        records.remove(record)
    with document_loading(folder / "library") as loader:
        loader.load("records.xml", write_document(records).encode())
    with daemon(folder / "library") as running:
        yield running


def form(page: Page) -> Locator:
    return page.get_by_role("form", name="The arrow")


def field(page: Page, label: str) -> Locator:
    return form(page).get_by_label(label, exact=True)


@reads_shared
def test_marc_is_drawn_as_dublin_core_and_checked_on_the_peers_own_records(library: Daemon, console: Opening) -> None:
    with console(library.folder) as page:
        mouse, keyboard = Mouse(page), Keyboard(page)
        mouse.press(page.get_by_role("button", name="New mapping"))
        page.locator("#file-target").set_input_files(library.folder.parent / "dublin-core.graph")
        expect(page.get_by_role("group", name="The target schema")).to_contain_text("dublin-core")
        mouse.press(page.get_by_role("button", name="Begin"))

        # each record makes a document of its own: the kind of an arrow
        keyboard.arrow("record", "dc")
        verdict(page, "1 fault")
        mouse.choose(page.get_by_role("tablist", name="Beside the drawing"), "Form")
        form(page).get_by_label("Kind").select_option("each")
        verdict(page, "no faults")

        # by the keyboard: a value that selects a node, a function with a fault that says where it is
        keyboard.walk_to("source", "record/controlfield/@tag")
        page.keyboard.press("ArrowRight")
        expect(row(page, "source", 'record/controlfield/@tag/"008"')).to_contain_text(str(RECORDS))
        keyboard.walk_to("source", 'record/controlfield/@tag/"008"')
        page.keyboard.press("Enter")
        keyboard.arrow('record/controlfield[@tag = "008"]', "dc/dc:language")
        verdict(page, "no faults")
        value = field(page, "Value")
        page.keyboard.press("e")
        expect(value).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.type('substrin(record/controlfield[@tag = "008"], 36, 3)')
        faults = form(page).get_by_role("list", name="Faults of the arrow")
        expect(faults).to_contain_text("5:1: HX4071")
        expect(faults).to_contain_text("did you mean substring")
        expect(value).to_have_attribute("aria-invalid", "true")
        page.keyboard.press("Home")
        for _ in range(len("substrin")):
            page.keyboard.press("ArrowRight")
        page.keyboard.type("g")
        expect(form(page)).to_contain_text(f"carries {RECORDS} values")

        # a table of codes, which is missing until it is chosen
        page.keyboard.press("Escape")
        keyboard.arrow("record/leader", "dc/dc:type")
        verdict(page, "no faults")
        page.keyboard.press("e")
        expect(value).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text('lookup("types-dc.csv", substring(record/leader, 7, 2))')
        expect(faults).to_contain_text('HX4042 the table "types-dc.csv" cannot be used: the file is not here')
        with page.expect_file_chooser() as choosing:
            keyboard.press(form(page).locator('input[type="file"]'))
        choosing.value.set_files(EXAMPLE / "types-dc.csv")
        expect(form(page)).to_contain_text(f"carries {RECORDS} values")

        # conditions that are typed, and an arrow that gives nothing
        page.keyboard.press("Escape")
        keyboard.arrow("record/datafield/subfield", "dc/dc:format")
        verdict(page, "no faults")
        page.keyboard.press("e")
        expect(value).to_be_focused()
        for label, condition in (
            ("record/datafield", '@tag = "856"'),
            ('record/datafield[@tag = "856"]/subfield', '@code = "q"'),
        ):
            keyboard.focus(field(page, f"Conditions of {label}"))
            page.keyboard.insert_text(condition)
            verdict(page, "no faults")
        expect(form(page)).to_contain_text("gives nothing in 1 document of this peer")
        written = lines(page)
        page.get_by_role("tab", name="Form", exact=True).click()
        keyboard.focus(field(page, "Where"))
        page.keyboard.insert_text('starts-with(record/datafield[@tag = "856"]/subfield[@code = "q"], "x"')
        verdict(page, "1 fault")
        page.keyboard.type(")")
        verdict(page, "no faults")
        for _ in range(3):  # what is typed slowly is taken back in several steps
            if lines(page) != written:
                page.keyboard.press("Control+z")
        assert lines(page) == written
        # by the mouse: a node for field 245, in it one for two of its subfields, and a function that gathers them
        row(page, "source", "record/datafield/@tag").dblclick()
        expect(row(page, "source", 'record/datafield/@tag/"245"')).to_contain_text(str(RECORDS))
        mouse.drop("source", 'record/datafield/@tag/"245"', "record/datafield")
        row(page, "source", f"{TITLE}/subfield").dblclick()
        row(page, "source", f"{TITLE}/subfield/@code").dblclick()
        expect(row(page, "source", f'{TITLE}/subfield/@code/"b"')).to_be_visible()
        mouse.drop("source", f'{TITLE}/subfield/@code/"a"', f"{TITLE}/subfield")
        mouse.drop("source", f'{TITLE}/subfield/@code/"b"', f'{TITLE}/subfield[@code = "a"]')
        mouse.arrow(f'{TITLE}/subfield[@code = ("a", "b")]', "dc/dc:title")
        verdict(page, "no faults")
        page.get_by_role("tab", name="Form", exact=True).click()
        form(page).get_by_label("Apply a function").select_option(index=1)
        expect(form(page)).to_contain_text(f"carries {RECORDS} values in 1 document of this peer")
        field(page, f"Conditions of {TITLE}/subfield").fill('@code = ("a", "b", "f", "g", "h", "k")')
        verdict(page, "no faults")

        mouse.choose(page.get_by_role("tablist", name="Beside the drawing"), "Example")
        expect(page.get_by_role("list", name="Arrows that give nothing").get_by_role("listitem")).to_have_count(1)
        expect(page.get_by_role("region", name="What exchange makes of it")).to_contain_text("dc:language")

        mouse.press(page.get_by_role("button", name="Save", exact=True))
        expect(page.get_by_role("toolbar", name="The mapping")).not_to_contain_text("not saved")
    kept = library.folder / "drawings" / "collection-dcCollection"
    drawn = [
        one
        for one in parse_arrow_lines((kept / f"{kept.name}.arrows").read_text())[0]
        if isinstance(one, Arrow | Entity)
    ]
    known = [str(one) for one in parse_arrow_lines((EXAMPLE / "marc-dc.arrows").read_text())[0]]
    assert [str(one) for one in drawn if str(one).replace("-> dc", "-> oai_dc:dc") not in known] == []
    assert len(load_mapping(kept / f"{kept.name}.arrows").rules) >= len(drawn) - 1
