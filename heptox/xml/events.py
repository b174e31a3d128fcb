"""Documents of any size as events, block by block."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, cast
from xml.parsers import expat

from heptox.errors import Fault, InputError, Position
from heptox.xml.files import HINTS, MAXIMUM_SIZE, unreadable
from heptox.xml.namespaces import MOST_NAMESPACE
from heptox.xml.prolog import external_entity_fault

MAXIMUM_TAG: Final = 10_000_000
"""How many bytes one tag, comment or instruction may have that :class:`XmlReader` reads, its attributes included."""

EXPANSION: Final = 1_000_000

EXPANSION_RATIO: Final = 5
"""How much a document may come to by entities and defaults that it declares itself: that many characters, or that many
for each byte, if that is more."""

StartHandler: TypeAlias = Callable[[str, list[str]], None]

_TextHandler: TypeAlias = Callable[[str], None]

_BLOCK: Final = 1 << 18

_LARGE_BLOCK: Final = 1 << 22

_FIRST_BLOCK: Final = 1 << 12

_LONGEST_DECLARATION: Final = 1 << 10


def end_of_last_element(text: bytes) -> int:
    """The place after what looks like the last tag that ends an element, 0 where there is none.

    >>> end_of_last_element(b"<a>x</a>y<b/>z<c></"), end_of_last_element(b"<a>x")
    (13, 0)
    """
    closing = text.rfind(b"</", 0, max(text.rfind(b">"), 0))
    return max(text.find(b">", closing) + 1 if closing >= 0 else 0, text.rfind(b"/>") + 2 if b"/>" in text else 0)


class Readable(Protocol):
    """A source of bytes, such as an open file."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes, none at the end."""


class XmlReader:
    """Reads a document piece by piece and keeps nothing of it: tags and texts are reported to handlers as they come.

    Size (:data:`MAXIMUM_SIZE`), tags (:data:`MAXIMUM_TAG`) and entities (:data:`EXPANSION`) are limited, depth and the
    length of texts are not. Unless names are given ``as_written``, they are expanded, and declarations no attributes; a
    reader that ``keeps_prefixes`` gives a name that has a prefix as ``{namespace}local}prefix``.

    >>> names: list[str] = []
    >>> from io import BytesIO
    >>> reader = XmlReader(BytesIO(b"<a>x<b/></a>"))
    >>> for _ in reader.read(lambda name, attributes: names.append(name), lambda name: None, lambda text: None): pass
    >>> names
    ['a', 'b']
    """

    def __init__(
        self,
        source: Readable,
        file: str | None = None,
        *,
        maximum_size: int = MAXIMUM_SIZE,
        as_written: bool = False,
        keeps_prefixes: bool = False,
    ) -> None:
        self._source = source
        self._file = file
        self._maximum_size = maximum_size
        self._parser = expat.ParserCreate(None, None if as_written else _SEPARATOR, None)  # no table of names is kept
        self._parser.namespace_prefixes = keeps_prefixes
        self._expands_names = not as_written
        self._expanded = _ExpandedNames()
        self._has_namespaces = False
        self._last_bytes = b""
        self.bound_at_root: dict[str, str] = {}
        """The prefixes that the root binds, ``""`` for that of elements."""
        self._scope: dict[str, list[str]] = {}
        self.rebound: set[str] = set()
        """The prefixes that elements inside the root have bound so far."""
        self._start = _Start()
        self._more = 0
        self._block = b""
        self._read = 0
        self._parsed = 0
        self._told = 0
        self._inside = False
        self._in_cdata = False
        self._declares = False
        self._expands = False
        self._external: list[tuple[str, str, Position]] = []

    def read(
        self,
        start: StartHandler,
        end: Callable[[str], None],
        text: _TextHandler,
        take: Callable[[bytes], bool] | None = None,
        *,
        aside: Callable[[str], None] | None = None,
        at_once: int = _BLOCK,
    ) -> Iterator[int]:
        """Read on, block by block of about so many bytes; after each comes how many bytes have been read.

        ``start`` takes the name of an element and its attributes (name, value, name, value and so on), ``end`` the
        name, ``text`` a part of a text: parts that come one after the other are one text.

        Who would rather have some parts as they stand gives ``take``, which is asked about a piece before it is read:
        one that comes right after what was reported, ends where an element ends, if what looks like a tag is one, and
        is in UTF-8; nothing that the document declares has a say in what it means. Nothing is reported of a piece for
        which ``take`` returns true, but it is read all the same, and refused where it is not well-formed. ``aside``
        takes each comment and processing instruction outside DOCTYPE, as markup.

        Raises :class:`InputError` with a position: HX1001 when the source fails, else as :func:`parse_document`.
        """
        parser = self._parser
        self._handlers = start, text
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.buffer_size = 4 * at_once
        parser.StartDoctypeDeclHandler = self._open_doctype
        parser.EndDoctypeDeclHandler = self._close_doctype
        parser.SkippedEntityHandler = self._skipped
        parser.EndElementHandler, parser.CharacterDataHandler = end, text
        parser.StartElementHandler = self._first_start
        parser.StartNamespaceDeclHandler, parser.EndNamespaceDeclHandler = self._bind, self._unbind
        if aside is not None:
            _report_asides(parser, aside, self._tell)
        if take is not None:
            parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = self._enter_or_leave_cdata
        size = at_once if take is None else _FIRST_BLOCK
        rest = b""
        while True:
            more = self._next(size)
            block = rest + more
            cut = 0 if take is None or not more else end_of_last_element(block)
            self._block, rest = (block[:cut], block[cut:]) if cut else (block, b"")
            self._look_for_namespaces()
            if take is not None and cut and self._means_what_it_says() and take(self._block):
                self._parse_untold()
            else:
                self._parse(last=not more)
            yield self._read
            if not more:
                return
            size = max(at_once if take is None else _LARGE_BLOCK, self._pending())

    def tell(self, start: StartHandler, end: Callable[[str], None], text: _TextHandler | None) -> None:
        """Report to other handlers, from the start tag on that is being reported."""
        parser = self._parser
        if self._has_namespaces:
            start, end = self._expanded.start(start), self._expanded.end(end)
        parser.EndElementHandler = end
        if self._expands and text is not None:
            start, text = _counted(start, text, self._tell)
        parser.StartElementHandler, parser.CharacterDataHandler = start, text

    @property
    def position(self) -> Position:
        """Where the tag or text stands that is being reported."""
        return self._position(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)

    @property
    def offset(self) -> int:
        """How many bytes of the source come before the tag or text that is being reported."""
        return self._parser.CurrentByteIndex - self._more

    @property
    def is_literal(self) -> bool:
        """Whether the source is in UTF-8, and nothing that it declares has a say in what it means, once the root has
        begun."""
        return self._start.is_utf8 and not self._declares

    @property
    def has_namespaces(self) -> bool:
        """Whether what is read, or is about to be, may have names in namespaces."""
        return self._has_namespaces

    @property
    def bound(self) -> dict[str, str] | None:
        """The prefixes that the root binds; ``None`` once other elements bind some."""
        return None if self.rebound else self.bound_at_root

    def namespace(self, prefix: str) -> str | None:
        """The namespace that a prefix is bound to by the element that was reported last and is open, or around it."""
        found = self._scope.get(prefix)
        return found[-1] if found else None

    # names

    def _bind(self, prefix: str | None, namespace: str | None) -> None:
        if len(namespace or "") > MOST_NAMESPACE:
            message = f"a namespace has more than {MOST_NAMESPACE:,} characters"
            raise InputError(Fault("HX1006", message, self.position))
        self._scope.setdefault(prefix or "", []).append(namespace or "")
        if self._inside:
            self.rebound.add(prefix or "")
        else:
            self.bound_at_root[prefix or ""] = namespace or ""

    def _unbind(self, prefix: str | None) -> None:
        self._scope[prefix or ""].pop()

    def _look_for_namespaces(self) -> None:
        """Expand names from here on, where what comes next may have some that are in namespaces."""
        if self._has_namespaces or not self._expands_names:
            return
        begin = self._last_bytes + self._block[:_LONGEST_SIGN]
        self._last_bytes = (self._last_bytes + self._block[-_LONGEST_SIGN:])[-_LONGEST_SIGN:]
        plain = self._start.codec == "latin-1" and self._start.is_like_ascii
        if plain and not _shows_namespaces(begin) and not _shows_namespaces(self._block):
            return
        self._has_namespaces = True
        parser, expanded = self._parser, self._expanded
        if parser.StartElementHandler not in (self._first_start, None):
            parser.StartElementHandler = expanded.start(cast(StartHandler, parser.StartElementHandler))
        if parser.EndElementHandler is not None:
            parser.EndElementHandler = expanded.end(parser.EndElementHandler)

    # pieces that may be taken as they stand

    def _means_what_it_says(self) -> bool:
        """Whether the next bytes are content of the root, and stand for themselves."""
        return (
            self._inside
            and not self._in_cdata
            and not self._declares
            and self._start.is_utf8
            and self._parser.CurrentByteIndex == self._parsed + self._start.bytes_more
        )

    def _first_start(self, name: str, attributes: list[str]) -> None:
        self._inside = True
        start, text = self._handlers
        if self._has_namespaces:
            start = self._expanded.start(start)
        if self._expands:
            start, text = _counted(start, text, self._tell)
        self._parser.StartElementHandler, self._parser.CharacterDataHandler = start, text
        start(name, attributes)

    def _enter_or_leave_cdata(self) -> None:
        self._in_cdata = not self._in_cdata

    def _parse_untold(self) -> None:
        parser = self._parser
        handlers = parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler
        parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = None
        self._parse(last=False)
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = handlers

    # blocks

    def _next(self, size: int) -> bytes:
        try:
            block = self._source.read(size)
            while not self._read and 0 < len(block) < _LONGEST_DECLARATION and (more := self._source.read(size)):
                block += more
        except (OSError, ValueError) as error:
            raise unreadable(self._file, error) from None
        if not self._read:
            self._start = _Start.of(block)
            self._more = self._start.bytes_more
        self._read += len(block)
        if self._read > self._maximum_size:
            raise InputError(Fault("HX1006", f"has more than {self._maximum_size} bytes", file=self._file))
        return block

    def _parse(self, *, last: bool) -> None:
        first = not self._parsed
        self._parsed += len(self._block)
        try:
            self._parser.Parse(self._start.replaced(self._block) if first else self._block, last)
        except expat.ExpatError as error:
            raise InputError(self._fault(error)) from None
        except (LookupError, ValueError) as error:
            raise InputError(Fault("HX1003", str(error), Position(1, 1, self._file), hint=HINTS["HX1003"])) from None

    def _pending(self) -> int:
        """How many bytes wait for the end of their tag: the next block is as long, for all are looked at again."""
        pending = self._parsed + self._start.bytes_more - self._parser.CurrentByteIndex
        if pending > MAXIMUM_TAG:
            message = f"a tag, comment or instruction has more than {MAXIMUM_TAG} bytes"
            raise InputError(Fault("HX1006", message, self.position))
        return pending

    # the prolog

    def _open_doctype(self, _name: str, _system: str | None, _public: str | None, _has_subset: int) -> None:
        self._parser.EntityDeclHandler = self._entity
        self._parser.AttlistDeclHandler = self._attribute
        self._parser.DefaultHandlerExpand = self._declaration

    def _close_doctype(self) -> None:
        parser = self._parser
        parser.DefaultHandlerExpand = None
        if self._external:
            seen = self._block if self._parsed == len(self._block) else b""
            raise InputError(external_entity_fault(found, seen, None) for found in self._external)

    def _entity(self, name: str, parameter: int, value: str | None, *source: str | None) -> None:
        _, system, _, notation = source
        self._declares = self._expands = True
        if value is None and notation is None:
            self._external.append((f"%{name}" if parameter else name, system or "", self.position))

    def _attribute(self, _element: str, _name: str, _type: str, default: str | None, _required: int) -> None:
        self._declares = True
        self._expands = self._expands or default is not None

    def _declaration(self, part: str) -> None:
        if _PARAMETER_REFERENCE.fullmatch(part):
            self._skipped(part[1:-1], 1)

    def _skipped(self, name: str, parameter: int) -> None:
        message = f"the {'parameter ' if parameter else ''}entity {name} is not read"
        raise InputError(Fault("HX1005", message, self.position, hint=HINTS["HX1005"]))

    def _tell(self, characters: int) -> None:
        self._told += characters
        if self._told > max(EXPANSION, EXPANSION_RATIO * self._read):
            message = "the document comes to too much by the entities and defaults that it declares"
            raise InputError(Fault("HX1006", message, self.position))

    # faults

    def _position(self, line: int, column: int) -> Position:
        more = self._start.columns_more if line == self._start.line else 0
        return Position(line, max(column - more, 0) + 1, self._file)

    def _fault(self, error: expat.ExpatError) -> Fault:
        message = expat.errors.messages[error.code]
        offset = self._parser.ErrorByteIndex - self._start.bytes_more - (self._parsed - len(self._block))
        code = _EXPAT_CODES.get(message, "HX1002")
        hint = HINTS.get(code)
        if message == expat.errors.XML_ERROR_INVALID_TOKEN and self._start.is_misspelt(self._block, offset):
            code, message = "HX1003", "the bytes are not in the encoding of the document"
            hint = HINTS[code]
        elif message == expat.errors.XML_ERROR_INVALID_TOKEN and self._block[offset : offset + 1] > b"\x7f":
            hint = "names have the letters of XML 1.0 up to its fourth edition here"
        position = self._position(error.lineno, error.offset)
        return Fault(code, message, position, self._start.excerpt(self._block, offset), hint)


def _counted(start: StartHandler, text: _TextHandler, tell: Callable[[int], None]) -> tuple[StartHandler, _TextHandler]:
    """The handlers, of which it is said how many characters they take."""

    def counted_start(name: str, attributes: list[str]) -> None:
        tell(2 * len(name) + len("<></>") + sum(map(len, attributes)))
        start(name, attributes)

    def counted_text(part: str) -> None:
        tell(len(part))
        text(part)

    return counted_start, counted_text


def _report_asides(parser: expat.XMLParserType, aside: Callable[[str], None], tell: Callable[[int], None]) -> None:
    def report(markup: str) -> None:
        if parser.DefaultHandlerExpand is None:  # else it stands in DOCTYPE
            tell(len(markup))
            aside(markup)

    def instruct(target: str, data: str) -> None:
        report(f"<?{target} {data}?>" if data else f"<?{target}?>")

    parser.CommentHandler = lambda comment: report(f"<!--{comment}-->")
    parser.ProcessingInstructionHandler = instruct


_PARAMETER_REFERENCE: Final = re.compile("%[^%;]+;")

_EXPAT_CODES: Final = {
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "HX1005",
    expat.errors.XML_ERROR_ENTITY_DECLARED_IN_PE: "HX1005",
    expat.errors.XML_ERROR_RECURSIVE_ENTITY_REF: "HX1006",
    expat.errors.XML_ERROR_AMPLIFICATION_LIMIT_BREACH: "HX1006",
    expat.errors.XML_ERROR_UNKNOWN_ENCODING: "HX1003",
    expat.errors.XML_ERROR_INCORRECT_ENCODING: "HX1003",
    expat.errors.XML_ERROR_UNBOUND_PREFIX: "HX1007",
}

_SEPARATOR: Final = "}"
"""What the parser puts between a namespace and a local name; no name has it."""

_LONGEST_SIGN: Final = 8
_SIGNS_OF_NAMESPACES: Final = ((b"xml", (b"xmlns", b"xml:")), (b"!", (b"<!ENTITY",)))
"""What has to stand in a document before a name is in a namespace, if its markup is as in ASCII; what is rarer, and
sooner looked for, comes before."""


def _shows_namespaces(block: bytes) -> bool:
    """Whether one of the signs stands in a block."""
    return any(part in block and any(sign in block for sign in signs) for part, signs in _SIGNS_OF_NAMESPACES)


class _ExpandedNames:
    """Handlers that take expanded names, as the parser calls them: with ``namespace}local``."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def start(self, handler: StartHandler) -> StartHandler:
        expanded = self._expanded

        def start(name: str, attributes: list[str]) -> None:
            if _SEPARATOR in name:
                name = expanded(name)
            if attributes:
                attributes[::2] = [expanded(one) if _SEPARATOR in one else one for one in attributes[::2]]
            handler(name, attributes)

        return start

    def end(self, handler: Callable[[str], None]) -> Callable[[str], None]:
        expanded = self._expanded

        def end(name: str) -> None:
            handler(expanded(name) if _SEPARATOR in name else name)

        return end

    def _expanded(self, name: str) -> str:
        known = self._known.get(name)
        if known is None:
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            known = self._known[name] = f"{{{name}"
        return known


_MOST_KNOWN: Final = 10_000
"""How many names in namespaces are kept as they were made."""

_XML_DECLARATION: Final = re.compile(r"<\?xml\s[^>]*?\?>")

_ENCODING: Final = re.compile(r"encoding\s*=\s*([\"'])([^\"']+)\1")

_ALONE: Final = ' standalone="yes"?>'


@dataclass(frozen=True, slots=True)
class _Start:
    """How a document begins: its encoding as far as that says where characters are, and its XML declaration.

    The parser takes the document to stand alone. Else, where DOCTYPE names a DTD (which is not read), it would let
    entities pass that are not declared, and drop them from the values of attributes.
    """

    codec: str = "latin-1"
    mark: bytes = b""
    old: str = ""
    new: str = ""

    @classmethod
    def of(cls, block: bytes) -> _Start:
        codec, sign = next(((codec, sign) for codec, sign in _SIGNS if block.startswith(sign)), ("latin-1", b""))
        mark = sign if sign in _MARKS else b""
        found = _XML_DECLARATION.match(block[len(mark) : _LONGEST_DECLARATION].decode(codec, "ignore"))
        old = found[0] if found else ""
        if "standalone" in old:
            return cls(codec, mark, old, re.sub(r"(standalone\s*=\s*)([\"'])no\2", r"\1\2yes\2", old))
        return cls(codec, mark, old, (old[:-2] if old else '<?xml version="1.0"') + _ALONE)

    def replaced(self, block: bytes) -> bytes:
        """The first block, with the other declaration."""
        if not block:
            return block
        return self.mark + self.new.encode(self.codec) + block[len(self.mark) + len(self.old.encode(self.codec)) :]

    @property
    def is_utf8(self) -> bool:
        named = _ENCODING.search(self.old)
        return self.codec == "latin-1" and (named is None or named[2].lower() in {"utf-8", "us-ascii"})

    @property
    def is_like_ascii(self) -> bool:
        """Whether markup is as in ASCII, as far as the declaration says."""
        named = _ENCODING.search(self.old)
        return named is None or re.match(r"(?i)utf-8$|us-ascii$|iso-8859-|windows-125", named[2]) is not None

    @property
    def line(self) -> int:
        """The line on which the declaration ends."""
        return 1 + self.old.count("\n")

    @property
    def columns_more(self) -> int:
        return len(self.new) - len(self.old)

    @property
    def bytes_more(self) -> int:
        return len(self.new.encode(self.codec)) - len(self.old.encode(self.codec))

    def is_misspelt(self, block: bytes, offset: int) -> bool:
        """Whether the bytes at an offset are no character of the document's encoding."""
        if not 0 <= offset < len(block):
            return False
        named = _ENCODING.search(self.old)
        encoding = self.codec if self.codec != "latin-1" else named[2] if named else "utf-8"
        try:
            codecs.getincrementaldecoder(encoding)().decode(block[offset : offset + 4])
        except UnicodeDecodeError as error:
            return error.start == 0
        except LookupError:
            pass
        return False

    def excerpt(self, block: bytes, offset: int) -> str | None:
        """The part of the line around an offset that this block has."""
        if not 0 <= offset <= len(block):
            return None
        codec = "utf-8" if self.codec == "latin-1" else self.codec
        before = block[max(0, offset - 240) : offset].decode(codec, "replace").rpartition("\n")[2]
        after = block[offset : offset + 240].decode(codec, "replace").partition("\n")[0]
        return (before[-80:] + after).strip()[:120] or None


_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_SIGNS: Final = (
    *zip(("latin-1", "utf-16-le", "utf-16-be"), _MARKS, strict=True),
    ("utf-16-le", b"<\0"),
    ("utf-16-be", b"\0<"),
)
