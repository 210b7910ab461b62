# SPDX-License-Identifier: BSD-3-Clause
"""The example of ranks from Python: mpi4py above, threads in C below, as its users start it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples/hybrid"
#: A Python with mpi4py and NumPy is often the system's, while that of a virtual environment has none.
PYTHONS = (sys.executable, "/usr/bin/python3")
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMP_NUM_THREADS": "1",
}


def _python() -> str:
    for python in PYTHONS:
        asked = [python, "-c", "import numpy; from mpi4py import MPI; print(MPI.Get_library_version())"]
        if Path(python).exists() and shutil.which("mpirun.openmpi"):
            done = subprocess.run(asked, check=False, capture_output=True, text=True)
            if done.returncode == 0 and "Open MPI" in done.stdout:
                return python
    pytest.skip("no mpi4py over Open MPI: apt-get install python3-mpi4py python3-numpy openmpi-bin")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hybrid") / "hybrid"
    shutil.copytree(EXAMPLE, folder)
    # as its first lines say
    command = next(line for line in (folder / "products.c").read_text().splitlines() if ": cc " in line)
    subprocess.run(command.split(": ", 1)[1], shell=True, cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("numbers", ["unit", "signed"])
def test_ranks_of_mpi4py_divide_the_elements(example: Path, numbers: str) -> None:
    python = _python()
    words = ["run", "--json", "-r", "1", "-w", "0", "--launcher", "openmpi", "--ranks", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "nodewise", *words, "--", python, str(example / "hybrid.py"), "20001", "3", numbers],
        check=False,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        cwd=example,
    )
    assert done.returncode == 0, done.stderr
    # each rank has its part, of which the work is summed
    assert json.loads(done.stdout)["metrics"]["items"] == 3 * 20001


@pytest.mark.some(3)
@pytest.mark.parametrize("words", [["0"], ["x"], ["5", "0"], ["5", "1", "other"], ["5", "1", "unit", "more"]])
def test_what_it_cannot_do_is_one_line(words: list[str]) -> None:
    python = _python()
    done = subprocess.run([python, str(EXAMPLE / "hybrid.py"), *words], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n"), done.stderr[:6]) == (2, 1, "usage:")
