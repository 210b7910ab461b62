# SPDX-License-Identifier: BSD-3-Clause
"""The programs of this folder."""

import os
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
    compiler = ["g++", "-std=c++20", "-O1", "-I", str(HERE.parents[1] / "native")]
    # of an instrumented library: its programs have to be, too
    if sanitizer := os.environ.get("NODEWISE_SANITIZED"):
        compiler += [f"-fsanitize={sanitizer}", "-g1"]
    library = ["-L", str(native), "-lnodewise-transport", f"-Wl,-rpath,{native}", "-pthread"]
    for name, parts in (("drill", ("drill",)), ("calls", ("calls", "calls_patterns"))):
        sources = [str(HERE / f"{part}.cpp") for part in parts]
        subprocess.run([*compiler, *sources, "-o", str(folder / name), *library], check=True)
