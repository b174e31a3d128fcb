"""Programs of heptox in processes that start at once: they are forked from one that has loaded the package.

Such a process does what ``python -m heptox`` does, but for what Python reads from the environment as it starts, for its
command line in the table of processes, and for its end, which frees nothing.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import runpy
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from select import select
from shutil import rmtree
from tempfile import mkdtemp
from typing import IO, Any, Final, NamedTuple, NoReturn
from unittest.mock import Mock

_ROOT: Final = Path(__file__).parent.parent.parent
_SUBREAPER: Final = 36
"""Linux's PR_SET_CHILD_SUBREAPER: a process becomes the parent of descendants whose own parent has ended."""
_MOST: Final = 1 << 20
_LOADED_LATER: Final = ("heptox.matching.memory", "netaddr", "multiprocessing.forkserver")
"""What a daemon loads as it begins to serve."""
_one_at_a_time: Final = threading.Lock()
_is_forked = False
"""Whether this process itself was forked from one that has loaded everything."""


class _Request(NamedTuple):
    module: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    waiting: bool
    """Whether the client waits for the end, instead of being made the parent."""


class Forked(subprocess.Popen[str]):
    """``python -m heptox``, or another ``module``, as a child of this process; ``streams`` are as for any other."""

    def __init__(
        self,
        arguments: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        module: str = "heptox",
        **streams: IO[str] | int,
    ) -> None:
        self._module = module
        super().__init__(list(map(str, arguments)), env=environment, text=True, **streams)  # type: ignore[call-overload]

    def _execute_child(self, *given: Any) -> None:
        """Begin the child, as the base class does otherwise, and close the ends of pipes that are the child's."""
        words, _, _, _, _, _, environment, _, _, _, stdin, _, _, stdout, _, stderr, *_ = given
        variables = dict(os.environ if environment is None else environment)
        request = _Request(self._module, words, str(Path.cwd()), variables, False)
        streams = [number if own == -1 else own for number, own in enumerate((stdin, stdout, stderr))]
        self.pid = _forked_here(request, streams) if _is_forked else _forked_by_server(request, streams)
        self._child_created = True
        self._close_pipe_fds(*given[10:16])  # type: ignore[attr-defined]


def shell_function() -> str:
    """What makes ``heptox`` in a shell such a process, and those of its demonstration; the shell waits for it."""
    return f'heptox() {{ {shlex.join([sys.executable, "-I", "-S", "-c", _CLIENT, _server()])} "$@"; }}'


_CLIENT: Final = """
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect(sys.argv[1])
words = sys.argv[2:]
program = ["tests.cli.forked_demo", words[1:]] if words[:1] == ["demo"] else ["heptox", words]
request = json.dumps([*program, os.getcwd(), dict(os.environ), True])
socket.send_fds(server, [request.encode()], [0, 1, 2])
sys.exit(int(server.recv(9)))
"""


def _forked_here(request: _Request, streams: list[int]) -> int:
    if child := os.fork():
        return child
    _run(request, streams)


def _forked_by_server(request: _Request, streams: list[int]) -> int:
    with _one_at_a_time, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(_server())
        _adopt(True)
        try:
            socket.send_fds(server, [json.dumps(request).encode()], streams)
            child = int(server.recv(_MOST))
            _wait_until_adopted(child)
        finally:
            _adopt(False)
    return child


def _adopt(adopting: bool) -> None:
    assert ctypes.CDLL(None).prctl(_SUBREAPER, int(adopting), 0, 0, 0) == 0


def _wait_until_adopted(pid: int) -> None:
    while True:
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return


@cache
def _server() -> str:
    """The address of the server, which ends with this process."""
    address = str(Path(mkdtemp(prefix="heptox-forking-")) / "server")
    command = [sys.executable, "-m", __name__, address]
    server = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    atexit.register(rmtree, Path(address).parent)
    atexit.register(server.communicate)
    return address


# -- in the server ---------------------------------------------------------------------------------------------------


def serve(address: str) -> NoReturn:
    """Fork for each request, until nobody is left who makes any."""
    for module in ("heptox.peer.daemon", *_LOADED_LATER):
        import_module(module)
    import_module("heptox.peer.control.api").application(Mock(), "")  # frameworks, too, load and keep what they need
    for command in import_module("heptox.cli.commands").COMMANDS.values():
        command.load()
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen()
    print("ready", flush=True)
    while listener in select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            _answer(connection)
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    os._exit(0)


def _answer(connection: socket.socket) -> NoReturn:
    """Take a request in a process between, which tells the client who its child is, or how that ended."""
    message, streams, *_ = socket.recv_fds(connection, _MOST, 3)
    request = _Request(*json.loads(message))
    if child := os.fork():
        for stream in (*streams, 0, 1, 2):
            os.close(stream)
        told = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256 if request.waiting else child
        connection.send(str(told).encode())
        os._exit(0)
    connection.close()
    _run(request, streams)


def _run(request: _Request, streams: list[int]) -> NoReturn:
    """Do what is requested, in a process that was forked for it."""
    global _is_forked
    _is_forked = True
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in {*streams} - {0, 1, 2}:
        os.close(stream)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = [request.module, *request.arguments]
    # Streams remember of what kind their files were.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    code: Any = 0
    try:
        # Not in the place of the main module: each process that is spawned would import that anew.
        runpy.run_module(request.module, run_name="__main__")
    except SystemExit as ended:
        code = ended.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(int(code))


if __name__ == "__main__":
    import_module("tests.support.forking").serve(sys.argv[1])  # as the module that programs import, too
