# SPDX-License-Identifier: BSD-3-Clause
"""Libraries of this machine that can be preloaded, such as memory allocators: by the loader's cache and the usual folders."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from nodewise.base.elf import Elf
from nodewise.base.errors import InputError

#: How much of a library's file is read to see for which processor it is.
_HEADER_BYTES = 64
_CACHE_LINE = re.compile(r"^\s*(\S+) \([^)]*\) => (\S+)$", re.MULTILINE)


def usual_folders() -> tuple[Path, ...]:
    """Where distributions, package managers and people put libraries."""
    triplet = f"{platform.machine()}-linux-gnu"
    names = [f"/usr/lib/{triplet}", f"/lib/{triplet}", "/usr/lib64", "/lib64", "/usr/lib", "/lib", "/usr/local/lib64"]
    names += ["/usr/local/lib", "/opt/homebrew/lib", "/home/linuxbrew/.linuxbrew/lib"]
    return tuple(map(Path, names))


@lru_cache(maxsize=1)
def _loaders_cache() -> tuple[tuple[str, str], ...]:
    program = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    if program is None:
        return ()
    try:
        done = subprocess.run([program, "-p"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple((m[1], m[2]) for m in _CACHE_LINE.finditer(done.stdout))


def _fits(path: Path) -> bool:
    """Whether a file is a library for the processor that this process runs on."""
    try:
        kinds = []
        for file in (path, Path("/proc/self/exe")):
            with file.open("rb") as opened:
                elf = Elf(opened.read(_HEADER_BYTES))
            kinds.append((elf.bits, elf.machine))
    except (OSError, InputError):
        return False
    return kinds[0] == kinds[1]


def find_preloads(
    names: Mapping[str, Sequence[str]], environment: Mapping[str, str], folders: Iterable[Path] | None = None
) -> dict[str, Path]:
    """For each key of `names` the first library of the file names listed there that this machine has.

    Looked for in LD_LIBRARY_PATH, the loader's cache and the usual folders; where `folders` is given, in those alone.
    """
    cache: dict[str, str] = {}
    if folders is None:
        given = [Path(d) for d in environment.get("LD_LIBRARY_PATH", "").split(":") if d]
        searched = [*given, *usual_folders()]
        for name, path in _loaders_cache():
            cache.setdefault(name, path)
    else:
        searched = list(folders)
    found = {}
    for key, files in names.items():
        candidates = [p for f in files for p in ([Path(cache[f])] if f in cache else []) + [d / f for d in searched]]
        chosen = next((p for p in candidates if p.is_file() and _fits(p)), None)
        if chosen is not None:
            found[key] = chosen
    return found
