# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise` as a process of its own, which does not load Python and nodewise's modules each time.

A process that has loaded them forks for each call, so that a call has its own signals, limits, files and end as any process has
that is started, and takes a tenth of the time: `started` waits for its end, `Begun` is one that runs meanwhile. What happens while nodewise starts is seen by real starts alone, of which
there are enough: tests/outside.py, tests/attack, the blocks of tests/api/test_documentation.py.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from nodewise.records import neighbours
from nodewise.runner import rests
from tests.outside import environment

ROOT = Path(__file__).parent.parent
#: What Python reads as it starts, and what reads of the environment when it is loaded: where it differs, so must the start.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS_")


def started(
    *words: str, cwd: Path | str | None = None, env: Mapping[str, str] | None = None, timeout: float | None = 120
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run of `python -m nodewise` with these words, which captures what is printed."""
    variables = dict(os.environ if env is None else env)
    if _at_start(variables) != _at_start(os.environ):
        command = [sys.executable, "-m", "nodewise", *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=cwd, env=variables, timeout=timeout
        )
    return _called(_server(), words, cwd, variables, timeout)


@contextlib.contextmanager
def installed(folder: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """As `started`, where the packages in a folder are installed: by a process that has loaded these, too, and ends with this."""
    server = _Server(PYTHONPATH=str(folder))

    def begun(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return _called(server, words, None, environment(folder, variables), 120)

    try:
        yield begun
    finally:
        server.close()


def _called(
    server: _Server, words: tuple[str, ...], cwd: Path | str | None, variables: Mapping[str, str], timeout: float | None
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = server.call(words, str(cwd or Path.cwd()), variables, [0, out.fileno(), err.fileno()], timeout)
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode(errors="surrogateescape"))
    return subprocess.CompletedProcess([sys.executable, "-m", "nodewise", *words], code, *printed)


class Begun(subprocess.Popen[Any]):
    """As subprocess.Popen of `python -m nodewise` with these words and nothing to read; by `limits` with other ones of the system."""

    def __init__(
        self,
        *words: str | bytes,
        cwd: Path | str,
        env: Mapping[str, str] | None = None,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
        limits: Mapping[str, tuple[int, int]] | None = None,
        text: bool = False,
    ) -> None:
        self.args = [sys.executable, "-m", "nodewise", *words]
        self.stdin = None
        self.returncode = None
        # what its base reads of itself
        self._child_created, self._communication_started, self._input = True, False, None
        self.encoding, self.errors, self.text_mode = None, None, text
        self._own, end = socket.socketpair()
        with end, Path(os.devnull).open("r+b") as nothing, contextlib.ExitStack() as theirs:
            files = [nothing.fileno()]
            for name, to in (("stdout", stdout), ("stderr", stderr)):
                mine = None
                if to == subprocess.PIPE:
                    read, write = os.pipe()
                    mine = os.fdopen(read, "r" if text else "rb")
                    files.append(theirs.enter_context(os.fdopen(write, "wb")).fileno())
                elif to == subprocess.DEVNULL:
                    files.append(nothing.fileno())
                else:
                    files.append(to if isinstance(to, int) else to.fileno())
                setattr(self, name, mine)
            variables = dict(os.environ if env is None else env)
            assert _at_start(variables) == _at_start(os.environ)
            _server().begin(tuple(map(os.fsdecode, words)), str(cwd), variables, [*files, end.fileno()], limits or {})
        self.pid = _number(self._own)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        return self._ended(0)

    def _wait(self, timeout: float | None) -> int:
        if self._ended(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def _ended(self, within_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._own], [], [], within_s)[0]:
            # who waited for it was killed, too, and nobody knows more; it has ended all the same
            self.returncode = -signal.SIGKILL
            with self._own, contextlib.suppress(EOFError):
                self.returncode = _number(self._own)
        return self.returncode


def _at_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(_READ_AT_START)}


class _Server:
    """The process that forks, seen from the one that asks."""

    def __init__(self, **variables: str) -> None:
        self._own, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.started", str(other.fileno())],
                cwd=ROOT,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **variables},
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._lock = threading.Lock()
        atexit.register(self.close)

    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        self._own.close()
        self._process.wait()

    def call(
        self, words: tuple[str, ...], cwd: str, env: Mapping[str, str], files: list[int], timeout: float | None
    ) -> int:
        """The exit code of nodewise with these words, that writes to these files; negative for a signal."""
        with self._lock, self._own.dup() as wire:
            self._ask(wire, words, cwd, env, files, {})
            child = _number(wire)
            wire.settimeout(timeout)
            try:
                return _number(wire)
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                wire.settimeout(None)
                _number(wire)
                raise subprocess.TimeoutExpired(words, timeout or 0) from None

    def begin(
        self,
        words: tuple[str, ...],
        cwd: str,
        env: Mapping[str, str],
        files: list[int],
        limits: Mapping[str, tuple[int, int]],
    ) -> None:
        """Start one whose number and then exit code come through the last of the files."""
        with self._lock, self._own.dup() as wire:
            self._ask(wire, words, cwd, env, files, limits)

    def _ask(
        self,
        wire: socket.socket,
        words: tuple[str, ...],
        cwd: str,
        env: Mapping[str, str],
        files: list[int],
        limits: Mapping[str, tuple[int, int]],
    ) -> None:
        here = {
            "words": words,
            "cwd": cwd,
            "env": dict(env),
            "umask": _umask(),
            # whose neighbours it has: those of the test that starts it
            "neighbours": str(neighbours.shared_folder()),
            "rests": [rests._FIRST_S, rests._SHARE],
            "processors": sorted(os.sched_getaffinity(0)),
            "limits": [
                [name, *limits.get(name, resource.getrlimit(getattr(resource, name)))]
                for name in dir(resource)
                if name.startswith("RLIMIT_")
            ],
        }
        # the size first, with the files: of all else a stream may make two
        asked = json.dumps(here).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        wire.sendmsg([len(asked).to_bytes(8, "little")], rights)
        wire.sendall(asked)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _number(wire: socket.socket) -> int:
    data = wire.recv(8, socket.MSG_WAITALL)
    if len(data) < 8:
        raise EOFError("the process that forks has ended")
    return int.from_bytes(data, "little", signed=True)


_servers: dict[int, _Server] = {}


def _server() -> _Server:
    """That of this process, started when it is first asked for, and anew where a test of kills or of memory ended it."""
    if os.getpid() not in _servers or not _servers[os.getpid()].alive():
        _servers[os.getpid()] = _Server()
    return _servers[os.getpid()]


def _load() -> None:
    """All modules of nodewise that a command may need."""
    import nodewise

    for module in pkgutil.walk_packages(nodewise.__path__, "nodewise."):
        if not module.name.startswith(("nodewise.studies.", "nodewise.__main__")):
            # what needs a part that is not here says so when it is used
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    from nodewise.machine.sources import load_machine
    from nodewise.report.pages.template import environment
    from tests.known_hardware import remember

    remember()
    load_machine()

    for name in environment().list_templates(["html"]):
        environment().get_template(name)


def _serve(wire: socket.socket) -> None:
    _load()
    gc.collect()
    gc.freeze()
    while True:
        size, rights, _, _ = wire.recvmsg(8, socket.CMSG_SPACE(4 * array.array("i").itemsize))
        if not size:
            return
        files = array.array("i", rights[0][2])
        asked = json.loads(wire.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL))
        if asked["words"][:1] == ["profile"]:
            from tests.known_hardware import remember_perf

            remember_perf()
        if len(files) == 3:
            _told(wire, asked, files, wire)
            continue
        # another process waits for it
        if os.fork() == 0:
            with socket.socket(fileno=files.pop()) as end:
                _told(end, asked, files, wire)
            os._exit(0)
        for file in files:
            os.close(file)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _told(end: socket.socket, asked: dict[str, object], files: array.array[int], wire: socket.socket) -> None:
    """Start nodewise, say its number, and how it ended."""
    child = os.fork()
    if child == 0:
        end.close()
        wire.close()
        _become(asked, files)
    for file in files:
        os.close(file)
    # nobody may wait for that any more
    with contextlib.suppress(BrokenPipeError):
        end.sendall(child.to_bytes(8, "little", signed=True))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        end.sendall(code.to_bytes(8, "little", signed=True))


def _become(asked: dict[str, object], files: array.array[int]) -> None:
    """Be nodewise as it was asked for, and end."""
    code = 70
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(str(asked["cwd"]))
        os.environ.clear()
        os.environ.update(asked["env"])
        os.umask(asked["umask"])
        os.sched_setaffinity(0, asked["processors"])
        for name, soft, hard in asked["limits"]:
            resource.setrlimit(getattr(resource, name), (soft, hard))
        if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
            # Python keeps compiled modules that were cut off at the limit, and all other processes would load them
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        from nodewise.__main__ import start

        shared = Path(str(asked["neighbours"]))
        neighbours.shared_folder = lambda: shared
        rests._FIRST_S, rests._SHARE = asked["rests"]
        sys.argv = ["nodewise", *asked["words"]]
        code = start()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        # what the end of an interpreter does, less the clearing of all modules
        threading._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
