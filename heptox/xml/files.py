"""Files as bytes and as text: sizes, encodings, lines, and what is said of those that cannot be read."""

from __future__ import annotations

import codecs
import os
import re
import sys
from dataclasses import replace
from stat import S_ISREG
from typing import Final, Literal

from heptox.errors import Fault, InputError, Position

NO_CHARACTER: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What is no XML character, so that no document, schema, mapping or query can hold it."""
MAXIMUM_SIZE: Final = 1 << 30
"""How many bytes a file may have, unless the caller says otherwise.

The XML parser (libxml2) has limits of its own, which are kept: elements nested 256 deep, 10 million bytes in one text
or attribute value; entities may expand to a million bytes, or five times the size of the document if that is more.
"""

STANDARD_INPUT: Final = "-"
"""The path that stands for standard input."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_SLICE: Final = 1 << 20
"""Bytes that are looked through at once: other threads wait meanwhile."""

_LONG_LINE: Final = 4000
"""Bytes of a line that are looked at to show it."""


def read_bytes(path: str | os.PathLike[str], *, maximum_size: int = MAXIMUM_SIZE, only_regular: bool = False) -> bytes:
    """The content of a file, or of standard input when ``path`` is :data:`STANDARD_INPUT`.

    Raises :class:`InputError`: HX1001 when it cannot be read, or is a pipe or a device where ``only_regular`` files may
    be, HX1006 when it has more than ``maximum_size`` bytes.
    """
    name = file_name(path)
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(maximum_size + 1)
        else:
            with open(path, "rb", opener=_regular if only_regular else None) as file:
                data = file.read(maximum_size + 1)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None
    if len(data) > maximum_size:
        raise InputError(Fault("HX1006", f"has more than {maximum_size} bytes", file=name))
    return data


def _regular(path: str, flags: int) -> int:
    """Open a file, without waiting for who writes to a pipe."""
    found = os.open(path, flags | os.O_NONBLOCK)
    if not S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise ValueError("it is no regular file; what a pipe brings is read from standard input, as -")
    return found


def read_text(
    path: str | os.PathLike[str],
    *,
    maximum_size: int = MAXIMUM_SIZE,
    errors: Literal["strict", "surrogateescape"] = "strict",
) -> str:
    """The text of a UTF-8 file, or of :data:`STANDARD_INPUT`: without byte order mark, line ends as ``\\n``.

    Raises :class:`InputError`: as :func:`read_bytes`, and HX1003 with a position when the bytes are no UTF-8, unless
    lone surrogates are to stand for those that are none.
    """
    return decode_text(read_bytes(path, maximum_size=maximum_size), file_name(path), errors=errors)


def decode_text(
    data: bytes, file: str | None = None, *, errors: Literal["strict", "surrogateescape"] = "strict"
) -> str:
    """The text of some bytes, which messages call ``file``; as :func:`read_text`."""
    try:
        text = data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig").split("\n")
        position = Position(len(before), len(before[-1]) + 1, file)
        raise InputError(Fault("HX1003", "the text is not UTF-8", position, hint="save it as UTF-8")) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_dtd_text(path: str | os.PathLike[str], *, maximum_size: int = MAXIMUM_SIZE) -> str:
    """The text of a DTD file, as :func:`decode_dtd`; raises :class:`InputError` as that and :func:`read_bytes`."""
    return decode_dtd(read_bytes(path, maximum_size=maximum_size), file_name(path))


def decode_dtd(data: bytes, file: str | None = None) -> str:
    """The text of a DTD, decoded as its byte order mark or text declaration says; line ends as ``\\n``.

    Raises :class:`InputError` (HX1003) when its encoding is unknown or not kept.
    """
    encoding = "utf-8-sig"
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    elif declared := _TEXT_DECLARATION_ENCODING.match(data):
        encoding = declared[1].decode("ascii")
    try:
        if not _ENCODING.fullmatch(encoding):
            raise LookupError(encoding)
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        fault = Fault("HX1003", f"the text is not in the encoding {encoding.removesuffix('-sig')}", file=file)
        raise InputError(replace(fault, hint=HINTS["HX1003"])) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


_ENCODING: Final = re.compile(
    r"utf-?(?:8(?:-sig)?|(?:16|32)(?:-?[lb]e)?)|iso-10646-ucs-[24]|(?:us-)?ascii|iso[-_]8859-\d\d?|latin-?1"
    r"|(?:windows-|cp)125\d|shift_jis|euc-(?:jp|kr)|iso-2022-(?:jp|kr)|gb(?:2312|k|18030)|big5|koi8-[ru]",
    re.IGNORECASE,
)
"""Encodings of XML: Python knows others that are none of characters."""
_TEXT_DECLARATION_ENCODING: Final = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")


def unreadable(file: str | None, error: OSError | ValueError) -> InputError:
    """What to raise (HX1001) for a file, as messages call it, that cannot be opened or read.

    >>> print(unreadable("a.xml", OSError(2, "No such file or directory")))
    a.xml: HX1001 cannot be read: No such file or directory
    """
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(Fault("HX1001", f"cannot be read: {reason}", file=file))


def file_name(path: str | os.PathLike[str]) -> str:
    """How messages call a file: control characters, and bytes that are not UTF-8, are escaped.

    >>> print(file_name("two\\nlines"))
    two\\x0alines
    """
    name = "<stdin>" if path == STANDARD_INPUT else os.fspath(path)
    name = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", name)


def count_bytes(data: bytes, piece: bytes) -> int:
    """How often some bytes are in others, which other threads need not wait for; what overlaps counts once.

    >>> count_bytes(b"<a><b/></a>", b"</")
    1
    """
    step, overlap = _SLICE, len(piece) - 1
    return sum(data.count(piece, start, start + step + overlap) for start in range(0, len(data), step))


def holds(data: bytes, piece: bytes) -> bool:
    step, overlap = _SLICE, len(piece) - 1
    return any(data.find(piece, start, start + step + overlap) >= 0 for start in range(0, len(data), step))


HINTS: Final = {
    "HX1003": "save the document as UTF-8",
    "HX1005": "declare it in the internal subset, without parameter entities; an external DTD is not fetched",
    "HX1007": "declare it where it is used, or above: xmlns:p=...",
}


def excerpt_of(data: bytes, line: int, encoding: str | None = None) -> str | None:
    """The text of one line, shortened; ``None`` where there is none."""
    wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    start, end = (0, _SLICE) if wide else _line_in(data, line)
    lines = data[start:end].decode(encoding or ("utf-16" if wide else "utf-8"), "replace").split("\n")
    number = line if wide else 1
    return (lines[number - 1].strip()[:120] or None) if 0 < number <= len(lines) else None


def _line_in(data: bytes, line: int) -> tuple[int, int]:
    """Where a line begins, and where its first bytes end; nothing where there is none."""
    start, before = 0, line - 1
    while (ended := data.count(b"\n", start, start + _SLICE)) < before and start < len(data):
        start, before = start + _SLICE, before - ended
    for _ in range(before):
        start = data.find(b"\n", start) + 1
        if not start:
            return 0, 0
    return (start, start + _LONG_LINE) if line > 0 else (0, 0)
