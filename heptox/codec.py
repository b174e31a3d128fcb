"""Messages in CBOR: frozen dataclasses, whose fields say by their types and bounds how they are written and read.

A message is a CBOR map ``{"version": 1, "kind": ..., ...}`` of plain values: integers, strings, booleans, null, arrays
and maps of definite length, no tags. Its fields are those of a dataclass, in their order and by their names. Unknown
fields are ignored; a version or a kind that is not known is refused by name.

The type of a field gives its :class:`Kind`: ``bool``, ``int``, an enumeration of texts, another such dataclass, a tuple
of any of these, or one of these or ``None``. ``Annotated`` gives it where there is a bound, or another form:

>>> from typing import Annotated
>>> @dataclass(frozen=True, slots=True)
... class Walk:
...     by: Identifier
...     hops: Annotated[int, number(32)]
...     through: tuple[Identifier, ...] = ()
>>> walks = Messages[Walk]({"walk": Walk})
>>> data = walks.encode(Walk("Ann", 3, ("Ben",)))
>>> walks.decode(data)
Walk(by='Ann', hops=3, through=('Ben',))
>>> walks.decode(pack("walk", {"by": "Ann", "hops": 33, "through": []}))
Traceback (most recent call last):
heptox.errors.PeerError: HX7002 a message is malformed: the field 'hops' is no integer from 0 to 32
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    NoReturn,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import cbor2

from heptox.errors import Fault, PeerError
from heptox.garbage import uncollected
from heptox.printable import is_printable

VERSION: Final = 1
MESSAGE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of an encoded message at most."""
NAME_LIMIT: Final = 200
"""Characters of a peer id, a name or a query id at most."""
MOST_INTEGER: Final = 2**53
DEPTH_LIMIT: Final = 200
"""Nesting of a message at most."""
VALUES_LIMIT: Final = 2**19
"""CBOR values in a message at most: small ones take much more room than their bytes once they are read."""
SHORT_VALUES: Final = 4096
SHORT_DEPTH: Final = 16
"""The same of a message in which nothing is repeated or nested much, as in all but queries and their answers: it is
decoded before anybody else gets his turn."""
AT_ONCE: Final = 16 * 1024
"""Bytes of any other message that is decoded so, however many values they are."""
LONG_AT_ONCE: Final = 16 * AT_ONCE
"""Bytes of those with ``SHORT_VALUES`` at most, as answers have: handing them to a thread takes longer."""

_Message = TypeVar("_Message")
_REQUIRED: Final = object()


def malformed(reason: str) -> NoReturn:
    """Raise :class:`PeerError` (HX7002)."""
    raise PeerError(Fault("HX7002", f"a message is malformed: {reason}"))


# -- kinds of fields -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """How the value of a field is read, given the field's name and a plain value, and written as a plain value.

    ``read`` raises :class:`PeerError` (HX7002) for what is of the wrong type or size. ``write`` is ``None`` where the
    value is plain already. ``missing`` is what a missing field means, if it may be missing.
    """

    read: Callable[[str, Any], Any]
    write: Callable[[Any], Any] | None = None
    missing: Any = _REQUIRED


@dataclass(frozen=True, slots=True)
class Check:
    """A bound of a field beside its kind: it is called with the field's name and the value that was read, and raises
    :class:`PeerError` (HX7002)."""

    check: Callable[[str, Any], None]


@dataclass(frozen=True, slots=True)
class Named:
    """The field has another name in the message than in the dataclass."""

    name: str


@dataclass(frozen=True, slots=True)
class Default:
    """What a field means that is missing or null; it is left out where it means that, unless it is ``written``."""

    value: Any
    written: bool = True


@dataclass(frozen=True, slots=True)
class Inline:
    """The fields of the field's dataclass are fields of the message itself."""


def text(limit: int = MESSAGE_LIMIT, *, missing: Any = "") -> Kind:
    """A string of at most so many characters."""

    def read(name: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > limit:
            malformed(f"the field {name!r} is no string of at most {limit} characters")
        return value

    return Kind(read, missing=missing)


def matching(pattern: re.Pattern[str], what: str) -> Check:
    """Texts of a form; ``what`` completes the sentence "the field is"."""

    def check(name: str, value: str) -> None:
        if not pattern.fullmatch(value):
            malformed(f"the field {name!r} is {what}")

    return Check(check)


def number(limit: int = MOST_INTEGER) -> Kind:
    """An integer from 0 to a limit."""

    def read(name: str, value: Any) -> int:
        if type(value) is not int or not 0 <= value <= limit:
            malformed(f"the field {name!r} is no integer from 0 to {limit}")
        return value

    return Kind(read)


def data(limit: int) -> Kind:
    """A string of at most so many bytes."""

    def read(name: str, value: Any) -> bytes:
        if not isinstance(value, bytes) or len(value) > limit:
            malformed(f"the field {name!r} is no string of at most {limit} bytes")
        return value

    return Kind(read)


def _check_identifier(name: str, value: str) -> None:
    if not value or not is_printable(value):
        malformed(f"the field {name!r} is no identifier")


def _check_sentence(name: str, value: str) -> None:
    if not is_printable(value):
        malformed(f"the field {name!r} holds what cannot be printed")


def _check_lines(name: str, value: str) -> None:
    _check_sentence(name, value.replace("\n", ""))


def _read_boolean(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        malformed(f"the field {name!r} is neither true nor false")
    return value


def _read_contents(name: str, value: Any) -> dict[str, bytes]:
    if not isinstance(value, dict) or not all(
        isinstance(key, str) and isinstance(content, bytes) for key, content in value.items()
    ):
        malformed(f"the field {name!r} is no map from names to byte strings")
    return value


_NAME: Final = text(NAME_LIMIT, missing=_REQUIRED)

Plain: TypeAlias = Annotated[Any, Kind(lambda _, value: value)]
"""Any plain value."""
Text: TypeAlias = Annotated[str, text()]
Identifier: TypeAlias = Annotated[str, _NAME, Check(_check_identifier)]
"""A text of 1 to :data:`NAME_LIMIT` characters that can be printed."""
Name: TypeAlias = Annotated[str, _NAME, Check(_check_sentence)]
"""A text of at most :data:`NAME_LIMIT` characters that can be printed."""
Sentence: TypeAlias = Annotated[str, text(), Check(_check_sentence)]
"""A text that can be printed; a missing one is empty."""
Lines: TypeAlias = Annotated[str, text(), Check(_check_lines)]
"""The same with line feeds."""
Contents: TypeAlias = Annotated[Mapping[str, bytes], Kind(_read_contents, dict)]
"""A map from names to byte strings."""
MOST_FILES: Final = 8
"""Files of a mapping that travel together, at most."""


def sequence(value: Any, name: str) -> list[Any]:
    """The value of a field if it is an array, else HX7002."""
    if not isinstance(value, list):
        malformed(f"the field {name!r} is no array")
    return value


def _array(item: Kind) -> Kind:
    read, write = item.read, item.write

    def read_all(name: str, value: Any) -> tuple[Any, ...]:
        return tuple([read(name, one) for one in sequence(value, name)])

    return Kind(read_all, list if write is None else lambda value: list(map(write, value)))


def _optional(kind: Kind) -> Kind:
    read, write = kind.read, kind.write
    return Kind(
        lambda name, value: None if value is None else read(name, value),
        None if write is None else lambda value: None if value is None else write(value),
    )


def _choice(enumeration: type[StrEnum]) -> Kind:
    choices = {choice.value: choice for choice in enumeration}

    def read(name: str, value: Any) -> StrEnum:
        choice = choices.get(_NAME.read(name, value))
        if choice is None:
            malformed(f"the field {name!r} is none of {', '.join(choices)}")
        return choice

    return Kind(read, attrgetter("value"))


def _checked(kind: Kind, check: Callable[[str, Any], None]) -> Kind:
    read = kind.read

    def read_checked(name: str, value: Any) -> Any:
        result = read(name, value)
        check(name, result)
        return result

    return replace(kind, read=read_checked)


def _kind(annotation: Any) -> Kind:
    """The kind of values of a type."""
    arguments = get_args(annotation)
    match get_origin(annotation):
        case origin if origin is Annotated:
            kind = next((one for one in arguments[1:] if isinstance(one, Kind)), None) or _kind(arguments[0])
            for one in arguments[1:]:
                if isinstance(one, Check):
                    kind = _checked(kind, one.check)
            return kind
        case origin if origin in (Union, UnionType):
            (other,) = (one for one in arguments if one is not NoneType)
            return _optional(_kind(other))
        case origin if origin is tuple:
            return _array(_kind(arguments[0]))
    if annotation is bool:
        return Kind(_read_boolean, missing=False)
    if annotation is int:
        return number()
    if isinstance(annotation, type) and is_dataclass(annotation):
        record = Record(annotation)
        return Kind(lambda _, value: record.read(value), record.write)
    if issubclass(annotation, StrEnum):
        return _choice(annotation)
    raise TypeError(f"{annotation} says not how it is written")


# -- records and messages --------------------------------------------------------------------------------------------


class _Field:
    """A field of a dataclass, as it is written and read."""

    def __init__(self, attribute: str, annotation: Any) -> None:
        metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
        kind = _kind(annotation)
        self.attribute = attribute
        self.name = next((one.name for one in metadata if isinstance(one, Named)), attribute)
        self.default = next((one for one in metadata if isinstance(one, Default)), None)
        self.is_inline = any(isinstance(one, Inline) for one in metadata)
        self.read_value, self.write_value, self.missing = kind.read, kind.write, kind.missing
        self.is_plain = kind.write is None and self.default is None and not self.is_inline

    def write(self, value: Any, written: dict[str, Any]) -> None:
        if self.default is not None and not self.default.written and value == self.default.value:
            return
        plain = value if self.write_value is None else self.write_value(value)
        if self.is_inline:
            written.update(plain)
        else:
            written[self.name] = plain

    def read(self, values: Mapping[str, Any]) -> Any:
        if self.is_inline:
            return self.read_value(self.name, values)
        value = values.get(self.name)
        if value is None:
            if self.default is not None:
                return self.default.value
            if self.name not in values:
                if self.missing is _REQUIRED:
                    malformed(f"the field {self.name!r} is missing")
                return self.missing
        return self.read_value(self.name, value)


class Record(Generic[_Message]):
    """How the values of a dataclass are written and read. One with a method ``validate`` is asked, once it is read,
    whether its fields fit each other; it raises :class:`PeerError` (HX7002)."""

    def __init__(self, record: type[_Message]) -> None:
        hints = get_type_hints(record, include_extras=True)
        assert is_dataclass(record)
        self._record = record
        self._fields = tuple(_Field(one.name, hints[one.name]) for one in fields(record) if one.init)
        self._is_plain = all(field.is_plain for field in self._fields)
        self._validate: Callable[[_Message], None] | None = getattr(record, "validate", None)

    def write(self, value: _Message) -> dict[str, Any]:
        """The fields of a value, as plain values."""
        if self._is_plain:  # the same, faster: it is so of each hop of each path
            return {field.name: getattr(value, field.attribute) for field in self._fields}
        written: dict[str, Any] = {}
        for field in self._fields:
            field.write(getattr(value, field.attribute), written)
        return written

    def read(self, values: Any) -> _Message:
        """The value of some fields; raises :class:`PeerError` (HX7002)."""
        if not isinstance(values, dict):
            malformed("a map was expected")
        value = self._record(*[field.read(values) for field in self._fields])
        if self._validate is not None:
            self._validate(value)
        return value


class Messages(Generic[_Message]):
    """The messages of a protocol, by kind: of so many ``values`` and so deep at most."""

    def __init__(
        self, kinds: Mapping[str, type[_Message]], *, values: int = SHORT_VALUES, depth: int = SHORT_DEPTH
    ) -> None:
        self._records = {kind: Record(message) for kind, message in kinds.items()}
        self._kinds = {message: kind for kind, message in kinds.items()}
        self._values = values
        self._depth = depth

    def encode(self, message: _Message) -> bytes:
        """The CBOR bytes of a message; raises as :func:`pack`, and what the kinds of fields raise."""
        kind = self._kinds[type(message)]
        return pack(kind, self._records[kind].write(message))

    def decode(self, encoded: bytes, *, counted: bool = False) -> _Message:
        """The message in CBOR bytes; raises as :meth:`unpack`. No other exception."""
        return self.read(self.unpack(encoded, counted=counted))

    def unpack(self, encoded: bytes, *, counted: bool = False) -> dict[str, Any]:
        """The plain fields in CBOR bytes, of a version and a kind that are known; ``counted``: :func:`is_quick` says
        that there are few.

        Raises :class:`PeerError`: HX7002 malformed, HX7003 unknown version or kind, HX7004 too long.
        """
        values = unpack(encoded, None if counted else self._values, self._depth)
        if values["kind"] not in self._records:
            hint = f"one of {', '.join(self._records)}"
            raise PeerError(Fault("HX7003", f"message kind {values['kind']!r} is unknown", hint=hint))
        return values

    def read(self, values: dict[str, Any]) -> _Message:
        """The message of plain fields; raises :class:`PeerError` (HX7002)."""
        with uncollected():  # a message may be tens of thousands of objects, all of which are kept
            return self._records[values["kind"]].read(values)


# -- CBOR ------------------------------------------------------------------------------------------------------------

_VERSION_FIELD: Final = _Field("version", int)
_KIND_FIELD: Final = _Field("kind", Annotated[str, _NAME])


def pack(kind: str, values: Mapping[str, Any]) -> bytes:
    """The CBOR bytes of a message of plain values.

    Raises :class:`PeerError`: HX7004 when longer than :data:`MESSAGE_LIMIT`, HX7002 when a value has no encoding.
    """
    try:
        encoded = cbor2.dumps({"version": VERSION, "kind": kind, **values})
    except (cbor2.CBORError, UnicodeError, RecursionError, TypeError, ValueError) as error:
        raise PeerError(Fault("HX7002", f"a {kind} message cannot be encoded: {error}")) from None
    if len(encoded) > MESSAGE_LIMIT:
        raise PeerError(Fault("HX7004", f"a {kind} message of {len(encoded)} bytes is longer than {MESSAGE_LIMIT}"))
    if len(encoded) > VALUES_LIMIT:  # a value takes a byte at least
        _check_plain(encoded)
    return encoded


def unpack(encoded: bytes, values: int | None, depth: int) -> dict[str, Any]:
    """The plain values of a message, with its kind, so many ``values`` unless they are counted, and so deep, at most.

    Raises :class:`PeerError`: HX7002 malformed, HX7003 unknown version, HX7004 too long. No other exception.
    """
    if len(encoded) > MESSAGE_LIMIT:
        raise PeerError(Fault("HX7004", f"a message of {len(encoded)} bytes is longer than {MESSAGE_LIMIT}"))
    if values is not None:
        _check_plain(encoded, values)
    try:
        plain = cbor2.loads(encoded, max_depth=depth, allow_indefinite=False, allow_duplicate_keys=False)
    except (cbor2.CBORError, ValueError, OverflowError, RecursionError) as error:
        malformed(f"no CBOR value: {str(error)[:NAME_LIMIT]}")
    if not isinstance(plain, dict):
        malformed("a map was expected")
    version = _VERSION_FIELD.read(plain)
    if version != VERSION:
        raise PeerError(
            Fault("HX7003", f"message version {version} is unknown", hint=f"this peer speaks version {VERSION}")
        )
    _KIND_FIELD.read(plain)
    return plain


def is_quick(encoded: bytes) -> bool:
    """Whether a message is decoded in some milliseconds: its values are counted then; raises as :func:`unpack`."""
    most = AT_ONCE if len(encoded) <= AT_ONCE else SHORT_VALUES  # a value takes a byte at least
    return len(encoded) <= LONG_AT_ONCE and _values(encoded, most) <= most


def _check_plain(encoded: bytes, most: int = VALUES_LIMIT) -> None:
    """Refuse tags and indefinite lengths before the decoder sees them: shared references make small messages huge."""
    if _values(encoded, most) > most:
        raise PeerError(Fault("HX7004", f"a message has more than {most} values"))


def _values(encoded: bytes, most: int) -> int:
    """How many plain values a message has, counted to one more than ``most``. Raises HX7002 for what is not plain."""
    position, needed, values = 0, 1, 0
    while needed:
        if position >= len(encoded):
            malformed("it ends too early")
        major, info = encoded[position] >> 5, encoded[position] & 31
        if major == 6 or info > 27 or (major == 7 and info == 24):
            malformed("tags, indefinite lengths and simple values are not spoken")
        size = 0 if info < 24 else 1 << (info - 24)
        argument = info if size == 0 else int.from_bytes(encoded[position + 1 : position + 1 + size], "big")
        position += 1 + size
        needed -= 1
        if major in (2, 3):
            position += argument
        elif major == 4:
            needed += argument
        elif major == 5:
            needed += 2 * argument
        if needed > len(encoded):
            malformed("it declares more values than it has bytes")
        values += 1
        if values > most:
            return values
    if position != len(encoded):
        malformed("bytes follow its value" if position < len(encoded) else "it ends too early")
    return values
