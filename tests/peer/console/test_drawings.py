"""Drawings: kept whole or not at all, in a folder that other commands read."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from heptox.demo import HOSPITAL
from heptox.errors import PeerError
from heptox.peer.console import drawings as module
from heptox.peer.console.drawings import MOST_BYTES, Drawing, Drawings
from tests.peer.console.crashing import BEFORE, CHANGES
from tests.peer.daemons import DEADLINE, Daemon, daemon, heptox, hospital_peer

ARROWS = (HOSPITAL / "montreal-boston.arrows").read_text(encoding="utf-8")
SCHEMAS = {name: (HOSPITAL / name).read_text(encoding="utf-8") for name in ("mongenhosp.dtd", "massgeneral.dtd")}
HOSPITALS: dict[str, Any] = {"text": ARROWS, "files": SCHEMAS}


@pytest.fixture
def drawn(http: httpx.Client) -> Iterator[None]:
    """The hospitals are drawn; afterwards nothing is."""
    assert http.put("/drawings/hospitals", json=HOSPITALS).status_code == 200
    yield
    for drawing in http.get("/drawings").json():
        http.delete(f"/drawings/{drawing['name']}")


def codes(answer: httpx.Response) -> list[str]:
    return [fault["code"] for fault in answer.json()["faults"]]


@pytest.mark.usefixtures("drawn")
def test_a_drawing_is_a_mapping_that_commands_read(peer: Daemon, http: httpx.Client) -> None:
    file = peer.folder / "drawings" / "hospitals" / "hospitals.arrows"
    assert file.read_text() == ARROWS
    assert heptox("map", "check", file).returncode == 0
    assert http.get("/drawings/hospitals").json() == {"name": "hospitals", **HOSPITALS}
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("drawn")
def test_no_other_drawing_is_lost_where_that_is_wanted(http: httpx.Client) -> None:
    changed = {**HOSPITALS, "text": ARROWS + "# more\n"}
    assert codes(http.put("/drawings/hospitals", json={**changed, "new": True})) == ["HX7096"]
    assert codes(http.put("/drawings/hospitals", json={**changed, "before": "something else"})) == ["HX7096"]
    assert http.get("/drawings/hospitals").json()["text"] == ARROWS
    assert http.put("/drawings/hospitals", json={**changed, "before": ARROWS}).status_code == 200
    assert http.get("/drawings/hospitals").json()["text"] == changed["text"]
    assert http.put("/drawings/other", json={**changed, "new": True}).status_code == 200


@pytest.mark.usefixtures("drawn")
def test_drawings_are_listed_changed_and_dropped(peer: Daemon, http: httpx.Client) -> None:
    odd = {"text": "no arrows at all\n", "files": {}}
    assert http.put("/drawings/d'un%20jour", json=odd).json() == {"name": "d'un jour", **odd}
    changed = {"text": ARROWS + "\n# and more\n", "files": SCHEMAS}
    assert http.put("/drawings/hospitals", json=changed).json() == {"name": "hospitals", **changed}
    listed = http.get("/drawings").json()
    assert [drawing["name"] for drawing in listed] == ["d'un jour", "hospitals"]
    assert all(datetime.fromisoformat(drawing["modified"]) <= datetime.now(UTC) for drawing in listed)
    assert http.delete("/drawings/hospitals").json() == {"name": "hospitals"}
    assert not (peer.folder / "drawings" / "hospitals").exists()
    for method in ("GET", "DELETE"):
        answer = http.request(method, "/drawings/hospitals")
        assert (answer.status_code, codes(answer)) == (422, ["HX7094"])


@pytest.mark.usefixtures("drawn")
def test_schemas_that_are_drawn_with_no_more_go_and_what_else_is_there_stays(peer: Daemon, http: httpx.Client) -> None:
    folder = peer.folder / "drawings" / "hospitals"
    (folder / "notes").mkdir()
    (folder / "notes" / "why.txt").write_text("because")
    (folder / "hospitals.arrows~").write_text("before")
    http.put("/drawings/hospitals", json={"text": "", "files": {"a.dtd": "<!ELEMENT a EMPTY>"}})
    left = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*"))
    assert left == ["a.dtd", "hospitals.arrows", "hospitals.arrows~", "notes", "notes/why.txt"]


def test_a_schema_in_another_encoding_is_kept_in_utf_8(http: httpx.Client) -> None:
    dtd = "<?xml version='1.0' encoding='ISO-8859-1'?><!ELEMENT caf\u00e9 EMPTY>"
    kept = http.put("/drawings/coffee", json={"text": "", "files": {"a.dtd": dtd}}).json()
    assert kept["files"] == {"a.dtd": dtd.replace("ISO-8859-1", "UTF-8")}
    assert http.get("/drawings/coffee").json() == kept
    http.delete("/drawings/coffee")


@pytest.mark.parametrize("name", [".", "..", ".hidden", "a b ", "x" * 65, "\u00e9" * 64 + "\u00e9", "\U00010400" * 64])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_what_is_no_name_is_refused(http: httpx.Client, method: str, name: str) -> None:
    path = "".join(f"%{byte:02X}" for byte in name.encode())
    answer = http.request(method, f"/drawings/{path}", json=HOSPITALS)
    assert (answer.status_code, codes(answer)) == (422, ["HX7093"])


@pytest.mark.parametrize(
    ("path", "code"), [("%2e%2e%2fpeer", "HX7093"), ("a%2Fb", "HX7093"), ("a/b", "HX7093"), ("", "HX7060")]
)
def test_what_is_a_path_is_no_name(http: httpx.Client, path: str, code: str) -> None:
    answer = http.put(f"/drawings/{path}", json=HOSPITALS)
    assert (answer.status_code, codes(answer)) == (422, [code])
    assert http.get("/drawings").json() == []


@pytest.mark.parametrize(
    "body",
    [
        {"text": "", "files": {"../a.dtd": ""}},
        {"text": "", "files": {"": ""}},
        {"text": "", "files": {".a.dtd": ""}},
        {"text": "", "files": {"a b.dtd": ""}},
        {"text": "", "files": {"one.arrows": ""}},
        {"text": "", "files": {f"{number}.dtd": "" for number in range(8)}},
        {"text": " " * (MOST_BYTES + 1), "files": {}},
        {"text": " ", "files": {"a.dtd": " " * MOST_BYTES}},
    ],
    ids=["path", "empty", "hidden", "space", "the drawing itself", "many", "long", "long together"],
)
def test_files_and_texts_that_cannot_be_are_refused(peer: Daemon, http: httpx.Client, body: dict[str, Any]) -> None:
    answer = http.put("/drawings/one", json=body)
    assert (answer.status_code, codes(answer)) == (422, ["HX7093"])
    assert not (peer.folder / "drawings" / "one").exists()


@pytest.mark.parametrize("field", ["text", "files"])
def test_what_is_no_character_is_refused(http: httpx.Client, field: str) -> None:
    body = {"text": "", "files": {}} | {field: "\ud800" if field == "text" else {"a.dtd": "\ud800"}}
    answer = http.put("/drawings/one", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert codes(answer)[0] in ("HX7060", "HX7093")


# -- the disk ----------------------------------------------------------------------------------------------------------


def test_what_the_disk_refuses_is_a_fault_and_changes_nothing(peer: Daemon, http: httpx.Client) -> None:
    folder = peer.folder / "drawings"
    folder.mkdir(exist_ok=True)
    (folder / "taken").write_text("a file where a folder should be")
    answer = http.put("/drawings/taken", json=HOSPITALS)
    assert (answer.status_code, codes(answer)) == (422, ["HX7095"])
    assert (folder / "taken").read_text() == "a file where a folder should be"
    assert [file.name for file in folder.iterdir()] == ["taken"]
    (folder / "taken").unlink()


def test_a_file_that_is_no_text_is_a_fault(peer: Daemon, http: httpx.Client) -> None:
    folder = peer.folder / "drawings" / "odd"
    folder.mkdir(parents=True)
    (folder / "odd.arrows").write_bytes(b"\xff")
    assert http.get("/drawings/odd").status_code == 422
    (folder / "odd.arrows").write_bytes(b"")
    (folder / "a.dtd").write_bytes(b"\xff")
    assert http.get("/drawings/odd").status_code == 422
    assert http.delete("/drawings/odd").status_code == 200


def test_a_full_disk_leaves_the_drawing_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawings = Drawings(tmp_path / "drawings")
    before = drawings.keep(Drawing("one", "before", {"a.dtd": "a"}))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("write_synced", "write_atomically"):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, full)
            for files in ({"a.dtd": "a"}, {"b.dtd": "b"}):
                if (name == "write_atomically") == (files == before.files):
                    with pytest.raises(PeerError, match="HX7095 the disk refuses: No space left on device"):
                        drawings.keep(Drawing("one", "after", files))
        assert drawings.read("one") == before
        assert [file.name for file in (tmp_path / "drawings").iterdir()] == ["one"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_crash_at_any_step_leaves_the_drawing_before_or_after(tmp_path: Path, change: str) -> None:
    command = [sys.executable, "-m", "tests.peer.console.crashing", change, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert ended.returncode == 0, ended.stderr
    *crashes, whole = map(json.loads, ended.stdout.splitlines())
    assert len(crashes) > 3
    after = CHANGES[change]
    kept = [] if after is None else [after.text, dict(after.files)]
    for crash in crashes:
        assert crash["found"] in ([BEFORE.text, dict(BEFORE.files)], kept), crash
        assert crash["left"] == [], crash
    assert (whole["found"], whole["left"]) == (kept, [])


def test_a_daemon_mends_what_a_crash_left(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    Drawings(folder / "drawings").keep(Drawing("one", "arrows", {}))
    (folder / "drawings" / "one").rename(folder / "drawings" / ".one.before")
    (folder / "drawings" / ".half.tmp").mkdir()
    with daemon(folder) as running, running.client() as client, httpx.Client(base_url=client.address.url) as http:
        http.headers["Authorization"] = f"Bearer {client.address.token}"
        assert [drawing["name"] for drawing in http.get("/drawings").json()] == ["one"]
        http.put("/drawings/one", json={"text": "more", "files": {}})
        running.end(signal.SIGKILL)
    assert [file.name for file in (folder / "drawings").iterdir()] == ["one"]
    assert (folder / "drawings" / "one" / "one.arrows").read_text() == "more"


def test_several_at_once_leave_the_drawing_of_one_of_them(tmp_path: Path) -> None:
    drawings = Drawings(tmp_path / "drawings")
    wanted = [Drawing("one", str(number), {f"{number}.dtd": ""}) for number in range(8)]
    with ThreadPoolExecutor(len(wanted)) as pool:
        list(pool.map(drawings.keep, wanted))
    assert drawings.read("one") in wanted
    assert [file.name for file in (tmp_path / "drawings").iterdir()] == ["one"]
