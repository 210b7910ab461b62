# SPDX-License-Identifier: BSD-3-Clause
"""The programs of this folder."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from nodewise.base.native import native_path

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The two programs of this folder, linked with the installed library."""
    native, base = native_path("libnodewise-transport.so").parent, tmp_path_factory.getbasetemp()
    # of all processes that test at the same time one compiles, which takes longer than most of what they test
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "transport-programs"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _compile(folder, native)
            (folder / "done").touch()
    return folder


def _compile(folder, native):
    compiler = ["g++", "-std=c++20", "-O1", "-I", str(HERE.parents[1] / "native")]
    # of an instrumented library: its programs have to be, too
    if sanitizer := os.environ.get("NODEWISE_SANITIZED"):
        compiler += [f"-fsanitize={sanitizer}", "-g1"]
    library = ["-L", str(native), "-lnodewise-transport", f"-Wl,-rpath,{native}", "-pthread"]
    for name, parts in (("drill", ("drill",)), ("calls", ("calls", "calls_patterns"))):
        sources = [str(HERE / f"{part}.cpp") for part in parts]
        subprocess.run([*compiler, *sources, "-o", str(folder / name), *library], check=True)
