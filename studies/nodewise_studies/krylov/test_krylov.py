# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of a user's own, what is refused, and as many iterations as PETSc."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nodewise.studies.commands import native_contenders, worker_command
from nodewise.studies.discovery import find_study
from nodewise.studies.results import compute

KRYLOV = find_study("krylov")
CONTENDERS = native_contenders(KRYLOV, {})
VARIANTS = [c.name for c in CONTENDERS if c.kind == "variant" and c.not_run is None]
PEERS = [c.name for c in CONTENDERS if c.kind == "peer"]
#: Which of ours a peer does the same as.
SAME = {"petsc-gmres": "gmres", "petsc-gmres-modified": "gmres-modified", "petsc-gcr": "orthomin"}

GENERAL = """%%MatrixMarket matrix coordinate real general
% three unknowns, an entry in two parts

3 3 6
1 1 4
2 2 5.0
3 3 2
1 3 -1e0
3 1 0.5
3 1 0.5
"""


def solved(variant: str, threads: int = 1, **knobs: str) -> subprocess.CompletedProcess[str]:
    contender = next(c for c in native_contenders(KRYLOV, KRYLOV.study.point(knobs)) if c.name == variant)
    command = [*contender.command, "--threads", str(threads)]
    environment = {k: v for k, v in {**os.environ, **contender.env}.items() if v}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def metrics(variant: str, threads: int = 1, **knobs: str) -> dict[str, float]:
    done = solved(variant, threads, **knobs)
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "text",
    [
        GENERAL,
        GENERAL.replace("\n", "\r\n"),
        "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 2\n",
        "%%matrixmarket MATRIX Coordinate Integer Symmetric\n3 3 5\n1 1 4\n2 1 1\n2 2 4\n3 2 -1\n3 3 4\n",
    ],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_file_of_the_matrix_market_is_solved(tmp_path: Path, text: str, variant: str) -> None:
    (tmp_path / "A.mtx").write_text(text)
    assert metrics(variant, file=str(tmp_path / "A.mtx"), tolerance="1e-12")["residual"] < 2e-12


def test_entries_of_one_place_are_added_and_mirrored_ones_are_there(tmp_path: Path) -> None:
    (tmp_path / "A.mtx").write_text(GENERAL)
    point = KRYLOV.study.point({"file": str(tmp_path / "A.mtx")})
    subprocess.run([*worker_command(KRYLOV, "gmres", point), "--dump", str(tmp_path)], check=True, capture_output=True)
    arrays = {name: np.load(tmp_path / f"{name}.npy") for name in ("counts", "columns", "values")}
    assert np.array_equal(arrays["counts"], [2, 1, 2])
    assert np.array_equal(arrays["columns"], [0, 2, 1, 0, 2])
    assert np.array_equal(arrays["values"], [4.0, -1.0, 5.0, 1.0, 2.0])


def test_the_solution_is_handed_back(tmp_path: Path) -> None:
    (tmp_path / "A.mtx").write_text(GENERAL)
    point = KRYLOV.study.point({"file": str(tmp_path / "A.mtx"), "tolerance": "1e-13"})
    subprocess.run([*worker_command(KRYLOV, "gmres", point), "--dump", str(tmp_path)], check=True, capture_output=True)
    matrix = np.array([[4.0, 0, -1], [0, 5, 0], [1, 0, 2]])
    solution = compute(KRYLOV, point, threads=1).tables["x"]
    assert solution.columns == ("x",)
    np.testing.assert_allclose(matrix @ solution.values, np.load(tmp_path / "b.npy")[:, None], rtol=1e-11)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: no Matrix Market file"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n", "not 'matrix array'"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "not 'complex'"),
        ("%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n", "not 'hermitian'"),
        ("%%MatrixMarket matrix coordinate real general\n", "the line of sizes is missing"),
        ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n", "not 2 x 3"),
        ("%%MatrixMarket matrix coordinate real general\n9999999999 9999999999 1\n1 1 1\n", "a square matrix of 1 to"),
        ("%%MatrixMarket matrix coordinate real general\n2147483647 2147483647 1\n1 1 1\n", "fewer entries than rows"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "the file ends after 1 of 2 entries"),
        ("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n1 1 1\n", "line 4: more than the 1 entries"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n3 1 1\n", "line 3: row and column are from 1 to 2"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 0 1\n", "line 3: row and column are from 1 to 2"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n", "line 3: no finite value"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1 1\n", "line 3: more on the line"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1.5 1 1\n", "line 3: no number of row"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "A.mtx").write_text(text)
    done = solved("gmres", file=str(tmp_path / "A.mtx"))
    assert done.returncode == 1
    assert told in done.stderr
    assert "A.mtx" in done.stderr


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = solved("gmres", file=str(tmp_path / "none.mtx"))
    assert done.returncode == 1
    assert "none.mtx: No such file" in done.stderr


def test_a_row_without_a_pivot_is_named(tmp_path: Path) -> None:
    (tmp_path / "A.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n")
    for precondition in ("ilu0", "jacobi"):
        done = solved("gmres", file=str(tmp_path / "A.mtx"), precondition=precondition)
        assert done.returncode == 1
        assert "row 1 has nothing on its diagonal" in done.stderr
    assert metrics("gmres", file=str(tmp_path / "A.mtx"), precondition="none")["residual"] < 1e-8


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_system_without_a_solution_is_no_success(tmp_path: Path, variant: str) -> None:
    (tmp_path / "A.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 2 1\n")
    done = solved(variant, file=str(tmp_path / "A.mtx"), precondition="none", most="50")
    assert done.returncode == 1
    # rounding may let the iterations end, which the check sees
    assert "iterations" in done.stderr or "|b - A x| is" in done.stderr


@pytest.mark.parametrize("variant", VARIANTS)
def test_too_few_iterations_are_no_success(variant: str) -> None:
    done = solved(variant, n="12", most="3")
    assert done.returncode == 1
    assert "after 3 iterations the residual is" in done.stderr


def test_ilu_of_few_blocks_takes_fewer_iterations_than_the_diagonal() -> None:
    counts = [
        metrics("gmres", n="16", **knobs)["iterations"]
        for knobs in ({"blocks": "1"}, {"blocks": "8"}, {"precondition": "jacobi"}, {"precondition": "none"})
    ]
    assert counts[0] < counts[1] < counts[2] <= counts[3]


def test_threads_are_blocks_unless_their_number_is_given() -> None:
    assert metrics("gmres", 2, n="12")["iterations"] == metrics("gmres", 1, n="12", blocks="2")["iterations"]
    assert metrics("gmres", 2, n="12", blocks="1")["iterations"] == metrics("gmres", 1, n="12")["iterations"]


@pytest.mark.some(5)
@pytest.mark.parametrize(
    ("peer", "knobs"),
    [
        # the long tests have each of both together
        pytest.param(peer, knobs, marks=() if (i + j) % 2 == 0 else pytest.mark.long)
        for i, peer in enumerate(PEERS)
        for j, knobs in enumerate(
            [
                {},
                {"restart": "5"},
                {"flow": "0"},
                {"flow": "20"},
                {"blocks": "3"},
                {"precondition": "jacobi", "flow": "2"},
                {"precondition": "none", "tolerance": "1e-4"},
            ]
        )
    ],
)
def test_as_many_iterations_as_petsc(peer: str, knobs: dict[str, str]) -> None:
    reason = next(c.not_run for c in CONTENDERS if c.name == peer)
    if reason is not None:
        pytest.skip(reason)
    theirs = metrics(peer, n="20", **knobs)
    ours = metrics(SAME[peer], n="20", **knobs)
    assert abs(ours["iterations"] - theirs["iterations"]) <= 2
    assert theirs["residual"] <= 2 * float(knobs.get("tolerance", "1e-8"))
