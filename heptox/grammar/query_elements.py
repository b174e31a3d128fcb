"""The direct constructors of a query: elements with their attributes and content."""

from __future__ import annotations

import re
from typing import Final, Protocol, TypeAlias

from lark import Token, Tree

from heptox.grammar.query import DirectAttribute, ElementConstructor, Expression
from heptox.grammar.query_parts import Part, is_rule, token_of
from heptox.grammar.query_refusals import Refusals, Scope

_Piece: TypeAlias = str | Expression

IN_PROLOG: Final = "declare namespaces at the beginning of the query"
"""What is said of declarations in other places."""


class _Enclosed(Protocol):
    """Reads ``{ expressions }``."""

    def __call__(self, tree: Tree[Token], scope: Scope) -> Expression: ...


class ElementBuilder:
    """Makes elements; ``enclosed`` reads the expressions in them."""

    def __init__(self, refusals: Refusals, enclosed: _Enclosed) -> None:
        self.refusals = refusals
        self._enclosed = enclosed

    def element(self, tree: Tree[Token], scope: Scope) -> ElementConstructor:
        """The element that a constructor makes."""
        children = tree.children
        name = token_of(children[1])
        names = [child for child in children if isinstance(child, Token) and child.type == "NAME"]
        if len(names) == 2 and names[0] != names[1]:
            message = f"the end tag </{names[1]}> does not close <{names[0]}>"
            self.refusals.record("HX3006", message, self.refusals.position(names[1]), f"write </{names[0]}>")
        expanded = self.refusals.attempt(self.refusals.name, name, str(name))
        attributes = [self._attribute(child, scope) for child in children if is_rule(child, "direct_attribute")]
        self._check_attributes([child for child in children if is_rule(child, "direct_attribute")])
        content = self._content(children, scope)
        self.refusals.all_of([expanded, *attributes, *content])
        return ElementConstructor(
            expanded or "",
            tuple(attribute for attribute in attributes if attribute is not None),
            tuple(part for part in content if part is not None),
            position=self.refusals.position(tree),
        )

    def _check_attributes(self, attributes: list[Tree[Token]]) -> None:
        seen: set[str] = set()
        for attribute in attributes:
            name = token_of(attribute.children[0])
            if name in seen:
                self.refusals.record("HX3006", f"attribute {name} stands twice", self.refusals.position(name))
            seen.add(str(name))

    def _attribute(self, tree: Tree[Token], scope: Scope) -> DirectAttribute | None:
        name, quote = token_of(tree.children[0]), token_of(tree.children[1])
        expanded = self.refusals.attempt(self._attribute_name, name)
        results: list[_Piece | None] = []
        for part in tree.children[2:-1]:
            if isinstance(part, Tree):
                results.append(self.refusals.attempt(self._enclosed, part, scope))
            else:
                # XML turns line ends and tabs in an attribute into spaces; references to them stay.
                raw = re.sub(r"[\t\n]", " ", part)
                results.append(self.refusals.attempt(self.refusals.resolved, part, 0, raw, f"{quote}{{}}"))
        parts = tuple(part for part in results if part is not None)
        if expanded is None or len(parts) < len(results):
            return None
        return DirectAttribute(expanded, parts, position=self.refusals.position(name))

    def _attribute_name(self, name: Token) -> str:
        if name == "xmlns" or name.startswith("xmlns:"):
            raise self.refusals.refused(name, "namespace declaration in a constructor", IN_PROLOG)
        return self.refusals.name(name, str(name), attribute=True)

    def _content(self, children: list[Part], scope: Scope) -> list[_Piece | None]:
        """Literal text, expressions and nested elements; ``None`` for what is refused."""
        content: list[_Piece | None] = []
        run: list[Token] = []
        for child in [*children, None]:
            if isinstance(child, Token) and child.type in ("ELEMENT_TEXT", "CDATA_SECTION"):
                run.append(child)
                continue
            content.extend(self._literal_text(run))
            run = []
            if is_rule(child, "content_expression"):
                content.append(self.refusals.attempt(self._enclosed, child, scope))
            elif is_rule(child, "inner_element"):
                content.append(self.refusals.attempt(self.element, child, scope))
            elif isinstance(child, Token) and child.type == "OUTSIDE_CONTENT":
                self.refusals.faults.append(self.refusals.outside_fault(child))
                content.append(None)
        return content

    def _literal_text(self, run: list[Token]) -> list[str | None]:
        """The text of a run of literal content, nothing where it is boundary whitespace."""
        if all(token.type == "ELEMENT_TEXT" and not token.strip(" \t\n") for token in run):
            return []
        texts = [
            token[len("<![CDATA[") : -len("]]>")]
            if token.type == "CDATA_SECTION"
            else self.refusals.attempt(self.refusals.resolved, token, 0, str(token), "{}")
            for token in run
        ]
        if any(text is None for text in texts):
            return [None]
        joined = "".join(text for text in texts if text is not None)
        return [joined] if joined else []
