# SPDX-License-Identifier: BSD-3-Clause
"""The memory of several instances at a time, as the kernel shares it out among processes (proc_pid_smaps_rollup(5))."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from nodewise.isolation.once import tree_of
from nodewise.isolation.prepare import Prepared

_LIMIT_S = 120.0
_PAUSE_S = 0.02
_KIB = 1024
_PAGE = os.sysconf("SC_PAGE_SIZE")
#: Names of what is counted, by the lines of smaps_rollup that make it.
_LINES = {
    "pss": ("Pss",),
    "private": ("Private_Clean", "Private_Dirty"),
    "shared": ("Shared_Clean", "Shared_Dirty"),
}


def at_once(prepare: Callable[[], Prepared], words: Sequence[str], count: int) -> dict[str, float]:
    """Bytes of each of `count` instances of a program that waits, on average: `pss`, `private`, `shared`, and `ksm`, merged.

    All processes of an instance count, the runtime's, too. PSS shares what several have in common out among them, so that
    instances add up. Raises TimeoutError where one does not begin.
    """
    made: list[Prepared] = []
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            made.append(prepare())
            running.append(
                subprocess.Popen(
                    [*made[-1].words, *words],
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    process_group=0,
                )
            )
        _wait_until_begun(made, running)
        seen: dict[str, float] = {}
        for process in running:
            for pid in tree_of(process.pid):
                for name, value in memory_of(pid).items():
                    seen[name] = seen.get(name, 0.0) + value / count
        return seen
    finally:
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for one in made:
            one.close()


def _wait_until_begun(made: Sequence[Prepared], running: Sequence[subprocess.Popen[bytes]]) -> None:
    until = time.monotonic() + _LIMIT_S
    # who starts a program tells of it through a pipe or a file; the latter is seen at once, the former at its end
    while not all(_has_begun(one, process) for one, process in zip(made, running, strict=True)):
        if time.monotonic() > until or any(process.poll() is not None for process in running):
            raise TimeoutError("an instance did not begin")
        time.sleep(_PAUSE_S)


def _has_begun(made: Prepared, process: subprocess.Popen[bytes]) -> bool:
    if "seen_begin" in made.report():
        return True
    names = set()
    for pid in tree_of(process.pid):
        with suppress(OSError):
            names.add(Path(f"/proc/{pid}/comm").read_text(errors="replace").strip())
    return "sleep" in names


def memory_of(pid: int, root: Path = Path("/")) -> dict[str, float]:
    """Bytes of one process by the names above; none where it has ended or may not be looked at."""
    folder = root / "proc" / str(pid)
    try:
        text = (folder / "smaps_rollup").read_text()
    except OSError:
        return {}
    lines = {name: int(value) * _KIB for name, value in re.findall(r"^(\w+): +(\d+) kB", text, re.MULTILINE)}
    found = {name: float(sum(lines.get(line, 0) for line in parts)) for name, parts in _LINES.items()}
    found["ksm"] = float(lines.get("KSM", 0))
    with suppress(OSError):
        if match := re.search(r"ksm_merging_pages (\d+)", (folder / "ksm_stat").read_text()):
            found["ksm"] = max(found["ksm"], float(match[1]) * _PAGE)
    return found
