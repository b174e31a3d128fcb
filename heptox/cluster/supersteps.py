"""The supersteps of an emulation on Spark: what arrives in a window of virtual time, for all peers at once.

Everything that is under way is one DataFrame: the peers that have begun as pickled values, and the parcels between
them. A superstep brings what belongs to a peer together, lets the peers work, and gives the next such frame. Frames are
kept where they are made, and what is lost with a machine is made again from those before: peers decide by what they are
given alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from heptox.cluster.emulated import Body, Conditions, EmulatedPeer, Items, Parcel, QueryFacts, Window, World
from heptox.cluster.lineage import without_plan
from heptox.cluster.pickling import pickled
from heptox.cluster.progress import NEVER, Progress

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = "unit BIGINT, peer BIGINT, kind INT, at BIGINT, body INT, data BINARY"
"""A row: whom it is for, what it is, when it is due, the query that it asks, and its content."""

_STATE, _PARCEL, _REPORT = range(3)
_TYPES: Final = (pa.int64(), pa.int64(), pa.int32(), pa.int64(), pa.int32(), pa.binary())
_NAMES: Final = ("unit", "peer", "kind", "at", "body", "data")
_ROWS: Final = 4096

Row: TypeAlias = tuple[int, int, int, int, int | None, bytes]
"""A unit is a peer in one of the networks that are emulated side by side: ``network * peers + peer``."""

AnsweredRow: TypeAlias = tuple[Row, Items]
"""A row with what the query that it asks finds at its peer, nothing where it asks none."""


class PeersAtWork:
    """Lets the peers of one partition work, one after the other, in a window that ends before ``end``."""

    def __init__(self, conditions: Conditions, known: QueryFacts, end: int) -> None:
        self._conditions = conditions
        self._known = known
        self._end = end
        self._peers = len(conditions.network.schemas)
        self.progress = Progress()

    def rows(self, rows: Iterable[AnsweredRow]) -> Iterator[Row]:
        """What is under way after the window, from what was, which comes sorted by unit."""
        for unit, own in groupby(rows, lambda one: one[0][0]):
            yield from self._unit(unit, list(own))

    def _unit(self, unit: int, rows: list[AnsweredRow]) -> Iterator[Row]:
        state = next((row for row, _ in rows if row[2] == _STATE), None)
        now: list[bytes] = []
        answers: dict[Body, Items] = {}
        for row, items in rows:
            _, _, kind, at, body, data = row
            if kind != _PARCEL:
                continue
            if at >= self._end:
                self.progress.waits_for(at, body, goes_on=False)  # what it asks was reported when it was sent
                yield row
                continue
            now.append(data)
            if body is not None:
                answers[body] = items
        if now or (state is not None and state[3] < self._end):
            yield from self._work(unit, state, [pickle.loads(data) for data in now], answers)
        elif state is not None:
            self.progress.next_due = min(self.progress.next_due, state[3])
            yield state

    def _work(self, unit: int, state: Row | None, parcels: list[Parcel], answers: dict[Body, Items]) -> Iterator[Row]:
        network, number = divmod(unit, self._peers)
        peer: EmulatedPeer = EmulatedPeer(number, self._conditions) if state is None else pickle.loads(state[5])
        links = {link.peer: link for link in self._conditions.network.links[number]}
        world = World(self._conditions, self._known, links, self._conditions.processor(number), answers)
        window = Window(self._end)
        peer.work(parcels, window, world)
        self._count(network, window)
        due = NEVER if peer.next is None else peer.next
        self.progress.next_due = min(self.progress.next_due, due)
        yield unit, number, _STATE, due, None, pickled(peer)
        for parcel in window.parcels:
            self.progress.waits_for(parcel.at, parcel.asks, goes_on=parcel.may_go_on)
            yield parcel_row(network, self._peers, parcel)

    def _count(self, network: int, window: Window) -> None:
        progress = self.progress
        progress.observations += [(network, observation) for observation in window.observations]
        progress.messages += window.messages
        progress.bytes += window.bytes
        progress.lost += window.lost
        progress.events += window.events
        progress.peers += 1


def parcel_row(network: int, peers: int, parcel: Parcel) -> Row:
    """A parcel in a network of so many peers as a row."""
    return network * peers + parcel.to, parcel.to, _PARCEL, parcel.at, parcel.asks, pickled(parcel)


# -- on Spark ------------------------------------------------------------------------------------------------------


class SparkPeers:
    """The peers of an emulation on Spark, with all that is under way between them.

    ``answers`` gives the items of some queries at all peers, as a frame of ``body``, ``peer``, ``items`` and ``fault``.
    """

    def __init__(self, spark: SparkSession, conditions: Conditions, answers: Callable[[set[Body]], DataFrame]) -> None:
        self._spark = spark
        self._peers = len(conditions.network.schemas)
        self._conditions: Broadcast[Conditions] = spark.sparkContext.broadcast(conditions)
        self._answers = answers
        self._partitions = spark.sparkContext.defaultParallelism
        self._frame: DataFrame | None = None
        self._frames: list[DataFrame] = []

    def begin(self, parcels: Iterable[tuple[int, Parcel]]) -> None:
        """Let something be under way, to the peers of some networks."""
        rows = [parcel_row(network, self._peers, parcel) for network, parcel in parcels]
        self._frame = self._spark.createDataFrame(rows, COLUMNS)

    def advance(self, end: int, known: QueryFacts, asked: set[Body]) -> Progress:
        """Let the peers work in a window that ends before ``end``, in which some queries are ``asked``."""
        assert self._frame is not None
        together = self._frame.repartition(self._partitions, "peer")
        if asked:
            together = self._answered(together, asked)
        ordered = together.sortWithinPartitions("unit")
        after = ordered.mapInArrow(_worker(self._conditions, known, end), COLUMNS).persist()
        progress = Progress()
        for row in after.where(f"kind = {_REPORT}").select("data").collect():
            progress.add(pickle.loads(row.data))
        self._frames.append(after)
        if len(self._frames) > 2:
            self._frames.pop(0).unpersist()
        self._frame = without_plan(after.where(f"kind <> {_REPORT}"))
        return progress

    def _answered(self, frame: DataFrame, asked: set[Body]) -> DataFrame:
        """The rows with the items, and the fault, of the query that each asks.

        Both sides are partitioned by the peer alone, so that all rows of a peer stay together.
        """
        answers = self._answers(asked).repartition(self._partitions, "peer")
        return frame.join(answers, ["peer", "body"], "left").select(frame["*"], answers["items"], answers["fault"])

    def close(self) -> None:
        """Let go of what is kept."""
        for frame in self._frames:
            frame.unpersist()
        self._conditions.destroy()


def _worker(
    conditions: Broadcast[Conditions], known: QueryFacts, end: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        peers = PeersAtWork(conditions.value, known, end)
        made: list[Row] = []
        for row in peers.rows(_rows(batches)):
            made.append(row)
            if len(made) >= _ROWS:
                yield _batch(made)
                made = []
        report = pickled(peers.progress)
        yield _batch([*made, (-1, -1, _REPORT, 0, None, report)])

    return work


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[AnsweredRow]:
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        rows: Iterator[Row] = zip(*columns[: len(_NAMES)], strict=True)
        if len(columns) == len(_NAMES):
            yield from ((row, ()) for row in rows)
            continue
        for row, items, fault in zip(rows, *columns[len(_NAMES) :], strict=True):
            yield row, fault or tuple(items or ())


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns: list[Any] = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), _TYPES, strict=True)]
    return pa.RecordBatch.from_arrays(columns, list(_NAMES))
