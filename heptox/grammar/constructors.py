"""From the constructors of a query to the templates of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final, NoReturn, TypeAlias

from heptox.errors import GrammarError, Position
from heptox.grammar import query as syntax
from heptox.grammar.branches import Branch, Located, few, known_tag
from heptox.grammar.counted import ITEM, ROW, counted_path, uncounted
from heptox.grammar.function_terms import FunctionLowering, require_atomic
from heptox.grammar.locations import Location, has_text, holds_elements, refuse, require_value, tag_of, value_of
from heptox.grammar.path_resolution import PathResolver
from heptox.grammar.term_paths import step_of
from heptox.pattern import (
    TAG,
    Atom,
    AttributeItem,
    Comparison,
    Content,
    ElementItem,
    LeafItem,
    Member,
    NestedItem,
    Shape,
    Template,
    Term,
    Text,
    joined_parts,
    nested_part,
    node_identity,
)
from heptox.schema import ANYWHERE, TEXT, Path

_Items: TypeAlias = Callable[[syntax.Expression, Branch], Iterable[Member]]
IDENTITY_ALONE: Final = "generate-id() is all that an element holds"
IDENTITY_HINT: Final = "<id>{generate-id($x)}</id>"
_WHOLE: Final = "$ "
_CHILD: Final = "$ child"
"""The variables of an element that is returned whole, and, with a number, of a child of it; no query has such names."""


class ConstructorLowering:
    """What stands in the constructors of one query: literal text, slots, nested parts and elements that are returned
    whole. ``items`` gives the members whose templates are the items of an expression. Where it is known what the
    documents hold that are asked of, only that is ``made`` a part of whole elements; ``unmade`` is the rest.
    """

    def __init__(
        self, paths: PathResolver, functions: FunctionLowering, items: _Items, made: Container[Path] | None
    ) -> None:
        self._paths = paths
        self._functions = functions
        self._items = items
        self._made = made
        self._counts = False
        self.unmade: dict[Path, None] = {}
        self._tree = paths.tree

    def element(self, element: syntax.ElementConstructor, branch: Branch) -> ElementItem:
        """The constructed element."""
        attributes = tuple(
            AttributeItem(attribute.name, tuple(self._attribute_part(part, branch) for part in attribute.parts))
            for attribute in element.attributes
        )
        counts, self._counts = self._counts, self._counts or element.name in (ITEM, ROW)
        content = tuple(self._contents(element.content, branch))
        self._counts = counts
        return joined_parts(ElementItem(element.name, attributes, content))

    def _contents(self, items: Iterable[str | syntax.Expression], branch: Branch) -> Iterator[Content]:
        for item in items:
            self._paths.check()
            yield from self._content(item, branch)

    def _attribute_part(self, part: str | syntax.Expression, branch: Branch) -> str | Term:
        if isinstance(part, str):
            return part
        if isinstance(part, syntax.StringLiteral):
            return part.value
        term = self.slot_term(part, branch, part.position)
        return "" if term is None else term.value if isinstance(term, Text) else term

    def _content(self, item: str | syntax.Expression, branch: Branch) -> Iterator[Content]:
        match item:
            case syntax.ElementConstructor(name, (), (syntax.NodeIdentity(path),)):
                yield from self._identity(name, path, branch)
            case syntax.ElementConstructor():
                yield self.element(item, branch)
            case syntax.Sequence(items):
                if (
                    sum(
                        isinstance(part, syntax.Data | syntax.TagValue | syntax.StringLiteral | syntax.Function)
                        for part in items
                    )
                    > 1
                ):
                    refuse(
                        "HX3045",
                        "several values in one enclosed expression are outside the query fragment",
                        item.position,
                        "XQuery puts a space between them; enclose each by itself",
                    )
                yield from self._contents(items, branch)
            case syntax.PathExpression():
                yield from self._path_slot(item, branch)
            case _:
                yield from self._value_slot(item, branch)

    def _identity(self, name: str, path: syntax.PathExpression, branch: Branch) -> Iterator[Content]:
        """An element that holds the identity of a node: of what stands once below another, that of the other and where
        it stands.
        """
        location = self.single(path, branch, leaf=False)
        if location is not None:
            identity = node_identity(name, location.variable)
            where = "/".join(location.path) + ("/text()" if location.text else "")
            yield ElementItem(name, (), (where, identity)) if where else identity

    def _value_slot(self, item: str | syntax.Expression, branch: Branch) -> Iterator[Content]:
        match item:
            case str() | syntax.StringLiteral():
                yield item if isinstance(item, str) else item.value
            case syntax.NumberLiteral():
                message = "a number in a constructor is outside the query fragment"
                refuse("HX3045", message, item.position, "write it as text")
            case syntax.NodeIdentity():
                refuse("HX3045", IDENTITY_ALONE, item.position, IDENTITY_HINT)
            case syntax.Conditional(_, syntax.ElementConstructor(name, (), (value,)), None) if _is_value(value):
                yield from self._guarded_slot("element", name, item, branch)
            case syntax.Conditional(_, syntax.AttributeConstructor(name), None):
                yield from self._guarded_slot("attribute", name, item, branch)
            case syntax.Conditional(_, syntax.ElementConstructor() | syntax.PathExpression() | syntax.Flwor(), None):
                yield from self._nested(item, branch)
            case syntax.Data() | syntax.TagValue() | syntax.FunctionCall() | syntax.Switch() | syntax.Conditional():
                require_atomic(item)
                term = self.slot_term(item, branch, item.position)
                if term is not None:
                    yield term.value if isinstance(term, Text) else LeafItem("value", "", term)
            case syntax.AttributeConstructor(name, value):
                yield self._attribute_slot(name, value, branch, item.position)
            case syntax.TextConstructor(value):
                if isinstance(value, syntax.PathExpression):
                    value = syntax.Data(value, position=item.position)
                yield from self._value_slot(value, branch)
            case syntax.Flwor():
                yield from self._flwor_slot(item, branch)

    def _guarded_slot(self, shape: Shape, name: str, guard: syntax.Conditional, branch: Branch) -> Iterator[Content]:
        """An element or attribute that is there where its value is."""
        try:
            term = self._functions.term(guard, branch)
        except GrammarError:  # it is there where something else is
            yield from self._nested(guard, branch)
            return
        if isinstance(term, Term):
            yield LeafItem(shape, name, term)
        elif term is not None:
            text = LeafItem("attribute", name, term)
            yield text if shape == "attribute" else ElementItem(name, (), (term.value,) if term.value else ())

    def _attribute_slot(
        self, name: str, value: syntax.Expression, branch: Branch, position: Position | None
    ) -> LeafItem:
        """A computed attribute, which is there, and empty, where its leaf is absent."""
        if isinstance(value, syntax.StringLiteral):
            return LeafItem("attribute", name, Text(value.value))
        term = self.slot_term(value, branch, position)
        shape: Shape = "attribute" if isinstance(term, Term) and term.path == (TAG,) else "constructed"
        return LeafItem(shape, name, Text("") if term is None else term)

    def _path_slot(self, path: syntax.PathExpression, branch: Branch) -> Iterator[Content]:
        """A single-valued leaf is a slot; what repeats, or holds more, is a nested part."""
        found = self._paths.resolve(path, branch)
        inside = self._inside(path, found, branch)
        if inside is not None:
            yield inside
        elif found and self._is_single(path, found, branch) and not self._may_lack(found[0][1], branch):
            location = found[0][1]
            require_value(self._tree, location, path.position)
            bare = self.bare(branch, location, path.position)
            slot = isinstance(bare, ElementItem) and not has_text(self._tree, location.absolute)
            yield LeafItem("element", bare.name, value_of(self._tree, location)) if slot else bare
        elif found:
            yield from self._nested(path, branch)

    def _is_single(self, path: syntax.PathExpression, found: list[Located], branch: Branch) -> bool:
        """Whether a path leads to one node at most, by one way."""
        after, location = found[0]
        if any(step.predicates for step in path.steps) or len(found) > 1 or location.document:
            return False
        return after.variables == branch.variables and (location.text or after.atoms == branch.atoms)

    def _may_lack(self, location: Location, branch: Branch) -> bool:
        """Whether an element that is more than a slot may be absent, or has a name that is not known here."""
        here = location.absolute
        if location.text or not (has_text(self._tree, here) or holds_elements(self._tree, here)):
            return False
        is_there = not location.path or self._paths.guaranteed(location.node, location.term)
        has_any_name = self._tree.box(here) is not None and known_tag(self._tree, branch, location) is None
        return has_any_name or holds_elements(self._tree, here) or not is_there

    def _nested(self, expression: syntax.Expression, branch: Branch) -> Iterator[NestedItem]:
        """The items of an expression for each match of the branch around it; each that is there once by itself."""
        members = few(self._items(expression, branch))
        for member in members:
            if isinstance(member.template, LeafItem) and member.template.shape != "copy":
                message = "several values in a constructor, without an element around each, are not translated yet"
                refuse("HX3046", message, expression.position, "put an element around each")
        known = frozenset(atom for atom in branch.atoms if not _is_tag(atom))
        added = dict.fromkeys(Member(each.variables, each.atoms - known, each.template) for each in members)
        known_names = {variable.name for variable in branch.variables}
        parts: dict[Template | None, list[Member]] = {}
        for each in added:
            is_single = known_names.issuperset(variable.name for variable in each.variables)
            parts.setdefault(each.template if is_single else None, []).append(each)
        for template, several in parts.items():
            yield nested_part(branch.variables, several, single=template is not None)

    def _inside(self, path: syntax.PathExpression, found: list[Located], branch: Branch) -> LeafItem | None:
        """A path that leads into a copied subtree, which is the same on both sides, may repeat there as it likes."""
        if any(step.predicates for step in path.steps) or len(found) != 1 or found[0][0].leaves(branch):
            return None
        after, location = found[0]
        here = location.absolute
        whole = self._tree.whole_at(here)
        if whole is None or location.text:
            return None
        start = after.known_above(location.variable, branch)
        if any(self._tree.is_stop(whole[:length]) for length in range(len(branch.node(start)) + 1, len(whole) + 1)):
            return None
        return LeafItem(
            "copy", here[-1].removeprefix(ANYWHERE).lstrip("@"), Term(start, here[len(branch.node(start)) :])
        )

    def _flwor_slot(self, flwor: syntax.Flwor, branch: Branch) -> Iterator[Content]:
        """``for $x in $v/leaf return ...`` over a single-valued leaf is a slot that is there when the leaf is."""
        clause = flwor.clauses[0]
        if len(flwor.clauses) == 1 and isinstance(clause, syntax.For) and flwor.where is None:
            found = self._paths.resolve(clause.source, branch)
            if not found:
                return
            location = found[0][1]
            is_node = uncounted(flwor.result) == syntax.PathExpression(clause.variable)
            if is_node and self._is_single(clause.source, found, branch) and not self._may_lack(location, branch):
                yield from self._path_slot(clause.source, branch)  # what is there once needs no counting
                return
            # The text node of an empty element is absent, its element is not.
            is_leaf = not (location.text or location.document or holds_elements(self._tree, location.absolute))
            if is_leaf and self._is_single(clause.source, found, branch):
                shown = self._leaf_shape(flwor.result, branch.bound(clause.variable, location))
                if shown is not None and shown[2] == value_of(self._tree, location):
                    yield LeafItem(*shown)
                    return
        yield from self._nested(flwor, branch)

    def _leaf_shape(self, result: syntax.Expression, branch: Branch) -> tuple[Shape, str, Term | Text] | None:
        """What one value is made to: the shape and name of an item, and the value."""
        shape: Shape
        match result:
            case syntax.AttributeConstructor(name, value):
                shape = "attribute"
            case syntax.TextConstructor(value):
                shape, name = "text", ""
            case syntax.ElementConstructor(name, (), (syntax.Data() as value,)):
                shape = "element"
            case syntax.Data() as value:
                shape, name = "value", ""
            case _:
                return None
        term = self.slot_term(value, branch, result.position)
        return None if term is None else (shape, name, term)

    def slot_term(self, value: syntax.Expression, branch: Branch, position: Position | None) -> Term | Text | None:
        """The one term of a value inside a constructor, ``None`` where the schema has no such leaf."""
        if isinstance(value, syntax.TagValue):
            location = self.single(value.argument, branch, leaf=False)
            return None if location is None else tag_of(self._tree, location)
        if isinstance(value, syntax.Function):
            return self._functions.term(value, branch)
        if isinstance(value, syntax.Data):
            value = value.argument
        if not isinstance(value, syntax.PathExpression):
            refuse("HX3045", "only a leaf's value can stand here", position, "write data($variable/leaf)")
        location = self.single(value, branch)
        if location is None:
            return None
        return value_of(self._tree, location)

    def single(self, path: syntax.PathExpression, branch: Branch, *, leaf: bool = True) -> Location | None:
        """The only node that a path in a constructor leads to, ``None`` where the schema has none."""
        return self._single(path, self._paths.resolve(path, branch), branch, leaf=leaf)

    def _single(
        self, path: syntax.PathExpression, found: list[Located], branch: Branch, *, leaf: bool = True
    ) -> Location | None:
        if any(step.predicates for step in path.steps):
            refuse("HX3046", "a predicate inside a constructor's path is not translated exactly yet", path.position)
        if not found:
            return None
        if len(found) > 1 and all(after.variables == branch.variables for after, _ in found):
            ends = dict.fromkeys(self._tree.written(location.absolute) for _, location in found)
            refuse(
                "HX3046",
                f"a path to alternatives ({', '.join(ends)}) in a constructor is not translated exactly yet",
                path.position,
                "write a path for each",
            )
        if len(found) > 1 or found[0][0].variables != branch.variables:
            where = self._tree.written(found[0][1].absolute)
            refuse(
                "HX3046",
                f"the path to {where} repeats in a constructor: not translated exactly yet",
                path.position,
                "ask with one more for variable",
            )
        after, location = found[0]
        if leaf:
            require_value(self._tree, location, path.position)
        if after.atoms != branch.atoms and not location.text:
            refuse("HX3046", "a tag inside a constructor's path is not translated exactly yet", path.position)
        return location

    def bare(self, branch: Branch, location: Location, position: Position | None) -> Template:
        """The template of the node at a location, as it stands in the document."""
        term = location.term
        step = location.absolute[-1] if location.absolute else self._tree.root
        if location.text or step == TEXT:
            return LeafItem("text", "", value_of(self._tree, location))
        if step.startswith("@"):
            return LeafItem("attribute", step[1:], term)
        if has_text(self._tree, location.absolute):
            return self._whole(branch, location)
        if holds_elements(self._tree, location.absolute):
            return self._inner(branch, location, position)
        if not self._tree.is_leaf(location.absolute):
            return LeafItem("copy", step.removeprefix(ANYWHERE), term)
        return ElementItem(step.removeprefix(ANYWHERE), (), (LeafItem("value", "", term),))

    def _whole(self, branch: Branch, location: Location) -> ElementItem:
        """An element with text and attributes, as it is."""
        here = location.absolute
        name = here[-1].removeprefix(ANYWHERE) if here else self._tree.root
        attributes = (attribute.name for attribute in self._tree.element(here).attributes)
        slots = (
            LeafItem("attribute", each, Term(location.variable, (*location.path, f"@{each}"))) for each in attributes
        )
        text = LeafItem("value", "", value_of(self._tree, location))
        tag = None if location.path else known_tag(self._tree, branch, location)
        return ElementItem(tag or name, (), (*slots, text))

    def _inner(self, branch: Branch, location: Location, position: Position | None) -> ElementItem:
        """An element with elements in it, as the schema spells it out; without what is not ``made``."""
        here = location.absolute
        self._require_whole(here, position)
        inner = branch.bound(_WHOLE, location)
        content: list[Content] = []
        for child in self._tree.children(here):
            if self._made is not None and child not in self._made and not self._tree.is_leaf(child):
                self.unmade[child] = None
                continue
            box = self._tree.box(child)
            if box is not None and not self._paths.valid:
                self._refuse_whole(child, "may have any name", position)
            for name in (child[-1],) if box is None else box.members:
                path = syntax.PathExpression(_WHOLE, (step_of(name),), position=position)
                counted = counted_path(path, f"{_CHILD}{len(branch.bindings)}")
                content += self._content(counted if self._counts else path, inner)
        tag = None if location.path else known_tag(self._tree, branch, location)
        name = tag or (here[-1].removeprefix(ANYWHERE) if here else self._tree.root)
        return joined_parts(ElementItem(name, (), tuple(content)))

    def _require_whole(self, here: Path, position: Position | None) -> None:
        """Refuse (HX3044) to spell out an element whose content the schema does not."""
        element = self._tree.element(here)
        if element.text:
            self._refuse_whole(here, "has text between its elements", position)
        elif element.open:
            self._refuse_whole(here, "may hold anything", position)
        elif self._tree.is_cyclic(here) and self._made is None:
            self._refuse_whole(here, "stands in itself", position)

    def _refuse_whole(self, here: Path, reason: str, position: Position | None) -> NoReturn:
        name = self._tree.written((self._tree.root, *here))
        message = f"{name} {reason}: returning it whole is not translated yet"
        refuse("HX3044", message, position, "ask for what is below it, one by one")


def _is_value(content: str | syntax.Expression) -> bool:
    """Whether what stands in a constructor is a value: a path would stand for its node."""
    if isinstance(content, syntax.Conditional):
        return _is_value(content.value) and content.otherwise is not None and _is_value(content.otherwise)
    values = str | syntax.StringLiteral | syntax.Data | syntax.TagValue | syntax.FunctionCall | syntax.Switch
    return isinstance(content, values)


def _is_tag(atom: Atom) -> bool:
    return isinstance(atom, Comparison) and atom.left.path == (TAG,) and isinstance(atom.right, Text)
