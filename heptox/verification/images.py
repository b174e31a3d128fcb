"""What exchange makes of documents: whether images are valid, what is refused, what makes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from heptox.errors import Fault, HeptoxError
from heptox.mapping import (
    WITHOUT_MEANING,
    ExchangeReceipt,
    Mapping,
    Trace,
    codes_by_table,
    exchange,
    owning_stop,
    path_text,
)
from heptox.pattern import TAG
from heptox.schema import COMPUTED, TEXT, Path, SchemaTree, is_of_xsd, validity_faults
from heptox.verification.inverses import broken_inverses
from heptox.xml import Document, XmlElement, parse_document, write_document

if TYPE_CHECKING:
    from heptox.schema import DocumentChecker

MOST_REASONS: Final = 3
"""Reasons that one remark gives at most why documents are refused, or images not valid."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A document and what exchange made of it: an image, and the leaves that got several values; or a refusal."""

    document: Document
    image: Document | None
    trace: Trace
    receipt: ExchangeReceipt
    refusal: Fault | None = None


def exchanged(read: Mapping, document: Document) -> Exchanged:
    """A document with its image, or with why exchange refuses it."""
    trace, receipt = Trace(), ExchangeReceipt()
    try:
        return Exchanged(document, exchange(read, document, trace, receipt), trace, receipt)
    except HeptoxError as error:
        return Exchanged(document, None, trace, receipt, error.faults[0])


@dataclass
class Images:
    """Some documents of the side that answers with their images. Random ones are those that promises are made for: none
    brings several values for a leaf.

    A ``checker`` knows the schema as it is written, of an XSD the types of values too; without it, images are checked
    against the schema graph.
    """

    read: Mapping
    documents: Sequence[Document]
    are_random: bool = False
    checker: DocumentChecker | None = None

    @cached_property
    def all(self) -> tuple[Exchanged, ...]:
        """The documents, each exchanged once."""
        found = (exchanged(self.read, document) for document in self.documents)
        return tuple(one for one in found if not (self.are_random and one.receipt.conflicts))

    @property
    def which(self) -> str:
        """What texts say of the documents behind a noun."""
        return " of random documents" if self.are_random else ""

    @property
    def leaves_values_aside(self) -> bool:
        """Whether images are checked without the types of their values."""
        return self.checker is None and is_of_xsd(self.read.target.graph)

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """Why exchange refuses documents, for each that it does."""
        return tuple(
            str(fault) if fault.position or not one.document.file else f"{one.document.file}: {fault}"
            for one in self.all
            if (fault := one.refusal) is not None
        )

    @cached_property
    def faults(self) -> tuple[tuple[Fault, ...], ...]:
        """For each image what keeps it from being valid, each with a path."""
        return tuple(self._faults(one.image) for one in self.all if one.image is not None)

    def _faults(self, image: Document) -> tuple[Fault, ...]:
        text = write_document(image.root)
        if self.checker is not None:
            return self.checker.faults_of(text.encode(), "image").faults
        return validity_faults(parse_document(text), self.read.target.graph)

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why images are not valid, what keeps most of them from it first."""
        found = Counter(
            reason
            for faults in self.faults
            for reason in dict.fromkeys(f"{one.message} ({one.hint})" if one.hint else one.message for one in faults)
        )
        return tuple(reason for reason, _ in found.most_common())

    def remarks(self) -> Iterator[str]:
        """What is refused, and what of that which is made is not valid."""
        if self.refusals:
            count = f"{len(self.refusals)} of {len(self.all)} documents{' drawn at random' if self.are_random else ''}"
            yield f"{count} cannot be exchanged: {_first(self.refusals)}"
        wrong = sum(map(bool, self.faults))
        if wrong:
            yield f"{wrong} of {len(self.faults)} images{self.which} are not valid: {_first(self.reasons)}"

    def unknown_codes(self) -> Iterator[str]:
        """Codes of given documents that tables do not have."""
        codes = set[tuple[str, str]]().union(*(one.receipt.unknown_codes for one in self.all))
        for table, listed in codes_by_table(codes, MOST_REASONS):
            yield f"{table} does not have {listed}: {WITHOUT_MEANING}"

    def broken_promises(self) -> Iterator[str]:
        """What declared inverses do not give back of given documents."""
        found = [fault for one in self.all for fault in broken_inverses(self.read, one.document)]
        for fault in found[:MOST_REASONS]:
            yield f"line {fault.position.line if fault.position else 1}: {fault.message}"

    def several_values(self) -> Iterator[str]:
        """Leaves that are there once, for which given documents bring several values."""
        conflicts = sum((one.receipt.conflicts for one in self.all), Counter[Path]())
        for leaf, count in sorted(conflicts.items()):
            nodes = f"{count} {path_text(self.read.target, self.read.target.stop(leaf))}"
            name = path_text(self.read.target, leaf)
            text = f"{nodes} get several values for {name}, which is there once: one of them stays"
            yield f"{text}, and translation promises nothing for these documents"

    def idle(self) -> tuple[Counter[Path], Counter[Path]]:
        """By stop node how many elements make nothing, below ones that do, and how many there are with values."""
        idle: Counter[Path] = Counter()
        total: Counter[Path] = Counter()
        tree, carried = self.read.source, {source for source, _ in self.read.carried()}
        for one in self.all:
            if one.refusal is not None:
                continue
            starts, values = one.trace.starts(), one.trace.values()
            there = {_owner(tree, leaf, at): owning_stop(tree, leaf) for leaf, at in starts if leaf in carried}
            making = {_owner(tree, value.source, value.start) for value in values}
            making |= {above for element in making for above in element.iterancestors()}
            for element, stop in there.items():
                if stop and not any(above in there and above not in making for above in element.iterancestors()):
                    total[stop] += 1
                    idle[stop] += element not in making
        return Counter({stop: count for stop, count in idle.items() if count}), total


def _first(reasons: Sequence[str]) -> str:
    several = dict.fromkeys(reasons)
    more = [f"{len(several) - MOST_REASONS} more"] if len(several) > MOST_REASONS else []
    return "; ".join([*list(several)[:MOST_REASONS], *more])


def _owner(tree: SchemaTree, leaf: Path, element: XmlElement) -> XmlElement:
    """The element of the stop node whose leaf is in or at an element."""
    for step in leaf[len(owning_stop(tree, leaf)) :]:
        if not step.startswith(("@", COMPUTED)) and step not in (TEXT, TAG):
            above = element.getparent()
            assert above is not None  # a leaf stands below its stop node
            element = above
    return element
