"""Queries that are followed: asked of each document by itself, as documents are published.

What is delivered of a document are its items, made once, when it comes: so a replay gives the same bytes, whatever
becomes of mappings meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from heptox.checks import Check
from heptox.errors import DisseminationError, Fault, GrammarError, HeptoxError
from heptox.grammar import NO_NAMES, Expression, NameTable, parse_query, syntax
from heptox.matching.subscriptions import MOST_ID, MOST_PUBLISHED, Matched, Publication
from heptox.store import evaluate
from heptox.xml import Document

MOST_SECONDS: Final = 20.0
"""Seconds of the processor that one document may take of each query, or to be rewritten: others wait."""
MOST_CALLS: Final = 4_000_000
"""How often a check is called meanwhile: for each combination of nodes that a mapping joins."""

_log = logging.getLogger(__name__)


def parse_followed(text: str, file: str | None = None, first_line: int = 1, names: NameTable = NO_NAMES) -> Expression:
    """A query that can be followed; ``file`` and ``first_line`` say where the text comes from, and
    ``names`` what prefixes stand for that it does not declare itself.

    Raises :class:`GrammarError` as :func:`~heptox.grammar.parse_query`, and HX9071 for ``order by`` and
    ``collection()``: answers come as documents are published, and those on one document are a set.

    >>> from heptox.grammar import print_query
    >>> print_query(parse_followed("//Patient/Name"))
    '//Patient/Name'
    """
    try:
        expression = parse_query(text, file, names=names)
    except GrammarError as error:
        raise GrammarError(_moved(fault, first_line - 1) for fault in error.faults) from error
    ordered = [node.order[0] for node in syntax.nodes(expression) if isinstance(node, syntax.Flwor) and node.order]
    message = "a query that is followed has no order by: answers come as documents are published"
    faults = [Fault("HX9071", message, key.key.position, hint="leave the order by out") for key in ordered]
    message = "a query that is followed is asked of each document by itself, and has no collection()"
    hint = "begin the path with / or //; without --follow, heptox query asks all documents of a peer together"
    faults += (Fault("HX9071", message, path.position, hint=hint) for path in syntax.collections(expression))
    if faults:
        raise GrammarError(_moved(fault, first_line - 1) for fault in faults)
    return expression


def _moved(fault: Fault, lines: int) -> Fault:
    """A fault of a text that begins some lines below the first one of its file."""
    position = fault.position
    return fault if position is None else replace(fault, position=replace(position, line=position.line + lines))


class Followed(NamedTuple):
    """A query that is followed by the subscription ``number``, whose ``text`` it is; ``expression`` is how documents
    are asked."""

    number: int
    text: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Answers:
    """What a followed query has found in one document, as it is delivered: what the document is called, its ``id``, who
    has published it, and different items in the order in which they were found.

    >>> data = Answers("a.xml", "1", "12D3KooW", ("<b/>", "<c/>")).to_bytes()
    >>> data
    b'{"document": "a.xml", "id": "1", "publisher": "12D3KooW", "items": ["<b/>", "<c/>"]}\\n'
    >>> Answers.from_bytes(data).items
    ('<b/>', '<c/>')
    """

    document: str
    id: str
    publisher: str
    items: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """One line of JSON."""
        fields = {"document": self.document, "id": self.id, "publisher": self.publisher, "items": self.items}
        return f"{json.dumps(fields, ensure_ascii=False)}\n".encode()

    @classmethod
    def from_bytes(cls, data: bytes | str) -> Answers:
        """What :meth:`to_bytes` has made."""
        fields = json.loads(data)
        return cls(fields["document"], fields["id"], fields["publisher"], tuple(fields["items"]))


@dataclass(frozen=True, slots=True)
class Answered:
    """What the query ``text`` of the subscriptions ``numbers`` has found in a document."""

    text: str
    numbers: tuple[int, ...]
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FollowedAnswers:
    """What a document was asked: what was found, and the subscriptions whose query could not be asked, with the
    reasons."""

    answered: tuple[Answered, ...] = ()
    dead: dict[int, str] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The subscriptions whose queries have an answer."""
        return tuple(number for one in self.answered for number in one.numbers)

    def matched(self, name: str, identity: str, publisher: str) -> tuple[list[Matched], dict[int, str]]:
        """What is to be published of it, and for whom, of a document called ``name`` that ``publisher`` has published
        under an id; and all for whom it is a dead letter."""
        found: list[Matched] = []
        dead = dict(self.dead)
        for one in self.answered:
            data = Answers(name, identity, publisher, one.items).to_bytes()
            try:
                found.append(Matched(Publication(name, data, _identity(identity, one.text)), one.numbers))
            except DisseminationError as error:
                dead.update(dict.fromkeys(one.numbers, error.summary))
        return found, dead


def ask_document(document: Document, followed: Iterable[Followed]) -> FollowedAnswers:
    """Ask a document what is followed; equal texts once. The document must not be changed afterwards."""
    by_text: dict[str, list[Followed]] = {}
    for one in followed:
        by_text.setdefault(one.text, []).append(one)
    answered: list[Answered] = []
    dead: dict[int, str] = {}
    for text, several in by_text.items():
        numbers = tuple(one.number for one in several)
        try:
            items = _items(document, several[0].expression)
        except HeptoxError as error:
            dead.update(dict.fromkeys(numbers, f"the query cannot be asked of it: {error.summary}"))
        except Exception as error:
            _log.exception("%s was not asked", document.file)
            reason = f"to ask it met a defect of heptox: {type(error).__name__}"
            dead.update(dict.fromkeys(numbers, reason))
        else:
            if items:
                answered.append(Answered(text, numbers, items))
    return FollowedAnswers(tuple(answered), dead)


def _items(document: Document, expression: Expression) -> tuple[str, ...]:
    """The items of the answer, each once; raises :class:`StoreError` as :func:`evaluate`, and
    :class:`DisseminationError`: HX9022 where it takes too long, HX9066 where they are too much."""
    items: dict[str, None] = {}
    size = 0
    for item in evaluate(expression, [document], of_one_document()):
        if item not in items:
            items[item] = None
            size += len(item)
            if size > MOST_PUBLISHED:
                message = f"its answer has more than {MOST_PUBLISHED:,} characters"
                raise DisseminationError(Fault("HX9066", message, hint="ask for less of each document"))
    return tuple(items)


def of_one_document() -> Check:
    """A check for what is done with one document that others have published, in the thread that calls it.

    It raises :class:`DisseminationError` (HX9022) after :data:`MOST_SECONDS`, or :data:`MOST_CALLS`.
    """
    end, calls = time.thread_time() + MOST_SECONDS, 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > MOST_CALLS:
            raise DisseminationError(Fault("HX9022", f"it makes more than {MOST_CALLS:,} combinations of nodes"))
        if time.thread_time() > end:
            raise DisseminationError(Fault("HX9022", f"it takes longer than {MOST_SECONDS:g} seconds"))

    return check


def _identity(identity: str, text: str) -> str:
    """The id of what is delivered to those who follow a query."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    found = f"{identity}/answers/{digest}"
    return found if len(found) <= MOST_ID else f"{hashlib.sha256(identity.encode()).hexdigest()}/answers/{digest}"


class FollowedQueries:
    """The followed queries of one peer, for what is published at it: nothing is translated. For several threads."""

    def __init__(self, followed: Sequence[Followed] = ()) -> None:
        self._followed = {one.number: one for one in followed}

    def add(self, one: Followed) -> None:
        """There is such a subscription."""
        self._followed = {**self._followed, one.number: one}

    def remove(self, number: int) -> None:
        """There is no such subscription any more."""
        self._followed = {known: one for known, one in self._followed.items() if known != number}

    def ask(self, document: Document) -> FollowedAnswers:
        """Ask a document all of them."""
        return ask_document(document, self._followed.values())
