"""Scenario 2 of Lehner and Irmert: the deployment descriptor of a large application, and filters over it.

Appendix A3 tells how many elements each chunk has. Its figures add up where each counts the two that all others lie in,
``ejb-jar`` and one of its children, with two exceptions. Entities have 479 instead of 497, since with that many the
three kinds of beans would have more than ``enterprise-beans``; ``assembly-descriptor`` has one less than 3,972.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.chunking.filters import Filter, apportioned, drawn_filters
from heptox.schema import SchemaGraph, read_dtd
from heptox.xml import parse_document

BEANS: Final = "/ejb-jar/enterprise-beans"
DESCRIPTOR: Final = "/ejb-jar/assembly-descriptor"

ABOVE: Final = 2
"""How many elements above those of its prefix each chunk counts."""
CARDINALITIES: Final[Mapping[str, int]] = {
    f"{DESCRIPTOR}/container-transaction": 1351,
    f"{DESCRIPTOR}/method-permission": 2583,
    f"{DESCRIPTOR}/security-role": 41,
    f"{BEANS}/session": 162,
    f"{BEANS}/message-driven": 44,
    f"{BEANS}/entity": 479,
}
"""Appendix A3: how many elements the chunk of each prefix has, :data:`ABOVE` among them."""

SHARES: Final[Mapping[str, int]] = {
    f"{DESCRIPTOR}/container-transaction": 19,
    f"{DESCRIPTOR}/method-permission": 18,
    f"{DESCRIPTOR}/security-role": 17,
    f"{BEANS}/session": 16,
    f"{BEANS}/message-driven": 15,
    f"{BEANS}/entity": 14,
    BEANS: 1,
}
"""Appendix A3: percent of the filters by prefix. What is left of the 46 % of all beans goes over several kinds."""

CHUNKS: Final[Mapping[int, tuple[str, ...]]] = {
    2: (DESCRIPTOR, BEANS),
    3: (f"{DESCRIPTOR}/container-transaction", DESCRIPTOR, BEANS),
    4: (*(prefix for prefix in CARDINALITIES if prefix.startswith(DESCRIPTOR)), BEANS),
    5: (*(prefix for prefix in CARDINALITIES if prefix.startswith(DESCRIPTOR)), f"{BEANS}/session", BEANS),
    6: tuple(CARDINALITIES),
}
"""Appendix A3: the prefixes of the chunks by their number; a filter is of the first that it begins with."""

_OVER_SEVERAL: Final = (
    "/ejb-jar/enterprise-beans",
    "/ejb-jar/enterprise-beans//ejb-name",
    "/ejb-jar/enterprise-beans[session]/*/ejb-class",
    "/ejb-jar/enterprise-beans/*/home",
    "/ejb-jar/enterprise-beans/*/remote",
    "//enterprise-beans",
    "/ejb-jar/enterprise-beans//ejb-ref",
    "/ejb-jar/enterprise-beans/*[ejb-ref]/ejb-name",
    "/ejb-jar/enterprise-beans/*[transaction-type='Container']",
    "/ejb-jar/enterprise-beans/*/ejb-name",
)
"""Filters over all kinds of beans, three of ten with ``//``, three with a predicate."""

_SESSIONS: Final = 10
_DRIVEN: Final = 3
_NOUNS: Final = (
    "Account", "Address", "Basket", "Catalogue", "Customer", "Delivery", "Discount", "Invoice", "Order", "Payment",
    "Product", "Refund", "Reminder", "Shop", "Supplier", "Tax", "Warehouse",
)  # fmt: skip
_VERBS: Final = ("add", "cancel", "change", "check", "close", "create", "find", "get", "list", "remove", "set", "sum")
_FIELDS: Final = ("amount", "city", "code", "created", "name", "number", "price", "state", "street", "total", "weight")
_ROLES: Final = (
    "accountant", "administrator", "auditor", "buyer", "clerk", "customer", "driver", "guest", "manager", "operator",
    "seller", "supplier", "tester",
)  # fmt: skip
_TYPES: Final = ("int", "long", "java.lang.String", "java.util.Date", "java.math.BigDecimal")


@cache
def schema() -> SchemaGraph:
    """The DTD of appendix A2."""
    return read_dtd(Path(__file__).with_name("ejb.dtd"), "ejb-jar")


def document(seed: int = 0) -> bytes:
    """A valid descriptor in UTF-8 with as many elements as the paper's, about 150 KB."""
    return _Writing(Random(f"ejb {seed}")).document().encode()


def filters(count: int, seed: int = 0) -> tuple[Filter, ...]:
    """Filters over the document of ``seed``, spread as :data:`SHARES` says; 30 % have ``//``, 30 % a predicate."""
    random = Random(f"filters {seed} {count}")
    numbers = apportioned(SHARES, count)
    several = [Filter(random.choice(_OVER_SEVERAL), BEANS) for _ in range(numbers.pop(BEANS))]
    root = parse_document(document(seed)).root
    found = [*drawn_filters(root, numbers, count - len(several), random), *several]
    random.shuffle(found)
    return tuple(found)


class _Writing:
    def __init__(self, random: Random) -> None:
        self._random = random

    def document(self) -> str:
        beans = (*self._driven(), *self._sessions(), *self._entities())
        descriptor = (*self._transactions(), *self._roles(), *self._permissions())
        return _line("ejb-jar", _line("enterprise-beans", *beans), _line("assembly-descriptor", *descriptor))

    def _driven(self) -> Iterator[str]:
        """Fourteen elements each, since each has one reference."""
        for number in range(_DRIVEN):
            yield _line(
                "message-driven",
                _leaf("ejb-name", f"{self._noun()}Listener{number}"),
                _leaf("ejb-class", f"org.example.shop.{self._noun()}ListenerBean"),
                "<message-selector/>",
                _leaf("transaction-type", self._one("Container", "Bean")),
                _leaf("acknowledge-mode", self._one("Auto-acknowledge", "Dups-ok-acknowledge")),
                _element(
                    "message-driven-destination", _leaf("destination-type", f"javax.jms.{self._one('Queue', 'Topic')}")
                ),
                self._reference(),
            )

    def _sessions(self) -> Iterator[str]:
        """Seven elements each, three of an identity in each, and six of each reference."""
        left = _inner(f"{BEANS}/session") - 10 * _SESSIONS
        references = Counter(self._random.randrange(_SESSIONS) for _ in range(left // 6))
        for number in range(_SESSIONS):
            name = f"{self._noun()}Session{number}"
            yield _line(
                "session",
                *self._interfaces(name),
                _leaf("session-type", self._one("Stateless", "Stateful")),
                _leaf("transaction-type", self._one("Container", "Bean")),
                *(self._reference() for _ in range(references[number])),
                _element("security-identity", _element("run-as", _leaf("role-name", self._one(*_ROLES)))),
            )

    def _entities(self) -> Iterator[str]:
        """Eight elements each, two of each field, and one of a primary key."""
        for number, size in enumerate(self._sizes(_inner(f"{BEANS}/entity"), 12, 36)):
            fields = [self._one(*_FIELDS) for _ in range((size - 8) // 2)]
            yield _line(
                "entity",
                *self._interfaces(f"{self._noun()}{number}"),
                _leaf("persistence-type", self._one("Container", "Bean")),
                _leaf("prim-key-class", self._one(*_TYPES)),
                _leaf("reentrant", self._one("True", "False")),
                *(_element("cmp-field", _leaf("field-name", name)) for name in fields),
                *([_leaf("primkey-field", fields[0])] if size % 2 else []),
            )

    def _transactions(self) -> Iterator[str]:
        for size in self._sizes(_inner(f"{DESCRIPTOR}/container-transaction"), 5, 25):
            attribute = _leaf("trans-attribute", self._one("Required", "RequiresNew", "Mandatory", "Supports", "Never"))
            yield _line("container-transaction", *self._methods(size - 2), attribute)

    def _roles(self) -> Iterator[str]:
        """Three elements each."""
        for role in _ROLES[: _inner(f"{DESCRIPTOR}/security-role") // 3]:
            yield _line("security-role", _leaf("description", f"Whoever works as {role}"), _leaf("role-name", role))

    def _permissions(self) -> Iterator[str]:
        for size in self._sizes(_inner(f"{DESCRIPTOR}/method-permission"), 5, 60):
            yield _line("method-permission", _leaf("role-name", self._one(*_ROLES)), *self._methods(size - 2))

    def _methods(self, total: int) -> Iterator[str]:
        """Methods that have so many elements together."""
        for size in self._sizes(total, 3, 8):
            parts = [_leaf("ejb-name", f"{self._noun()}{self._random.randrange(20)}")]
            if size % 2 == 0:
                parts.append(_leaf("method-intf", self._one("Home", "Remote")))
            parts.append(_leaf("method-name", f"{self._one(*_VERBS)}{self._noun()}"))
            if parameters := size - len(parts) - 1:
                named = [_leaf("method-param", self._one(*_TYPES)) for _ in range(parameters - 1)]
                parts.append(_element("method-params", *named))
            yield _element("method", *parts)

    def _interfaces(self, name: str) -> tuple[str, ...]:
        package = "org.example.shop"
        return (
            _leaf("ejb-name", name),
            _leaf("home", f"{package}.{name}Home"),
            _leaf("remote", f"{package}.{name}"),
            _leaf("ejb-class", f"{package}.{name}Bean"),
        )

    def _reference(self) -> str:
        """Six elements."""
        name = self._noun()
        return _element(
            "ejb-ref",
            _leaf("ejb-ref-name", f"ejb/{name}"),
            _leaf("ejb-ref-type", self._one("Session", "Entity")),
            _leaf("home", f"org.example.shop.{name}Home"),
            _leaf("remote", f"org.example.shop.{name}"),
            _leaf("ejb-link", f"{name}{self._random.randrange(20)}"),
        )

    def _sizes(self, total: int, least: int, most: int) -> Iterator[int]:
        """Numbers of at least ``least``, and at most ``most + least``, that add up."""
        while total > most + least:
            size = self._random.randint(least, most)
            total -= size
            yield size
        yield total

    def _one(self, *values: str) -> str:
        return self._random.choice(values)

    def _noun(self) -> str:
        return self._random.choice(_NOUNS)


def _inner(prefix: str) -> int:
    return CARDINALITIES[prefix] - ABOVE


def _leaf(name: str, value: str) -> str:
    return f"<{name}>{value}</{name}>"


def _element(name: str, *parts: str) -> str:
    return _leaf(name, "".join(parts))


def _line(name: str, *parts: str) -> str:
    return f"{_element(name, *parts)}\n"
