# SPDX-License-Identifier: BSD-3-Clause
"""What a process that measures cannot do without: to be told of its children's ends, files, memory, processes, a directory."""

from __future__ import annotations

import os
import resource
import signal
import threading
from pathlib import Path

#: The runner with its pipes, the experiment's files, and what Python opens besides.
_FEWEST_FILES = 64
#: Python with NumPy and a thread of its own for each processor.
_LEAST_MEMORY = 256 << 20
#: With fewer allowed it is tried whether there are enough.
_MANY_PROCESSES = 1024


def hear_children() -> None:
    """Have this process told of its children's ends: who starts it may hand down that the signal is ignored, or held back."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def what_is_lacking() -> tuple[str, str] | None:
    """What a process cannot do without and this one lacks, with a hint; None where all is there."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        return (
            "SIGCHLD is ignored in this process, so that it never hears how a program ended",
            "signal.signal(signal.SIGCHLD, signal.SIG_DFL) before",
        )
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < _FEWEST_FILES:
        return f"only {files} files may be open at once, and nodewise needs {_FEWEST_FILES}", "raise it: ulimit -n 1024"
    for limit, what, letter in (
        (resource.RLIMIT_AS, "address space", "v"),
        (resource.RLIMIT_DATA, "memory for data", "d"),
    ):
        memory, _ = resource.getrlimit(limit)
        if memory != resource.RLIM_INFINITY and memory < _LEAST_MEMORY:
            least = f"nodewise needs {_LEAST_MEMORY >> 20} MiB"
            return (
                f"only {memory >> 20} MiB of {what} may be used, and {least}",
                f"raise it: ulimit -{letter} unlimited",
            )
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY and processes < _MANY_PROCESSES and not _can_start(_needed_processes()):
        few = f"you may have no more than {processes} processes at once, and nodewise needs {_needed_processes()} besides those that run"
        return few, "raise it: ulimit -u, or end some of yours"
    try:
        Path.cwd()
    except OSError as problem:
        return f"the current directory cannot be used: {problem.strerror}", "it was removed, or may not be entered: cd"
    return None


def _needed_processes() -> int:
    """The threads of what NumPy computes with, one for each processor but for the first, and the runner, its guard and a program."""
    return len(os.sched_getaffinity(0)) + 2


def _can_start(count: int) -> bool:
    """Whether so many threads, which are counted as processes, can be had at once."""
    go_on = threading.Event()
    started = []
    try:
        for _ in range(count):
            thread = threading.Thread(target=go_on.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return False
    finally:
        go_on.set()
        for thread in started:
            thread.join()
    return True
