"""The package as others install it: a wheel, in an environment of its own, with the oldest libraries it allows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tools.console import ROOT

_NO_SETTINGS = ("HEPTOX", "PYTHON", "VIRTUAL_ENV")


def oldest_versions() -> list[str]:
    """A pin for each dependency: the lowest version that ``pyproject.toml`` allows."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    found = [re.match(r"([\w.-]+)(?:\[\w+\])?[>=]=([\d.]*\d)", requirement) for requirement in wanted]
    assert all(found), wanted
    return [f"{one[1]}=={one[2]}" for one in found if one is not None]


def test_a_wheel_with_the_oldest_libraries_answers_the_demonstration(tmp_path: Path) -> None:
    project, wheels, environment = tmp_path / "project", tmp_path / "wheels", tmp_path / "environment"
    project.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project)
    shutil.copytree(ROOT / "heptox", project / "heptox", ignore=shutil.ignore_patterns("__pycache__"))
    oldest = tmp_path / "oldest.txt"
    oldest.write_text("\n".join(oldest_versions()) + "\n", encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_NO_SETTINGS)}

    def run(*command: str | Path, **more: str) -> str:
        ended = subprocess.run(command, env=clean | more, cwd=tmp_path, capture_output=True, text=True, timeout=900)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr

    run(sys.executable, "-m", "venv", "--without-pip", environment)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", environment)
    run(*pip, "wheel", "--no-deps", "--wheel-dir", wheels, project, PIP_CONSTRAINT=str(ROOT / "constraints.txt"))
    (wheel,) = wheels.iterdir()
    run(*pip, "install", "--no-compile", "--constraint", oldest, wheel)
    assert "the answer is complete: 504 items" in run(environment / "bin" / "heptox", "demo")
