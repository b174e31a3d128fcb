"""The project as a whole: its pages show what is so, its files agree with each other."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.forking import shell_function
from tests.support.shared import MISSING, may_be_missing
from tools.console import ROOT, Session, matches, run, sessions

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
SESSIONS = [session for page in PAGES for session in sessions(page)]


@pytest.mark.parametrize("session", SESSIONS, ids=str)
def test_pages_show_what_commands_print(session: Session) -> None:
    printed = run(session, shell_function())
    if may_be_missing() and "../shared/" in printed:
        pytest.skip(MISSING)
    assert matches(session.output, printed), printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_readme_says_the_two_commands_and_ci_calls_one_of_them() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^make \w+", readme, re.MULTILINE) == ["make demo", "make test"]
    assert re.findall(r"\bmake \w+", (ROOT / ".ci" / "run").read_text(encoding="utf-8")) == ["make test"]


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {_normal(line.partition("==")[0]) for line in lines if not line.startswith("#")}
    assert {_normal(name) for name in wanted} <= pinned
    assert all(re.fullmatch(r"#.*|[\w.-]+==\S+", line) for line in lines)


@pytest.mark.parametrize("folder", ["tests/foreign", "tools/libraries"])
def test_the_packages_of_node_are_pinned_and_no_registry_is(folder: str) -> None:
    package, lock = (json.loads((ROOT / folder / name).read_text()) for name in ("package.json", "package-lock.json"))
    root, *others = lock["packages"].values()
    kinds = [kind for kind in ("dependencies", "devDependencies", "overrides") if kind in package]
    pinned = [version for kind in kinds for version in package[kind].values()]
    assert pinned
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in pinned)
    assert all(root[kind] == package[kind] for kind in kinds if kind != "overrides")
    assert all(other["integrity"] and "resolved" not in other for other in others)


def _normal(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def test_the_package_takes_its_data_along() -> None:
    """Every file of the package that is no code is named in the package data."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
        "package-data"
    ]
    taken = {
        file
        for package, globs in patterns.items()
        for base in ([ROOT / package.replace(".", "/")] if package != "*" else _packages())
        for pattern in globs
        for file in base.glob(pattern)
    }
    tracked = {
        file for file in (ROOT / "heptox").rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc", ".pyi")
    }
    assert tracked - taken == set()


def _packages() -> list[Path]:
    return [file.parent for file in (ROOT / "heptox").rglob("__init__.py")]


INSTALLING = 'echo "$@" >>"$LOG"'
BROWSER = "install --yes --no-install-recommends chromium"


@pytest.mark.parametrize(
    ("requirement", "commands", "installed", "messages"),
    [
        (".", {}, [], []),
        (".[cluster,dev]", {"chromium": "exit 0"}, [], []),
        (".[cluster,dev]", {"id": "echo 1000", "apt-get": INSTALLING}, [], ["heptox: chromium is missing, so"]),
        (".[cluster,dev]", {"id": "echo 0"}, [], ["heptox: chromium is missing, so"]),
        (".[cluster,dev]", {"id": "echo 0", "apt-get": INSTALLING}, ["update", BROWSER], ["Installing chromium"]),
        (
            ".[cluster,dev]",
            {"id": "echo 0", "apt-get": f"{INSTALLING}; exit 1"},
            ["update"],
            ["Installing chromium", "heptox: chromium is missing, so"],
        ),
    ],
)
def test_the_browser_of_the_tests_is_installed_where_that_can_be(
    tmp_path: Path, requirement: str, commands: dict[str, str], installed: list[str], messages: list[str]
) -> None:
    """``tools/setup`` in a world of ``commands``, where the environment is there and has everything."""
    shell = shutil.which("sh") or "/bin/sh"
    environment = tmp_path / "environment" / "bin"
    environment.mkdir(parents=True)
    nothing = dict.fromkeys(("rm", "environment/bin/python", "environment/bin/pip"), "exit 0")
    for name, body in {"python3": f'exec "{sys.executable}" "$@"', **nothing, **commands}.items():
        (tmp_path / name).write_text(f"#!{shell}\n{body}\n")
        (tmp_path / name).chmod(0o755)
    ended = subprocess.run(
        [shell, str(ROOT / "tools" / "setup"), str(tmp_path / "environment"), requirement],
        cwd=ROOT,
        env={"PATH": str(tmp_path), "LOG": str(tmp_path / "log")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    _, *told = ended.stderr.splitlines()
    assert [line.startswith(message) for line, message in zip(told, messages, strict=True)] == [True] * len(messages)
    log = tmp_path / "log"
    assert (log.read_text().splitlines() if log.exists() else []) == installed


NO_HEADERS = "exit 1"
NO_GMP = 'read -r line; case "$line" in *gmp*) exit 1 ;; esac'


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ({}, "Python 3.11 or later is missing; "),
        ({"python3": "exit 1"}, "Python 3.11 or later is missing; "),
        ({"python3": f'exec "{sys.executable}" "$@"'}, "a C compiler is missing; "),
        ({"python3": f'exec "{sys.executable}" "$@"', "gcc": NO_HEADERS}, "Python's C headers are missing; "),
        ({"python3": f'exec "{sys.executable}" "$@"', "gcc": NO_GMP}, "the GMP headers are missing; "),
    ],
)
def test_what_is_missing_on_the_machine_is_said_in_one_line(
    tmp_path: Path, commands: dict[str, str], message: str
) -> None:
    """``tools/setup`` in a world where only ``commands`` exist."""
    shell = shutil.which("sh") or "/bin/sh"
    for name, body in commands.items():
        (tmp_path / name).write_text(f"#!{shell}\n{body}\n")
        (tmp_path / name).chmod(0o755)
    ended = subprocess.run(
        [shell, str(ROOT / "tools" / "setup"), str(tmp_path / "environment"), "."],
        cwd=ROOT,
        env={"PATH": str(tmp_path), "CC": "gcc"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert ended.stderr.startswith(f"heptox: {message}")
    assert not (tmp_path / "environment").exists()
