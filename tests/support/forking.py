"""Commands of heptox in processes that start at once: they are forked from one that has loaded the package.

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
from typing import IO, Any, Final

from heptox.cli.commands import COMMANDS

_ROOT: Final = Path(__file__).parent.parent.parent
_SUBREAPER: Final = 36
"""Linux's PR_SET_CHILD_SUBREAPER: a process becomes the parent of descendants whose own parent has ended."""
_MOST: Final = 1 << 20
_one_at_a_time: Final = threading.Lock()


class Forked(subprocess.Popen[str]):
    """``heptox`` with ``arguments`` as a child of this process; ``given`` are streams and folder as for any other."""

    def __init__(
        self,
        arguments: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        **given: IO[str] | int | Path,
    ) -> None:
        self._devnull: int
        super().__init__(list(map(str, arguments)), env=environment, text=True, **given)  # type: ignore[call-overload]

    def _execute_child(self, *given: Any) -> None:
        """Begin the child, as the base class does otherwise, and close the ends of pipes that are the child's."""
        words, _, _, _, _, folder, environment, _, _, _, stdin, _, _, stdout, _, stderr, *_ = given
        request = json.dumps([words, str(folder or Path.cwd()), dict(environment or os.environ), False])
        own = (stdin, stdout, stderr)
        streams = [number if stream == -1 else stream for number, stream in enumerate(own)]
        with _one_at_a_time, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.connect(_server())
            _adopt(True)
            try:
                socket.send_fds(server, [request.encode()], streams)
                self.pid = int(server.recv(_MOST))
                _wait_until_adopted(self.pid)
            finally:
                _adopt(False)
        self._child_created = True
        self._close_pipe_fds(*given[10:16])  # type: ignore[attr-defined]


def shell_function() -> str:
    """What makes ``heptox`` in a shell such a process, for whose end the shell waits."""
    return f'heptox() {{ {shlex.join([sys.executable, "-I", "-S", "-c", _CLIENT, _server()])} "$@"; }}'


_CLIENT: Final = """
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect(sys.argv[1])
request = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ), True])
socket.send_fds(server, [request.encode()], [0, 1, 2])
sys.exit(int(server.recv(9)))
"""


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


def _serve(listener: socket.socket) -> tuple[list[str], str, dict[str, str]]:
    """Fork for each request, until nobody is left who makes any; returns in what is forked, with words, folder and
    environment of the command."""
    while listener in select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            return _forked(connection)
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    os._exit(0)


def _forked(connection: socket.socket) -> tuple[list[str], str, dict[str, str]]:
    """Take a request in a process between, which tells the client who its child is, or how that ended."""
    request, streams, *_ = socket.recv_fds(connection, _MOST, 3)
    *command, waiting = json.loads(request)
    if child := os.fork():
        for stream in (*streams, 0, 1, 2):
            os.close(stream)
        told = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256 if waiting else child
        connection.send(str(told).encode())
        os._exit(0)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return tuple(command)


def _main(address: str) -> None:
    import_module("heptox.peer.daemon")
    for command in COMMANDS.values():
        command.load()
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        words, folder, environment = _serve(listener)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["heptox", *words]
    # Streams remember of what kind their files were.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    try:
        runpy.run_module("heptox", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        os._exit(int(ended.code or 0))


if __name__ == "__main__":
    _main(sys.argv[1])
