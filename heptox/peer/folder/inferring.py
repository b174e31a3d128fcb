"""Peers whose schema is inferred from their first documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from heptox.errors import Fault, SchemaError
from heptox.peer.folder.folder import PeerFolder
from heptox.schema import infer_xsd
from heptox.xml import read_bytes, root_name

_FILE: Final = "schema.xsd"


def create_inferred(
    path: Path, documents: Sequence[str], name: str | None = None, root: str | None = None
) -> PeerFolder:
    """Make ``path`` the folder of a new peer with an XSD that is inferred from documents, which are not loaded.

    Raises as :meth:`PeerFolder.create` and :func:`infer_xsd`, and :class:`SchemaError` (HX2005) for documents with
    different roots, unless ``root`` says which one the peer has.
    """
    roots = {found for document in documents if (found := root_name(read_bytes(document))) is not None}
    if root is None and len(roots) > 1:
        named = ", ".join(sorted(roots))
        message = f"the documents have the roots {named}"
        raise SchemaError(Fault("HX2005", message, hint="a peer has one: --root ELEMENT says which"))
    with TemporaryDirectory() as folder:
        for file, text in infer_xsd(documents, _FILE).items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        return PeerFolder.create(path, Path(folder) / _FILE, name, root or next(iter(roots), None))
