"""What machine this is, and how much memory a piece of work takes on it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

_PROCESSES: Final = Path("/proc")


def processor() -> str:
    """The name of the processor and how many cores may be used."""
    name = platform.processor() or platform.machine()
    try:
        lines = (_PROCESSES / "cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} cores"


def memory_in_use() -> int:
    """Bytes of memory that this process and those below it have now, 0 where that is not known."""
    parents: dict[int, int] = {}
    memory: dict[int, int] = {}
    try:
        folders = [folder for folder in _PROCESSES.iterdir() if folder.name.isdecimal()]
    except OSError:
        return 0
    for folder in folders:
        try:
            fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        except OSError:  # it has ended meanwhile
            continue
        number = int(folder.name)
        parents[number] = int(fields["PPid"])
        memory[number] = int(fields.get("VmRSS", "0 kB").split()[0]) * 1024
    return sum(size for number, size in memory.items() if _is_below(number, os.getpid(), parents))


def _is_below(process: int, top: int, parents: dict[int, int]) -> bool:
    while process != top:
        if process not in parents:
            return False
        process = parents[process]
    return True
