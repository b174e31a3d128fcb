"""Changes a drawing in processes that are gone at one step each, the first, the second and so on, and tells what is
left: ``python -m tests.peer.console.crashing CHANGE FOLDER``.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import count
from pathlib import Path
from typing import Any, Final

from heptox.peer.console.drawings import Drawing, Drawings

BEFORE: Final = Drawing("one", "before", {"a.dtd": "a"})
CHANGES: Final = {
    "arrows": Drawing("one", "after", {"a.dtd": "a"}),
    "schemas": Drawing("one", "after", {"a.dtd": "other", "b.dtd": "b"}),
    "all": None,
}
"""What is kept instead, if anything is."""
_STEPS: Final = ("open", "os.", "shutil.")
"""What begins the names of the events that look at the disk, or change it."""


def change(path: Path, after: Drawing | None) -> None:
    if after is None:
        Drawings(path).drop(BEFORE.name)
    else:
        Drawings(path).keep(after)


def crash(path: Path, after: Drawing | None, step: int) -> bool:
    """Change the drawing in a process that is gone at a step; whether it came to its end before."""
    process = os.fork()
    if process == 0:
        steps = iter(range(step))

        def hook(event: str, _: Any) -> None:
            if event.startswith(_STEPS) and next(steps, None) is None:
                os._exit(1)

        sys.addaudithook(hook)
        change(path, after)
        os._exit(0)
    return os.waitpid(process, 0)[1] == 0


def left(path: Path) -> dict[str, Any]:
    """What there is after a crash, once it is mended: the drawing, and what should not be there."""
    drawings = Drawings(path)
    drawings.mend()
    names = [name for name, _ in drawings.all()]
    found = [drawings.read(name) for name in names]
    expected = {path / name for name in names} | {path / one.name / file for one in found for file in one.files}
    expected |= {path / name / f"{name}.arrows" for name in names}
    unexpected = sorted(str(file) for file in set(path.rglob("*")) - expected)
    return {"found": [found[0].text, dict(found[0].files)] if found else [], "left": unexpected}


def main(name: str, folder: Path) -> None:
    for step in count():
        path = folder / str(step)
        Drawings(path).keep(BEFORE)
        done = crash(path, CHANGES[name], step)
        print(json.dumps(left(path)))
        if done:
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
