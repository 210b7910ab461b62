# SPDX-License-Identifier: BSD-3-Clause
"""The versions of libraries, as they say them: each is asked in a process of its own, which it may end or fill with its threads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

_OPEN = "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); "
_ASK = {
    "ZeroMQ": "n = [ctypes.c_int() for _ in range(3)]; library.zmq_version(*map(ctypes.byref, n)); print(*(i.value for i in n), sep='.')",
    "nng": "library.nng_version.restype = ctypes.c_char_p; print(library.nng_version().decode())",
    "UCX": "n = [ctypes.c_uint() for _ in range(3)]; library.ucp_get_version(*map(ctypes.byref, n)); print(*(i.value for i in n), sep='.')",
    "libfabric": "n = library.fi_version(); print(n >> 16, n & 0xffff, sep='.')",
    "MPI": "t = ctypes.create_string_buffer(8192); library.MPI_Get_library_version(t, ctypes.byref(ctypes.c_int())); "
    "print(t.value.decode().split(',')[0].splitlines()[0])",
}
_LONGEST_S = 20.0


def version_of(kind: str) -> Callable[[Path], str]:
    """What asks a library's file: its name and version, empty where it does not say."""
    return lambda path: _asked(kind, path)


@lru_cache
def _asked(kind: str, path: Path) -> str:
    command = [sys.executable, "-c", _OPEN + _ASK[kind], str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        return ""
    said = " ".join(done.stdout.split()) if done.returncode == 0 else ""
    # an MPI's own words name it
    return said if kind == "MPI" or not said else f"{kind} {said}"
