# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a real Slurm: four nodes on this machine, ranks of MPICH and Open MPI, what goes wrong there."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.processors import format_processors
from nodewise.jobs.script import Kept, write_script
from nodewise.machine.sources import load_machine
from nodewise.runner.job import JobLauncher
from nodewise.runner.launch import launch_of
from nodewise.runner.launcher import RunOptions
from nodewise.runner.mpi import start_words
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.search.space import Point
from nodewise.tuning.options import Options
from nodewise.tuning.ranks import read_ranked, with_ranks
from tests.runner import mpis
from tests.slurm_cluster import SlurmCluster, slurm_cluster


class Allocation:
    """Two nodes of a cluster, and a folder that all of them see."""

    def __init__(self, cluster: SlurmCluster, number: str, nodes: int, folder: Path):
        self.cluster, self.folder = cluster, folder
        self.environment = {
            **cluster.environment,
            "SLURM_JOB_ID": number,
            "SLURM_JOBID": number,
            "SLURM_JOB_NUM_NODES": str(nodes),
        }

    def run(self, setting: Setting, timeout_s: float | None = 30) -> Sample:
        """A run in its folder."""
        with JobLauncher(RunOptions(cwd=self.folder), self.environment) as launcher:
            return launcher.run(setting, timeout_s=timeout_s)

    def left(self, program: Path) -> list[int]:
        """Processes of a program that are there still, once Slurm had a moment to end them."""
        end = time.monotonic() + 15
        while (found := self.cluster.processes(str(program))) and time.monotonic() < end:
            time.sleep(0.05)
        return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    with slurm_cluster() as started:
        yield started


@pytest.fixture
def allocation(cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Allocation]:
    with allocated(cluster, 2, tmp_path, monkeypatch) as made:
        yield made


@contextmanager
def allocated(cluster: SlurmCluster, nodes: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Allocation]:
    """A job of so many nodes without a shell, given back at the end."""
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", str(nodes))
    asked = cluster.ask("salloc", "--no-shell", "--exclusive", f"-N{nodes}")
    found = re.search(r"Granted job allocation (\d+)", asked.stderr)
    assert found is not None, asked.stderr
    try:
        yield Allocation(cluster, found[1], nodes, folder)
    finally:
        cluster.ask("scancel", found[1])


def srun(mpi: mpis.Mpi, ranks: int, *words: str, kind: str = "pmi2") -> Setting:
    command = ("srun", "-n", str(ranks), *([f"--mpi={kind}"] if kind else []), str(mpi.program), *words)
    return with_ranks(Setting(command), {"PATH": os.environ["PATH"]})


def test_steps_of_slurm_report_their_ranks_over_nodes(allocation: Allocation, tmp_path: Path) -> None:
    mpi = mpis.find("mpich", tmp_path)
    command = ("srun", "-n", "2", "--ntasks-per-node=1", "--mpi=pmi2", str(mpi.program))
    sample = allocation.run(with_ranks(Setting(command), allocation.environment))
    assert sample.error is None
    assert [(r.rank, r.seconds) for r in sample.ranks] == [(0, 1.0), (1, 1.1)]
    assert (sample.metrics["size"], sample.metrics["flops"]) == (2, 200)
    assert allocation.left(mpi.program) == [] and not list(tmp_path.glob("nodewise-ranks-*"))


def test_one_layer_binds_the_ranks_of_a_step_and_it_is_read_back(allocation: Allocation, tmp_path: Path) -> None:
    machine = load_machine()
    if len(machine.allowed_cores) < 2:
        pytest.skip("one core: two ranks cannot be distinguished by where they are bound")
    mpi = mpis.find("mpich", tmp_path)
    command = ("srun", "-N", "1", "-n", "2", "--mpi=pmi2", str(mpi.program))
    environment = allocation.environment
    options = Options(machine, command, ["ranks", "threads", "placement"], environment, folder=tmp_path / "launch")
    for policy in ("compact", "scatter"):
        setting = options.setting(Point({"ranks": 2, "threads": 1, "placement": policy}))
        sample = allocation.run(setting)
        assert sample.error is None and setting.places is not None
        assert [r.allowed for r in sample.ranks] == [setting.places[0], setting.places[1]]
        assert sample.ranks[0].allowed != sample.ranks[1].allowed


#: Says for its rank where it is: node, number on it, processors.
WHERE = """#!/bin/sh
echo "$SLURM_PROCID $(uname -n) $SLURM_LOCALID $(taskset -cp $$ | sed 's/.*: //')"
"""


def whereabouts(folder: Path) -> Path:
    """A program of no MPI, with a name that a shell would take apart."""
    program = folder / "where is it"
    program.write_text(WHERE)
    program.chmod(0o755)
    return program


def hosts(sample: Sample) -> dict[str, int]:
    """How many ranks each node had."""
    assert sample.error is None, (sample.error, sample.output)
    return dict(Counter(rank.host for rank in sample.ranks))


def test_ranks_per_node_are_held_on_a_job_of_more_nodes(allocation: Allocation, tmp_path: Path) -> None:
    program = str(whereabouts(tmp_path))
    environment = allocation.environment
    for ranks, each, shape in ((1, 1, [1]), (2, 1, [1, 1]), (2, 2, [2])):
        if each > len(os.sched_getaffinity(0)):
            continue
        words = (*start_words("srun", ranks, each, environment), program)
        assert sorted(hosts(allocation.run(with_ranks(Setting(words), environment))).values()) == shape, words
    # what scaling over nodes starts: as typed, srun deals the ranks of one node out over both
    ranked = read_ranked(("srun", "-n", "4", "--ntasks-per-node=2", program))
    assert ranked is not None
    typed = hosts(allocation.run(with_ranks(Setting(tuple(ranked.command(2))), environment)))
    fitted = hosts(allocation.run(with_ranks(Setting(tuple(ranked.command(2, each=2))), environment)))
    assert sorted(typed.values()) == [1, 1] and list(fitted.values()) == [2]


def test_other_numbers_of_ranks_are_on_as_many_nodes_and_bound_on_each(allocation: Allocation, tmp_path: Path) -> None:
    machine = load_machine()
    if len(machine.allowed_cores) < 2:
        pytest.skip("one core: two ranks cannot be distinguished by where they are bound")
    command = ("srun", "-n", "4", "--nodes", "2", "--ntasks-per-node", "2", str(whereabouts(tmp_path)))
    environment = allocation.environment
    options = Options(machine, command, ["ranks", "threads", "placement"], environment, folder=tmp_path / "my launch")
    assert {2, 4} <= set(options.space.axes[0].values)
    for ranks in (2, 4):
        setting = options.setting(Point({"ranks": ranks, "threads": 1, "placement": "compact"}))
        assert setting.ranks_per_node == ranks // 2 and setting.places is not None
        sample = allocation.run(setting)
        nodes = sorted(hosts(sample))
        assert hosts(sample) == dict.fromkeys(nodes, ranks // 2) and len(nodes) == 2
        # rank after rank, and each node alike
        by_node = [[rank.allowed for rank in sample.ranks if rank.host == host] for host in nodes]
        assert by_node == [list(setting.places)] * 2
        # the line that is printed starts the same
        line = launch_of(setting).line()
        pasted = allocation.cluster.ask("sh", "-c", line, env=environment, cwd=tmp_path)
        assert pasted.returncode == 0, pasted.stderr
        found = [line.split() for line in sorted(pasted.stdout.splitlines())]
        meant = [[str(r.rank), r.host, str(r.rank % (ranks // 2)), format_processors(r.allowed)] for r in sample.ranks]
        assert found == meant, line
    # never more than a node of the job has
    small = {**environment, "SLURM_JOB_CPUS_PER_NODE": "1(x2)"}
    held = Options(machine, command, ["ranks", "threads"], small, folder=tmp_path)
    assert not held.space.allowed(Point({"ranks": 2, "threads": 2})) and held.space.allowed(
        Point({"ranks": 2, "threads": 1})
    )


@pytest.mark.parametrize("bound", [False, True])
def test_a_script_of_ranks_over_nodes_starts_them_so(cluster: SlurmCluster, tmp_path: Path, bound: bool) -> None:
    machine = load_machine()
    if len(machine.allowed_cores) < 2:
        pytest.skip("one core: two ranks cannot be distinguished by where they are bound")
    command = ("srun", "-n", "4", "--nodes", "2", "--ntasks-per-node", "2", str(whereabouts(tmp_path)))
    options = Options(machine, command, ["threads", "placement"], cluster.environment, folder=tmp_path / "launch")
    setting = options.setting(Point({"threads": 1, "placement": "compact"} if bound else {"threads": 1}))
    script = tmp_path / "job.sbatch"
    write_script("slurm", Kept(setting, machine, str(tmp_path)), script)
    done = cluster.ask("sbatch", "--wait", f"--output={tmp_path}/log", str(script), cwd=tmp_path)
    printed = (tmp_path / "log").read_text()
    assert done.returncode == 0, (done.stderr, printed)
    places = [line.split()[:3] for line in sorted(printed.splitlines())]
    first, second = places[0][1], places[3][1]
    meant = [["0", first, "0"], ["1", first, "1"], ["2", second, "0"], ["3", second, "1"]]
    assert first != second and places == meant, script.read_text()
    if bound:
        assert setting.places is not None
        own = [format_processors(place) for place in setting.places]
        assert [line.split()[3] for line in sorted(printed.splitlines())] == own * 2


def test_a_wrong_mpi_is_named_before_the_first_run(allocation: Allocation, tmp_path: Path) -> None:
    mpi = mpis.find("mpich", tmp_path)
    with pytest.raises(InputError, match="2 programs of one rank each, not 2 ranks") as wrong:
        allocation.run(srun(mpi, 2, kind="none"))
    assert wrong.value.hint is not None and "--mpi=pmi2 in the place of its --mpi; this srun has " in wrong.value.hint
    assert "none" in wrong.value.hint.partition("has ")[2].split(", ")
    with pytest.raises(InputError, match="--mpi=unheard says") as unheard:
        allocation.run(srun(mpi, 2, kind="unheard"))
    assert (
        unheard.value.hint is not None and "--mpi=pmi2 in the place of its --mpi; this srun has " in unheard.value.hint
    )
    # of what is typed and what a variable says the former counts
    with pytest.raises(InputError, match="2 programs of one rank each") as by_variable:
        allocation.run(replace(srun(mpi, 2, kind=""), env={"SLURM_MPI_TYPE": "none"}))
    assert by_variable.value.hint is not None and "--env SLURM_MPI_TYPE=pmi2; this" in by_variable.value.hint


def test_a_rank_that_dies_or_hangs_is_named_and_nothing_is_left(allocation: Allocation, tmp_path: Path) -> None:
    mpi = mpis.find("mpich", tmp_path)
    died = allocation.run(srun(mpi, 2, "die"))
    assert died.error is not None and re.search(r"rank 1 on n\d ended with 3: rank 1 is out of luck", died.error)
    assert allocation.left(mpi.program) == []
    hung = allocation.run(srun(mpi, 2, "hang"), timeout_s=1)
    assert hung.cut_off and hung.error is not None and re.search(r"rank 1 on n\d", hung.error)
    assert "had not ended" in hung.error and allocation.left(mpi.program) == []


@pytest.mark.long
def test_open_mpi_runs_by_pmix_and_not_by_pmi2(allocation: Allocation, tmp_path: Path) -> None:
    mpi = mpis.find("openmpi", tmp_path)
    if "pmix" not in allocation.cluster.ask("srun", "--mpi=list").stdout:
        pytest.skip("this Slurm has no pmix")
    sample = allocation.run(srun(mpi, 2, kind="pmix"))
    assert sample.error is None and sample.metrics["size"] == 2


@pytest.mark.long
def test_a_node_that_goes_fails_a_run_and_leaves_nothing(
    cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its daemon and all that it started end at once, as with its power."""
    mpi = mpis.find("mpich", tmp_path)

    def on(node: str) -> list[int]:
        found = []
        for pid in cluster.processes(str(mpi.program)):
            with suppress(OSError):
                if f"SLURMD_NODENAME={node}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    found.append(pid)
        return found

    def gone(node: str) -> None:
        # the rank and what measures it
        while len(tasks := on(node)) < 2:
            time.sleep(0.05)
        steps = {int(Path(f"/proc/{p}/stat").read_text().rpartition(")")[2].split()[1]) for p in tasks}
        for pid in (*cluster.processes(f"slurmd -D -N {node}"), *steps, *tasks):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    with allocated(cluster, 2, tmp_path, monkeypatch) as allocation:
        command = ("srun", "-n", "2", "--ntasks-per-node=1", "--mpi=pmi2", str(mpi.program), "hang")
        setting = with_ranks(Setting(command), allocation.environment)
        well = allocation.run(with_ranks(Setting(command[:-1]), allocation.environment))
        assert well.error is None
        killer = threading.Thread(target=gone, args=("n2",))
        killer.start()
        began = time.monotonic()
        # where Slurm ends the job for it, so does the experiment
        with suppress(ProgramError):
            assert allocation.run(setting, timeout_s=40).error is not None
        killer.join()
        assert time.monotonic() - began < 90
        assert allocation.left(mpi.program) == []
    cluster.start_node("n2")
    cluster.wait_idle()
