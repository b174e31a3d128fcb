"""What the console's page is made of: the bundle of libraries is what its sources say, and the modules' types fit."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pytest

from heptox.grammar import line_parts, parse_arrow_lines
from heptox.peer.console.pages import ASSETS
from tests.peer.daemons import DEADLINE
from tests.support.node import install, missing
from tools.console import ROOT

LIBRARIES = ROOT / "tools" / "libraries"

lacking = missing()
pytestmark = pytest.mark.skipif(lacking is not None, reason=str(lacking))


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    install(LIBRARIES)


def test_the_bundle_of_libraries_is_what_its_sources_say(tmp_path: Path) -> None:
    command = ["node", "build.mjs", str(tmp_path)]
    ended = subprocess.run(command, cwd=LIBRARIES, capture_output=True, text=True, timeout=DEADLINE)
    assert ended.returncode == 0, ended.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["libraries.js", "libraries.txt"]
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (ASSETS / file.name).read_bytes(), f"npm run build makes {file.name} anew"


WRITTEN: Final = """
import {{ readFileSync }} from "node:fs";
import {{ absentPart, writtenPart, writtenKind }} from "{edits}";
const put = (line, changes) =>
  changes.toReversed().reduce((text, one) => text.slice(0, one.from) + one.insert + text.slice(one.to), line);
const found = JSON.parse(readFileSync(0, "utf8")).map(({{ line, parts, part, text, kind, reading }}) => {{
  if (kind) return {{ line: put(line, writtenKind(line, parts, kind, reading)) }};
  const chosen = typeof part === "number" ? parts[part] : absentPart(parts, part);
  const {{ changes, parts: after }} = writtenPart(line, parts, chosen, text);
  return {{ line: put(line, changes), parts: after }};
}});
console.log(JSON.stringify(found));
"""
LINES: Final = (
    'a/b[c = "1"]/d -> e/f',
    '  concat(a[x]/b, "-", a/c)   -> e[y]/f inverse substring-before(., "-") inverse substring-after(., "-")  # says',
    'if (a = "1") then lookup("t.csv", b) else () -> e inverse . oneway',
    'if (a = "1") then b else c -> e',
)


def test_what_a_form_writes_has_the_parts_that_the_peer_reads(tmp_path: Path) -> None:
    """Of every part of some lines, there or not: a longer and a shorter text, and none."""
    asked: list[dict[str, Any]] = []
    for line in LINES:
        parts = [{**asdict(part), "node": ""} for part in line_parts(line)]
        kinds = [part["kind"] for part in parts]
        places: list[int | str] = [place for place, kind in enumerate(kinds) if kind not in ("source", "table")]
        places += [kind for kind in ("condition", "inverse") if kind == "inverse" or kind not in kinds]
        for place in places:
            brackets = isinstance(place, int) and kinds[place] == "conditions"
            texts = ['k = "long enough to be longer"', "k"] if brackets else ['longer/than[it = "is"]/now', "k"]
            asked += [{"line": line, "parts": parts, "part": place, "text": text} for text in (*texts, "")]
        asked += [
            {"line": line, "parts": parts, "kind": kind, "reading": reading}
            for kind in ("value", "copy", "each") for reading in ("both", "along", "against")
        ]  # fmt: skip
    module = tmp_path / "written.mjs"
    module.write_text(WRITTEN.format(edits=(ASSETS / "arrows" / "edits.js").as_posix()))
    ended = subprocess.run(
        ["node", str(module)], input=json.dumps(asked), capture_output=True, text=True, timeout=DEADLINE
    )
    assert ended.returncode == 0, ended.stderr
    readable = 0
    for one, made in zip(asked, json.loads(ended.stdout), strict=True):
        read = {tuple(asdict(part).values())[:3] for part in line_parts(made["line"])}
        if "kind" in one:
            (arrow,) = parse_arrow_lines(made["line"])[0] or (None,)
            assert arrow is None or getattr(arrow, "reading", None) == one["reading"]
        elif read:
            readable += 1
            kept = {(part["kind"], part["begin"], part["end"]) for part in made["parts"]}
            assert kept <= read, (one, made)
    assert readable > len(asked) / 3


def test_the_types_of_the_modules_fit() -> None:
    assert _checked("jsconfig.json") == ""


def test_types_that_do_not_fit_are_found(tmp_path: Path) -> None:
    module = tmp_path / "wrong.js"
    libraries = (ASSETS / "libraries.js").as_posix()
    module.write_text(f'import {{ signal }} from "{libraries}";\nsignal(1).value.trim();\n')
    project = tmp_path / "jsconfig.json"
    project.write_text(f'{{"extends": "{(LIBRARIES / "jsconfig.json").as_posix()}", "include": ["wrong.js"]}}')
    assert "wrong.js(2,17): error TS2339" in _checked(str(project))


def _checked(project: str) -> str:
    """What the compiler of TypeScript says of the modules of a project."""
    command = [str(LIBRARIES / "node_modules" / ".bin" / "tsc"), "--project", project]
    ended = subprocess.run(command, cwd=LIBRARIES, capture_output=True, text=True, timeout=DEADLINE)
    assert ended.returncode == bool(ended.stdout)
    return ended.stdout
