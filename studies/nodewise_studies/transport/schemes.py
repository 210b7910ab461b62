# SPDX-License-Identifier: BSD-3-Clause
"""Which addresses the transport that is installed speaks: it is asked for each, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache

from nodewise.studies.contract import Library
from nodewise.studies.libraries import find_library

#: The library itself, which has `shm://` always.
TRANSPORT = Library(
    ("libnodewise-transport.so",),
    "pip install nodewise",
    (
        "nodewise_transport/native/libnodewise-transport.so",
        "nodewise_transport/libnodewise-transport.so",
        "nodewise/native/libnodewise-transport.so",
    ),
)
_PREFIX = "transport+"
_OPENS = """
import ctypes, os, socket, sys
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("pattern", ctypes.c_int32), ("address", ctypes.c_char_p), ("bind", ctypes.c_int32),
        ("waiting", ctypes.c_int32), ("slots", ctypes.c_uint32), ("capacity", ctypes.c_uint64), ("interrupted", ctypes.c_void_p),
        ("context", ctypes.c_void_p), ("later", ctypes.c_char * 128)]
library = ctypes.CDLL(sys.argv[1])
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
scheme = sys.argv[2]
place = f"127.0.0.1:{port}" if scheme.endswith("tcp") else f"nodewise-study-{os.getpid()}"
options = Options(pattern=2, address=f"{scheme}://{place}".encode(), bind=1)
end = ctypes.c_void_p()
library.nwt_abort.argtypes = [ctypes.c_void_p]
# each version takes options of its own size alone, and what came later may be zero
for size in range(Options.later.offset, ctypes.sizeof(Options) + 1, 4):
    options.size = size
    if library.nwt_open(ctypes.byref(options), ctypes.byref(end)) == 0:
        library.nwt_abort(end)
        sys.exit(0)
sys.exit(1)
"""
_LONGEST_S = 20.0


class Libraries(dict[str, Library]):
    """Libraries by name, with the transport's by the address that it has to speak: `transport+tcp` is found where it does."""

    def __init__(self, known: Mapping[str, Library]) -> None:
        super().__init__({"transport": TRANSPORT, **known})

    def __missing__(self, name: str) -> Library:
        if not name.startswith(_PREFIX):
            raise KeyError(name)
        scheme = name.removeprefix(_PREFIX)
        if speaks(scheme):
            return TRANSPORT
        return Library((f"a transport with {scheme}://",), "pip install nodewise-transport")


@lru_cache
def speaks(scheme: str) -> bool:
    """Whether the transport that is installed opens such an address."""
    path = find_library(TRANSPORT)
    if path is None:
        return False
    try:
        command = [sys.executable, "-c", _OPENS, str(path), scheme]
        return subprocess.run(command, capture_output=True, check=False, timeout=_LONGEST_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False
