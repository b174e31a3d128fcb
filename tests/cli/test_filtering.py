"""``heptox filter``."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lxml import etree

from heptox.filtering import ResultFolder
from tests.cli.running import heptox_ended
from tests.peer.daemons import DEADLINE

SCHEMA = """\
<!ELEMENT list (book | disc)*>
<!ELEMENT book (title, by*)> <!ATTLIST book year CDATA #IMPLIED>
<!ELEMENT disc (title, by*)>
<!ELEMENT title (#PCDATA)>
<!ELEMENT by (#PCDATA)>
"""
DOCUMENT = """\
<list>
  <book year="1983"><title>A &amp; B</title><by>Zoë</by></book>
  <disc><title>C</title><by>Bo</by><by>Al</by></disc>
  <book year="2001"><title>D</title></book>
</list>
"""
FILTERS = """\
# whose it is, how urgent, and what
//title
zoe\t//by[. = 'Zoë']/..
al\t9\t/list/disc[by = 'Al']/title/text()
al\t/list/book/@year
count(//by)
/list/book/disc
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"list.dtd": SCHEMA, "list.xml": DOCUMENT, "filters.txt": FILTERS}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def options(folder: Path, *more: str | Path) -> list[str | Path]:
    schema, filters, out = folder / "list.dtd", folder / "filters.txt", folder / "out"
    return ["--filters", filters, "--schema", schema, "--out", out, *more]


def results(folder: Path) -> dict[str, list[str]]:
    """What each subscriber got: a line for each result, without the document."""
    found = {}
    for file in sorted((folder / "out").iterdir()):
        root = etree.parse(file).getroot()
        assert (root.tag, root.get("subscriber")) == ("results", file.stem)
        found[file.stem] = [_shown(result) for result in root]
    return found


def _shown(result: etree._Element) -> str:
    told = [value for name, value in result.attrib.items() if name != "document"]
    inner = [etree.tostring(each, encoding="unicode", with_tail=False) for each in result]
    return " ".join(map(str, [*told, *([result.text] if result.text else []), *inner]))


EXPECTED = {
    "2": ["2 <title>A &amp; B</title>", "2 <title>C</title>", "2 <title>D</title>"],
    "6": ["6 value number 3"],
    "7": [],
    "al": ["4 text C", "5 attribute year 1983", "5 attribute year 2001"],
    "zoe": ['3 <book year="1983"><title>A &amp; B</title><by>Zoë</by></book>'],
}


@pytest.mark.parametrize("chunks", ["auto", "0", "1", "2", "5"])
def test_each_subscriber_gets_what_the_filters_select(folder: Path, chunks: str) -> None:
    ended = heptox_ended("filter", *options(folder, "--chunks", chunks, folder / "list.xml"))
    assert ended.code == 0
    assert results(folder) == EXPECTED
    counts = [line.split("\t") for line in ended.out.splitlines()]
    assert [(name, int(count)) for name, count, _ in counts] == [("2", 3), ("zoe", 1), ("al", 3), ("6", 1), ("7", 0)]
    assert all(Path(file).is_file() for *_, file in counts)
    assert "filters.txt:7:1: selects nothing in any document of the schema: /list/book/disc" in ended.err


def test_processes_give_the_same(folder: Path) -> None:
    many = "".join(f"<book year='{year}'><title>{year}</title></book>" for year in range(20_000))
    (folder / "list.xml").write_text(f"<list>{many}</list>")
    (folder / "filters.txt").write_text("//title[. > 19990]\n//book[@year = '7']/title\n")
    ended = heptox_ended("filter", *options(folder, "--processes", "2", "--chunks", "2", folder / "list.xml"))
    assert (ended.code, ended.err) == (0, "")
    assert results(folder)["2"] == ["2 <title>7</title>"]
    assert results(folder)["1"] == [f"1 <title>{year}</title>" for year in range(19_991, 20_000)]


def test_documents_come_one_after_the_other_and_from_standard_input(folder: Path) -> None:
    ended = heptox_ended("filter", *options(folder, "--json", folder / "list.xml", "-"), stdin=DOCUMENT.encode())
    assert ended.code == 0
    assert {row["subscriber"]: row["results"] for row in json.loads(ended.out)} == {
        name: 2 * len(lines) for name, lines in EXPECTED.items()
    }
    names = [result.get("document") for result in etree.parse(folder / "out" / "zoe.xml").getroot()]
    assert names == [str(folder / "list.xml"), "<stdin>"]


def test_filters_of_later_versions(folder: Path) -> None:
    (folder / "filters.txt").write_text("for $b in //book return concat($b/title, ' ', $b/@year)\n//disc/by\n")
    ended = heptox_ended("filter", *options(folder, "--xpath", "3.1", folder / "list.xml"))
    assert (ended.code, ended.err) == (0, "")
    assert results(folder) == {
        "1": ["1 value string A & B 1983", "1 value string D 2001"],
        "2": ["2 <by>Bo</by>", "2 <by>Al</by>"],
    }


def test_what_is_wrong_with_filters_is_told_at_once(folder: Path) -> None:
    (folder / "filters.txt").write_text("/list/book[\n//title\na b\t//by\nbo\tsoon\t//by\nbo\t$x\nbo\t\n")
    ended = heptox_ended("filter", *options(folder, folder / "list.xml"))
    assert ended.code == 1
    assert [line.split(" ", 2)[:2] for line in ended.err.splitlines()] == [
        [f"{folder}/filters.txt:1:12:", "HX3001"],
        [f"{folder}/filters.txt:3:1:", "HX9202"],
        [f"{folder}/filters.txt:4:4:", "HX9202"],
        [f"{folder}/filters.txt:5:4:", "HX3062"],
        [f"{folder}/filters.txt:6:4:", "HX9202"],
    ]
    assert not (folder / "out").exists()
    ended = heptox_ended("filter", *options(folder, "--skip-bad", folder / "list.xml"))
    assert (ended.code, results(folder)) == (3, {"2": EXPECTED["2"]})


def test_a_document_that_is_none_leaves_nothing_behind(folder: Path) -> None:
    (folder / "bad.xml").write_text(DOCUMENT.replace("</list>", ""))
    ended = heptox_ended("filter", *options(folder, folder / "list.xml", folder / "bad.xml"))
    assert (ended.code, ended.out) == (1, "")
    assert "bad.xml" in ended.err
    assert not (folder / "out").exists()
    ended = heptox_ended("filter", *options(folder, "--skip-bad", folder / "bad.xml", folder / "list.xml", "none.xml"))
    assert (ended.code, results(folder)) == (3, EXPECTED)


def test_a_document_outside_the_schema_is_filtered_exactly(folder: Path) -> None:
    (folder / "list.xml").write_text(
        "<list><tape><title>E</title><by>Zoë</by></tape><book><title>F</title></book></list>"
    )
    ended = heptox_ended("filter", *options(folder, folder / "list.xml"))
    assert ended.code == 0
    assert "HX9204 the schema has no tape below list" in ended.err
    found = results(folder)
    assert found["2"] == ["2 <title>E</title>", "2 <title>F</title>"]
    assert found["zoe"] == ["3 <tape><title>E</title><by>Zoë</by></tape>"]


def test_a_filter_without_a_value_is_told(folder: Path) -> None:
    (folder / "filters.txt").write_text("//title\n//title ! xs:integer(.)\n")
    ended = heptox_ended("filter", *options(folder, "--xpath", "3.1", folder / "list.xml"))
    assert (ended.code, results(folder)) == (3, {"1": ["1 " + each[2:] for each in EXPECTED["2"]], "2": []})
    assert f"{folder}/filters.txt:2:1: HX9205 has no value on {folder}/list.xml" in ended.err


def test_a_folder_that_has_something_in_it_is_left_alone(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("mine")
    ended = heptox_ended("filter", *options(folder, folder / "list.xml"))
    assert (ended.code, ended.out) == (1, "")
    assert "HX9203 the folder is not empty" in ended.err
    assert [path.name for path in (folder / "out").iterdir()] == ["mine.txt"]


def test_the_scheme_is_drawn(folder: Path) -> None:
    ended = heptox_ended("filter", *options(folder, "--explain", "--chunks", "2", folder / "list.xml"))
    assert "list       6 branches, 99% of the bytes" in ended.err
    assert any(line.startswith(("├─ book", "└─ book")) for line in ended.err.splitlines())
    assert "potpourri: 1 filter, 17%" in ended.err
    assert "chosen: " in ended.err


@pytest.mark.parametrize("given", [["--chunks", "x"], ["--chunks", "-1"], ["--xpath", "9"], ["--processes", "0"]])
def test_wrong_usage(folder: Path, given: list[str]) -> None:
    assert heptox_ended("filter", *options(folder, *given, folder / "list.xml")).code == 2


def started(folder: Path, document: Path, limit: int | None = None) -> subprocess.Popen[str]:
    """The command in a process of its own, whose files may have so many bytes."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    words = [sys.executable, "-m", "heptox", "filter", *map(str, options(folder, "--processes", "1", document))]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limited, env=dict(os.environ)
    )


def test_a_disk_that_fills_up_leaves_nothing_behind(folder: Path) -> None:
    (folder / "list.xml").write_text(f"<list>{'<book><title>T</title></book>' * 20_000}</list>")
    process = started(folder, folder / "list.xml", limit=300_000)
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (1, "")
    assert "HX9203 cannot be written, and no results are left there: File too large" in err
    assert not (folder / "out").exists()


def test_who_stops_it_finds_no_results(folder: Path) -> None:
    (folder / "big.xml").write_text(f"<list>{'<book><title>T</title></book>' * 400_000}</list>")
    process = started(folder, folder / "big.xml")
    deadline = time.monotonic() + DEADLINE
    while not (folder / "out").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 128 + signal.SIGTERM
    assert not (folder / "out").exists()


@pytest.mark.usefixtures("shared_spark")
def test_spark_gives_the_same(folder: Path) -> None:
    many = "".join(f"<book year='{year}'><title>{year}</title></book>" for year in range(200_000))
    (folder / "big.xml").write_text(f"<list>{many}</list>")
    (folder / "bad.xml").write_text("<list>")
    (folder / "tape.xml").write_text("<list><tape><title>E</title></tape></list>")
    (folder / "filters.txt").write_text("//title[. > 199990]\n//book[@year = '7']/title\n//tape/title\n")
    documents = [folder / f"{name}.xml" for name in ("list", "big", "bad", "tape")]
    ended = heptox_ended("filter", *options(folder, "--master", "local[2]", "--skip-bad", *documents))
    assert ended.code == 3
    assert results(folder)["1"] == [f"1 <title>{year}</title>" for year in range(199_991, 200_000)]
    assert results(folder)["2"] == ["2 <title>7</title>"]
    assert results(folder)["3"] == ["3 <title>E</title>"]
    told = [line for line in ended.err.splitlines() if "HX" in line]
    assert any("bad.xml" in line for line in told)
    assert any("tape.xml" in line and "HX9204" in line for line in told)


def test_a_document_of_which_too_much_would_be_held_is_left_out(folder: Path) -> None:
    (folder / "big.xml").write_text(f"<list>{'<book><title>T</title></book>' * 300_000}</list>")
    (folder / "filters.txt").write_text("//title[. = 'D']\n(//title)[2]\n")
    given = options(folder, "--most-held", "100000", "--processes", "1", folder / "big.xml", folder / "list.xml")
    ended = heptox_ended("filter", *given)
    assert ended.code == 1
    assert "big.xml: HX9201 " in ended.err
    ended = heptox_ended("filter", *given, "--skip-bad")
    assert (ended.code, results(folder)) == (3, {"1": ["1 <title>D</title>"], "2": ["2 <title>C</title>"]})


def test_little_is_held_where_little_may_be(folder: Path) -> None:
    (folder / "big.xml").write_text(f"<list>{'<book><title>T</title></book>' * 300_000}</list>")
    (folder / "filters.txt").write_text("//title[. = 'D']\n")
    ended = heptox_ended("filter", *options(folder, "--most-held", "100000", folder / "big.xml", folder / "list.xml"))
    assert (ended.code, results(folder)) == (0, {"1": ["1 <title>D</title>"]})


def test_carriage_returns_are_kept(folder: Path) -> None:
    (folder / "list.xml").write_text("<list><book year='1&#13;2'><title>a&#13;b</title></book></list>")
    (folder / "filters.txt").write_text("//title/text()\n//book/@year\nstring(//title)\n//title\n")
    assert heptox_ended("filter", *options(folder, folder / "list.xml")).code == 0
    root = [etree.parse(folder / "out" / f"{number}.xml").getroot() for number in (1, 2, 3, 4)]
    assert ["".join(map(str, each.itertext())).strip("\n") for each in root] == ["a\rb", "1\r2", "a\rb", "a\rb"]


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_a_file_without_filters_is_told(folder: Path, text: str) -> None:
    (folder / "filters.txt").write_text(text)
    ended = heptox_ended("filter", *options(folder, folder / "list.xml"))
    assert (ended.code, ended.err) == (1, f"{folder}/filters.txt: HX9202 there is no filter in it\n")
    assert not (folder / "out").exists()


def test_what_is_no_folder_is_left_alone(folder: Path) -> None:
    (folder / "out").write_text("mine")
    ended = heptox_ended("filter", *options(folder, folder / "list.xml"))
    assert (ended.code, (folder / "out").read_text()) == (1, "mine")
    assert "HX9203 is no folder (name one that is not there yet)" in ended.err


def test_a_signal_while_files_are_made_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []
    write = Path.write_text

    def interrupted(path: Path, text: str, *arguments: str, **options: str) -> int:
        made.append(path)
        if len(made) == 3:
            raise KeyboardInterrupt
        return write(path, text, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt), ResultFolder(folder / "out", ["a", "b", "c"]):
        pass
    assert len(made) == 3
    assert not (folder / "out").exists()


def test_files_of_others_stay_where_the_folder_is_not_empty(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "zoe.xml").write_text("mine")
    ended = heptox_ended("filter", *options(folder, folder / "list.xml"))
    assert ended.code == 1
    assert (folder / "out" / "zoe.xml").read_text() == "mine"


def test_prefixes_are_bound_by_the_file_and_by_options(folder: Path) -> None:
    (folder / "list.xml").write_text(
        '<list><x:book xmlns:x="urn:x" x:year="1"/><book xmlns="urn:y" year="2"/><book year="3"/></list>'
    )
    (folder / "filters.txt").write_text(
        'declare namespace p = "urn:x";\nann\t//p:book/@p:year\nbob\t//q:book/@year\nann\t//book/@year\n'
    )
    ended = heptox_ended("filter", *options(folder, folder / "list.xml"), "--namespace", "q=urn:y")
    assert ended.code == 0, ended.err
    values = {name: etree.parse(folder / "out" / f"{name}.xml").xpath("//result/text()") for name in ("ann", "bob")}
    assert values == {"ann": ["1", "3"], "bob": ["2"]}
    (folder / "filters.txt").write_text("//z:book\n")
    ended = heptox_ended("filter", *options(folder, folder / "list.xml"))
    assert "filters.txt:1:3: HX3066 the prefix z is not bound" in ended.err
