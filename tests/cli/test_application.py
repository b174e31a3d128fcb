"""The command line's frame: what starts loads little, errors are lines, exit codes say how it ended."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heptox import __version__, cli
from heptox.cli.application import invoked, main
from heptox.cli.commands import COMMANDS, GROUPS
from heptox.demo import HOSPITAL
from tests.peer.daemons import DEADLINE

ENGINES = {"duckdb", "pyarrow", "pyspark"}
NETWORK = {"fastapi", "hypercorn", "libp2p", "trio"}
HEAVY = ENGINES | NETWORK | {"httpx", "lark", "lxml", "rapidfuzz", "rich", "xmlschema"}


def heptox(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``heptox`` in a process of its own."""
    command = [sys.executable, "-m", "heptox", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=DEADLINE)


def modules_loaded(*arguments: str) -> set[str]:
    """The top-level modules that a command line loads, run in a process of its own."""
    program = (
        "import json, sys\n"
        "from heptox.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", program, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert ended.returncode == 0, ended.stderr
    return {module.partition(".")[0] for module in json.loads(ended.stderr.splitlines()[-1])}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), *((group, "--help") for group in GROUPS)])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not modules_loaded(*arguments) & HEAVY


def test_version() -> None:
    ended = heptox("--version")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"heptox {__version__}\n", "")


def test_help_lists_every_command() -> None:
    words = {word for key in COMMANDS for word in key.split()[:1]}
    listed = {
        line.split()[0] for line in heptox("--help").stdout.partition("Commands:")[2].splitlines() if line.strip()
    }
    assert listed == words


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-command",),
        ("map", "no-such-command"),
        ("--no-such-option",),
        ("map", "check"),
        ("translate", "a.arrows", "//a"),
        ("translate", "a.arrows", "//a", "--to", "nowhere"),
        ("eval", "//a"),
        ("eval", "//a", "-", "-"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_so_on_stderr(arguments: tuple[str, ...]) -> None:
    ended = heptox(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Error: " in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("key", COMMANDS)
def test_a_command_s_docstring_begins_with_the_line_that_lists_it(key: str) -> None:
    summary = COMMANDS[key].summary
    assert (inspect.getdoc(COMMANDS[key].load()) or "").partition("\n")[0] == summary
    assert key.rpartition(" ")[0] in ("", *GROUPS)


@pytest.mark.parametrize("key", COMMANDS)
def test_a_command_is_found_by_its_words(key: str) -> None:
    assert invoked([*key.split(), "--help"]) == key


@pytest.mark.parametrize("key", ["schema show", "map check", "map show", "map apply", "translate", "eval"])
def test_commands_on_files_load_no_network_and_no_engine(key: str) -> None:
    assert not modules_loaded(*key.split(), "--help") & (ENGINES | NETWORK)


def test_who_asks_a_daemon_loads_no_network_and_reads_no_query(tmp_path: Path) -> None:
    assert not modules_loaded("query", "--help") & (ENGINES | NETWORK | {"lark", "lxml"})
    program = (
        "import sys\n"
        "from heptox.peer.control.client import http_client\n"
        "from heptox.peer import ControlAddress\n"
        "http_client(ControlAddress(sys.argv[1], '', '', 0)).close()\n"
        "print(*sys.modules)\n"
    )
    command = [sys.executable, "-c", program, f"unix:{tmp_path}/control.sock"]
    loaded = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout.split()
    assert {"httpx", "httpcore"} <= {*loaded}
    assert not {*loaded} & {"anyio", "click", "h2", *NETWORK}


def test_evaluation_and_translation_of_files_load_no_engine(tmp_path: Path) -> None:
    document = tmp_path / "document.xml"
    document.write_text("<r><a/></r>")
    assert not modules_loaded("eval", "//a", str(document)) & (ENGINES | NETWORK)
    arrows = str(HOSPITAL / "montreal-boston.arrows")
    assert not modules_loaded("translate", arrows, "//Symptom/Desc", "--to", "source") & (ENGINES | NETWORK)


def test_a_defect_is_one_line_and_a_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr("heptox.cli.application.application", broken)
    monkeypatch.delenv("HEPTOX_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 70
    assert capsys.readouterr().err == (
        "heptox: a defect of heptox: RuntimeError: first second (set HEPTOX_TRACEBACK=1 to see where)\n"
    )
    monkeypatch.setenv("HEPTOX_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        main([])


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    command = [sys.executable, "-m", "heptox", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("closed", "code", "told"),
    [
        ("--version >&-", 1, "heptox: [Errno 9] Bad file descriptor\n"),
        ("--version >/dev/full", 1, "heptox: [Errno 28] No space left on device\n"),
        ("eval //a - <&-", 1, "<stdin>: HX1001 cannot be read: Bad file descriptor\n"),
        ("--version 2>&-", 0, ""),
        ("nonsense 2>&-", 2, ""),
    ],
)
def test_streams_that_were_closed_before_the_start_lose_nothing_silently(closed: str, code: int, told: str) -> None:
    command = f"{sys.executable} -m heptox {closed}"
    for buffering in ({}, {"PYTHONUNBUFFERED": "1"}):
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | buffering
        ended = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, env=variables)
        assert (ended.returncode, ended.stderr) == (code, told)


def test_an_interrupt_while_modules_are_loaded_shows_no_traceback() -> None:
    code = (
        "import builtins, sys\nfrom heptox import cli\nreal = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name == 'heptox.cli.application':\n        raise KeyboardInterrupt\n    return real(name, *rest)\n"
        "builtins.__import__ = interrupted\ncli.main(['--help'])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (cli.INTERRUPTED, "", "")
