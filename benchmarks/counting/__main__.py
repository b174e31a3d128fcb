"""Counts and sums over hospitals under four schemas, a fifth of whose patients are known to several of them.

``python -m benchmarks.counting [--hospitals 100] [--patients 1000000] [--runs 1000]``: the hospitals are peers with a
store each, in one process; cores are asked in the words of the first schema and translated for the others, and peers
answer with rows, or with items where nodes have keys. The table says what travels, and whether the numbers are those
of a list of all patients. Then, with a hundredth of the patients, a tenth of the hospitals is silent, again and again,
and the bounds of counts are looked at; and with a twentieth, groups of fewer than ten are held back.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from heptox.errors import PeerError
from heptox.grammar import Expression
from heptox.mapping import Mapping, load_mapping
from heptox.peer.query.counts import counted_by_source
from heptox.schema import SchemaTree
from heptox.shell import CoreAnswers, Split, answers_document, folded, split, with_schema
from heptox.store import Allowance, Store, XQuery, evaluate_xquery, plan_query, query as answers
from heptox.translate import Direction, translate

WARDS: Final = ("heart", "lungs", "nerves", "skin", "eyes", "bones", "births", "children")
KNOWN_TO_SEVERAL: Final = 0.2
SILENT: Final = 10
LEAST: Final = 10
SCHEMAS: Final = {
    "clinic": "<!ELEMENT clinic (patient*)> <!ELEMENT patient (ward, cost)> <!ATTLIST patient id CDATA #REQUIRED>"
    " <!ELEMENT ward (#PCDATA)> <!ELEMENT cost (#PCDATA)>",
    "house": "<!ELEMENT house (person*)> <!ELEMENT person EMPTY>"
    " <!ATTLIST person nr CDATA #REQUIRED in CDATA #REQUIRED owes CDATA #REQUIRED>",
    "hospital": "<!ELEMENT hospital (stay*)> <!ELEMENT stay (who, unit, bill)> <!ELEMENT who (#PCDATA)>"
    " <!ELEMENT unit (#PCDATA)> <!ELEMENT bill (#PCDATA)>",
    "care": "<!ELEMENT care (unit*)> <!ELEMENT unit (case*)> <!ATTLIST unit name CDATA #REQUIRED>"
    " <!ELEMENT case (bill)> <!ATTLIST case nr CDATA #REQUIRED> <!ELEMENT bill (#PCDATA)>",
}
ARROWS: Final = {
    "house": "patient/@id -> person/@nr\npatient/ward -> person/@in\npatient/cost -> person/@owes\n",
    "hospital": "patient/@id -> stay/who\npatient/ward -> stay/unit\npatient/cost -> stay/bill\n",
    "care": "target key unit/@name\npatient/@id -> unit/case/@nr\npatient/ward -> unit/@name\n"
    "patient/cost -> unit/case/bill\n",
}
QUERIES: Final = {
    "count": "count(//patient)",
    "counts by ward": "for $p in //patient group by $w := string($p/ward) order by $w "
    "return concat($w, ' ', count($p))",
    "sums by ward": "for $p in //patient group by $w := string($p/ward) order by $w "
    "return concat($w, ' ', xs:integer(sum($p/cost)))",
}

Patients = dict[str, tuple[str, int]]
"""The ward and the cost of patients by their numbers."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A hospital: its store, and how it is asked."""

    store: Store
    said: Callable[[Expression], Expression]

    def rows(self, query: Expression, least: int = 0) -> list[str] | None:
        """What it sends; ``None`` where it refuses to count by what others hold."""
        said = self.said(query)
        try:
            plan = plan_query(counted_by_source(said) if least else said, self.store.catalogue)
        except PeerError:
            return None
        return list(folded(said, answers(self.store, plan), Allowance(), least))


def patients(random: Random, hospitals: int, count: int) -> list[Patients]:
    """Those of each hospital, so many in all."""
    found: list[Patients] = [{} for _ in range(hospitals)]
    for number in range(count):
        said = random.choice(WARDS), random.randint(1, 5000)
        for known_to in random.sample(found, 3 if random.random() < KNOWN_TO_SEVERAL else 1):
            known_to[f"p{number}"] = said
    return found


def document(kind: str, known: Patients) -> str:
    """A document of a schema about patients."""
    if kind == "care":
        units: dict[str, list[str]] = defaultdict(list)
        for number, (ward, cost) in known.items():
            units[ward].append(f'<case nr="{number}"><bill>{cost}</bill></case>')
        inside = (f"<unit name='{ward}'>{''.join(each)}</unit>" for ward, each in units.items())
        return f"<care>{''.join(inside)}</care>"
    form = {
        "clinic": '<patient id="{}"><ward>{}</ward><cost>{}</cost></patient>',
        "house": '<person nr="{}" in="{}" owes="{}"/>',
        "hospital": "<stay><who>{}</who><unit>{}</unit><bill>{}</bill></stay>",
    }[kind]
    return f"<{kind}>{''.join(form.format(number, *said) for number, said in known.items())}</{kind}>"


def expected(name: str, known: Patients | Sequence[Patients]) -> list[str]:
    """What a query comes to of one list of patients, or of several, in each of which a patient counts."""
    lists = [known] if isinstance(known, dict) else known
    everybody = [said for one in lists for said in one.values()]
    if name == "count":
        return [str(len(everybody))]
    numbers = Counter[str]()
    for ward, cost in everybody:
        numbers[ward] += 1 if name == "counts by ward" else cost
    return [f'"{ward} {number}"' for ward, number in sorted(numbers.items())]


def computed(saxon: Executor, found: Split, gathered: CoreAnswers) -> list[str]:
    """The items of a query of one core, by a process that may open no file."""
    document = answers_document({found.cores[0].variable: gathered.gathered()})
    return list(saxon.submit(evaluate_xquery, XQuery(found.text, (document,), characters=10**9), 600.0).result())


class Network:
    """Hospitals with these patients, in a folder."""

    def __init__(self, folder: Path, known: Sequence[Patients]) -> None:
        for name, dtd in SCHEMAS.items():
            (folder / f"{name}.dtd").write_text(dtd)
        mappings = {}
        for name, arrows in ARROWS.items():
            heading = f'source "clinic.dtd" root clinic\ntarget "{name}.dtd" root {name}\nsource key patient/@id\n'
            (folder / f"{name}.arrows").write_text(heading + arrows)
            mappings[name] = load_mapping(folder / f"{name}.arrows")
        self.known = known
        self.tree = SchemaTree(mappings["house"].source.graph)
        self.peers: list[Peer] = []
        for number, each in enumerate(known):
            kind = list(SCHEMAS)[number % len(SCHEMAS)]
            graph = self.tree.graph if kind == "clinic" else mappings[kind].target.graph
            store = Store.open(None, graph, memory=256, threads=1)
            file = folder / "document.xml"
            file.write_text(document(kind, each))
            store.load("document.xml", file)
            self.peers.append(Peer(store, _translated(mappings.get(kind))))

    def asked(self, query: str, *, keys: bool, least: int = 0) -> tuple[Split, list[list[str] | None]]:
        """The cores of a query, and what each peer sends."""
        found = split(query)
        (core,) = found.cores
        said = with_schema(core.counted, self.tree, frozenset({("patient", "@id")}) if keys else frozenset())
        return found, [peer.rows(said, least) for peer in self.peers]

    def close(self) -> None:
        for peer in self.peers:
            peer.store.close()


def _translated(mapping: Mapping | None) -> Callable[[Expression], Expression]:
    return lambda query: query if mapping is None else translate(mapping, query, Direction.TARGET).query


def answered(sent: Iterable[tuple[int, list[str] | None]]) -> CoreAnswers:
    """What peers by number have sent."""
    gathered = CoreAnswers(brings_rows=True)
    for number, rows in sent:
        gathered.add((str(number),), rows or ())
    return gathered


def travelling(network: Network, saxon: Executor) -> Iterator[str]:
    """What travels, how long it takes, and whether the numbers are right."""
    union: Patients = {}
    for one in network.known:
        union.update(one)
    yield f"{'query':<16} {'nodes':<10} {'messages MB':>11} {'items':>10} {'peers s':>8} {'asker s':>8}  numbers"
    for keys in (False, True):
        for name, query in QUERIES.items():
            began = time.perf_counter()
            found, sent = network.asked(query, keys=keys)
            asked = time.perf_counter()
            items = computed(saxon, found, answered(enumerate(sent)))
            ended = time.perf_counter()
            right = items == expected(name, union if keys else network.known)
            texts = [text for rows in sent for text in rows or ()]
            size, count = sum(map(len, texts)) / 1e6, len(texts)
            nodes = "by key" if keys else "added"
            times = f"{asked - began:>8.1f} {ended - asked:>8.1f}"
            yield f"{name:<16} {nodes:<10} {size:>11.2f} {count:>10,} {times}  {'exact' if right else 'WRONG'}"


def silent(network: Network, saxon: Executor, runs: int, random: Random) -> str:
    """How often the bounds of a count hold the truth where hospitals are silent."""
    found, sent = network.asked(QUERIES["count"], keys=True)
    truth = len(frozenset[str]().union(*network.known))
    most = max(map(len, network.known))
    held = 0
    for _ in range(runs):
        dead = set(random.sample(range(len(sent)), max(1, len(sent) // SILENT)))
        (number,) = computed(saxon, found, answered((n, rows) for n, rows in enumerate(sent) if n not in dead))
        held += int(number) <= truth <= int(number) + len(dead) * most
    return f"bounds of a count with a tenth of the hospitals silent: they hold the truth in {held:,} of {runs:,} runs"


def small(network: Network) -> str:
    """The smallest group that is sent where small ones are held back, and how many are."""
    _, whole = network.asked(QUERIES["counts by ward"], keys=False)
    _, sent = network.asked(QUERIES["counts by ward"], keys=False, least=LEAST)
    answering = [number for number, rows in enumerate(sent) if rows is not None]
    sizes = [int(text.split('"')[1]) for number in answering for text in sent[number] or ()]
    groups = sum(len(whole[number] or ()) for number in answering)
    return (
        f"groups of {len(answering)} hospitals (the others refuse): {groups:,}, of which {len(sizes):,} were sent, "
        f"the smallest of {min(sizes, default=0)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hospitals", type=int, default=100)
    parser.add_argument("--patients", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=1000)
    asked = parser.parse_args()
    random = Random(20)
    with ProcessPoolExecutor(1, get_context("spawn")) as saxon, TemporaryDirectory() as folder:
        with closing(Network(Path(folder), patients(random, asked.hospitals, asked.patients))) as network:
            for line in travelling(network, saxon):
                print(line, flush=True)
        with closing(Network(Path(folder), patients(random, asked.hospitals, asked.patients // 100))) as network:
            print(silent(network, saxon, asked.runs, random), flush=True)
        with closing(Network(Path(folder), patients(random, asked.hospitals, asked.patients // 20))) as network:
            print(small(network))


if __name__ == "__main__":
    main()
