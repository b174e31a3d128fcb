"""``examples/operations``: the systemd unit and the container are of things that there are."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from heptox.cli.application import invoked
from heptox.cli.commands import COMMANDS
from heptox.cli.output import ExitCode
from heptox.peer.control.doctor import LEAST_FILES
from heptox.peer.daemon import CLOSING_SECONDS
from heptox.peer.wire.transport import TransportLimits
from tests.cli.running import heptox_ended
from tools.console import ROOT

FOLDER: Final = ROOT / "examples" / "operations"
UNIT: Final = FOLDER / "heptox-peer@.service"
CONTAINERFILE: Final = FOLDER / "Containerfile"
PAGE: Final = ROOT / "docs" / "administration.md"


def unit() -> dict[str, list[str]]:
    """The settings of the unit, whose names are different in all sections."""
    found = defaultdict(list)
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            found[key].append(value)
    return dict(found)


def steps() -> list[tuple[str, str]]:
    """The instructions of the container's file, with what follows each."""
    lines = [line for line in CONTAINERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    text = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def step(name: str) -> str:
    """What the last instruction of that name says."""
    return [said for instruction, said in steps() if instruction == name][-1]


def words(exec_form: str) -> list[str]:
    return shlex.split(exec_form.strip("[]").replace(",", " "))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    program = tmp_path / "heptox"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = tmp_path / "heptox-peer@boston.service"
    file.write_text(UNIT.read_text(encoding="utf-8").replace("/opt/heptox/bin/heptox", str(program)))
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", file], capture_output=True, text=True, timeout=180)
    told = [line for line in ended.stderr.splitlines() if file.name in line]
    assert told == []


def test_the_unit_runs_a_command_of_heptox_on_its_state_folder() -> None:
    settings = unit()
    (command,) = settings["ExecStart"]
    program, *arguments = command.split()
    assert Path(program).name in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert invoked(arguments) == "peer start"
    (state,) = settings["StateDirectory"]
    assert arguments[2:] == [f"/var/lib/{state}"]
    assert settings["ConditionPathExists"] == [f"/var/lib/{state}/peer.toml"]


def test_the_unit_does_not_start_again_what_a_new_start_would_not_mend() -> None:
    settings = unit()
    assert settings["Restart"] == ["on-failure"]
    prevented = {int(code) for code in settings["RestartPreventExitStatus"][0].split()}
    assert prevented == {ExitCode.WRONG_INPUT, ExitCode.WRONG_USAGE}
    assert ExitCode.DEFECT not in prevented


def test_the_unit_leaves_a_daemon_time_to_end_and_files_for_its_connections() -> None:
    settings = unit()
    assert settings["KillSignal"] == ["SIGTERM"]
    assert float(settings["TimeoutStopSec"][0].removesuffix("s")) > 10 * CLOSING_SECONDS
    assert int(settings["LimitNOFILE"][0]) >= max(LEAST_FILES, 4 * TransportLimits().connections)


@pytest.mark.parametrize(
    "setting", ["NoNewPrivileges", "PrivateTmp", "PrivateDevices", "MemoryDenyWriteExecute", "RestrictNamespaces"]
)
def test_the_unit_gives_away_what_is_not_needed(setting: str) -> None:
    settings = unit()
    assert settings[setting] == ["yes"]
    assert settings["ProtectSystem"] == ["strict"]
    assert settings["CapabilityBoundingSet"] == [""]
    assert settings["User"] == ["heptox"]
    assert settings["UMask"] == ["0077"]
    assert {"AF_INET", "AF_INET6", "AF_UNIX"} == set(settings["RestrictAddressFamilies"][0].split())


def test_wrong_settings_end_a_daemon_with_a_code_that_the_unit_takes_for_final(tmp_path: Path) -> None:
    folder = tmp_path / "boston"
    heptox_ended("peer", "init", folder, "--schema", ROOT / "examples" / "hospital" / "massgeneral.dtd")
    (folder / "peer.toml").write_text("policy = 3")
    assert heptox_ended("peer", "start", folder).code == ExitCode.WRONG_INPUT


def test_what_the_container_copies_is_there() -> None:
    copied = [said.split() for name, said in steps() if name == "COPY" and not said.startswith("--from=")]
    files = {file for one in copied for file in one[:-1]}
    assert {file for file in files if not (ROOT / file).exists()} == set()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    licences = {file for file in project["license-files"] if not file.startswith("heptox/")}
    assert {"pyproject.toml", "constraints.txt", "heptox", project["readme"], *licences} <= files
    (taken,) = (said.split() for name, said in steps() if name == "COPY" and said.startswith("--from="))
    assert taken == ["--from=build", "/opt/heptox", "/opt/heptox"]
    assert any(name == "FROM" and said.endswith(" AS build") for name, said in steps())


def test_the_container_runs_commands_of_heptox_as_nobody_special() -> None:
    entry = words(step("ENTRYPOINT"))
    assert invoked([*entry, *words(step("CMD"))][1:]) == "peer start"
    check = shlex.split(step("HEALTHCHECK").partition(" CMD ")[2].strip("[]").replace(",", " "))
    assert invoked(check[1:]) == "peer status"
    assert "--running" in check
    assert COMMANDS["peer status"].load() is not None
    assert step("USER") == "heptox"
    assert step("STOPSIGNAL") == "SIGTERM"
    assert f"HEPTOX_PEER={step('VOLUME')}/peer" in step("ENV")


def test_the_base_image_has_a_python_that_heptox_runs_on() -> None:
    images = [re.match(r"python:3\.(\d+)-slim", said) for name, said in steps() if name == "FROM"]
    minors = {int(image[1]) for image in images if image}
    assert len(images) == 2
    assert len(minors) == 1
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (least,) = re.findall(r">=3\.(\d+)", project["requires-python"])
    assert minors.pop() >= int(least)


def test_the_port_that_the_container_exposes_is_the_one_that_the_page_listens_at() -> None:
    port = step("EXPOSE").removesuffix("/tcp")
    assert f'listen = "/ip4/0.0.0.0/tcp/{port}"' in PAGE.read_text(encoding="utf-8")


def test_the_page_names_what_is_in_the_folder() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert {file.name for file in FOLDER.iterdir() if f"examples/operations/{file.name}" not in page} == set()
