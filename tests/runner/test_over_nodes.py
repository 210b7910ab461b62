# SPDX-License-Identifier: BSD-3-Clause
"""What launchers' options say of nodes."""

import socket
from pathlib import Path

import pytest

from nodewise.runner.over_nodes import names_others, processors_of_job, ranks_on_node, read_per_node, refitted


@pytest.mark.parametrize(
    ("line", "each"),
    [
        ("srun -n 4 -N 2", 0),
        ("srun -N 4 -n 64 --ntasks-per-node 16", 16),
        ("srun --ntasks-per-node=16 -N4 -n 64", 16),
        ("srun --ntasks-per-node=16 --ntasks-per-node=8 -n 64", 8),
        ("mpirun -n 64 -N 16", 16),
        ("mpirun -n 64 --map-by ppr:16:node:pe=2", 16),
        ("mpirun -n 64 --map-by ppr:2:socket", 0),
        ("mpirun -pernode -n 2", 1),
        ("mpirun --npernode 3 -n 6", 3),
        ("mpiexec.hydra -n 8 -ppn 4", 4),
        ("mpiexec -n 8 -perhost 4", 4),
        ("aprun -n 32 -N 2 -d 8", 2),
        ("aprun -n 32 -N2", 2),
        ("mpirun -n 2", 0),
    ],
)
def test_ranks_per_node_are_read(line: str, each: int) -> None:
    assert read_per_node(line.split()) == each


@pytest.mark.parametrize(
    ("line", "ranks", "environment", "most"),
    [
        ("mpirun -n 4", 4, {}, 4),
        ("srun -N 4 -n 64", 64, {"SLURM_JOB_NUM_NODES": "8"}, 16),
        ("srun --nodes=2-4 -n 7", 7, {}, 4),
        ("srun -n 64", 64, {"SLURM_JOB_NUM_NODES": "8"}, 8),
        ("mpirun -n 64", 64, {"SLURM_NNODES": "4"}, 16),
        ("mpirun --host a,b -n 8", 8, {}, 4),
        ("mpirun --host a:4,b:4 -n 4", 4, {}, 4),
        ("mpirun --host a:4,b:2 -n 6", 6, {}, 4),
        ("mpirun -hosts a,b,c -n 9", 9, {}, 3),
        ("mpirun --hostfile hosts -n 8", 8, {}, 4),
        ("mpirun --hostfile missing -n 8", 8, {}, 8),
        ("srun -w n[1-4] -n 8", 8, {}, 2),
        ("srun -w n[1-2],n7 -n 6", 6, {}, 2),
        ("srun -N 1 -w n3 -n 8", 8, {"SLURM_JOB_NUM_NODES": "4"}, 8),
        # as srun 22.05 does in a job
        ("srun -n 2 --ntasks-per-node 2", 2, {"SLURM_JOB_NUM_NODES": "2"}, 1),
        ("srun -n 4 --ntasks-per-node 4", 4, {"SLURM_JOB_NUM_NODES": "2"}, 2),
        ("srun -n 2 -w n1", 2, {"SLURM_JOB_NUM_NODES": "2"}, 1),
        ("srun -n 4 --ntasks-per-node 2", 4, {}, 2),
    ],
)
def test_how_many_ranks_the_fullest_node_gets(
    tmp_path: Path, line: str, ranks: int, environment: dict[str, str], most: int
) -> None:
    (tmp_path / "hosts").write_text("a slots=4\n# b\nb slots=4\n")
    assert ranks_on_node(line.split(), ranks, environment, tmp_path) == most


@pytest.mark.parametrize(
    ("line", "ranks", "each", "fitted"),
    [
        ("srun -n 2 --ntasks-per-node 4", 2, 2, "srun -n 2 --ntasks-per-node 2 --nodes=1"),
        ("srun -N 4 -n 6 --ntasks-per-node=8", 6, 2, "srun -N 3 -n 6 --ntasks-per-node=2"),
        ("srun -N4 --mpi pmix -n 6", 6, 3, "srun -N2 --mpi pmix -n 6"),
        ("srun --nodes=4 -n 4 -w a,b", 4, 4, "srun --nodes=1 -n 4 -w a,b"),
        ("mpirun -n 6 --map-by ppr:2:node:pe=2", 6, 3, "mpirun -n 6 --map-by ppr:3:node:pe=2"),
        ("mpirun --map-by=ppr:2:node -n 6", 6, 3, "mpirun --map-by=ppr:3:node -n 6"),
        ("mpirun -pernode -n 4", 4, 2, "mpirun -npernode 2 -n 4"),
        ("aprun -n 8 -N 4 -d 2", 8, 2, "aprun -n 8 -N 2 -d 2"),
        ("mpiexec.hydra -n 8 -ppn 4", 8, 2, "mpiexec.hydra -n 8 -ppn 2"),
        ("mpirun -n 8", 8, 2, "mpirun -n 8"),
    ],
)
def test_a_line_is_written_for_another_number_on_each_node(line: str, ranks: int, each: int, fitted: str) -> None:
    assert " ".join(refitted(line.split(), ranks, each)) == fitted


def test_the_fewest_processors_that_a_job_has_on_a_node() -> None:
    for text, number in (("2(x2)", 2), ("8,4(x3),16", 4), ("16", 16), ("", None), ("x", None)):
        assert processors_of_job({"SLURM_JOB_CPUS_PER_NODE": text}) == number
    assert processors_of_job({}) is None


def test_other_hosts_are_seen(tmp_path: Path) -> None:
    (tmp_path / "here").write_text(f"localhost slots=4\n{socket.gethostname()}\n")
    (tmp_path / "there").write_text("localhost\nelsewhere slots=4\n")
    for line, others in (
        ("mpirun -n 2", False),
        ("mpirun --host localhost:2 -n 2", False),
        ("mpirun -H localhost,other -n 2", True),
        ("mpirun --host other:2 -n 2", True),
        ("mpirun --hostfile here -n 2", False),
        ("mpirun --hostfile there -n 2", True),
        ("mpiexec -f missing -n 2", True),
        ("srun -w n[1-2] -n 2", True),
        ("srun -H -n 2", False),
    ):
        assert names_others(line.split(), tmp_path) is others, line
