"""An XQuery as cores and a shell (``semantics.md`` section 7): what of it peers are asked, and the query around that.

A **core** is a path from documents, or a ``for`` over such paths, with all of its conditions that the fragment can say.
It brings what the shell looks at (:mod:`heptox.shell.projection`). Of a ``for`` whose rest is the shell's the core
brings a tuple for each match; cores inside that speak of its variables become nested parts of the tuple, so that none
is asked again for each item of another. The text of the shell stays as it was written, but for its cores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, NoReturn, TypeAlias, cast

from lark import Token, Tree

from heptox.checks import Check, no_check
from heptox.errors import GrammarError
from heptox.grammar import NO_NAMES, NameTable, QueryText, syntax
from heptox.shell.aggregates import FOLDED, aggregate, aggregated, fold, folded_tuples, leaves_aggregates, wrapped
from heptox.shell.frames import Beginning
from heptox.shell.model import ITEMS, Core, Kind, Split, is_ordered, kind_of
from heptox.shell.parts import (
    Part,
    begin_at_documents,
    begins_at_documents,
    cuts,
    flattened,
    is_document,
    only_part,
    span,
)
from heptox.shell.projection import Projection, is_plain, name_of, projected
from heptox.shell.scope import (
    EACH,
    Frame,
    Grouped,
    Node,
    Other,
    Path,
    Place,
    Scope,
    bound_by_cores,
    is_of_cores,
    resolved,
    speaks_of_documents,
)

_RENAMING: Final = re.compile(r"default\s+function|namespace\s+(?:fn|xs)\s*=")
_VARIABLES: Final = re.compile(r"\$[^\s$,:()=]+(?::[^\s$,:()=]+)?")
MOST_CORES: Final = 20
"""Cores of one query."""
_ONLY_COUNTED: Final = ("count", "exists", "empty", "not")
"""Functions for which it is enough that nodes are there."""
_ELSEWHERE: Final = {
    **dict.fromkeys(("doc", "doc-available"), "begin the path with / or //: it means each document of each peer"),
    **dict.fromkeys(("id", "idref", "element-with-id"), "join by the values: //a[@id = $b/@ref]"),
    **dict.fromkeys(
        ("root", "path", "base-uri", "document-uri", "uri-collection"), "peers give no documents, only items"
    ),
    **dict.fromkeys(("generate-id", "has-children"), "compare values with ="),
}
_COMPARING: Final = ("is", "<<", ">>")
_SETS: Final = ("|", "union", "intersect", "except")
_OWN: Final = "$heptox-"
"""How variables begin that the shell has of its own."""
_SAME_FOR: Final = "bind it in the same for: let $x := //a for $y in //b ..."
_BELOW: Final = "begin with /name or //name"
_UPWARD: Final = "bind the node above with for, and go down from it"
_AXES: Final = ("child", "descendant", "attribute", "self", "descendant-or-self")


Refusal: TypeAlias = Callable[[syntax.Expression], GrammarError | None]
"""Why an expression of the fragment cannot be translated, whatever the mapping."""


def split(
    text: str,
    file: str | None = None,
    names: NameTable = NO_NAMES,
    check: Check = no_check,
    refusal: Refusal = lambda _: None,
) -> Split:
    """The cores and the shell of an XQuery; no core is what there is a ``refusal`` of.

    Raises :class:`GrammarError`: as :meth:`QueryText.read` for what is not read; HX3070 for what no peer can be asked,
    with what to write instead; HX3071 for more than :data:`MOST_CORES` cores.

    >>> found = split("count(//Patient)")
    >>> print(found.shell)
    xs:integer(sum($heptox-core1/@n))
    """
    reading = QueryText.read(text, file, names, check)
    return _Splitter(reading, refusal).split()


class _Splitter:
    def __init__(self, reading: QueryText, refusal: Refusal) -> None:
        self._reading = reading
        self._refusal = refusal
        self._cores: list[tuple[Callable[[], syntax.Expression], Kind, bool]] = []
        self._frames = count(1)
        self._paths: dict[syntax.Expression, tuple[str, Projection]] = {}
        """The paths that are cores of their own."""
        self._aggregates: dict[syntax.Expression, tuple[str, list[str]]] = {}
        """The cores of which the shell takes aggregates alone, and of which of their values."""
        self._renames = _RENAMING.search(reading.text[: span(reading.tree.children[-1])[0]]) is not None
        """Whether ``count`` may be another function than XQuery's."""
        self._calls: list[tuple[Tree[Token], str]] = []
        """The aggregates of these, by their names."""
        self._asking: set[str] = set()
        """The functions that speak of documents."""
        self._documents = begin_at_documents(reading.tree)

    def split(self) -> Split:
        """The cores and the shell."""
        *declarations, body = self._reading.tree.children
        for token in self._reading.tree.scan_values(lambda part: str(part).startswith(_OWN)):
            message = f"{_OWN}... are variables of what is made of the query"
            raise GrammarError(self._reading.fault("HX3070", message, token, "give it another name"))
        scope: dict[str, Place] = {}
        parts = [(declaration, self._declaration(declaration, scope)) for declaration in declarations]
        said = self._text_of(body, scope, None)
        cores = [
            Core(query(), f"heptox-core{number}", kind, brings_rows)
            for number, (query, kind, brings_rows) in enumerate(self._cores, 1)
        ]
        own = [part for part in declarations if isinstance(part, Tree) and part.data != "declaration"]
        begin, end = span([*own, body][0])[0], span(body)[0]
        setters = [(part, text) for part, text in parts if part not in own]
        declared = self._spliced(begin, end, [(part, text) for part, text in parts if part in own])
        whole = only_part(body)
        aggregate_name = next((name for call, name in self._calls if call is whole), "")
        return Split(tuple(cores), self._spliced(0, begin, setters), f"{declared}{said}", aggregate_name)

    def _declaration(self, declaration: Part, scope: dict[str, Place]) -> str:
        """The text of a declaration, whose variable is in the scope then."""
        assert isinstance(declaration, Tree)
        names = _VARIABLES.findall(str(declaration.children[0]))
        if declaration.data == "function_declaration" and speaks_of_documents(declaration, scope):
            self._asking.add(str(declaration.children[0]).split("function", 1)[1].split("(", 1)[0].strip())
        if declaration.data != "variable_declaration":
            return self._children(declaration, {**scope, **dict.fromkeys(names, Other())}, None)
        source = declaration.children[-1]
        place = self._place(source, scope, None) if len(declaration.children) > 1 else None
        text = self._text_of(source, scope, None) if place is None else place[1]
        scope[names[0]] = Other() if place is None else place[0]
        return self._spliced(*span(declaration), [(source, text)])

    # -- texts ---------------------------------------------------------------------------------------------------

    def _text_of(self, part: Part, scope: Scope, frame: Frame | None, *, exists: bool = False) -> str:
        """What stands in the shell for a part; where it only ``exists``, it matters how often."""
        if isinstance(part, Token):
            return self._token(part, scope, frame)
        self._reading.check()
        match part.data:
            case "path":
                return self._path(part, scope, frame, exists=exists)
            case "flwor":
                return self._flwor(part, scope, frame)
            case "quantified":
                return self._quantified(part, scope, frame)
            case "call":
                return self._call(part, scope, frame)
            case "expressions" | "parenthesised" if len(part.children) == 1:
                inner = part.children[0]
                return self._spliced(*span(part), [(inner, self._text_of(inner, scope, frame, exists=exists))])
            case "inline_function":
                names = _VARIABLES.findall(str(part.children[0]))
                return self._children(part, {**scope, **dict.fromkeys(names, Other())}, frame)
            case "union" | "operation":
                self._check_nodes(part, scope, frame)
            case "axis_step" if str(part.children[0]).removesuffix("::").strip() not in _AXES:
                self._refuse(part, f"the axis {part.children[0]}", _UPWARD)
            case "document":
                self._refuse(part, "the document itself", _BELOW)
            case _:
                pass
        return self._children(part, scope, frame)

    def _token(self, token: Token, scope: Scope, frame: Frame | None) -> str:
        if token.type == "OUTSIDE_CONSTRUCT":
            what = "the parent step .." if token == ".." else str(token)
            self._refuse(token, what, _UPWARD if token == ".." else None)
        if token.type == "VARIABLE" and token in self._documents:
            self._refuse(token, "the document itself", _BELOW)
        if token.type == "VARIABLE":
            self._used(token, (), scope, frame)
        return str(token)

    def _used(
        self,
        variable: Token,
        steps: Sequence[syntax.Step],
        scope: Scope,
        frame: Frame | None,
        *,
        exists: bool = False,
    ) -> None:
        """The shell needs what steps lead to from a variable."""
        match scope.get(str(variable)):
            case Node(is_core=True) if frame is not None:
                self._refuse(variable, f"{variable}, of all documents, for each of a document", _SAME_FOR)
            case Node() as node:
                node.projection.use(steps, exists=exists)
            case Path() as path:
                path.used = True
            case _:
                pass

    def _children(self, tree: Tree[Token], scope: Scope, frame: Frame | None) -> str:
        return self._spliced(*span(tree), [(child, self._text_of(child, scope, frame)) for child in tree.children])

    def _spliced(self, begin: int, end: int, parts: Sequence[tuple[Part, str]]) -> str:
        """The text between two places with other texts for some parts."""
        pieces, place = [], begin
        for part, text in parts:
            first, last = span(part)
            pieces += [self._reading.text[place:first], text]
            place = last
        return "".join((*pieces, self._reading.text[place:end]))

    def _refuse(self, part: Part, what: str, hint: str | None) -> NoReturn:
        message = f"{what} is not asked of peers, and their answers do not have it"
        raise GrammarError(self._reading.fault("HX3070", message, part, hint))

    def _check_nodes(self, tree: Tree[Token], scope: Scope, frame: Frame | None) -> None:
        """Refuse what tells nodes apart that cores bring: two of them may be one, and their order means nothing."""
        if "!" in tree.children:
            self._check_rest(tree.children[2:], scope, frame)
        operators = ["|"] if tree.data == "union" else [str(each) for each in tree.children if isinstance(each, Token)]
        for operator in operators:
            if operator in _COMPARING:
                self._refuse(tree, f"the operator {operator}", "compare values with =")
            if operator in _SETS and any(is_of_cores(child, scope) for child in tree.children):
                self._refuse(tree, f"the operator {operator} over what peers are asked", "(a | b) as a step, or (q, q)")

    def _check_rest(self, rest: Sequence[Part], scope: Scope, frame: Frame | None) -> None:
        """Refuse paths from documents that are asked for each of what peers bring: they are of one document each."""
        for part in rest:
            if frame is None and isinstance(part, Tree) and self._asks(part, scope):
                self._refuse(part, "a path from documents for each item", "for $x in //a where ... return $x")

    def _asks(self, part: Tree[Token], scope: Scope) -> bool:
        calls = (str(call.children[0]) for call in part.find_data("call"))
        return speaks_of_documents(part, scope) or not self._asking.isdisjoint(calls)

    # -- cores ---------------------------------------------------------------------------------------------------

    def _core(
        self,
        query: Callable[[], syntax.Expression],
        kind: Kind,
        frame: Frame | None,
        part: Part,
        *,
        brings_rows: bool = False,
    ) -> str:
        """A new core, in the tuples of a frame if there is one; how the shell calls its items."""
        if frame is not None:
            items = frame.slot(lambda: wrapped(query()))
            return f"{items}/Q{{}}{EACH}/{ITEMS[kind]}"
        if len(self._cores) == MOST_CORES:
            message = f"the query asks peers for more than {MOST_CORES} things"
            raise GrammarError(self._reading.fault("HX3071", message, part, "ask for more at once, or split it"))
        self._cores.append((query, kind, brings_rows))
        return f"$heptox-core{len(self._cores)}"

    def _home(self, expression: syntax.Expression, scope: Scope, frame: Frame | None) -> Frame | None:
        """The frame of whose tuples a core is a part: the innermost whose variables it speaks of; else, inside of
        frames, the outermost: it is of the same document.
        """
        frames = [place.frame for name in _free(expression) if isinstance(place := scope.get(name), Node | Path)]
        outermost = _outermost(frame)
        return max((each for each in frames if each is not None), key=lambda each: each.number, default=outermost)

    def _asked(self, part: Part, scope: Scope) -> syntax.Expression | GrammarError:
        """The expression of the fragment that a part is, over documents and the variables of frames."""
        found = self._reading.expression(part, bound_by_cores(scope))
        if isinstance(found, GrammarError):
            return found
        if is_ordered(found):
            return GrammarError(self._reading.fault("HX3070", "order by is the shell's", part))
        return (None if _free(found) else self._refusal(found)) or found

    def _path(self, tree: Tree[Token], scope: Scope, frame: Frame | None, *, exists: bool) -> str:
        """A path from documents is a core as far as the fragment has it; one from a variable says what is needed."""
        begin, end = span(tree)
        children = tree.children
        first = children[0]
        if begins_at_documents(children):
            return self._core_path(tree, children, scope, frame, exists=exists)
        place = scope.get(str(first)) if isinstance(first, Token) else None
        if isinstance(place, Node | Path):
            steps, plain = self._plain_steps(children[1:])
            rest = children[1 + plain :]
            self._check_rest(rest, scope, frame)
            is_deep = bool(rest) and isinstance(rest[0], Token) and rest[0].type == "DOUBLE_SLASH"
            if is_deep and place.frame is not None:
                return self._core_path(tree, children, scope, frame, exists=exists, least=2 + plain)
            assert isinstance(first, Token)
            self._used(first, steps, scope, frame, exists=exists and not rest)
            return self._spliced(begin, end, [(part, self._text_of(part, scope, frame)) for part in rest])
        if len(children) == 1 and isinstance(first, Tree):
            return self._spliced(begin, end, [(first, self._text_of(first, scope, frame, exists=exists))])
        is_of_several = isinstance(first, Tree) and not _is_one_path(first) and speaks_of_documents(first, scope)
        if is_of_several and any(isinstance(part, Token) for part in children[1:]):
            self._refuse(tree, "a step from several paths", "write the step after each of them")
        return self._children(tree, scope, frame)

    def _core_path(
        self,
        tree: Tree[Token],
        children: list[Part],
        scope: Scope,
        frame: Frame | None,
        *,
        exists: bool,
        least: int = 1,
    ) -> str:
        """A path of which a core says more than its ``least`` first parts, as many as the fragment has."""
        reason: GrammarError | None = None
        for cut in cuts(children, least):
            rest = children[cut:]
            found = self._asked(Tree("path", children[:cut], tree.meta), scope)
            if isinstance(found, GrammarError):
                reason = reason or found
                continue
            home = self._home(found, scope, frame)
            self._check_rest(rest, scope, home)
            text, projection = self._of_path(found, home, tree)
            projection.use(self._plain_steps(rest)[0], exists=exists and not rest)
            said = [(part, self._text_of(part, scope, frame)) for part in rest]
            return text + self._spliced(span(children[cut - 1])[1], span(tree)[1], said)
        fault = reason.faults[0] if reason is not None else None
        message = f"no peer can be asked for this path{f': {fault.message}' if fault else ''}"
        raise GrammarError(self._reading.fault("HX3070", message, tree, fault.hint if fault else None))

    def _of_path(self, found: syntax.Expression, frame: Frame | None, part: Part) -> tuple[str, Projection]:
        """How the shell calls the items of a path, and what is needed of each; the same of one that comes again."""
        if frame is None and found in self._paths:
            return self._paths[found]
        projection = Projection()
        made = self._core_of(found, projection, frame, part), projection
        if frame is None:
            self._paths[found] = made
        return made

    def _core_of(self, found: syntax.Expression, projection: Projection, frame: Frame | None, part: Part) -> str:
        if not isinstance(found, syntax.PathExpression):
            return self._core(lambda: found, "value", frame, part)
        name, path = name_of(found), found

        def query() -> syntax.Expression:
            if projection.whole:
                return path
            return syntax.Flwor((syntax.For("$heptox-node", path),), None, projected("$heptox-node", name, projection))

        return self._core(query, "node", frame, part)

    def _plain_steps(self, rest: Sequence[Part]) -> tuple[list[syntax.Step], int]:
        """The plain steps that a path goes on with, to the first that has a predicate, and how many parts they are."""
        steps: list[syntax.Step] = []
        place = 0
        while place + 1 < len(rest):
            slash, test = rest[place], rest[place + 1]
            if not isinstance(slash, Token) or slash.type != "SLASH":
                break
            step = self._reading.step(slash, test)
            if step is None or not is_plain(step):
                break
            steps.append(step)
            place += 2
            if place < len(rest) and isinstance(rest[place], Tree):  # a predicate
                break
        return steps, place

    # -- expressions that bind variables --------------------------------------------------------------------------

    def _flwor(self, tree: Tree[Token], scope: Scope, frame: Frame | None) -> str:
        if speaks_of_documents(tree, scope):
            found = self._asked(tree, scope)
            if not isinstance(found, GrammarError) and (kind := kind_of(found)) is not None:
                return self._core(lambda: found, kind, self._home(found, scope, frame), tree)
            own = Frame(next(self._frames), _outermost(frame))
            begun, rest = Beginning(self._reading, own, dict(scope)), flattened(tree)
            while begun.takes(rest[0]):
                rest.pop(0)
            if own.has_loop:
                bound = {clause.variable for clause in own.clauses}
                loops = {clause.variable for clause in own.clauses if isinstance(clause, syntax.For)}
                own.brings_rows = frame is None and leaves_aggregates(rest, loops, bound)
                return self._framed(tree, begun, rest, frame)
        return self._clauses(tree, list(tree.children), scope, frame)

    def _framed(self, tree: Tree[Token], begun: Beginning, rest: list[Part], frame: Frame | None) -> str:
        """A ``for`` over the tuples of a core, which its first clauses and conditions ask for."""
        own, scope = begun.own, begun.scope
        items, bound = self._tuples(tree, own, scope, frame)
        said = " and ".join(f"({self._text_of(part, scope, own)})" for part in begun.conditions)
        text = self._clauses(tree, rest, scope, own)
        for name, place in scope.items():
            if isinstance(place, Path) and place.frame is own and place.used:
                bound.append((name, self._text_of(place.written, scope, own)))
        lets = "".join(f"let {name} := {value} " for name, value in bound)
        return f"for {own.variable} in {items} {lets}{f'where {said} ' if said else ''}{text}"

    def _tuples(
        self, tree: Tree[Token], own: Frame, scope: Scope, frame: Frame | None
    ) -> tuple[str, list[tuple[str, str]]]:
        """What the shell calls the tuples of a frame, and what its variables are of one of them."""
        bound: list[tuple[str, str]] = []
        for clause in own.clauses:
            place = scope[clause.variable]
            if isinstance(place, Node):
                name = name_of(resolved(clause.source, scope))
                slot = own.slot(_slot(clause.variable, name, place.projection))
                node = f"id({slot}/@ref, {own.variable})/((@* except @xml:id)|node())"
                bound.append((clause.variable, node if own.shares else f"{slot}/(@*|node())"))
        speaks = syntax.Flwor(tuple(own.clauses), syntax.conjunction(own.where), syntax.Sequence())
        outer = {name: place for name, place in scope.items() if getattr(place, "frame", None) is not own}
        home = self._home(speaks, outer, frame)
        return self._core(own.core, "node", home, tree, brings_rows=own.brings_rows), bound

    def _clauses(self, tree: Tree[Token], parts: list[Part], scope: Scope, frame: Frame | None) -> str:
        """The clauses of the shell that are left, and what is returned."""
        inner = dict(scope)
        texts: list[tuple[Part, str]] = []
        for part in parts:
            if isinstance(part, Tree) and part.data in ("for_clause", "let_clause"):
                texts.extend((binding, self._binding(binding, inner, frame)) for binding in part.children[1:])
            elif isinstance(part, Tree) and part.data in ("group_clause", "count_clause"):
                texts.append((part, self._grouped(part, inner, frame)))
            else:
                texts.append((part, self._text_of(part, inner, frame)))
        return self._spliced(span(parts[0])[0], span(tree)[1], texts)

    def _binding(self, binding: Part, scope: dict[str, Place], frame: Frame | None) -> str:
        """The text of a binding, whose variables are in the scope then."""
        assert isinstance(binding, Tree)
        source = binding.children[-1]
        place = self._place(source, scope, frame)
        text = place[1] if place is not None else self._text_of(source, scope, frame)
        variable = str(binding.children[0])
        scope[variable] = Other() if place is None else place[0]
        for child in binding.children[1:-1]:
            scope.update((name, Other()) for name in _VARIABLES.findall(str(child)))
        return self._spliced(*span(binding), [(source, text)])

    def _place(self, source: Part, scope: Scope, frame: Frame | None) -> tuple[Place, str] | None:
        """What a variable stands for that is bound to a path from documents, or to one from a node that names its
        steps, and the text of the path.
        """
        tree = source if isinstance(source, Tree) else Tree("path", [source])
        if tree.data != "path":
            return None
        if is_document(tree):
            return Other(), "()"  # nothing is left that speaks of it
        first = tree.children[0]
        above = scope.get(str(first)) if isinstance(first, Token) else None
        if isinstance(above, Node):
            steps, plain = self._plain_steps(tree.children[1:])
            is_all = 1 + plain == len(tree.children)
            return (Node(above.projection.at(steps)), self._spliced(*span(tree), [])) if is_all else None
        if not begins_at_documents(tree.children):
            return None
        found = self._asked(tree, scope)
        if isinstance(found, GrammarError):
            return None
        home = self._home(found, scope, frame)
        text, projection = self._of_path(found, home, tree)
        return Node(projection, is_core=home is None), text

    def _grouped(self, clause: Tree[Token], scope: dict[str, Place], frame: Frame | None) -> str:
        """Keys of groups, and numbers of tuples: variables of the shell."""
        texts: list[tuple[Part, str]] = []
        keys = [part for part in clause.children[1:] if isinstance(part, Tree)]
        for key in keys:
            source = key.children[-1]
            if isinstance(source, Tree):
                texts.append((source, self._text_of(source, scope, frame)))
            else:
                self._used(cast(Token, key.children[0]), (), scope, frame)
        names = [str(key.children[0]) for key in keys] or [str(clause.children[-1])]
        if frame is not None and frame.brings_rows:
            grouped = [name for name, place in scope.items() if isinstance(place, Node) and place.frame is frame]
            scope.update(dict.fromkeys(grouped, Grouped(frame)))
        scope.update(dict.fromkeys(names, Other()))
        return self._spliced(*span(clause), texts)

    def _quantified(self, tree: Tree[Token], scope: Scope, frame: Frame | None) -> str:
        *bindings, _, condition = tree.children[1:]
        own = Frame(next(self._frames), _outermost(frame))
        begun = Beginning(self._reading, own, dict(scope))
        if all(begun.takes_binding(each, is_loop=True) for each in bindings):
            items, bound = self._tuples(tree, own, begun.scope, frame)
            said = self._text_of(condition, begun.scope, own)
            names = "".join(f", {name} in {value}" for name, value in bound)
            return f"{tree.children[0]} {own.variable} in {items}{names} satisfies {said}"
        inner = dict(scope)
        texts: list[tuple[Part, str]] = []
        for part in tree.children[1:]:
            is_binding = isinstance(part, Tree) and part.data == "for_binding"
            texts.append((part, self._binding(part, inner, frame) if is_binding else self._text_of(part, inner, frame)))
        return self._spliced(*span(tree), texts)

    def _call(self, tree: Tree[Token], scope: Scope, frame: Frame | None) -> str:
        name = str(tree.children[0]).removeprefix("fn:")
        arguments = tree.children[1:]
        if name in _ELSEWHERE or (name == "collection" and arguments):
            self._refuse(tree, f"the function {name}()", _ELSEWHERE.get(name, "collection() has no argument"))
        if name in self._asking and frame is not None:
            self._refuse(tree, f"{name}(), of all documents, for each of a document", "give the function the nodes")
        if (of_rows := self._aggregate(tree, scope, frame)) is not None:
            return of_rows
        exists = name in _ONLY_COUNTED and len(arguments) == 1
        texts = [(part, self._text_of(part, scope, frame, exists=exists)) for part in arguments]
        return self._spliced(*span(tree), texts)

    def _aggregate(self, tree: Tree[Token], scope: Scope, frame: Frame | None) -> str | None:
        """An aggregate of rows, where it is one of which peers can say parts."""
        called = aggregated(tree)
        if called is None or self._renames:
            return None
        name, argument = called
        first = argument.children[0]
        place = scope.get(str(first)) if argument.data == "path" and isinstance(first, Token) else None
        if isinstance(place, Grouped):
            steps = tuple(self._plain_steps(argument.children[1:])[0])
            path, kind, rows = syntax.PathExpression(str(first), steps), FOLDED[name], place.frame
            if name == "count" and not steps:
                return aggregate(name, rows.variable)
            return aggregate(name, f"{rows.slot(lambda: fold(kind, path))}/Q{{}}{kind}")
        if frame is not None or not speaks_of_documents(argument, scope):
            return None
        found = self._asked(argument, scope)
        if isinstance(found, GrammarError) or kind_of(found) is None or _free(found):
            return None
        self._calls.append((tree, name))
        return aggregate(name, self._rows(found, None if name == "count" else FOLDED[name], tree))

    def _rows(self, found: syntax.Expression, kind: str | None, part: Part) -> str:
        """How the shell calls the rows of the items of an expression, or their folds of a kind."""
        if found not in self._aggregates:
            folds: list[str] = []
            query = self._core(lambda: folded_tuples(found, folds), "node", None, part, brings_rows=True)
            self._aggregates[found] = query, folds
        rows, folds = self._aggregates[found]
        if kind is None:
            return rows
        if kind not in folds:
            folds.append(kind)
        return f"{rows}/Q{{}}v{folds.index(kind) + 1}/Q{{}}{kind}"


def _outermost(frame: Frame | None) -> Frame | None:
    """The outermost of a frame and those around it."""
    return None if frame is None else frame.around or frame


def _is_one_path(part: Tree[Token]) -> bool:
    """Whether a part is one path, in parentheses or not, whose nodes are all different."""
    inner: Part = part
    while isinstance(inner, Tree) and inner.data in ("parenthesised", "expressions") and len(inner.children) == 1:
        inner = inner.children[0]
    return isinstance(inner, Tree) and inner.data == "path" and inner is not part


def _free(expression: syntax.Expression) -> set[str]:
    """The variables that an expression does not bind itself; all have different names."""
    nodes = list(syntax.nodes(expression))
    bound = {node.variable for node in nodes if isinstance(node, syntax.For | syntax.Let)}
    starts = {node.start for node in nodes if isinstance(node, syntax.PathExpression)}
    return {start for start in starts - bound if start.startswith("$")}


def _slot(variable: str, name: str | None, projection: Projection) -> Callable[[], syntax.Expression]:
    return lambda: projected(variable, name, projection)
