"""The results of filters as files of XML, one for each subscriber."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final
from xml.sax.saxutils import quoteattr

from heptox.errors import DisseminationError, Fault
from heptox.filtering.fragments import Fragment, Kind

_MOST_BUFFERED: Final = 1 << 25
"""How many characters wait at most before they are written."""
_UNFINISHED: Final = ".part"
_END: Final = "</results>\n"


class ResultFolder:
    """A folder that gets a file ``SUBSCRIBER.xml`` for each subscriber, with all that is found for them.

    A context manager: a file has its name when all is written, and where anything goes wrong nothing is left of any.

    Raises :class:`DisseminationError` (HX9203) where nothing can be written, as when the disk is full, and for a folder
    that has anything in it.
    """

    def __init__(self, folder: Path, subscribers: Iterable[str]) -> None:
        self._folder = folder
        self._subscribers = list(dict.fromkeys(subscribers))
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._buffered = 0
        self._made = self._begun = False
        self._document = ""
        self._before: dict[str, int] = {}
        self._counted_before: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        """How many fragments each subscriber has got."""

    def __enter__(self) -> ResultFolder:
        try:
            self._begin()
        except BaseException as error:  # also when it is asked to end
            self._remove()
            raise self._told(error) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            self._remove()
            return
        try:
            self._finish()
        except BaseException as fault:
            self._remove()
            raise self._told(fault) from None

    def _begin(self) -> None:
        self._made = not self._folder.exists()
        if not self._made and not self._folder.is_dir():
            raise self._fault("is no folder", "name one that is not there yet")
        self._folder.mkdir(parents=True, exist_ok=True)
        if any(self._folder.iterdir()):
            raise self._fault("the folder is not empty", "name one that is not there yet")
        self._begun = True
        for subscriber in self._subscribers:
            self._part(subscriber).write_text(f"<results subscriber={quoteattr(subscriber)}>\n", encoding="utf-8")

    def _finish(self) -> None:
        self._flush()
        for subscriber in self._subscribers:
            with self._part(subscriber).open("a", encoding="utf-8") as file:
                file.write(_END)
        for subscriber in self._subscribers:
            self._part(subscriber).rename(self.file(subscriber))

    def file(self, subscriber: str) -> Path:
        """The file of a subscriber."""
        return self._folder / f"{subscriber}.xml"

    def begin(self, document: str) -> None:
        """What is added from now on is found in another document."""
        self._flush()
        self._document = quoteattr(document)
        self._before.clear()
        self._counted_before = Counter(self.counts)

    def drop(self) -> None:
        """Forget what was found in the document."""
        self._waiting.clear()
        self._buffered = 0
        try:
            for subscriber, length in self._before.items():
                with self._part(subscriber).open("r+b") as file:
                    file.truncate(length)
        except OSError as error:
            raise self._unwritten(error) from None
        self._before.clear()
        self.counts = Counter(self._counted_before)

    def add(self, subscriber: str, line: int, fragments: Sequence[Fragment]) -> None:
        """What the filter on a line selects in the document."""
        head = f'<result document={self._document} line="{line}"'
        text = "".join(f"{head}{_attributes(each)}>{each}</result>\n" for each in fragments)
        self._waiting[subscriber].append(text)
        self._buffered += len(text)
        self.counts[subscriber] += len(fragments)
        if self._buffered > _MOST_BUFFERED:
            self._flush()

    # -- files --------------------------------------------------------------------------------------------------------

    def _part(self, subscriber: str) -> Path:
        return self._folder / f"{subscriber}.xml{_UNFINISHED}"

    def _flush(self) -> None:
        try:
            for subscriber, texts in self._waiting.items():
                with self._part(subscriber).open("ab") as file:
                    self._before.setdefault(subscriber, file.tell())
                    file.writelines(text.encode() for text in texts)
        except OSError as error:
            raise self._unwritten(error) from None
        self._waiting.clear()
        self._buffered = 0

    def _remove(self) -> None:
        """Leave nothing of what was written, nor a folder that was not there."""
        for subscriber in self._subscribers if self._begun else ():  # else the files are somebody else's
            for path in (self._part(subscriber), self.file(subscriber)):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        if self._made:
            with suppress(OSError):
                self._folder.rmdir()

    def _fault(self, message: str, hint: str | None = None) -> DisseminationError:
        return DisseminationError(Fault("HX9203", message, file=str(self._folder), hint=hint))

    def _told(self, error: BaseException) -> BaseException:
        """What to raise for what went wrong."""
        return self._unwritten(error) if isinstance(error, OSError) else error

    def _unwritten(self, error: OSError) -> DisseminationError:
        return self._fault(f"cannot be written, and no results are left there: {error.strerror or error}")


def _attributes(fragment: Fragment) -> str:
    """What is said of a fragment that is no element."""
    match fragment.kind:
        case Kind.ELEMENT:
            return ""
        case Kind.TEXT:
            return ' kind="text"'
        case Kind.ATTRIBUTE:
            return f' kind="attribute" name={quoteattr(fragment.name)}'
        case Kind.VALUE:
            return f' kind="value" type={quoteattr(fragment.name)}'
