"""The judges: elementpath for XPath 2, and lxml's XPath 1.0 where it says the same.

elementpath is asked twice: the guarded condition, which has no errors, and the subscription as it stands, which raises
an error on values that are no numbers; without an error both must agree. A decision takes 0.2 to 0.5 ms.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import InvalidOperation
from functools import cached_property
from typing import Any, Final

import elementpath
from elementpath import ElementPathError, XPath2Parser, XPathContext, xpath_nodes
from lxml import etree

from heptox.xml import Document, write_element
from tests.support.matching.conditions import DOUBLE, Condition, comparisons, guarded

_CASTABLE: Final = re.compile(DOUBLE.strip("^$"))
_NUMBER_OF_XPATH_1: Final = re.compile(r"[ \t\n\r]*-?([0-9]+(\.[0-9]*)?|\.[0-9]+)[ \t\n\r]*")
_EXPONENT: Final = re.compile(r"\s*[-+]?[0-9.]+[eE]")
_PLAIN_NUMBER: Final = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)")


def _strings_in_order(element: Any, normalize: bool = False) -> Iterator[str]:  # noqa: ARG001  # as elementpath asks
    return element.itertext()  # type: ignore[no-any-return]  # an element of lxml


setattr(xpath_nodes, "etree_iter_strings", _strings_in_order)  # noqa: B010  # mypy holds that it is not to be set
"""elementpath 5.1.4 takes the text behind an element before that of the element's children: ``string(/a)`` of
``<a><b><c>2</c></b>x</a>`` is ``x2`` there. lxml says ``2x``, and what lxml says is put in."""


class DisagreementError(Exception):
    """The judges do not agree."""


@dataclass(frozen=True)
class Judged:
    """A document as the judges need it."""

    document: Document

    @property
    def text(self) -> str:
        return write_element(self.document.root)

    @cached_property
    def nodes(self) -> Any:
        return elementpath.get_node_tree(self.document.root.getroottree())

    @cached_property
    def values(self) -> tuple[str, ...]:
        """All values of nodes."""
        root = self.document.root
        found = [str(value) for element in root.iter() for value in element.attrib.values()]
        for element in root.iter():
            found += ["".join(map(str, element.itertext())), element.text or "", element.tail or ""]
        return tuple(found)

    @cached_property
    def misread(self) -> bool:
        """Whether elementpath takes a value for a number that is none: it reads numbers as Python does."""
        return any(_is_python_number(value) != bool(_CASTABLE.fullmatch(value)) for value in self.values)

    @cached_property
    def same_numbers(self) -> bool:
        """Whether XPath 1.0 takes the same values for numbers as XPath 2, and lxml, which reads ``1e`` too."""
        return all(
            bool(_NUMBER_OF_XPATH_1.fullmatch(value)) == bool(_CASTABLE.fullmatch(value)) and not _EXPONENT.match(value)
            for value in self.values
        )


def _is_python_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


class Plain:
    """elementpath asked about a subscription as it stands.

    Raises ``ElementPathError`` for what is no XPath.
    """

    def __init__(self, text: str) -> None:
        self._token = XPath2Parser().parse(_without_comments(text))

    def decide(self, judged: Judged) -> bool | None:
        """Whether the document fulfils it; ``None`` where that is an error, or nothing to rely on."""
        if judged.misread:
            return None
        # a value that is no number; of a comparison with a decimal the error is Python's
        with suppress(ElementPathError, InvalidOperation):
            return _truth(self._token, XPathContext(judged.nodes))
        return None


class Judge:
    """What one subscription should match; ``condition`` and ``text`` say the same.

    >>> from heptox.xml import parse_document
    >>> from tests.support.matching.conditions import Comparison, Constant, Path, Step
    >>> judge = Judge(Comparison(Path(True, (Step("//", "b"),)), "<", Constant("5", True)), "//b < 5")
    >>> [judge.decide(Judged(parse_document(text))) for text in ("<a><b>x</b><b>4</b></a>", "<a><b>x</b></a>")]
    [True, False]
    """

    def __init__(self, condition: Condition, text: str) -> None:
        self.text = text
        self.guarded_text = guarded(condition)
        parser = XPath2Parser(variable_types={"double": "xs:string"})
        self._guarded = parser.parse(self.guarded_text)
        self._plain = Plain(text)
        compared = list(comparisons(condition))
        self._numeric = any(comparison.constant.number for comparison in compared)
        same = "(:" not in text and all(map(_means_the_same, compared))
        self._xpath_1 = etree.XPath(text) if same else None

    def decide(self, judged: Judged, counts: Counter[str] | None = None) -> bool:
        """Whether the document fulfils the subscription.

        Raises :class:`DisagreementError`; ``counts`` gets how many decisions each judge made.
        """
        context = XPathContext(judged.nodes, variables={"double": DOUBLE})
        found = {"guarded": _truth(self._guarded, context)}
        if (plain := self._plain.decide(judged)) is not None:
            found["elementpath"] = plain
        if self._xpath_1 is not None and (judged.same_numbers or not self._numeric):
            answer = self._xpath_1(judged.document.root.getroottree())
            found["lxml"] = bool(answer)
        if counts is not None:
            counts.update(f"decisions of {name}" for name in found)
        if len(set(found.values())) > 1:
            raise DisagreementError(f"{found}: {self.text}")
        return found["guarded"]


_TEXT_OF_COMMENT: Final = r"(?!\(:|:\))."
_FLAT_COMMENT: Final = rf"\(:(?:{_TEXT_OF_COMMENT})*:\)"
_STRING_OR_COMMENT: Final = re.compile(
    rf"""("[^"]*"|'[^']*')|\(:(?:{_FLAT_COMMENT}|{_TEXT_OF_COMMENT})*:\)""", re.DOTALL
)


def _without_comments(text: str) -> str:
    """The text as elementpath reads it, which takes a name like ``text`` and all up to a later comment for a call.

    >>> _without_comments("/a (: why (: what :) :)/b = '(: this :)'")
    "/a  /b = '(: this :)'"
    """
    return _STRING_OR_COMMENT.sub(lambda found: found[1] or " ", text)


def _truth(token: Any, context: XPathContext) -> bool:
    """The effective boolean value."""
    return bool(token.boolean_value(list(token.select(context))))


def _means_the_same(comparison: Any) -> bool:
    """Whether XPath 1.0 compares so with a constant: strings with ``=`` and ``!=``, plain numbers except with ``!=``,
    which a value that is no number fulfils there. It has no quotation marks in strings that have both."""
    if comparison.constant.number:
        return comparison.operator != "!=" and bool(_PLAIN_NUMBER.fullmatch(comparison.constant.value))
    return comparison.operator in ("=", "!=") and not {"'", '"'} & set(comparison.constant.value)
