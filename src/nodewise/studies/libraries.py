# SPDX-License-Identifier: BSD-3-Clause
"""Where the shared library of a peer lies: in a Python package, or where the system's linker finds it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import site
import subprocess
import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from nodewise.studies.contract import Library


def find_library(library: Library) -> Path | None:
    """The file, or None where there is none. Python's packages come first: if one is installed, it is meant to be compared."""
    for root in _package_folders():
        for pattern in library.wheels:
            if found := sorted(Path(root).glob(pattern)):
                return found[-1]
    known = _system_libraries()
    for name in library.files:
        for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")):
            if (path := Path(folder) / name).exists():
                return path
        if name in known:
            return known[name]
    return None


def neighbours(path: Path) -> dict[str, str]:
    """Variables by which a library outside the system finds those next to it, which it may need."""
    if path in _system_libraries().values():
        return {}
    return {"LD_LIBRARY_PATH": ":".join(filter(None, [str(path.parent), os.environ.get("LD_LIBRARY_PATH")]))}


def how_it_runs(library: Library, path: Path, vendor: str) -> str:
    """What a row says of a library: its version, or its file's name, which usually contains it; its settings; what is known of it here."""
    named = re.fullmatch(r"pip install ([\w.-]+)", library.install)
    version = path.resolve().name
    # a file that lies where no package put it has another version
    if named is not None and any(path.is_relative_to(root) for root in _package_folders()):
        with contextlib.suppress(metadata.PackageNotFoundError):
            version = f"{named[1]} {metadata.version(named[1])}"
    if library.version is not None and (told := library.version(path)):
        version = told
    settings = [f"{name}={value}" for name, value in library.env.items() if value]
    if library.dispatches and not settings:
        settings = ["as it dispatches by itself"]
    return ", ".join(filter(None, [version, *settings, library.notes.get(vendor, "")]))


def _package_folders() -> list[str]:
    return [*site.getsitepackages(), site.getusersitepackages(), sys.prefix]


@lru_cache(maxsize=1)
def _system_libraries() -> dict[str, Path]:
    """What ldconfig(8) knows, by name; the first of a name is the one for this processor."""
    program = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    if program is None:
        return {}
    printed = subprocess.run([program, "-p"], capture_output=True, text=True, check=False).stdout
    found: dict[str, Path] = {}
    for name, path in re.findall(r"^\s+(\S+) \(.*\) => (\S+)$", printed, re.MULTILINE):
        found.setdefault(name, Path(path))
    return found
