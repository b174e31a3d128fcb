"""``docs/architecture.md`` names rooms that are there, on their floors, and functions that exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pkgutil import walk_packages
from typing import Final

import heptox
from tools.console import ROOT

PAGE: Final = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED: Final = sorted(set(re.findall(r"`(heptox(?:\.\w+)+)`", PAGE)))


def floors() -> dict[str, int]:
    """The floor of each room that the page says."""
    rows = re.findall(r"^\| (\d+) \| (.+?) \|", PAGE, re.MULTILINE)
    return {room: int(floor) for floor, rooms in rows for room in re.findall(r"`(\w+)`", rooms)}


def test_every_room_has_a_floor() -> None:
    rooms = {file.stem for file in (ROOT / "heptox").iterdir() if not file.name.startswith(("_", "py.typed"))}
    assert floors().keys() == rooms


def test_floors_are_those_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(one["layers"] for one in contracts["contracts"] if one["type"] == "layers")
    said = floors()
    held = [[said[room] for room in re.findall(r"\w+", layer)] for layer in layers if layer != "(__main__)"]
    assert all(len(set(layer)) == 1 for layer in held)
    assert [layer[0] for layer in held] == sorted((layer[0] for layer in held), reverse=True)


def test_every_function_of_the_walks_exists() -> None:
    assert len(NAMED) > 20
    for name in NAMED:
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            try:
                found: object = import_module(".".join(parts[:length]))
            except ModuleNotFoundError:
                continue
            for part in parts[length:]:
                found = getattr(found, part)
            break


def test_every_module_finds_what_it_imports() -> None:
    """A front door that loads its names later gives any name to who checks types. In a process of its own: one that has
    imported all of a library's parts is none in which other tests should run."""
    names = [each.name for each in walk_packages(heptox.__path__, "heptox.") if not each.name.endswith("__main__")]
    assert len(names) > 300
    program = f"from importlib import import_module\nfor name in {names}: import_module(name)"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stderr) == (0, "")
