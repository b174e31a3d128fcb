"""Rewriting a document while it is read: what the operators need as a whole is held, all else is passed on.

A document is read as a sequence of trees of parts of it, which :class:`Rewriter` rewrites as it does a whole document.
It is cut between the elements outside of the program's :func:`scopes`, so that no operator needs what another part has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from heptox.errors import DisseminationError, Fault, Position
from heptox.rewriting.documents import Part, Rewriter
from heptox.rewriting.operators import Operator, Rename
from heptox.rewriting.program import Program
from heptox.rewriting.program_text import print_operator
from heptox.rewriting.scopes import scopes
from heptox.rewriting.working_tree import shown
from heptox.schema import Path, amend
from heptox.xml import (
    PIECE,
    NamedWriter,
    Outline,
    Piece,
    PieceReader,
    PieceTooLargeError,
    Prefixes,
    Readable,
    XmlElement,
    write_between,
)

MOST_HELD: Final = 1 << 26
"""How many bytes of a document are held at most, unless the caller says otherwise. Each takes about 20 bytes of memory
while it is rewritten."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """What goes on from one part to the next: of the elements that are open, by their levels, the root's is 0, those of
    which the start tag is written, and those in which something inserted is open.

    An element is not written that is taken out, or pruned as long as nothing is in it.
    """

    written: frozenset[int] = frozenset()
    growing: frozenset[int] = frozenset()


class StreamingRewriter:
    """Rewrites streams of XML by a program, as :class:`Rewriter` does documents.

    ``as_declared``: elements have the attributes, and these the values, that :func:`heptox.schema.conform` gives them.
    Names in namespaces are written with ``prefixes``, if these are given, else with those of the document.
    Where a document does not come in the order that its schema says, :class:`Arrange` may leave it in its own.

    >>> from io import BytesIO
    >>> from heptox.rewriting import Swap
    >>> from heptox.schema import SchemaTree, parse_dtd
    >>> schema = SchemaTree(parse_dtd("<!ELEMENT r (a*)><!ELEMENT a (b*)><!ELEMENT b (#PCDATA)>"))
    >>> rewriter = StreamingRewriter(Program(schema, (Swap(("a",), ("a", "b")),)))
    >>> b"".join(rewriter.rewrite(BytesIO(b"<r><a><b>1</b><b>2</b></a></r>")))
    b'<r><b>1<a/></b><b>2<a/></b></r>'
    """

    def __init__(
        self,
        program: Program,
        *,
        most_held: int = MOST_HELD,
        as_declared: bool = False,
        piece: int = PIECE,
        prefixes: Prefixes | None = None,
    ) -> None:
        self.program = program
        self._as_declared = as_declared
        self._rewriter = Rewriter(program)
        self._scopes = scopes(program)
        self._outline = _outline(program.source.root, self._scopes.blocking)
        self._most_held = most_held
        self._piece = piece
        self._prefixes = prefixes
        self._is_named = any(
            name.startswith(("{", "@{"))
            for operator in program.operators
            for name in (*((operator.name,) if isinstance(operator, Rename) else ()), *getattr(operator, "names", ()))
        )

    def rewrite(self, source: Readable, file: str | None = None) -> Iterator[bytes]:
        """The rewritten document, part by part, in UTF-8. ``file`` is what messages call it.

        Raises :class:`InputError` as :meth:`heptox.xml.XmlReader.read`, :class:`DisseminationError` as
        :meth:`Rewriter.rewrite`, and with HX9104 where more than ``most_held`` bytes would have to be held, which names
        the operator. What was given before is then the begin of a document, and no more.
        """
        reader = PieceReader(source, self._outline, file, size=self._piece)
        begun, writer = _Begun(), _Writer(self._is_named, self._prefixes)
        try:
            for piece in reader.read(self._most_held):
                text, begun = self._rewritten(piece, begun, writer)
                if text:
                    yield text
        except PieceTooLargeError:
            raise DisseminationError(self._too_large(reader.path, file)) from None

    def _rewritten(self, piece: Piece, begun: _Begun, writer: _Writer) -> tuple[bytes, _Begun]:
        """The text of a part, and what has begun by its end."""
        if self._as_declared:
            amend(piece.root, self.program.source.graph, piece.begun)
        levels = dict(self._growing(piece))
        going_on = frozenset(element for level, element in enumerate(piece.begun) if level in begun.growing)
        written = tuple(element for level, element in enumerate(piece.begun) if level in begun.written)
        part = Part(piece.begin, frozenset(levels), going_on, kept=set(written))
        self._rewriter.rewrite_part(piece.root, part)
        inserted = {element: inner for element, inner in part.inserted.items() if _is_within(piece.root, inner)}
        first, last = _deepest(piece.root, written), _deepest(piece.root, piece.open)
        if first in going_on:
            first = inserted.get(first)
        if last in inserted:
            last = inserted[last]
        behind = _Begun(
            frozenset(level for level, element in enumerate(piece.open) if _is_within(piece.root, element)),
            frozenset(levels[element] for element in piece.open if element in inserted),
        )
        text = writer.between(piece, first, last)
        if text is None:
            raise DisseminationError(self._out_of_order(piece.begin))
        return text, behind

    def _growing(self, piece: Piece) -> Iterator[tuple[XmlElement, int]]:
        """The elements, open before or behind a part, in which something inserted may be open, and their levels."""
        for line in (piece.begun, piece.open):
            names = tuple(str(element.tag) for element in line)
            for level, element in enumerate(line):
                if names[1 : level + 1] in self._scopes.growing:
                    yield element, level

    def _out_of_order(self, begin: Position) -> Fault:
        elements = ", ".join(map(shown, sorted(self._scopes.growing)))
        message = f"children of {elements} do not come in the order of the schema, behind what is inserted at the end"
        hint = "in memory it can be rewritten; or declare the order that it has"
        return Fault("HX9103", message, begin, hint=hint)

    def _too_large(self, path: Path, file: str | None) -> Fault:
        scope = path[1:]
        operator: Operator | None = self._scopes.blocking.get(scope)
        if operator is None:
            message = f"a text or tag in {shown(scope)} has more than {self._most_held} bytes"
            return Fault("HX9104", message, file=file)
        needed = f"is needed as a whole to {print_operator(operator)}"
        message = f"an element {path[-1]} has more than {self._most_held} bytes, and {needed}"
        hint = "allow more to be held, or let the operators move things within smaller elements"
        return Fault("HX9104", message, file=file, hint=hint)


class _Writer:
    """Writes the parts of one document; with namespaces, from where there are any on, or are ``named`` by operators."""

    def __init__(self, named: bool, prefixes: Prefixes | None) -> None:
        self._prefixes = prefixes
        self._named = NamedWriter(prefixes) if named else None
        self._open: list[str] = []

    def between(self, piece: Piece, first: XmlElement | None, last: XmlElement | None) -> bytes | None:
        """As :func:`~heptox.xml.write_between`."""
        if self._named is None and piece.named:
            self._named = NamedWriter(self._prefixes)
            self._named.has_written(self._open)
        if self._named is not None:
            return self._named.between(piece.root, first, last)
        open_ = () if last is None else (last, *last.iterancestors())
        self._open = [str(element.tag) for element in reversed(open_)]
        return write_between(piece.root, first, last)


def _outline(root: str, whole: Collection[Path]) -> Outline:
    """Cuts are allowed everywhere but in the elements that stay whole."""

    def below(paths: Collection[Path]) -> Outline | None:
        if () in paths:
            return None
        names = dict.fromkeys(path[0] for path in paths)
        return Outline({name: below([path[1:] for path in paths if path[0] == name]) for name in names})

    return Outline({root: below(whole)})


def _deepest(root: XmlElement, line: tuple[XmlElement, ...]) -> XmlElement | None:
    """The lowest of some elements, each of which stood in the one before, that has not been taken out."""
    return next((element for element in reversed(line) if _is_within(root, element)), None)


def _is_within(root: XmlElement, element: XmlElement) -> bool:
    return element is root or any(above is root for above in element.iterancestors())
