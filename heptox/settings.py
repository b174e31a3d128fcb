"""Settings: frozen values with documented defaults, read from and written to TOML files."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from heptox.errors import Fault, InputError, PeerError, Position

LEAST_TIMEOUT: Final = 0.2
MOST_TIMEOUT: Final = 86_400
"""Seconds that a query may wait for answers."""

Policy: TypeAlias = Literal["ask", "listed", "open"]
Control: TypeAlias = Literal["loopback", "unix"]
Matching: TypeAlias = Literal["memory", "disk"]
Feed: TypeAlias = Literal["schema", "anything", "off"]
Merging: TypeAlias = Literal["off", "on"]
History: TypeAlias = Literal["none", "retained"]
Follow: TypeAlias = Literal["acquaintances", "advertised", "all"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
TomlValue: TypeAlias = str | int | float | bool | Sequence[str]

NAME: Final = re.compile(r"\w(?:[\w .'-]{0,62}[\w.'])?")
"""What a peer or an acquaintance may be called; it is a file name too."""


ALL: Final = "all"
"""From whom something is hidden, where that is everybody."""


@dataclass(frozen=True, slots=True)
class Hide:
    """A part of a peer's export policy, a table ``[[hide]]`` of ``peer.toml``: schema ``paths`` that are hidden.

    ``peers`` (the key ``from``) is :data:`ALL`, or the ids of peers and the names of acquaintances. The paths are
    checked against the schema where the peer is opened.
    """

    paths: tuple[str, ...]
    peers: Literal["all"] | tuple[str, ...] = ALL


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """What an administrator decides about a peer: the file ``peer.toml`` in its folder.

    ``root`` is its schema's root element. ``policy`` says who becomes an acquaintance by offering it: nobody before the
    administrator has decided (``ask``), those whose peer ids are ``listed``, or everybody (``open``), who may also ask
    without being acquainted. ``listen`` is the multiaddress to listen at; its port 0 means any free port, which the
    peer then keeps. ``announce`` is the one that others are told, where that is another. ``control`` is where the
    control API is: at ``control_port`` of the loopback interface (0: at any free one), or a ``unix`` socket.
    ``timeout`` (seconds) and ``hops`` hold for a query that does not say them; no query travels further than ``hops``,
    or brings more bytes of answers than ``budget``. ``evaluations`` is how many queries are evaluated at once for the
    own user, and for each neighbour. ``log`` says what the daemon logs, ``audit_megabytes`` at which size another audit
    log is begun, ``offers`` how many offers of strangers are read in a minute, ``matching`` where the subscriptions are
    kept that documents are matched with. ``feed`` says which documents others are told to expect of this peer: those of
    its ``schema``, or ``anything``; if it is ``off``, the peer takes no part in feeds. ``history`` says what those who
    subscribe may have of what was published before: all that is ``retained``, or ``none`` of it. ``follow`` says which
    publishers are asked for documents: acquaintances, also those that advertise which documents they publish, or all;
    whose peer ids are ``followed`` are so in any case. If ``merging`` is ``on``, subscriptions that neighbours are told
    are merged, also into ones of which a share of up to ``most_imperfect`` matches for nothing. A connected peer is
    asked for a sign of life every ``keep_alive`` seconds, and has as many seconds to give it. ``hide`` is what others
    do not see.

    Raises :class:`PeerError` (HX7052) with a fault for each value that cannot be.
    """

    name: str
    root: str
    policy: Policy = "ask"
    listed: tuple[str, ...] = ()
    listen: str = "/ip4/127.0.0.1/tcp/0"
    announce: str = ""
    control: Control = "loopback"
    timeout: float = 30.0
    hops: int = 8
    budget: int = 64 * 1024 * 1024
    evaluations: int = 2
    keep_alive: float = 10.0
    log: LogLevel = "info"
    audit_megabytes: int = 64
    offers: int = 12
    control_port: int = 0
    matching: Matching = "memory"
    feed: Feed = "schema"
    history: History = "none"
    follow: Follow = "advertised"
    followed: tuple[str, ...] = ()
    merging: Merging = "off"
    most_imperfect: float = 0.0
    hide: tuple[Hide, ...] = ()

    def __post_init__(self) -> None:
        if faults := tuple(_peer_faults(self)):
            raise PeerError(faults)


def _peer_faults(settings: PeerSettings) -> list[Fault]:
    limits = {
        "timeout": (LEAST_TIMEOUT, MOST_TIMEOUT), "hops": (0, 31), "budget": (1, 2**40), "evaluations": (1, 64),
        "audit_megabytes": (1, 2**20), "offers": (0, 10_000), "control_port": (0, 2**16 - 1), "keep_alive": (0.1, 3600),
        "most_imperfect": (0, 0.99),
    }  # fmt: skip
    faults = []
    if not NAME.fullmatch(settings.name):
        faults.append(name_fault(settings.name))
    if settings.policy not in get_args(Policy):
        faults.append(Fault("HX7052", f"policy {settings.policy!r} is unknown", hint="it is ask, listed or open"))
    if settings.control not in get_args(Control):
        faults.append(Fault("HX7052", f"control {settings.control!r} is unknown", hint="it is loopback or unix"))
    if settings.log not in get_args(LogLevel):
        faults.append(
            Fault("HX7052", f"log {settings.log!r} is unknown", hint=f"it is {', '.join(get_args(LogLevel))}")
        )
    if settings.matching not in get_args(Matching):
        faults.append(Fault("HX7052", f"matching {settings.matching!r} is unknown", hint="it is memory or disk"))
    if settings.feed not in get_args(Feed):
        faults.append(Fault("HX7052", f"feed {settings.feed!r} is unknown", hint="it is schema, anything or off"))
    if settings.history not in get_args(History):
        faults.append(Fault("HX7052", f"history {settings.history!r} is unknown", hint="it is none or retained"))
    if settings.follow not in get_args(Follow):
        hint = "it is acquaintances, advertised or all"
        faults.append(Fault("HX7052", f"follow {settings.follow!r} is unknown", hint=hint))
    if settings.merging not in get_args(Merging):
        faults.append(Fault("HX7052", f"merging {settings.merging!r} is unknown", hint="it is off or on"))
    for key, (least, most) in limits.items():
        value = getattr(settings, key)
        if not math.isfinite(value) or not least <= value <= most:
            faults.append(Fault("HX7052", f"{key} = {value} is out of range", hint=f"from {least} to {most}"))
    if any(not hide.paths or not hide.peers for hide in settings.hide):
        faults.append(Fault("HX7052", "hide has no paths, or nobody to hide them from", hint=_HIDE_HINT))
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
        "name": str, "root": str, "policy": str, "listed": tuple, "listen": str, "announce": str, "control": str,
        "control_port": int, "timeout": float, "hops": int, "budget": int, "evaluations": int, "log": str,
        "audit_megabytes": int, "offers": int, "keep_alive": float, "matching": str, "feed": str, "history": str,
        "follow": str, "followed": tuple, "merging": str, "most_imperfect": float, "hide": list,
    }  # fmt: skip
    check_keys(table, expected, required=("name", "root"), file=file)
    values: dict[str, Any] = {key: _CONVERTED.get(expected[key], _same)(value) for key, value in table.items()}
    values["hide"] = _read_hide(table.get("hide", []), file)
    try:
        return PeerSettings(**values)
    except PeerError as error:
        raise PeerError(
            Fault(fault.code, fault.message, hint=fault.hint, file=str(file)) for fault in error.faults
        ) from None


def _same(value: Any) -> Any:
    return value


_CONVERTED: Final[dict[type, Callable[[Any], Any]]] = {float: float, tuple: tuple}


def _read_hide(tables: list[object], file: Path) -> tuple[Hide, ...]:
    """The tables ``[[hide]]``; raises :class:`PeerError` (HX7052) with the faults of all of them."""
    found = []
    faults = []
    for number, table in enumerate(tables, 1):
        wrong = _hide_faults(table)
        faults += [Fault("HX7052", f"hide no. {number}: {what}", hint=_HIDE_HINT, file=str(file)) for what in wrong]
        if not wrong and isinstance(table, dict):
            peers = table["from"]
            found.append(Hide(tuple(table["paths"]), ALL if peers == ALL else tuple(peers)))
    if faults:
        raise PeerError(faults)
    return tuple(found)


_HIDE_HINT: Final = 'such as [[hide]] with paths = ["Patient/MedCrNo"] and from = "all", or from = ["boston"]'


def _hide_faults(table: object) -> list[str]:
    if not isinstance(table, dict):
        return ["it is no table"]
    faults = [f"{key} is no setting" for key in table if key not in ("paths", "from")]
    for key in ("paths", "from"):
        value = table.get(key)
        if key not in table:
            faults.append(f"{key} is missing")
        elif not (key == "from" and value == ALL) and not _are_texts(value):
            faults.append(f"{key} = {value!r} is no list of strings, at least one")
    return faults


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def peer_settings_text(settings: PeerSettings) -> str:
    """``settings`` as the text of a ``peer.toml``; reading it back gives an equal value."""
    plain = toml_text({field.name: getattr(settings, field.name) for field in fields(settings) if field.name != "hide"})
    tables = (
        f"\n[[hide]]\n{toml_text({'paths': list(hide.paths), 'from': _toml_peers(hide)})}" for hide in settings.hide
    )
    return plain + "".join(tables)


def _toml_peers(hide: Hide) -> str | list[str]:
    return hide.peers if isinstance(hide.peers, str) else list(hide.peers)


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
            faults.append(Fault("HX7052", f"{key} = {value!r} is no {_type_name(expected[key])}", file=str(file)))
    if faults:
        raise PeerError(faults)


def _type_name(expected: type) -> str:
    return "array of strings" if expected is tuple else expected.__name__


def _has_type(value: object, expected: type) -> bool:
    if isinstance(value, bool):
        return expected is bool
    if expected is tuple:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, expected) or (expected is float and isinstance(value, int))


def toml_text(table: Mapping[str, TomlValue]) -> str:
    """A flat table as TOML, one key a line.

    >>> print(toml_text({"name": 'St "Luke"', "hops": 8, "open": True, "listed": ["A", "B"]}), end="")
    name = "St \\"Luke\\""
    hops = 8
    open = true
    listed = ["A", "B"]
    """
    # JSON's strings, numbers, booleans and arrays are TOML's as well, once DEL is escaped.
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())
    return "".join(lines).replace("\x7f", "\\u007f")
