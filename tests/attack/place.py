# SPDX-License-Identifier: BSD-3-Clause
"""Place: where attacks are made, one after another, and what of nodewise may not be there after each."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nodewise.base.exit_codes import ExitCode
from nodewise.cli.main import main
from nodewise.runner.proc_files import children_of

_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWNS = 0x20000
#: What outlives nodewise because of how it was ended has so long to go.
_PATIENCE_S = 8.0
#: A traceback through nodewise; a program may print its own.
_OWN_TRACEBACK = re.compile(r'File "[^"]*nodewise/[^"]*\.py"')
#: Has a copy of this process write where it is; nodewise itself knows nothing of this signal.
_WHERE = signal.SIGRTMIN + 7
#: An exception that passed all of nodewise's own handlers.
ESCAPED = 71
#: The kinds of findings, as the campaign's last line names them.
DEFECT, LEFT, LOST, LONG, WRONG = "exit 70", "left-over", "lost sample", "too long", "wrong answer"


@dataclass(frozen=True)
class Finding:
    """Something wrong: its kind, and what was seen."""

    kind: str
    what: str


@dataclass
class Ended:
    """How a nodewise ended: `code` is negative for a signal, None where it was killed because it took too long."""

    words: tuple[str, ...]
    code: int | None
    out: str
    error: str
    allowed: tuple[int, ...] = (0, 1, 2)
    findings: list[Finding] = field(default_factory=list)

    def judged(self) -> list[Finding]:
        """What is wrong with it by itself."""
        shown = f"nodewise {' '.join(map(repr, self.words))}: exit code {self.code}: {self.error[-600:]}"
        if self.code is None:
            return [Finding(LONG, f"{shown}\n{self.error[-4000:]}")]
        broken = _OWN_TRACEBACK.search(self.error) or "a defect in nodewise" in self.error
        if self.code in (ExitCode.DEFECT, ESCAPED) or broken:
            return [Finding(DEFECT, shown)]
        return [] if self.code in self.allowed else [Finding(WRONG, shown)]


def stretched(limit_s: float) -> float:
    """A limit that also says something where others keep the machine busy: longer by as many as wait for a processor."""
    waiting = os.getloadavg()[0] / max(1, len(os.sched_getaffinity(0)))
    return limit_s * min(10.0, max(1.0, waiting))


class Running:
    """A nodewise that runs: in a copy of this process, which has its modules already, or one of its own (`whole`)."""

    def __init__(
        self, words: Sequence[str], cwd: Path, environment: Mapping[str, str], whole: bool, out: Path | None = None
    ):
        self.words = tuple(words)
        # a copy has none of this process's other threads, and would wait for what they hold
        self._whole = whole = whole or len(list(Path("/proc/self/task").iterdir())) > 1
        self._out, self._error = out or cwd.parent / "out", cwd.parent / "error"
        with self._out.open("wb") as said, self._error.open("wb") as error:
            if whole:
                command = [sys.executable, "-m", "nodewise", *words]
                self.pid = subprocess.Popen(
                    command, cwd=cwd, env=dict(environment), stdout=said, stderr=error, stdin=subprocess.DEVNULL
                ).pid
                return
            self.pid = os.fork()
            if self.pid == 0:
                _become(words, cwd, environment, said.fileno(), error.fileno())

    def send(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.kill(self.pid, number)

    def children(self) -> list[int]:
        return children_of(self.pid)

    def wait(self, limit_s: float = 60.0, allowed: tuple[int, ...] = (0, 1, 2)) -> Ended:
        until = time.monotonic() + stretched(limit_s)
        ended: tuple[int, int] = (0, 0)
        while not ended[0] and time.monotonic() < until:
            ended = os.waitpid(self.pid, os.WNOHANG)
            time.sleep(0.0 if ended[0] else 0.003)
        code = os.waitstatus_to_exitcode(ended[1]) if ended[0] else None
        if code is None:
            if not self._whole:
                self.send(_WHERE)
                time.sleep(0.5)
            self.send(signal.SIGKILL)
            os.waitpid(self.pid, 0)
        out = "" if self._out.is_char_device() else self._out.read_text(errors="replace")
        return Ended(self.words, code, out, self._error.read_text(errors="replace"), allowed)

    def ended(self) -> bool:
        """Whether it has ended, without taking that away."""
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None


def _become(words: Sequence[str], cwd: Path, environment: Mapping[str, str], out: int, error: int) -> None:
    code = ESCAPED
    try:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(out, 1)
        os.dup2(error, 2)
        faulthandler.register(_WHERE, file=2)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), line_buffering=True)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["nodewise", *words]
        code = main(list(words))
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        # as the interpreter itself ends where it has been asked to before or after main
        code = 130
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


class Place:
    """A folder of this process's own, with a folder in it for each attack; orphans of what it starts become its children.

    Where it may, it has mounts of its own: a /dev/shm that nobody else uses, and small disks.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.mounts = ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS) == 0
        if self.mounts:
            self.mounts = _mounted("--make-rprivate", "/") and _mounted(
                "-t", "tmpfs", "-o", "size=64m", "tmpfs", "/dev/shm"
            )
        self._count = 0
        self._mask = os.sched_getaffinity(0)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_"))}

    def fresh(self) -> Path:
        """A new folder for one attack: `here` to be in, `tmp` for temporary files."""
        if self._count:
            shutil.rmtree(self.folder / str(self._count), ignore_errors=True)
        self._count += 1
        case = self.folder / str(self._count)
        (case / "here").mkdir(parents=True)
        (case / "tmp").mkdir()
        self.environment["TMPDIR"] = str(case / "tmp")
        return case / "here"

    @contextlib.contextmanager
    def disk(self, size: int) -> Iterator[Path]:
        """A disk of so many bytes, in the folder of the attack."""
        disk = self.folder / str(self._count) / "disk"
        disk.mkdir()
        if not _mounted("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)):
            raise OSError("no tmpfs")
        try:
            yield disk
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=False, capture_output=True)

    def start(self, words: Sequence[str], cwd: Path, whole: bool = False, out: Path | None = None) -> Running:
        return Running(words, cwd, self.environment, whole, out)

    def left_over(self) -> list[Finding]:
        """What is left of an attack after its nodewise has ended: processes, temporary files, shared memory, a mask."""
        found = []
        if left := _wait_for_children():
            found.append(Finding(LEFT, f"processes: {', '.join(left)}"))
        tmp = self.folder / str(self._count) / "tmp"
        if names := [p.name for p in tmp.iterdir()]:
            found.append(Finding(LEFT, f"temporary files: {', '.join(names)}"))
        if self.mounts and (names := [p.name for p in Path("/dev/shm").iterdir() if p.name != "nodewise-running"]):
            found.append(Finding(LEFT, f"shared memory: {', '.join(names)}"))
        if os.sched_getaffinity(0) != self._mask:
            found.append(Finding(LEFT, "the mask of this process was changed"))
            os.sched_setaffinity(0, self._mask)
        return found


def _mounted(*words: str) -> bool:
    return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


def _wait_for_children() -> list[str]:
    """What is still there of this process's children, and is killed then, by name."""
    until = time.monotonic() + _PATIENCE_S
    named: dict[int, str] = {}
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = children_of(os.getpid())
        if not left:
            return list(named.values())
        if time.monotonic() > until:
            for pid in left:
                with contextlib.suppress(OSError):
                    named[pid] = f"{pid} {Path(f'/proc/{pid}/comm').read_text().strip()}"
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
