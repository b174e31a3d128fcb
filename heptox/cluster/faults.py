"""What goes wrong in Spark, reported as heptox reports it: one sentence of the cause, no stack of Java or Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from subprocess import TimeoutExpired
from typing import Final

from heptox import errors
from heptox.errors import CODES, ClusterError, Fault, HeptoxError

LONGEST: Final = 400
"""How many characters of a cause are reported."""

_ENDING: Final = 2.0
_PYTHON_TRACE: Final = "Traceback (most recent call last):"
_JAVA_FRAME: Final = re.compile(r"\n(?:\tat |\s*JVM stacktrace:|Caused by: |Driver stacktrace:)")
_CALL: Final = re.compile(r"An error occurred while calling [^\n]*\n:? ?")
_TASK: Final = re.compile(r"[Mm]ost recent failure: Lost task [^)]*\) \([^)]*\): ")
_CLASSES: Final = re.compile(r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Failure)\b[^\w:]*: ")
_SENTENCE: Final = re.compile(r"(?<=[^.][.!?])\s+(?=[A-Z\[<\"'])")
_RAISED: Final = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<text>.*))?$", re.DOTALL)
_FAULT: Final = re.compile(r"(?:(?P<place>.+?): )?(?P<code>HX\d{4}) (?P<message>.*)")


def require_spark() -> None:
    """Raises :class:`ClusterError` (HX8002) where PySpark is not installed."""
    if find_spec("pyspark") is None:
        hint = "install it with: pip install 'heptox[cluster]'"
        raise ClusterError(Fault("HX8002", "PySpark is not installed", hint=hint))


@contextmanager
def spark_faults() -> Iterator[None]:
    """Report failures of Spark inside the block, or in the function so decorated, as errors of heptox.

    Raises :class:`ClusterError` (HX8005) with the first sentence of the cause for whatever PySpark or Py4J raise. An
    error of heptox that was raised in a Python worker comes through as what it was: the same class and codes.
    """
    require_spark()
    # Not at the top: `heptox.cluster` is imported without Spark.
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from error
        raise spark_error(error) from error
    except (ConnectionError, EOFError) as error:
        # Answers come over a socket: where Java has ended, that is what is seen first.
        if not _java_has_ended():
            raise
        raise spark_error(error) from error


def was_interrupted(error: BaseException) -> bool:
    """Whether an exception comes of an interrupt: after one PySpark makes another call to Java, which may fail."""
    before = error.__context__
    while before is not None and not isinstance(before, KeyboardInterrupt):
        before = before.__context__
    return before is not None


def spark_error(error: BaseException) -> HeptoxError:
    """The error of heptox for an exception of PySpark or Py4J."""
    # Java's own errors reach Python over a connection that it holds.
    if not _is_told_by_java(error) and _java_has_ended():
        hint = "it may have had too little memory, or was killed"
        return ClusterError(Fault("HX8005", "the Java process of Spark has ended", hint=hint))
    return heptox_error(_text(error))


def heptox_error(text: str) -> HeptoxError:
    """The error of heptox for the text of a failure: one that stands in it, or HX8005 with the first sentence.

    >>> print(heptox_error("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03"))
    HX8005 Spark has failed: [PATH_NOT_FOUND] Path does not exist: file:/x
    >>> text = "Traceback (most recent call last):\\n  File ...\\nheptox.errors.GrammarError: HX3001 unexpected ')'\\n"
    >>> heptox_error(text)
    GrammarError("HX3001 unexpected ')'")
    """
    raised = _raised_in_worker(text)
    if raised is None:
        return ClusterError(Fault("HX8005", f"Spark has failed: {first_sentence(text)}"))
    kind, message = raised
    known = _own_error(kind, message)
    return known or ClusterError(Fault("HX8005", f"work on Spark has failed: {kind}: {first_sentence(message)}"))


def first_sentence(text: str) -> str:
    """The first sentence of what a Java exception says, without the names of classes before it.

    >>> first_sentence("org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 5.0 failed "
    ...     "1 times, most recent failure: Lost task 0.0 in stage 5.0 (TID 5) (127.0.0.1 executor driver): "
    ...     "java.lang.OutOfMemoryError: Java heap space\\n\\tat java.base/x")
    'Java heap space'
    """
    text = _CALL.sub("", text.strip(), count=1)
    text = _TASK.split(text, maxsplit=1)[-1]
    text = _JAVA_FRAME.split(text, maxsplit=1)[0]
    while found := _CLASSES.match(text):
        text = text[found.end() :]
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no reason is given")
    sentence = _SENTENCE.split(line, maxsplit=1)[0].removesuffix(".")
    return sentence if len(sentence) <= LONGEST else sentence[: LONGEST - 3] + "..."


def _is_told_by_java(error: BaseException) -> bool:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return isinstance(error, PySparkException | Py4JJavaError)


def _java_has_ended() -> bool:
    """Whether there was a Java process of Spark, and it has ended by itself: it is seen a little after its answers."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    with suppress(TimeoutExpired):
        process.wait(_ENDING)
    return process.poll() is not None


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # PySpark asks Java for some texts, which may have gone
        return type(error).__name__


def _raised_in_worker(text: str) -> tuple[str, str] | None:
    """The type and the message of the exception that ends a Python traceback in a text, if there is one."""
    _, found, trace = text.rpartition(_PYTHON_TRACE)
    if not found:
        return None
    trace = _JAVA_FRAME.split(trace, maxsplit=1)[0]
    lines = trace.strip("\n").splitlines()
    start = next((number for number, line in enumerate(lines) if line and not line[0].isspace()), None)
    raised = _RAISED.match("\n".join(lines[start:]).strip()) if start is not None else None
    return (raised["type"], raised["text"] or "no reason is given") if raised else None


def _own_error(kind: str, message: str) -> HeptoxError | None:
    """The error of heptox that was raised under the name ``kind`` with the text ``message``."""
    module, _, name = kind.rpartition(".")
    own = getattr(errors, name, None) if module == errors.__name__ else None
    if not (isinstance(own, type) and issubclass(own, HeptoxError)):
        return None
    faults = []
    for line in message.splitlines():
        found = _FAULT.fullmatch(line)
        if found and found["code"] in CODES:
            faults.append(Fault(found["code"], found["message"], file=found["place"]))
    return own(faults) if faults else None
