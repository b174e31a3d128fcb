"""Paths of scenarios: schemas in a row, with a mapping between each two.

All mappings of a path lead away from one of its schemas, the valley, so that hops go in both directions. A query asked
at one end must be answered by a document at the other as every hop promises (``semantics.md`` section 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from random import Random

from lxml import etree

from heptox.errors import HeptoxError
from heptox.grammar import parse_query, print_query
from heptox.mapping import exchange
from heptox.schema import SchemaGraph, validity_faults
from heptox.translate import Direction, Hop, PathTranslation, translate_path
from heptox.xml import parse_document, write_document
from tests.support.checking import GivenUpError, Outcome, answer_of, answered_of, patience
from tests.support.definition import image_of, making, same_items
from tests.support.random_mappings import QueryMaker, keys_hold, random_documents
from tests.support.scenarios.generation import Scenario, random_scenario, random_start


@dataclass(frozen=True, slots=True)
class ScenarioPath:
    """Scenarios in a row over the schemas 0, 1, ...: the first ``valley`` of them lead back, the others on."""

    scenarios: tuple[Scenario, ...]
    valley: int = 0

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
        return QueryMaker.asking(random, scenario.problem, self.hops(turned=turned)[0].to)

    def documents(self, random: Random, count: int, *, turned: bool = False) -> list[str]:
        """Valid documents of the schema where the hops end."""
        scenario = self.scenarios[0 if turned else -1]
        return random_documents(random, scenario.problem, count, side=self.hops(turned=turned)[-1].to)

    def __str__(self) -> str:
        return "\n".join((f"valley {self.valley}", *map(str, self.scenarios)))


def images(hops: Sequence[Hop], document: str) -> list[str]:
    """What a document at the end of the hops is in the words of each schema, in the order of the hops."""
    found = [document]
    for hop in reversed(hops):
        image = exchange(making(hop.mapping, hop.to), parse_document(found[0]))
        found.insert(0, write_document(image.root))
    return found


def is_promised(hop: Hop, document: str) -> bool:
    """Whether a hop promises anything of a document of the schema where it ends."""
    made = making(hop.mapping, hop.to)
    is_one = _is_valid(made.source.graph, document) and keys_hold(made, document)
    return is_one and image_of(made, document) is not None


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


def _is_valid(graph: SchemaGraph, document: str) -> bool:
    """Whether a document is valid for a schema, as libxml2 sees it where that is a DTD as it stands."""
    if graph.text is not None:
        return is_valid(graph.text, document)
    return not validity_faults(parse_document(document), graph)


def is_valid(dtd: str, document: str) -> bool:
    """Whether a document is valid for a DTD, as libxml2 sees it."""
    return _dtd(dtd).validate(etree.fromstring(document))


def check_path(
    path: ScenarioPath, query: str, documents: Iterable[str], outcome: Outcome, *, turned: bool = False
) -> PathTranslation | None:
    """What each hop of a path promises, on documents at its end; ``None`` where the query is not translated.

    A hop answers what the query before it answers on the image, wherever the document that it reaches is valid; so
    does the whole path where all of them are.
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
    if any(hop.translation.returns_invented for hop in translation.hops):
        outcome.counts["invented"] += 1
        return None
    queries = [print_query(parse_query(query)), *(hop.translation.text for hop in translation.hops)]
    for document in documents:
        met = images(hops, document)
        promised = [is_promised(hop, reached) for hop, reached in zip(hops, met[1:], strict=True)]
        asked = [answer_of(text, reached) for text, reached in zip(queries, met, strict=True)]
        if asked[0] is None:
            outcome.counts["errors"] += 1
            continue
        answers = [answered_of(text, reached) for text, reached in zip(queries[1:], met[1:], strict=True)]
        kept = [one is None or same_items(one, other) for one, other in zip(asked, answers, strict=False)]
        outcome.counts["documents"] += 1
        outcome.counts["documents promised all along"] += all(promised)
        outcome.counts[f"answers to {hops[-1].to}"] += all(promised) and bool(answers[-1])
        broken = [f"hop {number}" for number, (ought, is_so) in enumerate(zip(promised, kept, strict=True))
                  if ought and not is_so]  # fmt: skip
        if broken:
            outcome.broken.append("\n".join((*broken, str(path), *map(str, hops), *queries, *met)))
    return translation
