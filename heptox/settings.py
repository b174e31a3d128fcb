"""Settings: frozen values with documented defaults, read from and written to TOML files."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from heptox.errors import Fault, InputError, PeerError, Position

LEAST_TIMEOUT: Final = 0.2
MOST_TIMEOUT: Final = 86_400
"""Seconds that a query may wait for answers."""

Policy: TypeAlias = Literal["listed", "open"]
TomlValue: TypeAlias = str | int | float | bool

NAME: Final = re.compile(r"\w(?:[\w .'-]{0,62}[\w.'])?")
"""What a peer or an acquaintance may be called; it is a file name too."""


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """What an administrator decides about a peer: the file ``peer.toml`` in its folder.

    ``root`` is its schema's root element. ``policy`` says who may ask: ``listed`` (acquaintances only) or ``open``.
    ``listen`` is the multiaddress to listen at; its port 0 means any free port, which the peer then keeps. ``timeout``
    (seconds) and ``hops`` hold for a query that does not say them; no query travels further than ``hops``, or brings
    more bytes of answers than ``budget``. ``evaluations`` is how many queries are evaluated at once. A connected peer
    is asked for a sign of life every ``keep_alive`` seconds, and has as many seconds to give it.

    Raises :class:`PeerError` (HX7052) with a fault for each value that cannot be.
    """

    name: str
    root: str
    policy: Policy = "listed"
    listen: str = "/ip4/127.0.0.1/tcp/0"
    timeout: float = 30.0
    hops: int = 8
    budget: int = 64 * 1024 * 1024
    evaluations: int = 2
    keep_alive: float = 10.0

    def __post_init__(self) -> None:
        if faults := tuple(_peer_faults(self)):
            raise PeerError(faults)


def _peer_faults(settings: PeerSettings) -> list[Fault]:
    limits = {
        "timeout": (LEAST_TIMEOUT, MOST_TIMEOUT), "hops": (0, 31), "budget": (1, 2**40), "evaluations": (1, 64),
        "keep_alive": (0.1, 3600),
    }  # fmt: skip
    faults = []
    if not NAME.fullmatch(settings.name):
        faults.append(name_fault(settings.name))
    if settings.policy not in get_args(Policy):
        faults.append(Fault("HX7052", f"policy {settings.policy!r} is unknown", hint="it is listed or open"))
    for key, (least, most) in limits.items():
        value = getattr(settings, key)
        if not math.isfinite(value) or not least <= value <= most:
            faults.append(Fault("HX7052", f"{key} = {value} is out of range", hint=f"from {least} to {most}"))
    return faults


def name_fault(name: str) -> Fault:
    """The fault of a name that does not match :data:`NAME`."""
    return Fault("HX7052", f"{name!r} is no name", hint="up to 64 letters, digits, spaces and _ . ' -, and no path")


def read_peer_settings(file: Path) -> PeerSettings:
    """The settings in a ``peer.toml``.

    Raises :class:`InputError` (HX1001) when it cannot be read, :class:`PeerError` (HX7052) when it is no TOML, misses a
    key, or holds an unknown key or a value of the wrong type.
    """
    table = read_toml(file)
    expected: dict[str, type] = {
        "name": str, "root": str, "policy": str, "listen": str, "timeout": float, "hops": int, "budget": int,
        "evaluations": int, "keep_alive": float,
    }  # fmt: skip
    check_keys(table, expected, required=("name", "root"), file=file)
    values: dict[str, Any] = {key: float(value) if expected[key] is float else value for key, value in table.items()}
    try:
        return PeerSettings(**values)
    except PeerError as error:
        raise PeerError(
            Fault(fault.code, fault.message, hint=fault.hint, file=str(file)) for fault in error.faults
        ) from None


def peer_settings_text(settings: PeerSettings) -> str:
    """``settings`` as the text of a ``peer.toml``; reading it back gives an equal value."""
    return toml_text({field.name: getattr(settings, field.name) for field in fields(settings)})


def read_toml(file: Path) -> dict[str, Any]:
    """The table in a TOML file; raises :class:`InputError` (HX1001) or :class:`PeerError` (HX7052)."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Fault("HX1001", f"cannot be read: {reason}", file=str(file))) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PeerError(
            Fault("HX7052", f"no TOML: {error}", _toml_position(str(error), file), file=str(file))
        ) from None


def _toml_position(message: str, file: Path) -> Position | None:
    found = re.search(r"at line (\d+), column (\d+)", message)
    return Position(int(found[1]), int(found[2]), str(file)) if found else None


def check_keys(
    table: Mapping[str, object], expected: Mapping[str, type], required: tuple[str, ...], file: Path
) -> None:
    """Raise :class:`PeerError` (HX7052) with a fault for each key that is missing, unknown or of a wrong type."""
    faults = [Fault("HX7052", f"{key} is missing", file=str(file)) for key in required if key not in table]
    for key, value in table.items():
        if key not in expected:
            known = ", ".join(expected)
            faults.append(Fault("HX7052", f"{key} is no setting", hint=f"known are {known}", file=str(file)))
        elif not _has_type(value, expected[key]):
            faults.append(Fault("HX7052", f"{key} = {value!r} is no {expected[key].__name__}", file=str(file)))
    if faults:
        raise PeerError(faults)


def _has_type(value: object, expected: type) -> bool:
    if isinstance(value, bool):
        return expected is bool
    return isinstance(value, expected) or (expected is float and isinstance(value, int))


def toml_text(table: Mapping[str, TomlValue]) -> str:
    """A flat table as TOML, one key a line.

    >>> print(toml_text({"name": 'St "Luke"', "hops": 8, "open": True}), end="")
    name = "St \\"Luke\\""
    hops = 8
    open = true
    """
    # JSON's strings, numbers and booleans are TOML's as well, once DEL is escaped.
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())
    return "".join(lines).replace("\x7f", "\\u007f")
