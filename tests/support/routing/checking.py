"""Decisions of routing compared with the judges, very many at a time: what is counted, and what differs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from random import Random

from benchmarks.routing.advertised_documents import DocumentCoverings
from benchmarks.routing.counterexamples import shortest_counterexample
from benchmarks.routing.covering import Coverings
from benchmarks.routing.witness import overlap_witness
from heptox.matching import LinearPath
from heptox.routing import (
    Advertisement,
    Overlaps,
    advertised,
    covers_any_document,
)
from heptox.schema import SchemaGraph, validity_faults
from heptox.xml import parse_document
from tests.support.checking import Outcome
from tests.support.matching.embedding import Node, document_node
from tests.support.routing.judging import Trie, accepts, judged, overlap_judge
from tests.support.routing.making import loosened, random_paths
from tests.support.routing.schemas import Tree, chain, documents, edges, leaves, schema_of, size, words

SHOWN = 400
"""One decision of so many is asked for its counterexample too."""

LARGEST = 5
"""How many elements the documents have, at most, on which a yes is checked."""

MOST_DOCUMENTS = 3000


# -- all documents -----------------------------------------------------------------------------------------------


def check_covering(random: Random, generals: int, specials: int, outcome: Outcome) -> None:
    """Each of some general paths with each of some special ones, over all documents."""
    paths = random_paths(random, specials)
    trie = Trie.of(paths)
    for general in [loosened(random, random.choice(paths)) for _ in range(generals)]:
        pairs = list(judged(general, trie))
        outcome.counts["cases"] += len(pairs)
        outcome.counts["covered"] += sum(covers for _, covers in pairs)
        outcome.broken += [
            f"{general} covers {special}: {covers}"
            for special, covers in pairs
            if covers_any_document(general, special) != covers
        ]
        for special, covers in random.sample(pairs, len(pairs) // SHOWN):
            _check_counterexample(general, special, covers, outcome)


def _check_counterexample(general: LinearPath, special: LinearPath, covers: bool, outcome: Outcome) -> None:
    found = shortest_counterexample(general, special)
    outcome.counts["counterexamples"] += found is not None
    right = covers if found is None else not covers and _tells_apart(general, special, _prefixes(str(found)))
    if not right:
        outcome.broken.append(f"{general} covers {special}: {covers}, but the counterexample is {found}")


def _prefixes(path: str) -> list[tuple[str, ...]]:
    labels = path[1:].split("/")
    return [tuple(labels[:length]) for length in range(1, len(labels) + 1)]


_accepted = lru_cache(1 << 16)(accepts)


def _matches(path: LinearPath, found: Iterable[tuple[str, ...]]) -> bool:
    return any(_accepted(path, word) for word in found)


def _tells_apart(general: LinearPath, special: LinearPath, found: Sequence[tuple[str, ...]]) -> bool:
    """Whether a document with these paths is matched by one and not by the other."""
    return _matches(special, found) and not _matches(general, found)


# -- schemas -----------------------------------------------------------------------------------------------------


def check_overlap(random: Random, paths: int, outcome: Outcome) -> None:
    """Some paths with a random schema."""
    schema = schema_of(random)
    overlaps = Overlaps(advertised(schema))
    below = edges(schema)
    judge = overlap_judge(schema.root, below, {name: leaves(schema, name) for name in below})
    for path in random_paths(random, paths):
        expected, witness = judge(path), overlap_witness(overlaps.advertisement, path)
        outcome.counts["cases"] += 1
        outcome.counts["overlapping"] += expected
        if overlaps.path(path) != expected or (witness is not None) != expected:
            outcome.broken.append(f"{path} overlaps {schema.text}: {expected}, but the witness is {witness}")
        elif witness is not None and not _accepted(path, _prefixes(str(witness))[-1]):
            outcome.broken.append(f"{path} overlaps {schema.text}, but not in {witness}")


def check_advertised(random: Random, generals: int, specials: int, outcome: Outcome) -> None:
    """Each of some general paths with each of some special ones over what a random schema allows: a yes is checked on
    all documents up to a size, a no by its counterexample.
    """
    schema = schema_of(random)
    trees = {tree: tuple(tree.words()) for tree in islice(documents(schema, LARGEST), MOST_DOCUMENTS)}
    checked = _Advertised(schema, trees)
    paths = [path for path in random_paths(random, specials, 4) if any(_matches(path, each) for each in trees.values())]
    for general in [loosened(random, random.choice(paths)) for _ in range(generals if paths else 0)]:
        for special in paths:
            outcome.counts["cases"] += 1
            if broken := checked.wrong(general, special, outcome):
                outcome.broken.append(f"{general} covers {special} with {schema.text}: {broken}")


def coverings_over(advertisement: Advertisement) -> tuple[Coverings, ...]:
    """Covering over any document, over advertised paths and over advertised documents: each implies the next."""
    return Coverings(), Coverings(advertisement), DocumentCoverings(advertisement)


class _Advertised:
    def __init__(self, schema: SchemaGraph, trees: dict[Tree, tuple[tuple[str, ...], ...]]) -> None:
        self.schema = schema
        self.trees = trees
        self.chains = {path: tuple(path.words()) for tree in trees for path in tree.chains()}
        self.coverings = coverings_over(advertised(schema))
        self.edges = edges(schema)

    def wrong(self, general: LinearPath, special: LinearPath, outcome: Outcome) -> str | None:
        """What is wrong with the decisions on a pair."""
        _, paths, documents = found = [coverings.path(general, special) for coverings in self.coverings]
        answers = list(map(bool, found))
        if answers != sorted(answers):
            return f"a strength does not imply the next: {answers}"
        outcome.counts["covered over advertised documents"] += answers[-1] > answers[-2]
        outcome.counts["covered over advertised paths"] += answers[-2] > answers[-3]
        return self._wrong_paths(general, special, paths.counterexample) or self._wrong_documents(
            general, special, documents.counterexample
        )

    def _wrong_paths(self, general: LinearPath, special: LinearPath, counterexample: str | None) -> str | None:
        apart = [path for path, found in self.chains.items() if _tells_apart(general, special, found)]
        if counterexample is None:
            return f"covers over paths, but for {apart[0]}" if apart else None
        path = self._advertised_path(counterexample)
        if path is None or not _tells_apart(general, special, tuple(path.words())):
            return f"{counterexample} is no counterexample over paths"
        if any(size(other) < size(path) for other in apart):
            return f"{counterexample} is longer than {min(apart, key=size)}"
        return None

    def _advertised_path(self, text: str) -> Tree | None:
        """The path of a counterexample, where the schema allows it."""
        leaf = re.search(r"\[(.*)\]|/(@.*|text\(\))$", text)
        names = re.sub(r"\[.*\]|/@.*$|/text\(\)$", "", text)[1:].split("/")
        depth = text[: leaf.start()].count("/") if leaf else 0
        allowed = names[0] == self.schema.root and all(child in self.edges[name] for name, child in pairwise(names))
        if not allowed or "" not in words(self.schema.elements[names[-1]], frozenset(self.edges)):
            return None
        label = (leaf[1] or leaf[2]) if leaf else ""
        if label and label not in leaves(self.schema, names[depth - 1]):
            return None
        return chain(self.schema, names, depth, label)

    def _wrong_documents(self, general: LinearPath, special: LinearPath, counterexample: str | None) -> str | None:
        apart = [tree for tree, found in self.trees.items() if _tells_apart(general, special, found)]
        if counterexample is None:
            return f"covers over documents, but for {apart[0]}" if apart else None
        document = parse_document(counterexample)
        if validity_faults(document, self.schema):
            return f"{counterexample} is not valid"
        if not _tells_apart(general, special, tuple(_words(document_node(document)))):
            return f"{counterexample} is no counterexample over documents"
        smallest = min(map(size, apart), default=LARGEST)
        if sum(1 for _ in document.root.iter()) > smallest and apart:
            return f"{counterexample} is larger than {min(apart, key=size)}"
        return None


def _words(node: Node) -> Iterator[tuple[str, ...]]:
    for below in node.below:
        yield (below.test,)
        yield from ((below.test, *word) for word in _words(below))
