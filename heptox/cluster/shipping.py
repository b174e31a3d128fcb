"""The code of heptox on its way to executors: they run exactly what the driver runs."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import heptox

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Place: TypeAlias = tuple[str, str]
"""A host, and the file that the package is loaded from there."""

_DATE: Final = (1980, 1, 1, 0, 0, 0)


def package_zip(folder: Path) -> Path:
    """The package ``heptox``, its sources and its data, as a zip file in ``folder``; the same bytes for the same files.

    Names are in order and dates are fixed: an executor that has the file already sees that it is the same.
    """
    file = folder / "heptox.zip"
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for path, name in sorted(_files(), key=lambda found: found[1]):
            entry = ZipInfo(name, _DATE)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return file


def executor_code(spark: SparkSession) -> set[Place]:
    """Which ``heptox`` the Python of each executor loads: the executors' hosts, each with the file of the package.

    Every core takes part: the tasks start only when all of them have a place. Raises what Spark raises; in
    :func:`heptox.cluster.spark_faults` that is a :class:`heptox.errors.ClusterError`.
    """
    context = spark.sparkContext
    # As many as may run at once; `defaultParallelism` is at least two, and may be set to anything.
    java = context._jsc.sc()
    cores = java.maxNumConcurrentTasks(java.resourceProfileManager().defaultResourceProfile())
    return set(context.parallelize(range(cores), cores).barrier().mapPartitions(_loaded).collect())


def _loaded(_: Iterable[int]) -> Iterator[Place]:
    from pyspark import BarrierTaskContext

    import heptox as loaded

    BarrierTaskContext.get().barrier()
    # An executor names the files that it was sent from its own folder.
    yield socket.gethostname(), str(Path(str(loaded.__file__)).absolute())


def _files() -> Iterator[tuple[Path, str]]:
    """The files of the package, each with its name inside the zip file."""
    for root in map(Path, heptox.__path__):
        for path in root.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
                yield path, f"heptox/{path.relative_to(root).as_posix()}"
