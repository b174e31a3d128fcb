"""Expanded names: a namespace and a local name (``semantics.md`` section 1), and the prefixes that texts have for them.

Everything in heptox names elements and attributes by ``{namespace}local``, or by the local name alone where there is no
namespace, as lxml does. Prefixes belong to texts, and never decide whether two names are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"
XSI_NAMESPACE: Final = "http://www.w3.org/2001/XMLSchema-instance"
XSI_NIL: Final = f"{{{XSI_NAMESPACE}}}nil"
XSI_TYPE: Final = f"{{{XSI_NAMESPACE}}}type"
XSI_LOCATIONS: Final = frozenset(
    f"{{{XSI_NAMESPACE}}}{name}" for name in ("schemaLocation", "noNamespaceSchemaLocation")
)
"""The attributes by which a document says where its schema is."""

MOST_NAMESPACE: Final = 4000
"""Characters of a namespace at most: each name in it is as long."""

_DECORATIONS: Final = ("//", "@")
"""What the steps of paths may begin with."""


def expanded_name(namespace: str, local: str) -> str:
    """The name of what is called ``local`` in a namespace, ``""`` for none.

    >>> expanded_name("urn:a", "b"), expanded_name("", "b")
    ('{urn:a}b', 'b')
    """
    return f"{{{namespace}}}{local}" if namespace else local


def split_name(name: str) -> tuple[str, str]:
    """The namespace of an expanded name, ``""`` for none, and its local name.

    >>> split_name("{urn:a}b"), split_name("b")
    (('urn:a', 'b'), ('', 'b'))
    """
    if not name.startswith("{"):
        return "", name
    namespace, _, local = name[1:].rpartition("}")
    return namespace, local


def value_prefixes(text: str) -> frozenset[str]:
    """What looks like a prefix in a value, a text or markup: where it is bound, something may be meant by it.

    >>> sorted(value_prefixes("p:a //q:b[r:c = 1] http://x"))
    ['http', 'p', 'q', 'r']
    """
    return frozenset(_VALUE_PREFIX.findall(text)) if ":" in text else frozenset()


_BEFORE_PREFIX: Final = r"\s\"'<>/()\[\],;|@"
_VALUE_PREFIX: Final = re.compile(rf"(?:^|[{_BEFORE_PREFIX}])([^{_BEFORE_PREFIX}=:&]++):")


def escaped_namespace(namespace: str) -> str:
    """A namespace without what separates names, or the parts of tags and paths.

    >>> escaped_namespace("http://a/b c")
    'http:%2F;%2F;a%2F;b%20;c'
    """
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):X};", namespace)


def unescaped_namespace(namespace: str) -> str:
    """The namespace that :func:`escaped_namespace` has written."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), namespace)


_UNSAFE: Final = re.compile(r"[^\w.:~-]|%")
_ESCAPE: Final = re.compile(r"%([0-9A-F]+);")


def path_text(steps: Iterable[str]) -> str:
    """A path of expanded names, some of which may begin with ``@``, as one text: :func:`path_steps` reads it.

    >>> path_text(("a", "{http://b}c", "@{urn:d}e"))
    'a/Q{http:%2F;%2F;b}c/@Q{urn:d}e'
    """
    return "/".join(map(_encoded, steps))


def path_steps(text: str) -> list[str]:
    """The steps of a path that :func:`path_text` has written."""
    steps = text.split("/")
    return [_decoded(step) for step in steps] if "{" in text else steps


def _encoded(step: str) -> str:
    if "{" not in step:
        return step
    namespace, local = split_name(step.removeprefix("@"))
    return f"{'@' if step[0] == '@' else ''}Q{{{escaped_namespace(namespace)}}}{local}"


def _decoded(step: str) -> str:
    sign, opens, rest = step.partition("Q{")
    namespace, _, local = rest.partition("}")
    return f"{sign}{{{unescaped_namespace(namespace)}}}{local}" if opens else step


class UnboundPrefixError(Exception):
    """A prefix that no table binds; its first argument."""


@dataclass(frozen=True)
class Prefixes:
    """A table of prefixes, each with the namespace that it stands for; ``""`` is that of elements without a prefix.

    ``xml`` is always bound. Of several prefixes for a namespace the first is written.

    >>> prefixes = Prefixes.of({"": "urn:a", "b": "urn:b"})
    >>> prefixes.expanded("b:x"), prefixes.expanded("x"), prefixes.expanded("x", attribute=True)
    ('{urn:b}x', '{urn:a}x', 'x')
    >>> prefixes.written("{urn:b}x"), prefixes.written("{urn:c}x")
    ('b:x', 'Q{urn:c}x')
    """

    bound: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, bound: Mapping[str, str]) -> Prefixes:
        """The table that binds these; what is bound to no namespace is not bound."""
        return cls(tuple((prefix, namespace) for prefix, namespace in bound.items() if namespace or not prefix))

    def __bool__(self) -> bool:
        return bool(self.bound)

    @cached_property
    def namespaces(self) -> dict[str, str]:
        """The namespaces by their prefixes."""
        return {"xml": XML_NAMESPACE, **dict(self.bound)}

    @cached_property
    def _prefixes(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for prefix, namespace in self.namespaces.items():
            found.setdefault(namespace, []).append(prefix)
        return found

    def expanded(self, name: str, *, attribute: bool = False) -> str:
        """The expanded name that a name in a text stands for: ``p:local``, ``local`` or ``Q{namespace}local``.

        Raises :class:`UnboundPrefixError`.
        """
        if name.startswith("Q{"):
            namespace, local = split_name(name[1:])
            return expanded_name(namespace.strip(), local)
        prefix, colon, local = name.rpartition(":")
        if not colon:
            return name if attribute else expanded_name(self.namespaces.get("", ""), name)
        if prefix not in self.namespaces:
            raise UnboundPrefixError(prefix)
        return expanded_name(self.namespaces[prefix], local)

    def written(self, name: str, *, attribute: bool = False) -> str:
        """A name as a text has it."""
        namespace, local = split_name(name)
        if not namespace:
            return name if attribute or not self.namespaces.get("") else f"Q{{}}{local}"
        prefix = self.prefix_of(namespace, attribute=attribute)
        if prefix is None:
            return f"Q{{{namespace}}}{local}"
        return f"{prefix}:{local}" if prefix else local

    def prefix_of(self, namespace: str, *, attribute: bool = False) -> str | None:
        """The prefix that is written for a namespace, ``None`` where there is none."""
        return next((one for one in self._prefixes.get(namespace, ()) if one or not attribute), None)

    def path(self, steps: Iterable[str]) -> str:
        """A path as a text has it: its steps with slashes between.

        >>> Prefixes.of({"a": "urn:a"}).path(("{urn:a}b", "@{urn:a}c"))
        'a:b/@a:c'
        """
        return "/".join(map(self.step, steps))

    def step(self, step: str) -> str:
        """A step of a path as a text has it."""
        decoration = next((sign for sign in _DECORATIONS if step.startswith(sign)), "")
        name = step.removeprefix(decoration)
        if not name.startswith("{") and not self.namespaces.get(""):
            return step
        if name.startswith("[") or name in ("*", "text()"):
            return step
        return decoration + self.written(name, attribute=decoration == "@")

    def with_more(self, bound: Mapping[str, str]) -> Prefixes:
        """The table with other bindings, which come first."""
        return Prefixes.of({**bound, **{one: uri for one, uri in self.bound if one not in bound}})

    def covering(self, names: Iterable[str], *, attributes: Iterable[str] = ()) -> Prefixes:
        """The table with a prefix for the namespace of each of these expanded names, and none for any other.

        The prefix for elements without one is kept only where no element is in no namespace.

        >>> Prefixes.of({"a": "urn:a", "b": "urn:b"}).covering(["{urn:b}x", "{urn:c}y"]).bound
        (('b', 'urn:b'), ('ns1', 'urn:c'))
        """
        elements = {split_name(name)[0] for name in names}
        others = {split_name(name)[0] for name in attributes} - {""}
        default = self.namespaces.get("") if "" not in elements else None
        found: dict[str, str] = {"": default} if default in elements and default else {}
        fresh = _fresh({prefix for prefix, _ in self.bound})
        for namespace in sorted((elements | others) - {"", XML_NAMESPACE}):
            if namespace == found.get("") and namespace not in others:
                continue
            prefix = self.prefix_of(namespace, attribute=True)
            found[prefix or next(fresh)] = namespace
        return Prefixes.of(found)


def _fresh(taken: set[str]) -> Iterator[str]:
    """Prefixes that are not taken."""
    number = 0
    while True:
        number += 1
        if f"ns{number}" not in taken:
            yield f"ns{number}"


def fresh_prefix(taken: set[str]) -> str:
    """A prefix that is not taken."""
    return next(_fresh(taken))


def bound_prefix(scope: dict[str, str], namespace: str, taken: Iterable[str] = ()) -> str:
    """A prefix that a scope has for a namespace, not the one of elements without prefix; where it has none, one is
    added that is not ``taken``.

    >>> scope = {"": "urn:a", "ns1": "urn:b"}
    >>> bound_prefix(scope, "urn:a"), scope
    ('ns2', {'': 'urn:a', 'ns1': 'urn:b', 'ns2': 'urn:a'})
    """
    found = next((one for one, uri in scope.items() if one and uri == namespace), None)
    if found is None:
        found = fresh_prefix({*scope, *taken})
        scope[found] = namespace
    return found


def declared_as(prefix: str) -> str:
    """The name of the attribute that declares a prefix, ``""`` for that of elements without one."""
    return f"xmlns:{prefix}" if prefix else "xmlns"


NO_PREFIXES: Final = Prefixes()
