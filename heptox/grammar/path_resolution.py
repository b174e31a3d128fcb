"""From the paths of a query to the nodes of a schema tree that they lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from heptox.checks import Check
from heptox.errors import Fault, GrammarError, SchemaError
from heptox.grammar import query as syntax
from heptox.grammar.branches import CONTEXT, DOCUMENT, Binding, Branch, Located, few
from heptox.grammar.locations import Location, refuse, value_of
from heptox.grammar.matching import step_matches
from heptox.grammar.parsing import DEEPEST
from heptox.grammar.spelling import hint_for, nothing_for
from heptox.pattern import TAG, Comparison, Term, Text, Variable
from heptox.schema import TEXT, Match, Path, SchemaTree

_Condition: TypeAlias = Callable[[syntax.Condition, Branch, Location], Iterator[Branch]]


class PathResolver:
    """The paths of one query over a schema tree. ``condition`` gives the branches in which a predicate holds;
    ``check`` is called for each path and step."""

    def __init__(self, tree: SchemaTree, condition: _Condition, *, valid: bool, check: Check) -> None:
        self.tree = tree
        self._condition = condition
        self.valid = valid
        self.check = check
        self._matched: set[int] = set()
        self._missed: dict[int, Fault] = {}
        self._open: dict[int, Fault] = {}

    @property
    def unmatched(self) -> list[Fault]:
        """A fault for each step that no schema path can stand for, in whichever branch."""
        return [fault for step, fault in self._missed.items() if step not in self._matched]

    def resolve(self, path: syntax.PathExpression, branch: Branch, context: Location = DOCUMENT) -> list[Located]:
        """The branches of a path and where each ends."""
        self.check()
        start: Location
        depth = 0
        while isinstance(binding := self._binding(path, branch), syntax.PathExpression):
            depth += 1
            if depth > DEEPEST:
                refuse("HX3003", f"{path.start} stands for a path that is nested too deeply in others", path.position)
            path = syntax.PathExpression(binding.start, binding.steps + path.steps, position=path.position)
        if binding is not None:
            start = binding
        elif path.start == syntax.COLLECTION:
            root = Variable(f"{CONTEXT}{len(branch.variables)}", ())
            branch = replace(branch, variables=(*branch.variables, root))
            start = Location(root.name, document=True)
        else:
            start = DOCUMENT if path.start == "/" else context
        found: list[Located] = [(branch, start)]
        for step in path.steps:
            found = few(located for before, end in found for located in self._step(step, before, end))
        return found

    def guaranteed(self, node: Path, term: Term) -> bool:
        """Whether a term of a variable at ``node`` is there in every document that the query is asked of."""
        return self.valid and self.tree.required((*node, *term.path), below=node)

    def _binding(self, path: syntax.PathExpression, branch: Branch) -> Binding | None:
        """What the variable stands for that a path begins at, if it does."""
        if not path.start.startswith("$"):
            return None
        if path.start not in branch.bindings:
            refuse("HX3004", f"variable {path.start} is not bound", path.position, "bind it with for or let")
        return branch.bindings[path.start]

    @property
    def open(self) -> list[Fault]:
        """A fault (HX3067) for each step that may stand for something in open content."""
        return list(self._open.values())

    def _miss(self, step: syntax.Step, location: Location) -> None:
        if id(step) in self._missed or id(step) in self._matched or id(step) in self._open:
            return
        context = None if location.document else location.absolute
        below = "anywhere in the schema" if "descendant" in step.axis else "at the root"
        if context is not None:
            below = f"below {self.tree.written((self.tree.root, *context, *((TEXT,) if location.text else ())))}"
            context = (*context, TEXT) if location.text else context
        message = f"{nothing_for(step, self.tree.graph.prefixes)} {below}"
        self._missed[id(step)] = Fault("HX3041", message, step.position, hint=hint_for(self.tree, step, context))

    def _step(self, step: syntax.Step, branch: Branch, location: Location) -> Iterator[Located]:
        self.check()
        if location.text:
            self._miss(step, location)
            return
        for match in self._matches(step, location):
            reached = [self._reach(branch, location, match, step.excluded)]
            for predicate in step.predicates:
                reached = few(
                    (after, end) for before, end in reached for after in self._condition(predicate, before, end)
                )
            yield from reached

    def _matches(self, step: syntax.Step, location: Location) -> Iterator[Match]:
        """What a step can stand for, one after the other: where they are too many, not all need be found."""
        context = None if location.document else location.absolute
        if self.tree.may_hold_anything(context, deep="descendant" in step.axis):
            self._open.setdefault(
                id(step), Fault("HX3067", "it looks into open content, which no arrow leads into", step.position)
            )
        matches = step_matches(self.tree, step, context)
        found = False
        try:
            for match in self._whole_boxes([*matches]) if self.valid else matches:
                found = True
                self._matched.add(id(step))
                yield match
        except SchemaError as error:
            raise GrammarError([replace(fault, position=step.position) for fault in error.faults]) from None
        if not found:
            self._miss(step, location)

    def _whole_boxes(self, matches: list[Match]) -> tuple[Match, ...]:
        """The matches, with one for a box where all its members are named."""
        named: dict[Path, set[str | None]] = {}
        for match in matches:
            named.setdefault(match.path, set()).add(match.tag)
        boxes = {path: self.tree.box(path) for path in named}
        whole = {path for path, box in boxes.items() if box is not None and named[path] >= set(box.members)}
        return tuple(dict.fromkeys(Match(match.path) if match.path in whole else match for match in matches))

    def _reach(self, branch: Branch, start: Location, match: Match, excluded: tuple[str, ...]) -> Located:
        """The branch with a variable for every stop node on the way to a match, and the match's location.

        The tag of a box node is none of the names in ``excluded``.
        """
        tree = self.tree
        path = match.path
        text = bool(path) and path[-1] == TEXT and not (path in tree and tree.is_stop(path))
        if text:
            path = path[:-1]
        name, anchor = start.variable, start.node
        variables = list(branch.variables)
        for stop in tree.stops(path):
            if len(stop) > len(anchor):
                variables.append(Variable(f"v{len(variables)}", stop, name))
                name, anchor = variables[-1].name, stop
        branch = replace(branch, variables=tuple(variables))
        location = Location(name, anchor, path[len(anchor) :], text)
        if match.tag is not None:
            value = tree.value_of_tag(path, match.tag)
            assert value is not None  # the tree matches only tags that a value becomes
            branch = branch.having(Comparison("=", Term(name, (TAG,)), Text(value)))
        elif tree.box(path) is not None:
            values = (tree.value_of_tag(path, tag) for tag in excluded)
            branch = branch.having(
                *(Comparison("!=", Term(name, (TAG,)), Text(value)) for value in values if value is not None)
            )
        if text:
            branch = branch.having(Comparison("!=", value_of(self.tree, location), Text("")))
        return branch, location
