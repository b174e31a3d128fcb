"""Faults as JSON, the form in which a daemon tells them to its clients."""

from __future__ import annotations

from typing import Any

from heptox.errors import Fault, HeptoxError, PeerError, Position


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """One fault as a JSON object; :func:`fault_from_json` is the inverse.

    >>> fault = Fault("HX7054", "no address", Position(1, 2, "a"), hint="one")
    >>> fault_from_json(fault_to_json(fault)) == fault
    True
    """
    position = fault.position
    return {
        "code": fault.code,
        "message": fault.message,
        "position": position and {"line": position.line, "column": position.column, "file": position.file},
        "excerpt": fault.excerpt,
        "hint": fault.hint,
        "file": fault.file,
    }


def fault_from_json(value: dict[str, Any]) -> Fault:
    """The fault in a JSON object; raises ``KeyError``, ``TypeError`` or ``ValueError`` when it is none."""
    position = value.get("position")
    return Fault(
        code=value["code"],
        message=value["message"],
        position=Position(**position) if position else None,
        excerpt=value.get("excerpt"),
        hint=value.get("hint"),
        file=value.get("file"),
    )


def faults_to_json(error: HeptoxError) -> dict[str, Any]:
    """All faults of an error as a JSON object."""
    return {"faults": [fault_to_json(fault) for fault in error.faults]}


def faults_from_json(value: Any) -> PeerError:
    """The error in a JSON object, as the daemon told it; what is none becomes one fault (HX7060)."""
    try:
        return PeerError(fault_from_json(fault) for fault in value["faults"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return PeerError(Fault("HX7060", f"the peer answers what is no answer: {str(value)[:200]!r}"))
