# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise profile` of OpenMP under the runtimes that are here, of Python by py-spy, and of ranks under a real MPI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.profile.interpreter import find_py_spy
from tests.cli.conftest import Command
from tests.profile.programs import compiled, need_perf

PROGRAM = """
#include <omp.h>
#include <stdlib.h>
static volatile double sink;
__attribute__((noinline)) static void work(long n) {
    double x = 1;
    for (long i = 0; i < n; ++i) x = x * 1.0000001 + 1e-9;
    sink = x;
}
int main(int argc, char** argv) {
    long n = atol(argv[argc - 1]);
    for (int k = 0; k < 10; ++k) {
        work(2 * n);
        sink = 0;
#pragma omp parallel num_threads(2)
        {
            work(omp_get_thread_num() ? n : 3 * n);
            sink = 1;
        }
    }
    return 0;
}
"""


@pytest.mark.parametrize("runtime", ["GNU", pytest.param("Intel", marks=pytest.mark.long)])
def test_a_program_shows_its_serial_part_and_its_imbalance(nodewise: Command, tmp_path: Path, runtime: str) -> None:
    need_perf()
    (tmp_path / "x.c").write_text(PROGRAM)
    flags: list[str] = []
    if runtime == "Intel":
        library = Path(sys.prefix, "lib/libiomp5.so")
        if not library.exists():
            pytest.skip("Intel's runtime is not here (PyPI: intel-openmp)")
        flags = [str(library), f"-Wl,-rpath,{library.parent}"]
    # GCC's own calls are understood by Intel's runtime, too
    words = ["cc", "-O1", "-g", "-fopenmp", "-c", "x.c"]
    subprocess.run(words, cwd=tmp_path, check=True)
    subprocess.run(["cc", "x.o", "-o", "app", *(flags or ["-fopenmp"])], cwd=tmp_path, check=True)
    done = nodewise(
        "profile", "--rate", "199", "--out", str(tmp_path / "kept"), "--json", "--", str(tmp_path / "app"), "8000000"
    )
    assert done.returncode == 0, done.stderr
    [share] = json.loads(done.stdout)["openmp"]
    assert share["runtime"] == runtime and len(share["threads"]) == 2
    work = sorted(t["work_s"] for t in share["threads"])
    # three to one by construction; on a busy machine a quarter of a second of samples is no more than that
    assert 1.5 < work[1] / work[0] < 6
    assert 0.1 < share["serial_s"] / share["seconds"] < 0.8
    assert "OpenMP" in (tmp_path / "kept/report.html").read_text()


SCRIPT = """
import sys
def half(n):
    x = 0
    for i in range(5 * n): x += i * i
    return x
def third(n):
    x = 0
    for i in range(3 * n): x += i * i
    return x
def fifth(n):
    x = 0
    for i in range(2 * n): x += i * i
    return x
for _ in range(40):
    half(20000); third(20000); fifth(20000)
print("said")
print("told", file=sys.stderr)
sys.exit(7)
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python names its functions to perf")
def test_an_older_python_is_recorded_by_py_spy_and_ends_as_it_does(nodewise: Command, tmp_path: Path) -> None:
    if find_py_spy(os.environ) is None:
        pytest.skip("py-spy is not here (PyPI: py-spy)")
    script = tmp_path / "work.py"
    script.write_text(f"#!/usr/bin/env -S {sys.executable}\n{SCRIPT}")
    script.chmod(0o755)
    files = ("--collapsed", str(tmp_path / "stacks"), "--speedscope", str(tmp_path / "scope.json"))
    done = nodewise("profile", "--rate", "199", "--out", str(tmp_path / "kept"), *files, "--", str(script))
    assert done.returncode == 7, done.stderr
    # what the program says comes as it is, what py-spy says does not
    assert done.stdout == "said\n" and "told\n" in done.stderr and "py-spy>" not in done.stderr
    told = json.loads(nodewise("profile", "--read", str(tmp_path / "kept"), "--json").stdout)
    assert told["exit_code"] == 7 and told["event"] == "py-spy" and told["samples"] > 40
    shares = {f["function"]: f["share"] for f in told["functions"]}
    # on a busy machine some hundred samples of work that is half, three tenths and a fifth
    assert shares["half"] > shares["fifth"] > 0.05 and shares["half"] + shares["third"] + shares["fifth"] > 0.7
    assert {x["file"] for x in told["lines"][:3]} == {str(script)} and all(x["line"] > 1 for x in told["lines"][:3])
    assert "half" in (tmp_path / "stacks").read_text()
    assert json.loads((tmp_path / "scope.json").read_text())["profiles"]
    assert not (tmp_path / "kept/py-spy.json.code").exists()


@pytest.mark.parametrize("launcher", ["mpirun.mpich", pytest.param("mpirun.openmpi", marks=pytest.mark.long)])
def test_chosen_ranks_of_a_real_mpi_are_recorded(nodewise: Command, tmp_path: Path, launcher: str) -> None:
    need_perf()
    if shutil.which(launcher) is None:
        pytest.skip(f"{launcher} is not here (Debian: mpich, openmpi-bin)")
    work = compiled(tmp_path)
    allowed = ("env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1") if "openmpi" in launcher else ()
    more = ("--oversubscribe",) if "openmpi" in launcher else ()
    words = (*allowed, launcher, *more, "-n", "3", str(work), "300000")
    if allowed:
        # a launcher is only known where it stands first
        for word in allowed[1:]:
            os.environ.setdefault(*word.split("="))
        words = words[3:]
    done = nodewise(
        "profile", "--only-ranks", "every:2", "--rate", "499", "--out", str(tmp_path / "kept"), "--json", "--", *words
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    node = tmp_path / "kept" / os.uname().nodename
    assert sorted(told["recordings"]) == [str(node / "perf.data.0"), str(node / "perf.data.2")]
    assert {t["rank"] for t in told["threads"]} == {0, 2}
    assert {"half", "third", "fifth"} <= {f["function"] for f in told["functions"]}
