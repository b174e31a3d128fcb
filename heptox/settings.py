"""Settings: frozen values with documented defaults, read from and written to TOML files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass as model
from pydantic.fields import FieldInfo
from pydantic_core import ArgsKwargs, ErrorDetails

from heptox.errors import Fault, InputError, PeerError, Position

LEAST_TIMEOUT: Final = 0.2
MOST_TIMEOUT: Final = 86_400
"""Seconds that a query may wait for answers."""
MOST_BOUNDS: Final = 10**12
"""What may be said that a peer holds at most."""

Policy: TypeAlias = Literal["ask", "listed", "open"]
Control: TypeAlias = Literal["loopback", "unix"]
Matching: TypeAlias = Literal["memory", "disk"]
Feed: TypeAlias = Literal["schema", "anything", "off"]
Validation: TypeAlias = Literal["strict", "lax"]
Merging: TypeAlias = Literal["off", "on"]
History: TypeAlias = Literal["none", "retained"]
Follow: TypeAlias = Literal["acquaintances", "advertised", "all"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
TomlValue: TypeAlias = str | int | float | bool | Sequence[str]

NAME: Final = re.compile(r"\w(?:[\w .'-]{0,62}[\w.'])?")
"""What a peer or an acquaintance may be called; it is a file name too."""


Model = TypeVar("Model")

ALL: Final = "all"
"""From whom something is hidden, where that is everybody."""
COUNT_AT_LEAST: Final = "count-at-least"
_LEAST_GROUPS: Final = range(2, 1_000_001)


@dataclass(frozen=True, slots=True)
class Hide:
    """A part of a peer's export policy, a table ``[[hide]]`` of ``peer.toml``: schema ``paths`` that are hidden.

    ``peers`` (the key ``from``) is :data:`ALL`, or the ids of peers and the names of acquaintances. The paths are
    checked against the schema where the peer is opened. Where ``least`` (the key :data:`COUNT_AT_LEAST`) is not 0, they
    are counted all the same, in groups of at least as many.
    """

    paths: tuple[str, ...]
    peers: Literal["all"] | tuple[str, ...] = ALL
    least: int = 0


def name_fault(name: str) -> Fault:
    """The fault of a name that does not match :data:`NAME`."""
    return Fault("HX7052", f"{name!r} is no name", hint="up to 64 letters, digits, spaces and _ . ' -, and no path")


_HIDE_HINT: Final = 'such as [[hide]] with paths = ["Patient/MedCrNo"] and from = "all", or from = ["boston"]'


def checked(kind: type[Model], values: Any, handler: Callable[[Any], Model]) -> Model:
    """Build a value of a model; raises :class:`PeerError` (HX7052) with a fault for each key that is wrong."""
    try:
        return handler(values)
    except ValidationError as error:
        given = values.kwargs or {} if isinstance(values, ArgsKwargs) else {}
        wrong = {one["loc"][0]: one for one in reversed(error.errors())}
        raise PeerError(_fault(kind, str(key), one, given) for key, one in reversed(wrong.items())) from None


def model_fields(kind: type[Any]) -> Mapping[str, FieldInfo]:
    """The fields of a model by name, with their defaults and bounds."""
    return cast(Mapping[str, FieldInfo], kind.__pydantic_fields__)


_TYPES: Final = {"int_type": "int", "float_type": "float", "string_type": "str", "tuple_type": "array of strings"}
_BOUNDS: Final = ("greater_than_equal", "less_than_equal", "finite_number")


def _fault(kind: type[Any], key: str, error: ErrorDetails, given: Mapping[str, Any]) -> Fault:
    known = model_fields(kind)
    value = given.get(key, error["input"])
    what, expected = error["type"], error.get("ctx", {}).get("expected", "").replace("'", "")
    if what == "missing":
        return Fault("HX7052", f"{key} is missing")
    if what == "unexpected_keyword_argument":
        return Fault("HX7052", f"{key} is no setting", hint=f"known are {', '.join(known)}")
    if what == "value_error":
        nothing = "hide has no paths, or nobody to hide them from"
        return name_fault(value) if key == "name" else Fault("HX7052", nothing, hint=_HIDE_HINT)
    if expected and isinstance(value, str):
        return Fault("HX7052", f"{key} {value!r} is unknown", hint=f"it is {expected}")
    if what in _BOUNDS:
        bounds = {type(one).__name__: one for one in known[key].metadata}
        return Fault("HX7052", f"{key} = {value} is out of range", hint=f"from {bounds['Ge'].ge} to {bounds['Le'].le}")
    name = "str" if expected else "array of strings" if len(error["loc"]) > 1 else _TYPES.get(what, "list of tables")
    default = known[key].default
    example = f"such as {json.dumps(default)}" if isinstance(default, str | int | float) and default != "" else None
    return Fault("HX7052", f"{key} = {value!r} is no {name}", hint=example)


def _named(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(name)
    return name


def _hiding(hide: tuple[Hide, ...]) -> tuple[Hide, ...]:
    if any(not one.paths or not one.peers for one in hide):
        raise ValueError(hide)
    return hide


def _between(least: float, most: float) -> Any:
    return Field(strict=True, ge=least, le=most, allow_inf_nan=False)


@model(frozen=True, slots=True, config=ConfigDict(extra="forbid", arbitrary_types_allowed=True, defer_build=True))
class PeerSettings:
    """What an administrator decides about a peer: the file ``peer.toml`` in its folder.

    ``docs/peers.md`` has the table of the settings, made from what is said below. The paths of ``hide`` are checked
    against the schema where the peer is opened. Raises :class:`PeerError` (HX7052) with a fault for each value that
    cannot be.
    """

    name: Annotated[str, AfterValidator(_named)]
    """What the peer is called in receipts; at first the name of its folder."""
    root: str
    """The root element of its schema."""
    schema: str = "schema.dtd"
    """The file of its schema, in its folder: a DTD, or an XSD with the files that it names."""
    policy: Policy = "ask"
    """How offers of acquaintances are decided, above: `ask`, `listed` or `open`."""
    listed: tuple[str, ...] = ()
    """Peer ids whose offers are accepted."""
    listen: str = "/ip4/127.0.0.1/tcp/0"
    """Where it listens; port 0 is any free port, which it then keeps."""
    announce: str = ""
    """The address that others get, such as `/dns4/heptox.example.org/tcp/4001`, where it is not the one to listen
    at."""
    control: Control = "loopback"
    """Where the control API is: `loopback`, or `unix`, the socket `control.sock` in the folder."""
    timeout: Annotated[float, _between(LEAST_TIMEOUT, MOST_TIMEOUT)] = 30.0
    """Seconds to wait for answers, where a query does not say it."""
    hops: Annotated[int, _between(0, 31)] = 8
    """How far a query travels, where it does not say it; also the most that a query may say, our own or a
    neighbour's."""
    budget: Annotated[int, _between(1, 2**40)] = 64 * 1024 * 1024
    """Bytes of answers that a query may bring."""
    evaluations: Annotated[int, _between(1, 64)] = 2
    """Queries evaluated at once for the own user, and for each neighbour."""
    query_seconds: Annotated[int, _between(1, 100_000)] = 60
    """Seconds of the processor that the queries of one neighbour may take in a minute, and those of all strangers
    together; its documents may take half as many."""
    keep_alive: Annotated[float, _between(0.1, 3600)] = 10.0
    """Seconds between signs of life that a connected peer is asked for; it is lost when it gives none in as many
    seconds."""
    log: LogLevel = "info"
    """What the daemon logs: `debug`, `info`, `warning` or `error`, and what is worse."""
    audit_megabytes: Annotated[int, _between(1, 2**20)] = 64
    """Size at which `audit.log` is renamed and begun anew."""
    offers: Annotated[int, _between(0, 10_000)] = 12
    """Offers of strangers that are read in a minute, of all of them together. Those in `listed`, and acquaintances, are
    no strangers."""
    control_port: Annotated[int, _between(0, 2**16 - 1)] = 0
    """Where the control API listens on the loopback interface; 0 is any free port, which it has again as long as nobody
    else takes it."""
    matching: Matching = "memory"
    """Where the subscriptions are kept that published documents are matched with: `memory`, or `disk`, for more of them
    than memory holds: [subscriptions](subscriptions.md#matching)."""
    feed: Feed = "schema"
    """Which documents others are to expect: those of its `schema`, or `anything`; `off`: no part in
    [feeds](feeds.md)."""
    history: History = "none"
    """Whether those who subscribe may have what was published before: `none` of it, or all that is `retained`
    ([feeds](feeds.md#history))."""
    follow: Follow = "advertised"
    """Which publishers are asked for documents: `acquaintances`; also those that say which documents they publish;
    `all` ([feeds](feeds.md#who-gets-what-and-why))."""
    followed: tuple[str, ...] = ()
    """Peer ids of publishers that are asked in any case."""
    merging: Merging = "off"
    """Whether subscriptions that are sent to neighbours are merged: `off` or `on`
    ([feeds](feeds.md#who-gets-what-and-why))."""
    most_imperfect: Annotated[float, _between(0, 0.99)] = 0.0
    """How imperfect merged ones may be."""
    validation: Validation = "strict"
    """Whether a document that is not valid for the schema is refused when it is to be loaded: `strict`; or `lax`: it is
    kept, with a warning."""
    hide: Annotated[tuple[Hide, ...], AfterValidator(_hiding)] = ()
    """Tables `[[hide]]`: what is hidden from whom."""

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, values: Any, handler: Callable[[Any], PeerSettings]) -> PeerSettings:
        return checked(PeerSettings, values, handler)  # not ``cls``: with slots, that is another class


def read_peer_settings(file: Path) -> PeerSettings:
    """The settings in a ``peer.toml``.

    Raises :class:`InputError` (HX1001) when it cannot be read, :class:`PeerError` (HX7052) with all faults when it is
    no TOML, misses a key, or holds an unknown key or a value that cannot be.
    """
    table = read_toml(file)
    hide, faults = _read_hide(table.get("hide", []))
    with in_file(file):
        try:
            settings = PeerSettings(**{**table, "hide": hide})
        except PeerError as error:
            raise PeerError((*error.faults, *faults)) from None
        if faults:
            raise PeerError(faults)
    return settings


@contextmanager
def in_file(file: Path) -> Iterator[None]:
    """Name the file in the faults of a :class:`PeerError`."""
    try:
        yield
    except PeerError as error:
        raise PeerError(
            Fault(one.code, one.message, one.position, hint=one.hint, file=str(file)) for one in error.faults
        ) from None


def _read_hide(tables: Any) -> tuple[Any, list[Fault]]:
    """The tables ``[[hide]]``, and the faults (HX7052) of those that are none."""
    if not isinstance(tables, list):
        return tables, []
    found: list[Hide] = []
    faults: list[Fault] = []
    for number, table in enumerate(tables, 1):
        wrong = _hide_faults(table)
        faults += [Fault("HX7052", f"hide no. {number}: {what}", hint=_HIDE_HINT) for what in wrong]
        if not wrong:
            peers = table["from"]
            least = table.get(COUNT_AT_LEAST, 0)
            found.append(Hide(tuple(table["paths"]), ALL if peers == ALL else tuple(peers), least))
    return tuple(found), faults


def _hide_faults(table: object) -> list[str]:
    if not isinstance(table, dict):
        return ["it is no table"]
    faults = [f"{key} is no setting" for key in table if key not in ("paths", "from", COUNT_AT_LEAST)]
    least = table.get(COUNT_AT_LEAST)
    if least is not None and (type(least) is not int or least not in _LEAST_GROUPS):
        bounds = f"{_LEAST_GROUPS[0]} to {_LEAST_GROUPS[-1]}"
        faults.append(f"{COUNT_AT_LEAST} = {least!r} is no number from {bounds}")
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
    return plain + "".join(f"\n[[hide]]\n{toml_text(_toml_of(hide))}" for hide in settings.hide)


def _toml_of(hide: Hide) -> dict[str, TomlValue]:
    counted: dict[str, TomlValue] = {COUNT_AT_LEAST: hide.least} if hide.least else {}
    return {"paths": list(hide.paths), "from": _toml_peers(hide), **counted}


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
