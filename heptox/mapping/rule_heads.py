"""The head of a rule, from its text: the leaves that it supplies, and the chain of its stop nodes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from heptox.grammar import HeadLeaf, HeadTree, Identity, RuleValue, SurrogateArgument, SurrogateTerm
from heptox.mapping.content import content_difference
from heptox.mapping.identity import declared_key
from heptox.mapping.model import Argument, HeadNode, Surrogate
from heptox.mapping.naming import function_name
from heptox.mapping.paths import known_prefix, owning_stop, path_text, schema_order
from heptox.mapping.rule_scope import RuleScope
from heptox.mapping.selected_paths import with_selections
from heptox.pattern import NODE, TAG, Term, is_constant
from heptox.schema import Path, plain, quoted, split_selection


@dataclass(frozen=True, slots=True)
class HeadReader:
    """Reads the head of a rule whose body is bound."""

    scope: RuleScope
    supplied: dict[Path, tuple[Term, bool]] = field(default_factory=dict)
    """The leaves, each with its term and whether it is copied."""
    inner: list[tuple[Path, HeadTree]] = field(default_factory=list)
    surrogates: dict[Path, Surrogate] = field(default_factory=dict)
    """The leaves that take what nodes are identified by."""

    def chain(self, tree: HeadTree) -> tuple[HeadNode, ...] | None:
        """The stop nodes of a head with their leaves; a fault when they branch."""
        self._read(tree, ())
        target = self.scope.target.tree
        shown = [
            *(path for path, _ in self.inner),
            *(path[:-1] if path[-1:] == (TAG,) else path for path in self.supplied),
        ]
        shown += self.surrogates
        lowest = max((target.stop(path) for path in shown), key=len)
        chain = target.stops(lowest)
        for path in shown:
            if target.stop(path) not in chain:
                ends = self.scope.target_text(target.stop(path)), self.scope.target_text(lowest)
                message = f"{ends[0]} and {ends[1]} repeat side by side in one head"
                self.scope.report("HX4032", message, tree, "write a rule for each")
                return None
        identities = {path: below.identity for path, below in self.inner}
        return tuple(self._head_node(stop, identities.get(stop), tree) for stop in chain)

    def _read(self, tree: HeadTree, path: Path) -> None:
        """Gather the leaves and the inner nodes of a head."""
        self.inner.append((path, tree))
        if self.scope.target.tree.box(path):
            self._read_tag(tree, path)
        for part in tree.parts:
            below = (
                self._own(tree, path, part)
                if part.label.name == "."
                else self.scope.node(self.scope.target, path, part.label)
            )
            if below is None:
                continue
            if isinstance(part, HeadTree) and self._holds_more(part, below):
                self._read(part, below)
            elif isinstance(part, HeadLeaf):
                if below in self.supplied or below in self.surrogates:
                    self.scope.report(
                        "HX4031",
                        f"{self.scope.target_text(below)} stands twice in the head",
                        part,
                        "keep one of them",
                    )
                if isinstance(part.variable, SurrogateTerm):
                    self._read_surrogate(part.variable, below)
                elif value := self._leaf(part, part.variable, below):
                    self.supplied.setdefault(below, (value, part.copied))

    def _own(self, tree: HeadTree, path: Path, part: HeadTree | HeadLeaf) -> Path | None:
        """The node itself, which is a leaf or copied, where it needs an identity besides its value."""
        if tree.identity.each and self.scope.target.tree.is_stop(path) and isinstance(part, HeadLeaf):
            return path
        hint = f"write {tree.label} -> $variable or => $variable; only by each it has brackets"
        self.scope.report("HX4009", f"{self.scope.target_text(path)} is identified by its value", part, hint)
        return None

    def _read_tag(self, tree: HeadTree, path: Path) -> None:
        if tree.label.tag is None:
            hint = f"write {tree.label}:$variable, with the variable whose value is the tag"
            self.scope.report("HX4020", f"the box {tree.label} has no tag", tree.label, hint)
        elif term := self.scope.value(tree.label.tag, tree.label):
            self.supplied[(*path, TAG)] = (term, False)

    def _holds_more(self, part: HeadTree, path: Path) -> bool:
        if not self.scope.target.tree.is_leaf(path) or (part.identity.each and self.scope.target.tree.is_stop(path)):
            return True
        hint = f"write {part.label} -> $variable"
        self.scope.report("HX4009", f"{self.scope.target_text(path)} is a leaf: its value is a variable", part, hint)
        return False

    def _read_surrogate(self, written: SurrogateTerm, leaf: Path) -> None:
        """Note that a leaf takes what a node is identified by."""
        tree = self.scope.target.tree
        if not tree.stop(leaf) or leaf == tree.stop(leaf) or not tree.is_leaf(leaf):
            hint = "write it to an attribute or a leaf below a node that repeats"
            self.scope.report(
                "HX4033",
                f"{self.scope.target_text(leaf)} cannot take what a node is identified by",
                written,
                hint,
            )
            return
        arguments = [found for argument in written.arguments if (found := self._argument(argument))]
        if len(arguments) < len(written.arguments):
            return
        node = max((argument.stop for argument in arguments), key=len)
        places = {(argument.stop, argument.path) for argument in arguments}
        if not node or written.function != function_name(tree, node) or len(places) < len(arguments):
            named = self.scope.target_text(node)
            hint = f"{function_name(tree, node)} has each leaf of {named} and those above it once, by its path"
            self.scope.report("HX4033", f"{written} identifies no node", written, hint if node else None)
            return
        self.surrogates[leaf] = Surrogate(node, tuple(arguments))

    def _argument(self, written: SurrogateArgument) -> Argument | None:
        """What a surrogate is a function of; ``None`` where it is nothing of the kind, which is reported."""
        tree, path = self.scope.target.tree, written.path.steps
        if plain(path) in tree:
            path = with_selections(tree, path, written.path, self.scope.findings) or path
        if written.is_each and isinstance(written.variable, str):
            name = self.scope.source_node(written.variable, written)
            if name is not None and path in tree and tree.is_stop(path):
                return Argument(path, (NODE,), Term(name, (NODE,)))
        elif term := self.scope.value(written.variable, written):
            if path[-1] == TAG and tree.box(path[:-1]):
                return Argument(path[:-1], (TAG,), term)
            known = known_prefix(tree, path)
            if known and tree.is_leaf(known):
                stop = tree.stop(known) if known == path else ()
                return Argument(stop, path[len(stop) :], term)
        if self.scope.is_sound():
            hint = "write the path from the root of a leaf, or of what each stands for"
            self.scope.report("HX4033", f"{written.path} identifies no node", written, hint)
        return None

    def _leaf(self, part: HeadLeaf, variable: RuleValue, path: Path) -> Term | None:
        if part.copied and isinstance(variable, str):
            term = self._copied(part, variable, path)
        else:
            term = self._plain(part, variable, path)
        if (
            term is not None
            and not self.scope.target.tree.stop(path)
            and self.scope.source.tree.stops(self.scope.source_path(term))[1:]
        ):
            named = self.scope.target_text(path)
            message = f"{named} stands once below the root and cannot take {part.variable}, which repeats"
            self.scope.report("HX4013", message, part, "only a leaf that the source's root owns goes there")
        return term

    def _plain(self, part: HeadLeaf, variable: RuleValue, path: Path) -> Term | None:
        if not self.scope.target.tree.is_leaf(path):
            self.scope.report(
                "HX4009",
                f"{self.scope.target_text(path)} is no leaf",
                part,
                "give it an identity: f_name(...)[...]",
            )
            return None
        return self.scope.value(variable, part)

    def _copied(self, part: HeadLeaf, variable: str, path: Path) -> Term | None:
        term = self.scope.terms.get(variable)
        if term is None:
            return self.scope.value(variable, part)
        begin = self.scope.source_path(term)
        source, target = self.scope.source.tree, self.scope.target.tree
        are_inner = [tree.is_element(end) and not tree.is_leaf(end) and not tree.box(end)
                 for tree, end in ((source, begin), (target, path)) if end[-1:] != (TAG,)]  # fmt: skip
        if are_inner != [True, True]:
            self.scope.report("HX4012", f"{part.variable} cannot be copied to {self.scope.target_text(path)}", part,
                       "=> copies an inner element to an inner element; a leaf takes ->")  # fmt: skip
            return None
        types = source.element(begin).key, target.element(path).key
        if difference := content_difference(source.graph, types[0], target.graph, types[1]):
            ends = path_text(source, begin), path_text(target, path)
            self.scope.report("HX4012", f"{ends[0]} cannot be copied to {ends[1]}: {difference}", part)
            return None
        return term

    def _check_selection(self, stop: Path, tree: HeadTree, leaves: Collection[Path]) -> None:
        """A node of a selection has the leaves that select it, where they have one value."""
        for test in split_selection(stop[-1])[1] if stop else ():
            if test.test == "=" and len(test.values) == 1 and test.path not in leaves:
                leaf = self.scope.target.tree.written(test.path) or "."
                message = f"{self.scope.target_text(stop)} is not made without {leaf}"
                self.scope.report("HX4038", message, tree, f"write {leaf} -> {quoted(test.values[0])} in its brackets")

    def _head_node(self, stop: Path, identity: Identity | None, tree: HeadTree) -> HeadNode:
        own = [path for path in self.supplied if owning_stop(self.scope.target.tree, path) == stop]
        own.sort(key=lambda path: schema_order(self.scope.target.tree, path))
        leaves = tuple((path[len(stop) :], self.supplied[path][0]) for path in own)
        copied = frozenset(path[len(stop) :] for path in own if self.supplied[path][1])
        made = [path for path in self.surrogates if owning_stop(self.scope.target.tree, path) == stop]
        made.sort(key=lambda path: schema_order(self.scope.target.tree, path))
        surrogates = tuple((path[len(stop) :], self.surrogates[path]) for path in made)
        self._check_selection(stop, tree, [path[len(stop) :] for path in (*own, *made)])
        if stop and identity is not None and identity.each:
            return HeadNode(
                stop, leaves, copied, each=self.scope.source_node(identity.each, identity), surrogates=surrogates
            )
        values = [path for path, term in leaves if path not in copied and not is_constant(term.path)]
        key = declared_key(self.scope.target.tree, self.scope.target.declared_keys, stop, values)
        return HeadNode(stop, leaves, copied, key=key, surrogates=surrogates)
