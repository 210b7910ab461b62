# SPDX-License-Identifier: BSD-3-Clause
"""Which addresses the transport that is installed speaks: it is asked for each, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

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
        provider = ctypes.create_string_buffer(256)
        if hasattr(library, "nwt_provider"):
            library.nwt_provider.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]
            library.nwt_provider(end, provider, 256)
        print(provider.value.decode())
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
            return replace(TRANSPORT, version=lambda path: provider_of(path, scheme))
        return Library((f"a transport with {scheme}://",), "pip install nodewise-transport")


def speaks(scheme: str) -> bool:
    """Whether the transport that is installed opens such an address."""
    path = find_library(TRANSPORT)
    return path is not None and _asked(path, scheme) is not None


def provider_of(path: Path, scheme: str) -> str:
    """Which of libfabric's providers carries the messages of such an address; empty where none does."""
    provider = _asked(path, scheme)
    return f"libfabric {provider}" if provider else ""


@lru_cache
def _asked(path: Path, scheme: str) -> str | None:
    try:
        command = [sys.executable, "-c", _OPENS, str(path), scheme]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
