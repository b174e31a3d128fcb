"""Paths of scenarios: schemas in a row, with a mapping between each two, and documents that belong together.

All mappings of a path lead away from one of its schemas, the valley: a document of it has an image at every place. A
query asked at one end must be answered at the other as every hop promises (``semantics.md`` section 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from itertools import pairwise
from random import Random

from lxml import etree

from heptox.errors import HeptoxError
from heptox.grammar import parse_query, print_query
from heptox.translate import Direction, Hop, PathTranslation, translate_path
from tests.support.checking import GivenUpError, Outcome, answer_of, patience
from tests.support.random_mappings import Problem, QueryMaker
from tests.support.scenarios.generation import Scenario, random_scenario, random_start


@dataclass(frozen=True, slots=True)
class ScenarioPath:
    """Scenarios in a row over the schemas 0, 1, ...: the first ``valley`` of them lead back, the others on."""

    scenarios: tuple[Scenario, ...]
    valley: int = 0

    @property
    def at_valley(self) -> Problem:
        """A problem whose source is the schema of the valley."""
        return self.scenarios[min(self.valley, len(self.scenarios) - 1)].problem

    def hop(self, place: int, *, turned: bool = False) -> Hop:
        """The hop from schema ``place`` to the next, or the other way when ``turned``."""
        against = (place < self.valley) != turned
        direction = Direction.SOURCE if against else Direction.TARGET
        return Hop(self.scenarios[place].problem.mapping, direction, f"mapping {place}")

    def hops(self, *, turned: bool = False) -> list[Hop]:
        """All hops, from schema 0 to the last, or from the last to schema 0."""
        found = [self.hop(place, turned=turned) for place in range(len(self.scenarios))]
        return found[::-1] if turned else found

    def queries(self, random: Random, *, turned: bool = False) -> QueryMaker:
        """Queries over the schema where the hops begin."""
        scenario = self.scenarios[-1 if turned else 0]
        against = self.hops(turned=turned)[0].to is Direction.SOURCE
        maker = QueryMaker.of_target if against else QueryMaker.of_source
        return maker(random, scenario.problem)

    def documents(self, document: str) -> list[str]:
        """The document at each place, from one at the valley."""
        found = [document]
        for scenario in self.scenarios[self.valley :]:
            found.append(scenario.expected(found[-1]))
        for scenario in reversed(self.scenarios[: self.valley]):
            found.insert(0, scenario.expected(found[0]))
        return found

    def is_promised(self, place: int, along: Sequence[str]) -> bool:
        """Whether the mapping between a schema and the next promises anything of the documents at all places."""
        scenario = self.scenarios[place]
        document = along[place if place >= self.valley else place + 1]
        return is_valid(scenario.problem.source, document) and scenario.keys_hold(document)

    def __str__(self) -> str:
        return "\n".join((f"valley {self.valley}", *map(str, self.scenarios)))


def random_path(random: Random, hops: int, valley: int | None = None) -> ScenarioPath:
    """A path of scenarios of one or two transformations each; the valley is anywhere, or where it is said to be."""
    place = random.randint(0, hops) if valley is None else valley
    base = random_start(random)
    onwards: list[Scenario] = []
    for _ in range(hops - place):
        onwards.append(random_scenario(random, onwards[-1].end if onwards else base, most=2))
    back: list[Scenario] = []
    for _ in range(place):
        back.append(random_scenario(random, back[-1].end if back else base, most=2))
    return ScenarioPath((*reversed(back), *onwards), place)


@lru_cache(maxsize=64)
def _dtd(text: str) -> etree.DTD:
    return etree.DTD(StringIO(text))


def is_valid(dtd: str, document: str) -> bool:
    """Whether a document is valid for a DTD, as libxml2 sees it."""
    return _dtd(dtd).validate(etree.fromstring(document))


def check_path(
    path: ScenarioPath, query: str, documents: Iterable[Sequence[str]], outcome: Outcome, *, turned: bool = False
) -> PathTranslation | None:
    """What each hop of a path promises, on documents at all places of it; ``None`` where the query is not translated.

    A hop against the rules answers what the query before it answers on the image, one along them at most what it
    answers on the document, wherever the document that the mapping starts from is valid; so does the whole path
    where all of them are.
    """
    hops = path.hops(turned=turned)
    outcome.counts["asked"] += 1
    try:
        translation = translate_path(hops, parse_query(query), patience())
    except HeptoxError:
        outcome.counts["refused"] += 1
        return None
    except GivenUpError:
        outcome.counts["given up"] += 1
        return None
    queries = [print_query(parse_query(query)), *(hop.translation.text for hop in translation.hops)]
    whole = Direction.TARGET if any(hop.to is Direction.TARGET for hop in hops) else Direction.SOURCE
    for along in documents:
        promised = [path.is_promised(place, along) for place in range(len(hops))][:: -1 if turned else 1]
        met = along[:: -1 if turned else 1]
        answers = [answer_of(text, document) for text, document in zip(queries, met, strict=True)]
        if answers[0] is None:
            outcome.counts["errors"] += 1
            continue
        kept = [_kept(hop.to, *pair) for hop, pair in zip(hops, pairwise(answers), strict=True)]
        outcome.counts["documents"] += 1
        outcome.counts["documents promised all along"] += all(promised)
        outcome.counts[f"answers to {whole}"] += all(promised) and bool(answers[-1])
        broken = [f"hop {number}" for number, (ought, is_so) in enumerate(zip(promised, kept, strict=True))
                  if ought and not is_so]  # fmt: skip
        if all(promised) and not _kept(whole, answers[0], answers[-1]):
            broken.append("whole path")
        if broken:
            outcome.broken.append("\n".join((*broken, str(path), *map(str, hops), *queries, *met)))
    return translation


def _kept(to: Direction, asked: frozenset[str] | None, answered: frozenset[str] | None) -> bool:
    """What a hop promises; nothing of a query that raises an error."""
    if asked is None or answered is None:
        return asked is None
    return answered == asked if to is Direction.SOURCE else answered <= asked
