"""What evaluates XPath 3.1 by Saxon: a process that may be lost, started by :mod:`xpath3_evaluation`.

It reads a document and expressions from standard input, and writes to standard output whether the document could be
read, and then what each expression selects. It imports nothing of heptox but Saxon, so that it starts soon.
"""

from __future__ import annotations

import os
import pickle
import re
import resource
import signal
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final

from saxonche import PySaxonApiError

from heptox.saxon import confined_processor

_EVALUATED: Final = "function($document as document-node()) {{ $document ! (\n{}\n) }}"
_WRITTEN: Final = """function($items) { string-join(for $item in $items
return if ($item instance of element()) then concat('e', generate-id($item), ' ')
else if ($item instance of attribute()) then concat('a', generate-id($item), ' ')
else if ($item instance of text()) then concat('t', generate-id($item), ' ')
else if ($item instance of document-node()) then ()
else let $text := string($item) return concat('v',
    if ($item instance of xs:numeric) then 'number' else if ($item instance of xs:boolean) then 'boolean'
    else if ($item instance of xs:dateTime) then 'dateTime' else if ($item instance of xs:date) then 'date'
    else if ($item instance of xs:time) then 'time'
    else if ($item instance of xs:dayTimeDuration) then 'dayTimeDuration'
    else if ($item instance of xs:yearMonthDuration) then 'yearMonthDuration' else 'string',
    ' ', string-length($text), ' ', $text)) }"""
"""What writes items as one text, which is much faster than asking for one after another."""
_NAMES: Final = "function($nodes) { string-join($nodes ! generate-id(.), ' ') }"
_OF_KIND: Final = {"e": "//*", "a": "//@*", "t": "//text()"}
_MOST_COMPILED: Final = 5_000
"""How many expressions are kept compiled, some 30 KB each; to compile one takes 0.1 ms."""
_ERROR: Final = re.compile(r"rror(?:.* on line ([0-9]+)(?: at)? column ([0-9]+) of)?.*\n  (\S+)  (.*(?:\n  .*)*)")
_WARNING: Final = re.compile(r"SXWN9027  Evaluation will always throw a dynamic error: (.*(?:\n  .*)*)")
_ERRORS: Final = 2
"""Standard error, to which Saxon writes warnings: a file here."""
_MOST_READ: Final = 1 << 16
_SHOWN: Final = 60


class _Document:
    """A document, and its nodes of each kind by what Saxon calls them, in document order."""

    def __init__(self, saxon: _Saxon, text: str) -> None:
        self.node = saxon.processor.parse_xml(xml_text=text)
        self._saxon = saxon
        self._places: dict[str, dict[str, int]] = {}

    def place(self, kind: str, name: str) -> int:
        places = self._places.get(kind)
        if places is None:
            written = self._saxon.named(_OF_KIND[kind], self.node)
            places = self._places[kind] = {each: place for place, each in enumerate(written.split(" "))}
        return places[name]


class _Saxon:
    """Expressions that are compiled once."""

    def __init__(self) -> None:
        self.processor = confined_processor()
        os.environ["TZ"] = "UTC"  # which a date is in that does not say it; Saxon asks for it when it first compares
        self._compiler = self.processor.new_xpath_processor()
        self._compiler.set_language_version("3.1")
        self._compiler.declare_namespace("fn", "http://www.w3.org/2005/xpath-functions")
        self._writer, self._namer = map(self._compiler.evaluate_single, (_WRITTEN, _NAMES))
        self._compiled: dict[str, tuple[Any, str | None]] = {}

    def named(self, nodes: str, document: Any) -> str:
        """What Saxon calls the nodes that an expression selects."""
        return _text(self._namer.call([self._evaluated(nodes, document)]))

    def _evaluated(self, expression: str, document: Any) -> Any:
        """The items of an expression. Raises ``ValueError`` where Saxon warns that a constant in it is an error, and
        finds none: version 13.1 then takes ``xs:date('x') ! 1`` for empty.
        """
        found = self._compiled.get(expression)
        if found is None:
            if len(self._compiled) >= _MOST_COMPILED:
                self._compiled.clear()
            _warning()
            function = self._compiler.evaluate_single(_EVALUATED.format(expression), encoding="UTF-8")
            found = self._compiled[expression] = function, _warning()
        function, warning = found
        items = function.call([document])
        if warning is not None:
            raise ValueError(warning)
        return items

    def selected(self, expression: str, document: _Document) -> list[Any] | str:
        """The items of an expression: of each node the kind and the number among those of its kind, of each other value
        the type and the text. Or why it has no value.
        """
        try:
            items = self._evaluated(expression, document.node)
            return [] if items is None else _items(_text(self._writer.call([items])), document)
        except (PySaxonApiError, ValueError) as error:
            return self._reason(error, expression, document)

    def _reason(self, error: Exception, expression: str, document: _Document) -> str:
        """Why an expression has no value, with the code and the place that Saxon says of XQuery alone."""
        explainer = self.processor.new_xquery_processor()
        explainer.set_context(xdm_item=document.node)
        try:
            # all XPath is XQuery, where an ampersand, which is in strings only, begins a reference
            explainer.set_query_content(f"(\n{expression.replace('&', '&amp;')}\n)")
            explainer.run_query_to_value()
        except (PySaxonApiError, ValueError) as explained:
            return _shown(str(explained), expression)
        return " ".join(str(error).split())


def _warning() -> str | None:
    """What Saxon has warned of since this was last asked: a constant that is an error."""
    written = os.pread(_ERRORS, _MOST_READ, 0).decode(errors="replace")
    if not written:
        return None
    os.ftruncate(_ERRORS, 0)
    os.lseek(_ERRORS, 0, os.SEEK_SET)
    found = _WARNING.search(written)
    return None if found is None else " ".join(found[1].split())


def _text(value: Any) -> str:
    return str(value.item_at(0).string_value)


def _items(written: str, document: _Document) -> list[Any]:
    items: list[Any] = []
    place = 0
    while place < len(written):
        kind = written[place]
        end = written.index(" ", place)
        name = written[place + 1 : end]
        place = end + 1
        if kind == "v":
            end = written.index(" ", place)
            begin, place = end + 1, end + 1 + int(written[place:end])
            items.append((name, written[begin:place]))
        else:
            items.append((kind, document.place(kind, name)))
    return items


def _shown(message: str, expression: str) -> str:
    """A message of Saxon on one line: its code, what it says, and the place in the expression."""
    found = _ERROR.search(message)
    if found is None:
        return " ".join(message.split())
    shown = " ".join(f"{found[3]} {found[4]}".split())
    lines = expression.count("\n") + 1
    if found[1] is None or not 2 <= int(found[1]) <= lines + 1:
        return shown
    line = f"line {int(found[1]) - 1}, " if lines > 1 else ""
    return f"{shown}, at {line}column {found[2]} of {expression[:_SHOWN]}"


# -- the process --------------------------------------------------------------------------------------------------


def _data() -> int:
    """Bytes of memory that the process has asked for; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _limit_memory(most: int) -> None:
    """Memory beyond that of which nothing is evaluated; it is never less than it was, for Saxon may still hold that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft < most:
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    def answer(value: object) -> None:
        pickle.dump(value, answers)
        answers.flush()  # before the next expression, which may end the process

    saxon = _Saxon()
    started = _data()
    while True:
        try:
            text, expressions, seconds, memory = pickle.load(requests)
        except EOFError:
            return
        if started:
            _limit_memory(started + memory)
        try:
            document = _Document(saxon, text)
        except (PySaxonApiError, ValueError) as error:
            answer(" ".join(str(error).split()))
            continue
        answer(None)
        for expression in expressions:
            # nothing but the end of the process ends what Saxon does
            signal.setitimer(signal.ITIMER_PROF, seconds)
            answer(saxon.selected(expression, document))
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks says when it ends
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with TemporaryFile() as written:
        for stream in (sys.stdout.fileno(), _ERRORS):
            os.dup2(written.fileno(), stream)
    _serve(sys.stdin.buffer, answers)
    answers.flush()
    os._exit(0)  # the processor takes its time to end


if __name__ == "__main__":
    main()
