# SPDX-License-Identifier: BSD-3-Clause
"""Programs and libraries that tests compile, each source by the compiler cache where there is one: it knows no whole programs."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


def compiled(sources: Sequence[Path], out: Path, *flags: str, libraries: Sequence[str] = ()) -> Path:
    """A file of these sources of C++, by one set of flags for compiling and linking."""
    found = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER") or shutil.which("ccache")
    objects = [out.parent / f"{out.name}-{source.name}.o" for source in sources]
    compiler = ["g++", "-std=c++20", *flags]
    for source, made in zip(sources, objects, strict=True):
        command = [*(found.split(";") if found else ()), *compiler, "-c", str(source), "-o", str(made)]
        subprocess.run(command, check=True, capture_output=True)
    subprocess.run([*compiler, *map(str, objects), *libraries, "-o", str(out)], check=True)
    return out
