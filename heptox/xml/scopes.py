"""The namespaces that are in scope where a document is read as it is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from heptox.errors import Fault, InputError, Position
from heptox.xml.namespaces import MOST_NAMESPACE, XML_NAMESPACE, expanded_name

_DECLARES: Final = "xmlns"
_XMLNS_NAMESPACE: Final = "http://www.w3.org/2000/xmlns/"


class NamespaceScopes:
    """Expands the names of tags, which come one after the other, as they are written.

    >>> scopes = NamespaceScopes()
    >>> scopes.start(1, "p:a", ["xmlns:p", "urn:p", "p:b", "1", "c", "2"])
    ('{urn:p}a', ['{urn:p}b', 'c'])
    >>> scopes.start(2, "p:a", []), scopes.end(2), scopes.end(1), scopes.is_empty
    (('{urn:p}a', []), None, None, True)
    """

    def __init__(self) -> None:
        self.is_empty = True
        """Whether nothing is declared: a name without a colon stands for itself."""
        self._bound: dict[str, list[str]] = {"xml": [XML_NAMESPACE], "": [""]}  # of each prefix what it was, and is
        self._declared: list[tuple[int, list[str]]] = []

    def start(self, depth: int, name: str, attributes: Sequence[str]) -> tuple[str, list[str]]:
        """The expanded name of an element at a depth, from 1 on, and those of its attributes without the declarations.

        Raises :class:`NamespaceError`.
        """
        names = attributes[::2]
        declared = [one for one in names if one.startswith(_DECLARES) and one[5:6] in ("", ":")]
        if declared:
            self._declare(depth, declared, attributes)
            names = [one for one in names if one not in declared]
        found = [self._expanded(one, "") if ":" in one else one for one in names]
        if len(set(found)) < len(found):
            raise NamespaceError("HX1002", f"two attributes of the element {name} have the same name")
        return self._expanded(name, self._bound[""][-1]), found

    def end(self, depth: int) -> None:
        """The end of the element at a depth."""
        if self._declared and self._declared[-1][0] == depth:
            _, attributes = self._declared.pop()
            for one in attributes[::2]:
                prefix = one[6:]
                self._bound[prefix].pop()
                if not self._bound[prefix]:
                    del self._bound[prefix]
            self.is_empty = not self._declared

    def declared_at(self, depth: int) -> list[str]:
        """What the element at a depth declares, as attributes: name, value, name, value and so on."""
        return next((found for at, found in reversed(self._declared) if at == depth), [])

    def _declare(self, depth: int, declared: Iterable[str], attributes: Sequence[str]) -> None:
        values = dict(zip(attributes[::2], attributes[1::2], strict=True))
        for one in declared:
            prefix, namespace = one[6:], values[one]
            if not _may_be_bound(prefix, namespace):
                raise NamespaceError("HX1002", f"{one} cannot declare the namespace {namespace!r}")
            if len(namespace) > MOST_NAMESPACE:
                raise NamespaceError("HX1006", f"a namespace has more than {MOST_NAMESPACE:,} characters")
            self._bound.setdefault(prefix, []).append(namespace)
        self._declared.append((depth, [part for one in declared for part in (one, values[one])]))
        self.is_empty = False

    def _expanded(self, name: str, default: str) -> str:
        prefix, colon, local = name.partition(":")
        if not colon:
            return expanded_name(default, name)
        bound = self._bound.get(prefix)
        if not prefix or not local or ":" in local:
            raise NamespaceError("HX1002", f"{name} is no name")
        if bound is None:
            raise NamespaceError("HX1007", f"the prefix {prefix} is not bound")
        return expanded_name(bound[-1], local)


def _may_be_bound(prefix: str, namespace: str) -> bool:
    if prefix == "xml" or namespace == XML_NAMESPACE:
        return prefix == "xml" and namespace == XML_NAMESPACE
    return prefix != "xmlns" and namespace != _XMLNS_NAMESPACE and (bool(namespace) or not prefix)


class NamespaceError(Exception):
    """What is wrong with the names of a tag: a code, and a message."""

    def at(self, position: Position) -> InputError:
        """The error to raise, with the place of the tag."""
        code, message = self.args
        return InputError(Fault(code, message, position))
