# SPDX-License-Identifier: BSD-3-Clause
"""Studies over ranks: what the worker offers them, by the MPIs that are here, and a study's rows."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import nodewise
from nodewise.base.errors import InputError
from nodewise.base.native import native_path
from nodewise.experiments.study_ranks import StudyRanks, able_to_join, asked_ranks
from nodewise.runner.mpi import library_for
from nodewise.studies.commands import Contender, work_of
from nodewise.studies.discovery import Found, find_study
from tests.runner import mpis
from tests.studies.test_worker import STUDY, TABLE


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("studies") / "mine"
    folder.mkdir()
    knobs = 'Knob("n", "how many", "100", tries=("10",)),'
    more = 'Knob("unlucky", "which rank fails", "", least=0), Knob("wrong", "which rank is wrong", "", least=0),'
    joined = 'joined=lambda parts, point: parts[0], default_variant="together",'
    text = STUDY.replace(knobs, knobs + more).replace('default_variant="twice",', joined)
    (folder / "study.py").write_text(text.replace('plain_variant="twice"', 'plain_variant="together"'))
    (folder / "table.cpp").write_text(TABLE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODEWISE_CACHE", str(folder.parent / "cache"))
        return find_study(str(folder))


@pytest.fixture(params=list(mpis.KINDS))
def mpi(request: pytest.FixtureRequest, tmp_path: Path) -> mpis.Mpi:
    return mpis.find(request.param, tmp_path)


def together(
    found: Found, mpi: mpis.Mpi, ranks: int, *words: str, said: int | None = None
) -> subprocess.CompletedProcess[str]:
    """The worker as so many ranks, who are told that they are `said`."""
    worker = [str(native_path("nodewise-worker")), str(found.binary), "--variant", "together"]
    joined = ["--mpi", str(mpi.library), "--ranks", str(ranks if said is None else said), "--threads", "1"]
    command = [mpi.launcher, "-n", str(ranks), *worker, *joined, *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **mpi.environment}, timeout=120
    )


def answers(done: subprocess.CompletedProcess[str]) -> list[Mapping[str, float]]:
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"nodewise"')]
    return sorted(lines, key=lambda line: line["rank"])


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_sum_tell_and_exchange(mine: Found, mpi: mpis.Mpi, ranks: int) -> None:
    seen = answers(together(mine, mpi, ranks))
    assert [line["rank"] for line in seen] == list(range(ranks))
    total = sum(range(1, ranks + 1))
    for rank, line in enumerate(seen):
        assert (line["ranks"], line["sum"], line["sum_of_tens"]) == (ranks, total, 10 * total)
        assert (line["largest"], line["said"]) == (3 * (ranks - 1), 77)
        before = (99 + rank, 199 + rank) if rank else (-1, -1)
        assert (line["first_in"], line["last_in"]) == before


def test_arrays_of_each_rank_have_a_folder(mine: Found, mpi: mpis.Mpi, tmp_path: Path) -> None:
    into = tmp_path / "dumped"
    into.mkdir()
    assert together(mine, mpi, 2, "--dump", str(into)).returncode == 0
    assert sorted(str(p.relative_to(into)) for p in into.rglob("y.npy")) == ["0/y.npy", "1/y.npy"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_whose_result_is_wrong_ends_all_of_them(mine: Found, mpi: mpis.Mpi, rank: int) -> None:
    done = together(mine, mpi, 2, f"wrong={rank}")
    assert done.returncode != 0
    assert "wrong result of together: y[0] is wrong" in done.stderr
    assert "seconds" not in done.stdout


@pytest.mark.some(2)
def test_a_rank_that_fails_ends_all_of_them(mine: Found, mpi: mpis.Mpi) -> None:
    done = together(mine, mpi, 2, "unlucky=1")
    assert done.returncode != 0
    assert "run: rank 1 is out of luck" in done.stderr


@pytest.mark.some(2)
def test_ranks_that_are_no_job_say_so(mine: Found, mpi: mpis.Mpi) -> None:
    done = together(mine, mpi, 1, said=2)
    assert done.returncode != 0
    assert "this is rank 0 of 1" in done.stderr and "there should be 2" in done.stderr


def test_what_is_no_mpi_is_refused(mine: Found) -> None:
    for library, why in (("libm.so.6", "libm.so.6 is no MPI library"), ("libnone.so.7", "cannot load the MPI library")):
        worker = [str(native_path("nodewise-worker")), str(mine.binary), "--variant", "together", "--mpi", library]
        done = subprocess.run(worker, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and why in done.stderr


def test_alone_the_same_calls_do_nothing(mine: Found) -> None:
    worker = [str(native_path("nodewise-worker")), str(mine.binary), "--variant", "together"]
    line = json.loads(subprocess.run(worker, capture_output=True, text=True, check=True).stdout)
    assert (line["rank"], line["ranks"], line["sum"], line["said"], line["first_in"]) == (0, 1, 1, 77, -1)


def test_the_work_of_all_ranks_is_counted(mine: Found) -> None:
    assert work_of(mine, {"n": "50"}, 1, 3)["items"] == 150


@pytest.mark.some(2)
def test_a_study_runs_as_ranks(mine: Found, mpi: mpis.Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in mpi.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{Path(mpi.launcher).parent}:{os.environ['PATH']}")
    if mpi.kind == "intelmpi":
        monkeypatch.setenv("LD_LIBRARY_PATH", f"{mpi.library.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    verdict = nodewise.study(
        mine.folder,
        launcher=mpi.kind,
        ranks=2,
        threads=1,
        only=["together", "libc"],
        blocks=1,
        accept_disturbed=True,
    )
    row = verdict.row("together")
    assert row is not None and row.verified, row
    assert verdict.ranks == 2 and verdict.where.endswith("2 ranks of 1 thread")
    # the slowest's own figures, the work of both
    assert row.metrics["ranks"] == 2 and row.flops == 200 and row.metrics["sum"] == 3


def test_a_study_that_cannot_is_refused_with_those_that_can() -> None:
    with pytest.raises(InputError, match="study is does not run over ranks") as problem:
        nodewise.study("is", launcher="mpich", ranks=2)
    assert problem.value.hint


def test_launcher_and_ranks_belong_together(mine: Found) -> None:
    for launcher, ranks in (("mpich", None), (None, 2)):
        with pytest.raises(InputError, match="--launcher and --ranks say together"):
            asked_ranks(mine, launcher, ranks, None)


def test_a_peer_of_another_mpi_is_left_out_with_the_launcher_to_use(tmp_path: Path) -> None:
    library = tmp_path / "libpeer.so"
    source = tmp_path / "peer.c"
    source.write_text("int MPI_Init(int*, char***); int peer(void) { return MPI_Init(0, 0); }\n")
    stub = tmp_path / "libmpi.so.40"
    (tmp_path / "stub.c").write_text("int MPI_Init(int* a, char*** b) { return a != 0 && b != 0; }\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", str(tmp_path / "stub.c"), "-o", str(stub)], check=True
    )
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), str(stub), "-o", str(library)], check=True)
    peer = Contender("peer", "peer", ("worker", "--variant", "peer", "--library", str(library)), library="peer")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    told = able_to_join(peer, StudyRanks("mpich", 2), environment)
    assert told.not_run == "its library is of Open MPI, the ranks of MPICH: --launcher openmpi"
    assert able_to_join(peer, StudyRanks("openmpi", 2), environment).not_run is None
    script = Contender("numpy", "peer", ("python", "peer.py"))
    assert able_to_join(script, StudyRanks("openmpi", 2), environment).not_run is not None


def test_the_library_is_the_launchers() -> None:
    assert library_for("openmpi", {}) == "libmpi.so.40"
    assert library_for("mpich", {}) == "libmpich.so.12"
    assert library_for("srun", {"SLURM_MPI_TYPE": "pmix_v4"}) == "libmpi.so.40"
    assert library_for("srun", {"SLURM_MPI_TYPE": "pmi2"}) == "libmpich.so.12"
