# SPDX-License-Identifier: BSD-3-Clause
"""The programs of this folder."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.base.native import native_path
from tests.made_once import made_once

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The two programs of this folder, linked with the installed library."""
    return made_once(tmp_path_factory, "transport", _compile)


def _compile(folder):
    native = native_path("libnodewise-transport.so").parent
    # what was compiled before is not compiled again, where paths are the same for all copies of the sources
    kept = ["ccache"] if shutil.which("ccache") else []
    compiler = ["g++", "-std=c++20", "-O1"]
    # of an instrumented library: its programs have to be, too
    if sanitizer := os.environ.get("NODEWISE_SANITIZED"):
        compiler += [f"-fsanitize={sanitizer}", "-g1"]
    library = ["-L", str(native), "-lnodewise-transport", f"-Wl,-rpath,{native}", "-pthread"]
    for name, parts in (("drill", ("drill",)), ("calls", ("calls", "calls_patterns"))):
        objects = [str(folder / f"{part}.o") for part in parts]
        for part, compiled in zip(parts, objects, strict=True):
            words = ["-I", "../../native", "-c", f"{part}.cpp", "-o", compiled]
            subprocess.run([*kept, *compiler, *words], cwd=HERE, check=True)
        subprocess.run([*compiler, *objects, "-o", str(folder / name), *library], check=True)
