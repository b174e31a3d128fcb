"""Names as a store has them: with the prefixes of its schema, in texts that declare none.

So all that a store does speaks of plain names, whatever namespaces there are, and texts are short. Names come in, in
schemas, queries and documents, and go out, in items and documents, as names in namespaces: here alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from heptox.grammar import Expression, written_query
from heptox.schema import SchemaGraph, renamed
from heptox.xml import (
    NO_PREFIXES,
    XML_NAMESPACE,
    Prefixes,
    bound_prefix,
    declarations,
    escaped_namespace,
    split_name,
    unescaped_namespace,
    value_prefixes,
)

_TAG: Final = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<(?P<end>/?)(?P<name>[^\s/<>!?][^\s/<>]*)(?P<attributes>[^<>]*?)(?P<empty>/?)>", re.DOTALL
)
"""A tag, or a comment or an instruction, in which nothing is one."""
_ATTRIBUTE_NAME: Final = re.compile(r'(?<=\s)([^\s="<>]+)(?==")')
_NAME_OF_MARKUP: Final = re.compile(r"<[^\s<>]+|\s[^\s=\"<>]+=")
_UNPREFIXED: Final = re.compile(r"<[^\s/<>:]+[\s/>]")


class WrittenNames:
    """Expanded names as they are written with the prefixes of a table, and back.

    What is in a namespace for which the table has no prefix is written with the namespace, ``Q{urn:a}b``, in which
    nothing is that separates the parts of a tag.

    >>> names = WrittenNames(Prefixes.of({"a": "urn:a"}))
    >>> names.name("{urn:a}b"), names.name("{http://b}c"), names.name("c")
    ('a:b', 'Q{http:%2F;%2F;b}c', 'c')
    >>> names.item("<a:b>x</a:b>")
    '<a:b xmlns:a="urn:a">x</a:b>'
    """

    def __init__(self, prefixes: Prefixes = NO_PREFIXES) -> None:
        self.prefixes = prefixes
        self._elements: dict[str, str] = {}
        self._attributes: dict[str, str] = {}
        self._leaves = Leaves(self._item)

    @classmethod
    def of(cls, graph: SchemaGraph) -> WrittenNames:
        """The names of a schema, for each of whose namespaces there is a prefix."""
        elements = graph.elements.values()
        attributes = {attribute.name for element in elements for attribute in element.attributes}
        return cls(graph.prefixes.covering({element.name for element in elements}, attributes=attributes))

    def __bool__(self) -> bool:
        """Whether there is more to it than to leave names as they are, in documents that have no other namespaces."""
        return bool(self.prefixes)

    def before_names(self, bound: Mapping[str, str] | None, piece: bytes) -> str | None:
        """What makes written names of those that have no prefix, of elements in a piece of a document that binds these
        prefixes at its root, and no others anywhere; ``None`` where that is not enough."""
        known = self.prefixes.namespaces
        if bound is None or not all(
            (known.get(prefix) == uri and self.prefixes.prefix_of(uri, attribute=True) == prefix)
            or (prefix not in known and f"{prefix}:".encode() not in piece)
            for prefix, uri in bound.items()
            if prefix
        ):
            return None
        namespace = bound.get("", "")
        if namespace == known.get("", ""):
            return ""
        prefix = self.prefixes.prefix_of(namespace, attribute=False) if namespace else None
        return f"{prefix}:" if prefix else None

    def name(self, name: str) -> str:
        """The name of an element."""
        if name[:1] != "{" and not self.prefixes:
            return name
        found = self._elements.get(name)
        return self._kept(self._elements, name, attribute=False) if found is None else found

    def attribute(self, name: str) -> str:
        """The name of an attribute."""
        if name[:1] != "{":
            return name
        found = self._attributes.get(name)
        return self._kept(self._attributes, name, attribute=True) if found is None else found

    def _kept(self, known: dict[str, str], name: str, *, attribute: bool) -> str:
        if len(known) == _MOST_KNOWN:
            known.clear()
        namespace, local = split_name(name)
        prefix = self.prefixes.prefix_of(namespace, attribute=attribute) if namespace else None
        if prefix is None and (namespace or self.prefixes.namespaces.get("")):
            found = f"Q{{{escaped_namespace(namespace)}}}{local}"
        else:
            found = f"{prefix}:{local}" if prefix else local
        known[name] = found
        return found

    def attributes(self, attributes: list[str]) -> list[str]:
        """The attributes of a tag (name, value, name, value and so on)."""
        if any(name[:1] == "{" for name in attributes[::2]):
            attributes[::2] = map(self.attribute, attributes[::2])
        return attributes

    def graph(self, graph: SchemaGraph) -> SchemaGraph:
        """A schema with written names, in which each name has one type."""
        if not self and all(name[:1] != "{" for name in self._all(graph)):
            return graph
        return renamed(graph, self.name, self.attribute)

    def _all(self, graph: SchemaGraph) -> Iterator[str]:
        for element in graph.elements.values():
            yield element.name
            yield from (attribute.name for attribute in element.attributes)

    def query(self, expression: Expression) -> Expression:
        """A query with written names."""
        return written_query(expression, self.name, self.attribute)

    @property
    def declarations(self) -> str:
        """What declares the namespaces of all names in a tag around them."""
        return declarations((one, uri) for one, uri in self.prefixes.bound if uri)

    # -- what goes out -----------------------------------------------------------------------------------------------

    def items(self, items: Iterable[str]) -> Iterator[str]:
        """The items of an answer, as :meth:`item`."""
        if self:
            return map(self.item, items)
        return (self.item(item) if "Q{" in item else item for item in items)  # most have no name that is rewritten

    def item(self, item: str) -> str:
        """An item of an answer: an element declares the namespaces of its names; others stay as they are."""
        if not item.startswith("<") or not (self or "Q{" in item):
            return item
        return self._leaves.rewritten(item)

    def _item(self, item: str) -> str:
        if " xmlns" in item and _declares(item[: item.index(">")]):
            return item  # as a document has it
        if not any(sign in item for sign in _NOT_PLAIN):
            return self._with_declarations(item, self._used(item))
        found, known = value_prefixes(_NAME_OF_MARKUP.sub(" ", item)), self.prefixes.namespaces
        first = {prefix: uri for prefix, uri in known.items() if prefix in found and uri != XML_NAMESPACE}
        return Declaring(known, first=first).text(item)

    def _used(self, item: str) -> dict[str, str]:
        """The prefixes of the names of an element and of all in it, and those that values use."""
        known = self.prefixes.namespaces
        found = value_prefixes(item)
        used = {prefix: uri for prefix, uri in known.items() if prefix in found and uri != XML_NAMESPACE}
        if known.get("") and _UNPREFIXED.search(item):
            used = {"": known[""], **used}
        return used

    def _with_declarations(self, item: str, used: Mapping[str, str]) -> str:
        if not used:
            return item
        found = _TAG.match(item)
        assert found is not None  # it begins with a tag
        end = found.end("name")
        return f"{item[:end]}{declarations(used.items())}{item[end:]}"


class Leaves:
    """Rewrites elements: of those that hold nothing but a text, without attributes, only the tags, which it keeps.

    In a text without a colon is no prefix, so it has no say in what is rewritten.

    >>> Leaves(lambda text: text.replace("a", "b")).rewritten("<a>a</a>")
    '<b>a</b>'
    """

    def __init__(self, rewrite: Callable[[str], str]) -> None:
        self._rewrite = rewrite
        self._known: dict[str, tuple[str, str]] = {}

    def rewritten(self, text: str) -> str:
        """An element, rewritten."""
        begin = text.find(">") + 1
        end = text.find("<", begin)
        head = text[:begin]
        if end < 0 or " " in head or text.find("<", end + 1) > 0 or text.find(":", begin, end) > 0:
            return self._rewrite(text)
        found = self._known.get(head)
        if found is None:
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            whole = self._rewrite(f"{head}{text[end:]}")
            cut = whole.index(">") + 1
            found = self._known[head] = whole[:cut], whole[cut:]
        return f"{found[0]}{text[begin:end]}{found[1]}"


_NOT_PLAIN: Final = ("<Q{", " Q{", " xmlns", "<!--", "<?")
"""What stands in an item in which more is to be looked at than the prefixes of a schema."""
DECLARES: Final = "xmlns:"
"""What stands before a prefix among the other names of a tag, which declares it."""
_NO_NAMESPACE: Final = "\0"
"""What no namespace is."""
_MOST_KNOWN: Final = 10_000
"""How many names are kept as they were written."""


def _declares(attributes: str) -> bool:
    """Whether attributes declare a namespace."""
    return "xmlns" in attributes and any(
        name == "xmlns" or name.startswith("xmlns:") for name in _ATTRIBUTE_NAME.findall(attributes)
    )


def local_name(name: str) -> str:
    """The local name of a written name.

    >>> local_name("a:b"), local_name("Q{http:%2F%2F;b}c"), local_name("b")
    ('b', 'c', 'b')
    """
    return name.rpartition("}")[2].rpartition(":")[2]


def shown_name(name: str) -> str:
    """The name of an attribute, as an item of an answer has it: its namespace as it is, where there is no prefix.

    >>> shown_name("Q{http:%2F%2F;b}c") == shown_name("a:b")
    False
    """
    namespace, closes, local = name.rpartition("}")
    return f"{unescaped_namespace(namespace)}}}{local}" if closes else name


class Declaring:
    """Writes the names of one element, and of all in it, as names of XML that are declared where they first stand.

    ``known`` are the namespaces of the prefixes of written names. An element that declares namespaces has its names
    already, and so have all in it. Parts of the text may come one after the other, none of which begins or ends within
    a tag.
    """

    def __init__(
        self, known: Mapping[str, str], spelt: Mapping[str, str] | None = None, first: Mapping[str, str] | None = None
    ) -> None:
        """``spelt`` are the names as they are to be, where there is one for a written name, which has ``@`` in front if
        it is that of an attribute. The first tag declares what is ``first``."""
        self._known = known
        self._spelt = spelt or {}
        self._other: Mapping[str, str] = {}
        self._first: Mapping[str, str] = first or {}
        # where names are spelt anew, and would be read as others without it, a tag says that there is no default
        default = _NO_NAMESPACE if spelt is not None and known.get("") else ""
        self._scopes: list[dict[str, str]] = [{"xml": XML_NAMESPACE, "": default}]
        self._names: list[str] = []
        self._inside = 0

    def text(self, item: str, other: Mapping[str, str] | None = None) -> str:
        """The next part, the first tag of which has ``other`` names where they are given."""
        self._other = other or {}
        return _TAG.sub(self._tag, item)

    def _tag(self, found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return found[0]
        if self._inside or _declares(found["attributes"]):
            self._inside += -1 if found["end"] else 0 if found["empty"] else 1
            return found[0]
        if found["end"]:
            self._scopes.pop()
            return f"</{self._names.pop()}>"
        around = self._scopes[-1]
        meant = {key.removeprefix(DECLARES): uri for key, uri in self._other.items() if key.startswith(DECLARES)}
        scope = {**around, **meant}
        written = self._free(self._element(name), name, scope, meant)
        scope[written.rpartition(":")[0]] = self._namespace(name)
        attributes = _ATTRIBUTE_NAME.sub(lambda one: self._attribute(one[0], scope, meant), found["attributes"])
        for prefix, namespace in self._first.items():
            if scope.get(prefix) == around.get(prefix):
                scope[prefix] = namespace
        self._first, self._other = {}, {}
        if not found["empty"]:
            self._scopes.append(scope)
            self._names.append(written)
        new = declarations((one, uri) for one, uri in scope.items() if around.get(one) != uri)
        return f"<{written}{new}{attributes}{found['empty']}>"

    def _namespace(self, name: str) -> str:
        """The namespace of a written name, of an element."""
        if name.startswith("Q{"):
            return unescaped_namespace(name[2:].rpartition("}")[0])
        return self._known.get(name.rpartition(":")[0], "")

    def _spelling(self, name: str) -> str | None:
        return self._other.get(name) or self._spelt.get(name)

    def _element(self, name: str) -> str:
        return self._spelling(name) or name.rpartition("}")[2]

    def _free(self, written: str, name: str, scope: dict[str, str], meant: Mapping[str, str]) -> str:
        """A name with another prefix where values mean something else by the one that it has."""
        prefix, _, local = written.rpartition(":")
        namespace = self._namespace(name)
        if meant.get(prefix, namespace) == namespace:
            return written
        return f"{bound_prefix(scope, namespace, self._known)}:{local}"

    def _attribute(self, name: str, scope: dict[str, str], meant: Mapping[str, str]) -> str:
        if (spelt := self._spelling(f"@{name}")) is not None:
            if ":" in spelt:
                scope[spelt.rpartition(":")[0]] = self._namespace(name)
            return spelt
        if name.startswith("Q{"):
            return f"{bound_prefix(scope, self._namespace(name), self._known)}:{name.rpartition('}')[2]}"
        prefix = name.rpartition(":")[0]
        if prefix and prefix in self._known:
            name = self._free(name, name, scope, meant)
            scope[name.rpartition(":")[0]] = self._known[prefix]
        return name
