"""Any XQuery 3.1 over documents, by Saxon: what the fragment of our own cannot say.

:func:`evaluate_xquery` is for processes that may be lost, which bound what it costs in memory and time: who asks them
imports this module, and nothing of Saxon.
"""

from __future__ import annotations

import os
import re
import resource
import signal
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from heptox.errors import Fault, GrammarError, HeptoxError, Position, StoreError
from heptox.grammar import fault_at, prolog
from heptox.schema import AttributeType, SchemaGraph
from heptox.store.allowance import Allowance
from heptox.store.written_names import WrittenNames
from heptox.xml import NO_PREFIXES, Prefixes

if TYPE_CHECKING:
    from saxonche import PySaxonProcessor, PyXdmValue, PyXQueryProcessor

MOST_AT_ONCE: Final = 64 * 2**20
"""Characters of documents that are evaluated at a time."""
ITEMS: Final = 20_000
"""How many items are serialised at a time."""
_GRACE: Final = 2.0
"""How many seconds later a process ends by itself than it is to be ended."""
_BASE: Final = "http://query.invalid/"
"""The base URI of a query, which names no place: without it Saxon takes the working directory."""
_COLLECTION: Final = "http://saxon.sf.net/feature/defaultCollection"
_NONE: Final = "no-collection"
"""The scheme of a default collection that is refused when it is asked for."""
_SERIALISE: Final = """declare variable $items external;
declare variable $first external;
subsequence($items, $first, {count}) ! serialize(., map {{"method": "adaptive", "indent": false()}})"""


@dataclass(frozen=True, slots=True)
class XQuery:
    """A query as it was written, and the texts of the documents that it is about.

    Each document is the context item of an evaluation of its own; without documents there is one evaluation, and no
    context. A query that asks for ``collection()``, or ``together``, is evaluated once, without a context item: the
    collection holds all documents. ``bound`` gives external variables their values, untyped. An answer may have so many
    ``characters``.
    """

    text: str
    documents: tuple[str, ...]
    file: str | None = None
    bound: tuple[tuple[str, str], ...] = ()
    together: bool = False
    characters: int = Allowance().characters
    prefixes: Prefixes = NO_PREFIXES

    @property
    def prolog(self) -> str:
        """Declarations of the ``prefixes`` that the text uses, and does not declare; on one line."""
        if _DECLARES_A_VERSION.match(self.text):
            return ""
        declared = dict(_NAMESPACE.findall(self.text))
        used = {one: uri for one, uri in self.prefixes.bound if one and one not in declared and f"{one}:" in self.text}
        if (default := self.prefixes.namespaces.get("")) and not _DEFAULT_NAMESPACE.search(self.text):
            used[""] = default
        return prolog(Prefixes.of(used)).replace("\n", "")

    @property
    def may_ask_together(self) -> bool:
        """Whether a query may ask all documents at once: it is to, or has the word ``collection``."""
        return self.together or "collection" in self.text

    @property
    def may_see_asides(self) -> bool:
        """Whether comments and instructions may split the texts of documents: for a query that asks for them, or that
        does not ask for nodes of text, which ``deep-equal`` compares too."""
        return bool(_ASKS_FOR_ASIDES.search(self.text)) or not _ASKS_FOR_TEXTS.search(self.text)

    def parts(self) -> list[XQuery]:
        """The questions of which the answers, one after the other, are the answer: about a document at a time, or about
        all of them where they may be asked together.

        Raises :class:`StoreError` (HX6008) for documents that are more than Saxon is given at a time.
        """
        at_once = self.may_ask_together or not self.documents
        parts = [self] if at_once else [replace(self, documents=(each,)) for each in self.documents]
        for part in parts:
            part._check_size()
        return parts

    def _check_size(self) -> None:
        if sum(map(len, self.documents)) > MOST_AT_ONCE:
            what = "a document" if len(self.documents) == 1 else f"{len(self.documents)} documents together"
            message = f"the query reads over {MOST_AT_ONCE:,} characters of {what}"
            raise StoreError(Fault("HX6008", message, hint="Saxon evaluates it, which holds them in memory"))


def evaluate_xquery(question: XQuery, seconds: float) -> tuple[str, ...]:
    """The items of the answer in their order, each as the ``adaptive`` method of XQuery 3.1 writes it.

    The process can write no file afterwards, and has neither an environment nor anything on stdout and stderr. Who asks
    ends it after so many ``seconds``; should that one be lost, it ends by itself.

    Raises :class:`GrammarError` (HX3007) for a static error of XQuery, HX3008 for external variables that do not fit;
    :class:`StoreError`: HX6017 for a dynamic error, HX6007 for an answer that is too long.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)  # which ends the process, also while Saxon keeps its lock
    try:
        return _engine().answer(question)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def identifying(graph: SchemaGraph, prefixes: Prefixes = NO_PREFIXES) -> list[tuple[str, str, str]]:
    """The attributes that a schema declares to be identifiers or references, as
    :func:`heptox.xml.identifying_attributes`, as a document has them that binds some prefixes."""
    names = WrittenNames(prefixes)
    found = [
        (names.name(element.name), names.attribute(attribute.name), attribute.type.value)
        for element in graph.elements.values()
        for attribute in element.attributes
        if attribute.type in (AttributeType.ID, AttributeType.IDREF, AttributeType.IDREFS)
    ]
    return [each for each in found if "{" not in f"{each[0]}{each[1]}"]  # for others the document has no prefix


def with_identifiers(text: str, attributes: Iterable[tuple[str, str, str]]) -> str:
    """The text of a document in which ``id()`` and ``idref()`` are to find these attributes.

    >>> with_identifiers("<a k='x'/>", [("a", "k", "ID")])
    "<!DOCTYPE document [<!ATTLIST a k ID #IMPLIED>]><a k='x'/>"
    """
    declared = "".join(f"<!ATTLIST {element} {attribute} {kind} #IMPLIED>" for element, attribute, kind in attributes)
    return f"<!DOCTYPE document [{declared}]>{text}" if declared else text


def fragment_lacks(own: GrammarError) -> str:
    """What the fragment lacks for a query, and where that stands, on one line."""
    return str(replace(own.faults[0], hint=None))


def clearer_error(own: GrammarError, other: GrammarError, text: str) -> GrammarError:
    """Which of two errors says what is wrong with a text that is no XQuery: that of heptox's parser, or Saxon's.

    It is ours where it speaks of the same word, and does not only say that the fragment is left: Saxon has read what is
    in front of it, too.
    """
    place = other.faults[0].position
    faults = [fault for fault in own.faults if fault.code != "HX3002"]
    if place is None:
        return own if len(faults) == len(own.faults) else other
    line = [*text.split("\n"), ""][place.line - 1]
    same = [fault for fault in faults if fault.position and _is_one_word(line, fault.position, place)]
    return GrammarError(same) if same else other


def _is_one_word(line: str, one: Position, other: Position) -> bool:
    first, last = sorted((one.column, other.column))
    return one.line == other.line and len(line[first - 1 : last - 1].split()) <= 1


_STREAMS: Final = (0, 1, 2)
_FIRST: Final = (
    "matches('a', '\\p{Lu}', 'i'), format-dateTime(current-dateTime(), '[MNn] [Y]', 'en', (), ())",
    "sort(('b', 'a'), 'http://www.w3.org/2013/collation/UCA'), count(collection()), parse-xml('<a>&lt;</a>')",
    "xml-to-json(json-to-xml('[1]')), parse-json('{}'), serialize(., map{'method': 'html'}), normalize-unicode('a')",
    "transform(map{'stylesheet-text': '<a xsl:version=\"3.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\"/>', "
    "'source-node': .})?output",
    "1 +",
    "1 div 0",
)
"""Queries that have Saxon, and Python, load what they load late."""


@cache
def _engine() -> _Engine:
    """The one of this process, which is prepared for it."""
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in _STREAMS:  # what trace() and xsl:message say, and what Saxon says when it ends for want of memory
        os.dup2(silent, stream)
    os.close(silent)
    os.chdir("/")
    from heptox.saxon import confined_processor  # here alone: who only asks does not load it

    engine = _Engine(confined_processor(data=True))
    for text in _FIRST:
        with suppress(HeptoxError):
            engine.answer(XQuery(text, ("<a/>",)))
    # A catalogue in a URI may name files, and Saxon forgets then what it must not read: the system refuses it, too. By
    # now all is loaded that evaluations, answers and errors need of files.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(_STREAMS), len(_STREAMS)))  # there are so many already
    return engine


class _Engine:
    """Saxon, kept warm from one question to the next."""

    def __init__(self, processor: PySaxonProcessor) -> None:
        self._processor = processor

    def answer(self, question: XQuery) -> tuple[str, ...]:
        """As :func:`evaluate_xquery`."""
        from saxonche import PySaxonApiError

        bound = external_values(question)
        try:
            if question.together:
                return self._together(question, bound)
            try:
                return self._each(question, bound)
            except PySaxonApiError as error:
                if f"URI scheme '{_NONE}'" not in str(error):
                    raise
            return self._together(question, bound)
        except PySaxonApiError as error:
            raise error_of(str(error), question) from None

    def _together(self, question: XQuery, bound: Mapping[str, str]) -> tuple[str, ...]:
        documents = "".join(f'<doc href="{_data(text, n)}"/>' for n, text in enumerate(question.documents))
        # stable: each document is there once, however often it is asked for
        self._processor.set_configuration_property(
            _COLLECTION, _data(f'<collection stable="true">{documents}</collection>')
        )
        try:
            return tuple(self._items(self._evaluated(question, None, bound), question, question.characters))
        finally:
            self._processor.set_configuration_property(_COLLECTION, f"{_NONE}:/")

    def _each(self, question: XQuery, bound: Mapping[str, str]) -> tuple[str, ...]:
        self._processor.set_configuration_property(_COLLECTION, f"{_NONE}:/")
        items: list[str] = []
        left = question.characters
        for document in question.documents or (None,):
            found = list(self._items(self._evaluated(question, document, bound), question, left))
            left -= sum(map(len, found))
            items += found
        return tuple(items)

    def _evaluated(self, question: XQuery, document: str | None, bound: Mapping[str, str]) -> PyXdmValue | None:
        query: PyXQueryProcessor = self._processor.new_xquery_processor()
        query.set_query_base_uri(_BASE)
        if document is not None:
            query.set_context(xdm_item=self._processor.parse_xml(xml_text=document))
        for name, value in bound.items():
            query.set_parameter(name, self._processor.make_atomic_value("untypedAtomic", value))
        query.set_query_content(question.prolog + question.text)
        return query.run_query_to_value()

    def _items(self, value: PyXdmValue | None, question: XQuery, most: int) -> Iterator[str]:
        """The items of a value as texts. The text of the query has no part in that: it stays as it is."""
        if value is None:
            return
        if (count := value.size) > most:
            raise _too_long(f"the answer has {count:,} items", question)
        query = self._processor.new_xquery_processor()
        query.set_query_content(_SERIALISE.format(count=ITEMS))
        query.set_parameter("items", value)
        for first in range(1, count + 1, ITEMS):
            query.set_parameter("first", self._processor.make_integer_value(first))
            written = query.run_query_to_value()
            for place in range(written.size):
                item = str(written.item_at(place).string_value)
                most -= len(item)
                if most < 0:
                    raise _too_long("the answer", question)
                yield item


def _data(text: str, number: int = 0) -> str:
    """A URI that holds a document; the number, as white space behind the root, tells equal ones apart."""
    white = f"{number:b}".replace("0", " ").replace("1", "\n")
    return f"data:application/xml;base64,{b64encode((text + white).encode()).decode()}"


def _too_long(what: str, question: XQuery) -> StoreError:
    message = f"{what}, more than {question.characters:,} characters"
    return StoreError(Fault("HX6007", message, file=question.file, hint="return fewer or smaller items"))


# -- external variables -----------------------------------------------------------------------------------------------

_NAME: Final = r"(?:Q\{[^{}]*\})?[\w.:-]+"
_BETWEEN: Final = r"(?:\s|\(:(?:(?!:\)).)*:\))+"
_NAMESPACE: Final = re.compile(
    rf"""\bdeclare{_BETWEEN}namespace{_BETWEEN}([\w.-]+)\s*=\s*["']([^"']*)["']""", re.DOTALL
)
_DEFAULT_NAMESPACE: Final = re.compile(rf"\bdeclare{_BETWEEN}default{_BETWEEN}element{_BETWEEN}namespace\b")
_DECLARES_A_VERSION: Final = re.compile(rf"(?:{_BETWEEN})?xquery{_BETWEEN}(?:version|encoding)\b|module\b")
_ASKS_FOR_ASIDES: Final = re.compile(r"\b(?:comment|processing-instruction|node)\s*\(")
_ASKS_FOR_TEXTS: Final = re.compile(r"\btext\s*\(|\bdeep-equal\b")
_EXTERNAL: Final = re.compile(
    rf"\bdeclare{_BETWEEN}(?:%[^;$]*?)?variable{_BETWEEN}?\$({_NAME})(?:(?!:=)[^;{{])*?\bexternal\b", re.DOTALL
)


def external_values(question: XQuery) -> dict[str, str]:
    """The values of external variables by the names by which Saxon knows them, ``{uri}local``.

    Raises :class:`GrammarError` (HX3008) for a value of a variable that is not declared as external.

    >>> text = "declare namespace p = 'urn:p'; declare variable $p:n external; $p:n"
    >>> [external_values(XQuery(text, (), bound=((name, "1"),))) for name in ("p:n", "Q{urn:p}n")]
    [{'{urn:p}n': '1'}, {'{urn:p}n': '1'}]
    """
    namespaces = dict(_NAMESPACE.findall(question.text))
    known: dict[str, str] = {}
    for name in _EXTERNAL.findall(question.text):
        prefix, colon, local = name.rpartition(":")
        known[name] = name[1:] if name.startswith("Q{") else name
        if colon and not name.startswith("Q{"):
            known[name] = f"{{{namespaces.get(prefix, '')}}}{local}"
            known[f"Q{known[name]}"] = known[name]
    for name, _ in question.bound:
        if name not in known:
            message = f"the query declares no external variable ${name}"
            hint = f"declared: {', '.join(f'${each}' for each in known)}" if known else None
            raise GrammarError(Fault("HX3008", message, file=question.file, hint=hint))
    return {known[name]: value for name, value in question.bound}


# -- errors -----------------------------------------------------------------------------------------------------------

_PLACE: Final = re.compile(r"on line (\d+)(?: at)? column (\d+)|at char (\d+)")
_HEAD: Final = re.compile(r"(?:(?:Static|Type) )?[Ee]rror\b")
_CODE: Final = re.compile(r"([A-Z]{4}\d{4})\s+")
_UNVALUED: Final = re.compile(r"XPDY0002\s+No value supplied for required parameter (\$\S+)")
_NO_CONTEXT: Final = "bind a document by for or let: collection() gives them, and there is no context document then"


def error_of(said: str, question: XQuery) -> HeptoxError:
    """The error that Saxon's words stand for: its code of XQuery is kept, and its place in the text of the query."""
    lines = [line.strip() for line in said.strip().split("\n")]
    heads = [number for number, line in enumerate(lines) if _HEAD.match(line) and number + 1 < len(lines)]
    head = lines[heads[-1]] if heads else ""  # warnings come before it
    body = " ".join(lines[heads[-1] + 1 :] if heads else lines)
    place = _position(head, question) or _function_position(body, question)
    if unvalued := _UNVALUED.search(body):
        message = f"XPDY0002: the external variable {unvalued[1]} has no value"
        return GrammarError(fault_at("HX3008", message, question.text, place, "give it one with --bind"))
    message = _CODE.sub(r"\1: ", body, count=1).replace(_BASE, "")
    if message.startswith("URI scheme "):  # of a collection, of which Saxon says no code
        message = f"FODC0002: {message}"
    hint = None
    if "has been disallowed" in body or "has been prohibited" in body:
        hint = "a query sees nothing but the documents it is asked about"
    elif "XPDY0002" in body:
        hint = "no document is given, or it is in the body of a function, where there is no context item"
        if question.documents and question.may_ask_together:
            hint = _NO_CONTEXT
    fault = fault_at("HX3007" if head.startswith("Static") else "HX6017", message, question.text, place, hint)
    return GrammarError(fault) if fault.code == "HX3007" else StoreError(fault)


def _position(head: str, question: XQuery) -> Position | None:
    """The place in the query of which Saxon speaks, which counts UTF-16, and from where it stopped reading."""
    if _BASE not in head or (found := _PLACE.search(head)) is None:
        return None
    line, column = (int(found[1]), int(found[2])) if found[1] else (1, int(found[3]))
    if line == 1:
        column -= len(question.prolog.encode("utf-16-le")) // 2
    lines = question.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not 1 <= line <= len(lines) or column < 0:
        return None
    before = lines[line - 1].encode("utf-16-le")[: 2 * (column - 1)].decode("utf-16-le", "ignore")
    return Position(line, len(before) + 1, question.file)


def _function_position(body: str, question: XQuery) -> Position | None:
    """Where an unknown function is called, of which Saxon gives no place, if only one place can be meant."""
    named = re.search(r"XPST0017.* named (?:Q\{[^}]*\})?([\w.-]+)\(", body)
    calls = list(re.finditer(rf"(?<![\w.-]){re.escape(named[1])}\s*\(", question.text)) if named else []
    if len(calls) != 1:
        return None
    before = question.text[: calls[0].start()]
    return Position(before.count("\n") + 1, len(before) - before.rfind("\n"), question.file)
