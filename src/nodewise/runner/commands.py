# SPDX-License-Identifier: BSD-3-Clause
"""Commands that nodewise itself has carried out (compilers, builds, set-up steps): nothing of them outlives it."""

from __future__ import annotations

import errno
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import MOST_BYTES
from nodewise.base.forked import not_inherited

#: What is read at once, and how much more than what is kept may pile up before it is cut.
_AT_ONCE, _SPARE = 64 << 10, 16 << 20
#: Waits for the end of its input; whatever group of processes was then named last is ended, and the rest is done.
_WILL = """trap '' INT TERM HUP QUIT
PATH=$PATH:/usr/bin:/bin
while read -r word; do group=$word; done
[ "${group:--}" = - ] || kill -KILL "-$group" 2>/dev/null
"""


#: Begins once it is asked to: by then whoever ends it knows its group, and where nobody is left to ask, it does not begin.
_BEGIN = 'read -r go && exec "$@" </dev/null'


def run_whole(
    words: Sequence[str],
    limit_s: float | None = None,
    begun: Callable[[str], None] = lambda _: None,
    most: int = MOST_BYTES,
    **more: Any,
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with text captured and no input, but all that it started ends with it where it is ended early.

    `begun` is called with the number of its group of processes, and `-` once it has ended. Of each stream the last `most`
    bytes are kept. Raises OSError; TimeoutExpired.
    """
    _check(words[0], more)
    settings = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    command = ["/bin/sh", "-c", _BEGIN, "sh", *words]
    until = None if limit_s is None else time.monotonic() + limit_s
    with subprocess.Popen(command, bufsize=0, process_group=0, **settings) as process:
        try:
            begun(str(process.pid))
            with suppress(BrokenPipeError), process.stdin as asked:  # type: ignore[union-attr]
                asked.write(b"go\n")
            texts = _printed(process, until, most)
            process.wait(_left_s(until))
        except BaseException as problem:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(problem, TimeoutError | subprocess.TimeoutExpired):
                raise subprocess.TimeoutExpired(list(words), limit_s or 0.0) from None
            raise
    begun("-")
    return subprocess.CompletedProcess(list(words), process.returncode, *texts)


def _left_s(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())


def _printed(process: subprocess.Popen[bytes], until: float | None, most: int) -> list[str]:
    """The end of what a process prints to its output and its errors, until nobody has them open. Raises TimeoutError."""
    kept = [bytearray(), bytearray()]
    with selectors.DefaultSelector() as waiting:
        for stream, data in zip((process.stdout, process.stderr), kept, strict=True):
            if stream is not None:
                waiting.register(stream, selectors.EVENT_READ, data)
        while waiting.get_map():
            ready = waiting.select(_left_s(until))
            if not ready and until is not None and time.monotonic() >= until:
                raise TimeoutError
            for key, _ in ready:
                part = os.read(key.fd, _AT_ONCE)
                if not part:
                    waiting.unregister(key.fileobj)
                key.data.extend(part)
                if len(key.data) > most + _SPARE:
                    del key.data[:-most]
    return [data[-most:].decode(errors="replace").replace("\r\n", "\n") for data in kept]


def _check(program: str, more: Mapping[str, Any]) -> None:
    """Raises OSError where there is no such program, as the system would."""
    cwd, environment = more.get("cwd"), more.get("env") or os.environ
    found = Path(cwd or ".", program) if "/" in program else shutil.which(program, path=environment.get("PATH"))
    if found is None or not Path(found).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
    if not os.access(found, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), program)


@contextmanager
def will(script: str, *words: str) -> Iterator[Callable[[str], None]]:
    """Have a line for the shell carried out, with `words` as $1 …, when this ends; also where this process is killed.

    Gives a function to be called with groups of processes: the last one is ended first; `-` is none.
    """
    with subprocess.Popen(
        ["/bin/sh", "-c", _WILL + script, "sh", *words], stdin=subprocess.PIPE, bufsize=0, start_new_session=True
    ) as keeper:
        assert keeper.stdin is not None
        stream = keeper.stdin
        not_inherited(stream)

        def follow(word: str) -> None:
            # who kills the keeper, too, is on his own
            with suppress(OSError):
                stream.write(f"{word}\n".encode())

        yield follow


@contextmanager
def passing_folder(name: str) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A folder for files that go with it, also where this process is killed; and what `will` gives. Raises OSError."""
    folder = Path(tempfile.gettempdir(), f"{name}{os.getpid()}-{secrets.token_hex(4)}").absolute()
    with will('rm -rf -- "$1"', str(folder)) as follow:
        folder.mkdir(mode=0o700)
        try:
            yield folder, follow
        finally:
            shutil.rmtree(folder, ignore_errors=True)
