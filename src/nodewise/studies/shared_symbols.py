# SPDX-License-Identifier: BSD-3-Clause
"""The rule of the contract for files that are compiled for an instruction set of their own."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nodewise.base.errors import UnavailableError
from nodewise.studies.building import build_rule
from nodewise.studies.discovery import Found

#: What cmake/study.cmake gives to files for an instruction set.
_SETS = {"avx2": ["-mavx2", "-mfma"], "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"]}


def files_for_an_instruction_set_share_no_symbols(found: Found) -> Iterator[str]:
    """No symbols that the linker merges: its copy for a newer processor could be the one that it keeps."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    with tempfile.TemporaryDirectory(prefix="nodewise-") as name:
        for source in sorted(found.folder.glob("*.*.cpp")):
            parts = [flag for part in source.stem.split(".")[1:] for flag in _SETS.get(part, [])]
            if parts:
                yield from _shared_symbols(source, parts, Path(name, f"{source.stem}.o"))


def _shared_symbols(source: Path, flags: list[str], out: Path) -> Iterator[str]:
    if shutil.which("g++") is None or shutil.which("nm") is None:
        raise UnavailableError(
            "there is no g++ or no nm to look at files for an instruction set with", "apt-get install g++"
        )
    include = [f"-I{build_rule() / 'include'}", f"-I{source.parent}"]
    # by a compiler cache where one is named, as for CMake
    cache = filter(None, os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split(";"))
    compiler = [*cache, "g++", "-std=c++20", "-O0", "-fopenmp", *include, *flags, "-c", str(source), "-o", str(out)]
    done = subprocess.run(compiler, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"{source.name} does not compile by itself: {done.stderr.strip()[-1000:]}"
        return
    symbols = subprocess.run(["nm", "-C", str(out)], capture_output=True, text=True, check=True).stdout
    for kind, symbol in re.findall(r"^\S* +(\w) (.*)$", symbols, re.MULTILINE):
        if kind in "WVu":
            yield f"{source.name} shares the symbol {symbol}: write it in plain C, or in an unnamed namespace"
