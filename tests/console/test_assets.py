"""What the console's page is made of: the bundle of libraries is what its sources say, and the modules' types fit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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
