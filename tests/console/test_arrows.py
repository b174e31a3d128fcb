"""Mappings drawn in the browser, by the mouse and by the keyboard."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from heptox.demo import BOSTON, HOSPITAL, MONTREAL, Network
from heptox.grammar import parse_arrow_lines
from heptox.mapping import load_mapping, print_rules
from heptox.peer import Client
from tests.console.conftest import Opening
from tests.console.drawing import Hand, Keyboard, Mouse, arrows, lines, row, verdict
from tests.peer.daemons import Daemon, daemon, hospital_peer, wait_until

EXAMPLE: Final = (HOSPITAL / "montreal-boston.arrows").read_text(encoding="utf-8")
QUESTION: Final = (HOSPITAL / "queries" / "example1.xq").read_text(encoding="utf-8")
SCHEMAS: Final = (HOSPITAL / "mongenhosp.dtd", HOSPITAL / "massgeneral.dtd")
BOX: Final = "Admission/[Illness]"


def example_arrows() -> Iterator[tuple[str, str]]:
    """The ends of the example's arrows, as the trees have them."""
    for line in EXAMPLE.split("\n"):
        source, sign, target = line.partition("->")
        if sign:
            yield source.strip(), target.strip().replace("[Illness]", BOX)


def drawn(hand: Hand) -> None:
    """The hospital mapping of the report, drawn."""
    hand.box("target", ["Admission/Pulmonary", "Admission/Coronary"], "Illness")
    verdict(hand.page, "1 fault")  # no arrow relates the tags in the box to values yet
    for count, (source, target) in enumerate(example_arrows(), 1):
        hand.arrow(source, target)
        expect(arrows(hand.page)).to_have_count(count)
    verdict(hand.page, "no faults, 4 rules")


def plain(text: str) -> list[str]:
    """The lines of a mapping that mean something."""
    return [line for line in text.split("\n") if line and not line.startswith("#")]


# -- from two schemas to an answer -----------------------------------------------------------------------------------


def test_the_hospital_mapping_is_drawn_agreed_on_and_asked_along(
    hospitals_apart: tuple[Daemon, Daemon], console: Opening
) -> None:
    """By keyboard alone, which is harder: what is drawn below, and looked at elsewhere, is by mouse too."""
    montreal, boston = hospitals_apart
    with console(montreal.folder) as page:
        hand = Keyboard(page)
        hand.begin(*SCHEMAS, "hospitals")
        drawn(hand)
        hand.press(page.get_by_role("button", name="Align"))
        hand.press(page.get_by_role("button", name="Save", exact=True))
        expect(page.get_by_role("toolbar")).not_to_contain_text("not saved")
        saved = montreal.folder / "drawings" / "hospitals" / "hospitals.arrows"
        text = saved.read_text(encoding="utf-8")
        assert parse_arrow_lines(text) == parse_arrow_lines(EXAMPLE)
        assert plain(text) == plain(EXAMPLE)
        assert load_mapping(saved) == load_mapping(HOSPITAL / "montreal-boston.arrows")
        hand.press(page.get_by_role("button", name="Propose"))
        hand.write(page.get_by_label("Its address"), boston.address)
        hand.write(page.get_by_label("What to call it"), "Boston")
        hand.press(page.get_by_role("button", name="Propose", exact=True))
        expect(page.locator("footer")).to_contain_text("Boston: proposed")
        with console(boston.folder, "Watch") as there:
            other = Keyboard(there)
            other.press(there.get_by_role("button", name="Accept").first)
            other.press(there.get_by_role("dialog").get_by_role("button", name="Accept"))
            with boston.client() as client:
                wait_until(lambda: client.status().acquaintances != ())
        with montreal.client() as client:
            wait_until(lambda: client.status().acquaintances[0].standing == "agreed")
        hand.press(page.get_by_role("tab", name="Arrows", exact=True))
        page.keyboard.press("Alt+2")
        hand.focus(page.get_by_role("textbox", name="Query"))
        page.keyboard.insert_text(QUESTION)
        page.keyboard.press("Control+Enter")
        expect(page.locator(".outcome")).to_contain_text("The answer is complete")
        answers = page.get_by_role("region", name="Answers as a table")
        expect(answers).to_contain_text("Boston")
        for part, told in (
            ("Receipt", "answered"),
            ("Hops", "for $c in //Coronary, $p in //Progress[@PatRef = $c/@ID]"),
        ):
            hand.choose(page.get_by_role("tablist", name="Parts of the answer"), part)
            expect(page.get_by_role("tabpanel", name=part)).to_contain_text(told)


# -- while one draws -------------------------------------------------------------------------------------------------


@pytest.fixture(params=[Mouse, Keyboard])
def hand(request: pytest.FixtureRequest, hospitals: Network, console: Opening) -> Iterator[Hand]:
    """Somebody at the console of Montreal, with nothing drawn between the hospitals yet."""
    with console(hospitals.path(MONTREAL)) as page:
        made: Hand = request.param(page)
        made.begin(*SCHEMAS, "hospitals")
        yield made


def test_a_fault_is_told_where_it_is_and_gone_when_it_is_mended(hand: Hand) -> None:
    hand.arrow("Patient/Hist/Event/Problem", "Progress/Symptom/Desc")
    verdict(hand.page, "no faults, 1 rule")
    hand.arrow("Patient/Hist/Event", "Progress/@PatRef")
    verdict(hand.page, "1 fault")
    expect(row(hand.page, "target", "Progress/@PatRef")).to_have_class(re.compile("faulty"))
    expect(hand.page.locator(".lane .arrow.faulty")).to_have_count(1)
    fault = hand.page.get_by_role("list", name="Faults of the mapping")
    expect(fault).to_contain_text("line 5 HX4009 Patient/Hist/Event is no leaf")
    expect(hand.page.locator(".cm-lintRange-error")).to_have_count(1)
    hand.press(fault.get_by_role("button"))
    expect(hand.page.get_by_label("The text of the mapping")).to_be_focused()
    hand.erase("source", "Patient/Hist/Event")
    verdict(hand.page, "no faults, 1 rule")
    expect(hand.page.locator(".faulty")).to_have_count(0)


def test_everything_is_taken_back_to_the_start(hand: Hand) -> None:
    start, steps = lines(hand.page), list(example_arrows())[:4]
    hand.box("target", ["Admission/Pulmonary", "Admission/Coronary"], "Illness")
    for count, (source, target) in enumerate(steps, 1):
        hand.arrow(source, target)
        expect(arrows(hand.page)).to_have_count(count)
    end = lines(hand.page)
    for count in range(len(steps) - 1, -1, -1):
        hand.undo()
        expect(arrows(hand.page)).to_have_count(count)
    hand.undo()
    verdict(hand.page, "no faults, 0 rules")
    assert lines(hand.page) == start
    expect(hand.page.get_by_role("button", name="Undo")).to_be_disabled()
    for count in range(len(steps) + 1):
        hand.redo()
        expect(arrows(hand.page)).to_have_count(count)
    assert lines(hand.page) == end


def test_gestures_that_follow_at_once_are_about_the_right_lines(hand: Hand) -> None:
    for part in ("Problem", "Date"):
        hand.arrow(f"Patient/Hist/Event/{part}", f"Progress/Symptom/{part.replace('Problem', 'Desc')}")
    for part in ("Date", "Desc"):
        hand.arrow(f"Patient/Treat/{part}", f"Progress/Treatment/{part}")
    expect(arrows(hand.page)).to_have_count(4)
    hand.erase("source", "Patient/Hist/Event/Date")
    hand.erase("source", "Patient/Treat/Date")
    assert [line for line in lines(hand.page) if "->" in line] == [
        "Patient/Hist/Event/Problem -> Progress/Symptom/Desc",
        "Patient/Treat/Desc         -> Progress/Treatment/Desc",
    ]


# -- the text and the drawing ----------------------------------------------------------------------------------------


@pytest.fixture
def page(hospitals: Network, console: Opening) -> Iterator[Page]:
    """The mapping between Montreal and Boston, opened in Montreal."""
    with console(hospitals.path(MONTREAL)) as page:
        page.get_by_role("button", name=BOSTON.name).click()
        verdict(page, "no faults, 4 rules")
        yield page


def test_what_is_typed_is_drawn(page: Page) -> None:
    before, written = arrows(page).count(), lines(page)
    page.get_by_label("The text of the mapping").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Patient/Treat/Doc -> [Illness]/InsN")
    verdict(page, "1 fault")
    page.keyboard.type("ame")
    verdict(page, "no faults")
    expect(arrows(page)).to_have_count(before + 1)
    expect(row(page, "target", f"{BOX}/InsName")).to_have_attribute("aria-label", re.compile("1 arrow"))
    while lines(page) != written:  # what is typed slowly is taken back in several steps
        page.get_by_label("The text of the mapping").press("Control+z")
    verdict(page, "no faults, 4 rules")


def test_paths_are_completed_as_one_types(page: Page) -> None:
    page.get_by_label("The text of the mapping").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Patient/Tr")
    page.get_by_role("option", name="Treat").click()
    page.keyboard.type("/Do")
    page.get_by_role("option", name="Doc").click()
    page.keyboard.type(" -> [Il")
    page.get_by_role("option", name="[Illness]").click()
    page.keyboard.type("/InsN")
    page.get_by_role("option", name="InsName").click()
    verdict(page, "no faults")
    assert lines(page)[-1] == "Patient/Treat/Doc -> [Illness]/InsName"


def test_an_arrow_into_a_leaf_that_has_one_is_an_alternative(page: Page) -> None:
    hand = Mouse(page)
    hand.arrow("Patient/Treat/Doc", "Progress/Symptom/Desc")
    expect(row(page, "target", "Progress/Symptom/Desc")).to_contain_text("2 alternatives")


def test_between_inner_elements_an_arrow_copies(page: Page) -> None:
    Mouse(page).arrow("Patient/Hist/Event", "Progress/Symptom")
    expect(page.locator(".lane .arrow.copies")).to_have_count(1)
    assert lines(page)[-2].split() == ["Patient/Hist/Event", "=>", "Progress/Symptom"]


def test_a_member_of_a_box_has_arrows_of_its_own(page: Page) -> None:
    row(page, "target", "Admission/Coronary").dblclick()
    Mouse(page).arrow("Patient/Treat/Doc", "Admission/Coronary/InsName")
    verdict(page, "no faults")
    assert lines(page)[-2].split() == ["Patient/Treat/Doc", "->", "Admission/Coronary/InsName"]


def test_a_box_goes_with_the_arrows_to_it(page: Page) -> None:
    row(page, "target", BOX).click()
    page.get_by_role("button", name="Remove", exact=True).click()
    verdict(page, "no faults")
    expect(row(page, "target", BOX)).to_have_count(0)
    expect(row(page, "target", "Admission/Pulmonary")).to_be_visible()
    expect(arrows(page)).to_have_count(5)
    page.keyboard.press("Control+z")
    expect(arrows(page)).to_have_count(11)
    row(page, "target", BOX).click()
    page.keyboard.press("Delete")
    expect(arrows(page)).to_have_count(5)


def test_boxes_go_with_the_boxes_in_them(hospitals: Network, console: Opening, tmp_path: Path) -> None:
    dtd = tmp_path / "nested.dtd"
    dtd.write_text(
        "<!ELEMENT a ((b | c)*)> <!ELEMENT b ((d | e)*)> <!ELEMENT c ((d | e)*)> "
        "<!ELEMENT d (f)> <!ELEMENT e (f)> <!ELEMENT f (#PCDATA)>"
    )
    with console(hospitals.path(MONTREAL)) as page:
        hand = Mouse(page)
        hand.begin(dtd, dtd, "nested")
        start = lines(page)
        hand.box("source", ["b", "c"], "Outer")
        expect(row(page, "source", "[Outer]/d")).to_be_visible()
        hand.box("source", ["[Outer]/d", "[Outer]/e"], "Inner")
        row(page, "source", "[Outer]").click()
        page.keyboard.press("Delete")
        assert "".join(lines(page)).split() == "".join(start).split()


def test_no_arrow_leads_to_a_root(page: Page) -> None:
    before = lines(page)
    Mouse(page).arrow("Patient/Name", "")
    expect(page.locator("footer")).to_contain_text("no arrow leads from a root or to one")
    assert lines(page) == before


def test_what_is_typed_over_a_selection_takes_its_place(page: Page) -> None:
    page.get_by_label("The text of the mapping").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("x")
    assert lines(page) == ["x"]
    page.keyboard.press("Control+z")
    verdict(page, "no faults, 4 rules")


def test_schemas_say_what_they_know(page: Page) -> None:
    expect(row(page, "source", "Patient/@ID")).to_contain_text(re.compile(r"ID\s*key"))
    expect(row(page, "source", "Admission/@PatRef")).to_contain_text("→ Patient/@ID")
    expect(row(page, "source", "Admission/DisDate")).to_contain_text("?")
    expect(row(page, "target", BOX)).to_contain_text("Pulmonary | Coronary")


def test_search_finds_what_is_folded(page: Page) -> None:
    page.get_by_role("button", name="Fold the target schema", exact=True).click()
    expect(row(page, "target", "Progress/Treatment/Date")).to_have_count(0)
    page.get_by_label("Search the target schema").fill("date")
    expect(page.get_by_role("search").or_(page.locator(".search")).last).to_contain_text("2 found")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    tree = page.get_by_role("tree", name="The target schema")
    expect(tree).to_have_attribute("aria-activedescendant", "target:Progress/Treatment/Date")
    expect(row(page, "target", "Progress/Treatment/Date")).to_be_visible()


# -- rules, the example, suggestions ---------------------------------------------------------------------------------


def test_rules_are_those_of_the_command(page: Page) -> None:
    page.get_by_role("tab", name="Rules").click()
    expected = print_rules(load_mapping(HOSPITAL / "montreal-boston.arrows"))
    for rule in page.locator(".rules pre").all_inner_texts():
        assert rule in expected
    expect(page.locator(".rules pre")).to_have_count(8)
    expect(page.locator(".remarks")).to_contain_text("become one")


def test_an_arrow_shows_what_it_carried(page: Page) -> None:
    page.get_by_role("tab", name="Example").click()
    line = lines(page).index(next(line for line in lines(page) if line.startswith("Patient/MedCrNo"))) + 1
    page.get_by_role("tab", name="Example").click()
    Mouse(page).select(line)
    for document, tag in (("The source document", "MedCrNo"), ("What exchange makes of it", "PolicyNo")):
        shown = page.get_by_role("region", name=document)
        carried = shown.locator(".carried.selected")
        assert carried.count() > 0
        has_it = shown.locator(".line", has=page.locator(".carried.selected")).all_inner_texts()
        assert all(f"<{tag}>" in line for line in has_it)
    assert len(has_it) == shown.locator(".line", has_text="<PolicyNo>").count()


def test_a_document_of_ones_own_is_exchanged_as_one_types(page: Page) -> None:
    page.get_by_role("tab", name="Example").click()
    page.get_by_role("button", name="Edit it").click()
    page.get_by_label("The sample document").fill(
        "<MonGenHosp><Patient ID='p9'><Name>Ada</Name><Hist/></Patient>"
        "<Admission PatRef='p9'><Problem>Gout</Problem><AdmDate>1</AdmDate></Admission></MonGenHosp>"
    )
    image = page.get_by_role("region", name="What exchange makes of it")
    expect(image).to_contain_text('<Gout ID="p9">')
    expect(image).to_contain_text("<Patient>Ada</Patient>")
    page.get_by_label("The sample document").fill("<MonGenHosp>")
    expect(page.get_by_role("tabpanel", name="Example")).to_contain_text("HX1002")


def test_markup_in_values_is_written_as_in_xml(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "sample.xml"
    file.write_text(
        "<MonGenHosp><Patient ID='p9'><Name>&lt;Ada&gt; &amp; Eve</Name><Hist/></Patient>"
        "<Admission PatRef='p9'><Problem>Gout</Problem><AdmDate>1</AdmDate></Admission></MonGenHosp>"
    )
    page.get_by_role("tab", name="Example").click()
    page.get_by_label("A document of yours").set_input_files(file)
    image = page.get_by_role("region", name="What exchange makes of it")
    expect(image).to_contain_text("<Patient>&lt;Ada&gt; &amp; Eve</Patient>")


def test_a_sample_that_is_too_large_is_told_and_stops_nothing(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "large.xml"
    file.write_text(f"<MonGenHosp><!-- {'x' * 1_100_000} --></MonGenHosp>")
    page.get_by_role("tab", name="Example").click()
    page.get_by_label("A document of yours").set_input_files(file)
    expect(page.get_by_role("tabpanel", name="Example")).to_contain_text("HX1006")
    Mouse(page).arrow("Patient/Treat/Doc", f"{BOX}/InsName")
    verdict(page, "no faults")
    expect(arrows(page)).to_have_count(12)


def test_documents_that_cannot_be_read_say_why(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "latin.xml"
    file.write_bytes("<MonGenHosp>é</MonGenHosp>".encode("latin-1"))
    for tab, label in (("Example", "A document of yours"), ("Suggestions", "Documents of the source")):
        page.get_by_role("tab", name=tab).click()
        page.get_by_label(label).set_input_files(file)
        expect(page.get_by_role("alert")).to_contain_text("HX1003 latin.xml: it is not in the encoding utf-8")
        page.get_by_role("button", name="Dismiss").click()
        expect(page.get_by_role("alert")).to_have_count(0)


def suggested(page: Page) -> int:
    """Let arrows be suggested in the place of two that are removed; how many are left."""
    hand = Mouse(page)
    for leaf in ("Patient/Treat/Date", "Patient/Treat/Desc"):
        hand.erase("source", leaf)
    count = arrows(page).count()
    hand.press(page.get_by_role("button", name="Suggest", exact=True))
    return count


def test_suggestions_are_drawn_when_they_are_accepted_and_only_then(page: Page) -> None:
    count = suggested(page)
    wanted = "Patient/Treat/Date -> Progress/Treatment/Date"
    expect(page.get_by_role("button", name=f"Accept {wanted}")).to_be_visible()
    expect(arrows(page)).to_have_count(count)
    page.get_by_role("button", name=f"Accept {wanted}").click()
    expect(arrows(page)).to_have_count(count + 1)
    expect(page.get_by_role("button", name=f"Accept {wanted}")).to_have_count(0)
    refused = "Refuse Patient/Treat/Desc -> Progress/Treatment/Desc"
    page.get_by_role("button", name=refused).click()
    expect(page.get_by_role("button", name=refused)).to_have_count(0)
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_role("button", name="Look again")).to_be_enabled()
    expect(page.get_by_role("button", name=refused)).to_have_count(0)
    expect(arrows(page)).to_have_count(count + 1)


def test_a_suggestion_that_is_clicked_twice_is_drawn_once(page: Page) -> None:
    count = suggested(page)
    page.get_by_role("button", name=re.compile("^Accept")).first.dblclick()
    verdict(page, "no faults")
    expect(arrows(page)).to_have_count(count + 1)


# -- keeping ---------------------------------------------------------------------------------------------------------


def test_what_is_drawn_outlives_the_daemon_and_its_session(tmp_path: Path, console: Opening) -> None:
    folder = hospital_peer(tmp_path / "montreal", "montreal", 0)
    with daemon(folder) as first, console(folder) as page:
        hand = Mouse(page)
        hand.begin(*SCHEMAS, "outliving")
        hand.arrow("Patient/Treat/Doc", "Progress/Symptom/Desc")
        verdict(page, "no faults")
        before = lines(page)
        first.end(signal.SIGKILL)
        with daemon(folder), Client.connect(folder) as client:
            page.keyboard.press("Control+s")
            expect(page.get_by_role("alert").first).to_contain_text("has ended")
            page.goto(client.console())
            expect(page.get_by_text("has ended")).to_have_count(0)
            assert lines(page) == before
            page.keyboard.press("Control+s")
            expect(page.get_by_role("toolbar")).not_to_contain_text("not saved")
        assert "Patient/Treat/Doc" in (folder / "drawings" / "outliving" / "outliving.arrows").read_text()


def test_what_was_not_saved_is_there_when_the_page_is_loaded_anew(page: Page) -> None:
    Mouse(page).arrow("Patient/Treat/Doc", f"{BOX}/InsName")
    verdict(page, "no faults")
    before = lines(page)
    page.reload()
    verdict(page, "no faults")
    assert lines(page) == before


def test_a_drawing_that_cannot_be_saved_says_why_and_stays(page: Page) -> None:
    Mouse(page).arrow("Patient/Treat/Doc", f"{BOX}/InsName")
    fault = {
        "code": "HX7093",
        "message": "the disk is full",
        "position": None,
        "excerpt": None,
        "hint": None,
        "file": None,
    }
    page.route("**/drawings/*", lambda route: route.fulfill(status=422, json={"faults": [fault]}))
    page.keyboard.press("Control+s")
    expect(page.get_by_role("alert")).to_contain_text("the disk is full")
    expect(page.get_by_role("toolbar")).to_contain_text("not saved")
    assert any("Patient/Treat/Doc" in line for line in lines(page))


def test_a_name_that_cannot_be_is_told_with_what_can(page: Page) -> None:
    page.get_by_role("button", name="Save as").click()
    dialog = page.get_by_role("dialog")
    for name, told in (("a/b", "HX7093 'a/b' is no name"), ("../x", "HX7093 '../x' is no name"), ("..", "HX7060 ..")):
        dialog.get_by_label("Name").fill(name)
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text(told)


def test_what_somebody_else_has_saved_is_not_lost_unasked(montreal: Daemon, console: Opening) -> None:
    folder = montreal.folder / "drawings"
    with console(montreal.folder) as one, console(montreal.folder) as other:
        Mouse(one).begin(*SCHEMAS, "shared")
        one.keyboard.press("Control+s")
        expect(one.get_by_role("toolbar")).not_to_contain_text("not saved")
        other.reload()
        other.get_by_role("button", name="shared", exact=True).click()
        for page, target in ((one, "Desc"), (other, "Date")):
            Mouse(page).arrow("Patient/Hist/Event/Date", f"Progress/Symptom/{target}")
            page.keyboard.press("Control+s")
        expect(one.get_by_role("toolbar")).not_to_contain_text("not saved")
        dialog = other.get_by_role("dialog")
        expect(dialog).to_contain_text("was changed by somebody else")
        assert "Symptom/Desc" in (folder / "shared" / "shared.arrows").read_text()
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(other.get_by_role("toolbar")).to_contain_text("shared 2")
        assert "Symptom/Date" in (folder / "shared 2" / "shared 2.arrows").read_text()
        other.get_by_role("button", name="Save as").click()
        dialog.get_by_label("Name").fill("shared")
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(dialog).to_contain_text("there is a drawing named shared")
        dialog.get_by_role("button", name="Replace shared").click()
        expect(dialog).to_have_count(0)
        assert "Symptom/Date" in (folder / "shared" / "shared.arrows").read_text()
        other.get_by_role("button", name="Open").click()
        console.confirming = True
        other.get_by_role("button", name="Delete shared 2").click()
        expect(other.get_by_role("button", name="Delete shared 2")).to_have_count(0)
        assert [kept.name for kept in folder.iterdir()] == ["shared"]


def test_a_schema_is_read_in_its_encoding(hospitals: Network, console: Opening, tmp_path: Path) -> None:
    latin, wrong = tmp_path / "latin.dtd", tmp_path / "wrong.dtd"
    latin.write_bytes("<?xml version='1.0' encoding='ISO-8859-1'?><!ELEMENT hôpital (#PCDATA)>".encode("latin-1"))
    wrong.write_bytes("<!ELEMENT hôpital (#PCDATA)>".encode("latin-1"))
    with console(hospitals.path(MONTREAL)) as page:
        page.get_by_role("button", name="New mapping").click()
        page.set_input_files("#file-target", wrong)
        expect(page.get_by_role("alert")).to_contain_text("it is not in the encoding utf-8")
        page.set_input_files("#file-target", latin)
        page.get_by_role("button", name="Begin").click()
        expect(row(page, "target", "")).to_contain_text("hôpital")


def test_a_schema_that_is_none_says_why(hospitals: Network, console: Opening, tmp_path: Path) -> None:
    wrong, several = tmp_path / "wrong.dtd", tmp_path / "several.dtd"
    wrong.write_text("<!ELEMENT a (b)>")
    several.write_text("<!ELEMENT a (c)> <!ELEMENT b (c)> <!ELEMENT c (#PCDATA)>")
    with console(hospitals.path(MONTREAL)) as page:
        page.get_by_role("button", name="New mapping").click()
        page.set_input_files("#file-target", wrong)
        expect(page.get_by_role("alert")).to_contain_text("HX2003")
        expect(page.get_by_role("button", name="Begin")).to_be_disabled()
        page.set_input_files("#file-target", several)
        expect(page.get_by_role("alert")).to_contain_text("HX2005")
        page.get_by_label("Its root").last.fill("b")
        page.keyboard.press("Tab")
        page.get_by_role("button", name="Begin").click()
        expect(row(page, "target", "c")).to_be_visible()
