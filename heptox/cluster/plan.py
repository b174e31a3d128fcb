"""The plan of an emulation: all that decides what happens in it, as options or as a TOML file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from heptox.cluster.workload import QUERIES, SCHEMAS
from heptox.errors import ClusterError, Fault, HeptoxError, near_names
from heptox.settings import read_toml

TOPOLOGIES: Final = ("random", "regular", "small-world")
"""How a network can be made; anything else names a file with one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is emulated.

    ``peers`` peers, as many under each of the ``schemas``, each with at least so many ``acquaintances`` (as far as
    there are mappings to others) in a network made as the ``topology`` says, or read from the file of that name. At
    each of ``askers`` peers under the first of the schemas the ``queries`` are asked, each in a network of its own
    unless ``together``; they travel ``hops`` hops. Each peer holds one document about as many ``people``.

    A message takes ``delay_ms``, more or less by a share of up to ``delay_spread`` that is the link's, and as long as
    its bytes need on a link of ``bandwidth_mbit``. A translation takes ``translate_ms`` and an evaluation
    ``evaluate_ms`` of its peer's processor, which does one after the other; with ``costs`` ``measured`` they take as
    long as the same work took in this run. A share ``slow`` of the peers takes ``slow_factor`` times as long.

    A message is lost with its stream with the probability ``loss``; a share ``churn`` of the peers leaves, each at some
    time in the first ``churn_ms``, and comes back after ``away_ms`` without memory. The askers do neither.

    ``timeout`` (seconds) and ``budget`` (bytes) are those of the queries, ``lines`` the most that a receipt may have,
    ``arrivals`` the most that a peer answers at once (``peer.Limits``).

    Raises :class:`ClusterError` (HX8041) with a fault for each value that cannot be.
    """

    peers: int = 16
    schemas: tuple[str, ...] = tuple(SCHEMAS)
    queries: tuple[str, ...] = ("Q1",)
    seed: int = 1
    hops: int = 4
    acquaintances: int = 4
    topology: str = "random"
    askers: int = 1
    together: bool = False
    people: int = 3
    delay_ms: float = 70.0
    delay_spread: float = 0.0
    bandwidth_mbit: float = 50.0
    costs: str = "fixed"
    translate_ms: float = 3.0
    evaluate_ms: float = 7.0
    slow: float = 0.0
    slow_factor: float = 10.0
    loss: float = 0.0
    churn: float = 0.0
    churn_ms: float = 500.0
    away_ms: float = 1000.0
    timeout: float = 60.0
    budget: int = 64 * 1024 * 1024
    lines: int = 4000
    arrivals: int = 4096

    def __post_init__(self) -> None:
        if faults := tuple(_faults(self)):
            raise ClusterError(faults)

    def value(self) -> dict[str, object]:
        """The plan as plain values, as a file of it has them."""
        return {
            field.name: list(value) if isinstance(value := getattr(self, field.name), tuple) else value
            for field in fields(self)
        }


_LIMITS: Final[dict[str, tuple[float, float]]] = {
    "peers": (1, 1_000_000), "seed": (0, 2**63 - 1), "hops": (0, 31), "acquaintances": (1, 1000), "askers": (1, 10_000),
    "people": (1, 10_000_000), "delay_ms": (0.1, 60_000), "delay_spread": (0, 0.99), "bandwidth_mbit": (0.001, 1e6),
    "translate_ms": (0, 60_000), "evaluate_ms": (0, 600_000), "slow": (0, 1), "slow_factor": (1, 1e6), "loss": (0, 1),
    "churn": (0, 1), "churn_ms": (1, 1e7), "away_ms": (1, 1e7), "timeout": (0.2, 86_400), "budget": (1, 2**40),
    "lines": (1, 10**9), "arrivals": (1, 10**9),
}  # fmt: skip


def _plain(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number}"


_COSTS: Final = ("fixed", "measured")
_OPTIONS: Final = ("master", "memory", "out", "experiment", "json")
"""Options of the command that are no settings of a plan: the same plan can be carried out anywhere."""


def _faults(plan: Plan) -> Iterator[Fault]:
    for key, (least, most) in _LIMITS.items():
        value = getattr(plan, key)
        if not math.isfinite(value) or not least <= value <= most:
            yield Fault("HX8041", f"{key} = {value} is out of range", hint=f"from {_plain(least)} to {_plain(most)}")
    for what, known, names in (("schema", SCHEMAS, plan.schemas), ("query", QUERIES, plan.queries)):
        for name in names:
            if name not in known:
                yield Fault("HX8041", f"no {what} {name}", hint=known_hint(name, known))
        if not names:
            yield Fault("HX8041", f"no {what} at all", hint=f"there are {', '.join(known)}")
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield Fault("HX8041", f"the {what} {name} is named twice")
    if plan.costs not in _COSTS:
        yield Fault("HX8041", f"no costs {plan.costs!r}", hint=known_hint(plan.costs, _COSTS))


def known_hint(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """What may have been meant by a name that is not known, or all that are."""
    close = near_names(name, known)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


def planned(values: Mapping[str, Any], file: str | None = None) -> Plan:
    """The plan with these values, of the types that a TOML file has; ``schemas`` may be how many.

    Raises :class:`ClusterError`: HX8040 for each key that is unknown or has a value of another type, HX8041 as
    :class:`Plan`.

    >>> planned({"peers": 128, "schemas": 2, "queries": ["Q1", "Q5"]}).schemas
    ('auction', 'attributes')
    """
    types = {field.name: type(field.default) for field in fields(Plan)}
    faults = []
    converted: dict[str, Any] = {}
    for key, value in values.items():
        if key not in types:
            hint = f"give --{key}" if key in _OPTIONS else known_hint(key, tuple(types))
            faults.append(Fault("HX8040", f"{key} is no setting of an emulation", file=file, hint=hint))
            continue
        found = _converted(value, types[key], counts=key == "schemas")
        if found is None:
            wanted = _TYPES[types[key]] + f", nor a number of them from 1 to {len(SCHEMAS)}" * (key == "schemas")
            faults.append(Fault("HX8040", f"{key} = {value!r} is no {wanted}", file=file))
        else:
            converted[key] = found
    if faults:
        raise ClusterError(faults)
    try:
        return Plan(**converted)
    except ClusterError as error:
        if file is None:
            raise
        raise ClusterError(
            Fault(fault.code, fault.message, file=file, hint=fault.hint) for fault in error.faults
        ) from None


_TYPES: Final[dict[type, str]] = {
    int: "whole number",
    float: "number",
    bool: "truth value",
    str: "text",
    tuple: "list of names",
}


def _converted(value: object, wanted: type, *, counts: bool) -> object | None:
    if wanted is tuple:
        if counts and isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= len(SCHEMAS):
            return tuple(SCHEMAS)[:value]
        names = isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
        return tuple(value) if names and isinstance(value, (list, tuple)) else None
    if isinstance(value, bool) != (wanted is bool):
        return None
    if wanted is float and isinstance(value, int):
        return float(value)
    return value if isinstance(value, wanted) else None


def read_plan(file: Path) -> dict[str, Any]:
    """The values in a TOML file, to be given to :func:`planned`.

    Raises :class:`ClusterError` (HX8040) when it cannot be read, or is no TOML.
    """
    return read_table(file, "HX8040")


def read_table(file: Path, code: str) -> dict[str, Any]:
    """The table in a TOML file; raises :class:`ClusterError` with a code when it cannot be read, or is no TOML."""
    try:
        return read_toml(file)
    except HeptoxError as error:
        raise ClusterError(replace(fault, code=code) for fault in error.faults) from None
