# SPDX-License-Identifier: BSD-3-Clause
"""Lines that launchers and tools run as they stand, each answered as the real one was seen to do it."""

import pytest

from nodewise.api.place import place
from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes.mpirun5 import machine_of

MACHINE = "pack:2 numa:1 core:4 pu:2"


def read(name, text, ranks=0, nodes=1, machine=MACHINE):
    return resolve(machine_of(machine), Job(1, ranks, nodes), Request(**{name: text}))


# node of each task, as srun 22.05.8 on four nodes
@pytest.mark.parametrize(
    ("text", "nodes", "ignored"),
    [
        ("srun -N 4 --ntasks-per-node=2 -n 4 ./a", [0, 1, 2, 3], True),
        ("-N 2 --ntasks-per-node=2 -n 2", [0, 1], True),
        ("-N 4 --ntasks-per-node=8 -n 16", [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4, True),
        ("-N 2 --ntasks-per-node=1 -n 4", [0, 0, 1, 1], True),
        ("-N 2 --ntasks-per-node=2 -n 3", [0, 0, 1], True),
        ("-w n1,n2 --ntasks-per-node=2 -n 2", [0, 1], True),
        ("-N 2 --ntasks-per-node=2 -n 4", [0, 0, 1, 1], False),
        ("-N 2 --ntasks-per-node=2", [0, 0, 1, 1], False),
        ("--ntasks-per-node=2 -n 3", [0, 0, 1], False),
    ],
)
def test_srun_goes_by_ntasks_and_nodes_before_ntasks_per_node(text, nodes, ignored):
    found = read("slurm", text)
    assert [node for node, _ in found.placement.seats()] == nodes
    assert any("srun ignores --ntasks-per-node" in note for note in found.notes) == ignored


def test_srun_takes_the_nodes_of_its_allocation_for_ntasks():
    # in an allocation of two
    assert read("slurm", "-n 2 --ntasks-per-node=2", nodes=2).placement.per_node == 1
    assert read("slurm", "-n 1", nodes=2).placement.nodes == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("openmpi4", "mpirun -np 4 ./a"),
        ("openmpi5", "mpirun -np 4 ./a"),
        ("slurm", "srun -n 4 ./a"),
        ("mpich", "mpiexec -n 4 ./a"),
        ("openmpi4", "mpirun --npernode 2 -np 4 ./a"),
    ],
)
def test_a_line_that_says_its_ranks_takes_a_number_of_nodes_besides(name, line):
    found = place(nodes=2, threads=1, machine=f"synthetic:{MACHINE}", **{name: line})
    assert (found.nodes, len(found.ranks)) == (2, 2)


def test_hydra_starts_all_ranks_here_where_no_other_host_is_named():
    found = read("mpich", "-ppn 2", ranks=7)
    assert (found.placement.nodes, found.placement.per_node) == (1, 7)
    assert any("all 7 ranks on this node" in note for note in found.notes)
    assert read("mpich", "mpiexec -ppn 2 -n 7 ./a").placement.per_node == 7
    assert read("mpich", "-ppn 2", ranks=7, nodes=4).placement.nodes == 4
    assert read("mpich", "-ppn 2 -hosts a,b", ranks=4).placement.nodes == 2
    assert read("mpich", "-ppn 2").placement.per_node == 2


# numactl 2.0.16 under taskset
@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("-a -C +9", (9,)),
        ("-aC 9", (9,)),
        ("--all --physcpubind=0,9 ./a", (0, 9)),
        ("-a -N 1", tuple(range(8, 16))),
        ("-C +0,+2-2", (1, 3)),
        ("-C 1,+3", (1, 3)),
        ("-a", (1, 2, 3)),
        ("-a -l", (1, 2, 3)),
    ],
)
def test_numactl_counts_within_all_processors_with_all(text, mask):
    machine = load_machine(f"synthetic:{MACHINE}", allow="1-3")
    found = resolve(machine, Job(1), Request(numactl=text))
    assert found.placement.mask == mask
    assert any("goes beyond" in note for note in found.notes) == (not set(mask) <= {1, 2, 3})


def test_numactl_refuses_all_behind_a_set():
    with pytest.raises(InputError, match="refuses --all behind"):
        read("numactl", "-C 0 -a")
    with pytest.raises(InputError, match="number 9"):
        resolve(load_machine(f"synthetic:{MACHINE}", allow="1-3"), Job(1), Request(numactl="-C 9"))


# hwloc-calc 2.9.0, which says of each what it ignored
@pytest.mark.parametrize(
    ("machine", "text", "mask", "lacking"),
    [
        (MACHINE, "socket:1.node:1-3 core:0-", tuple(range(16)), "node:1-3 is not there"),
        (MACHINE, "die:0 pu:1", (1,), "die:0 is"),
        (MACHINE, "die:0.core:1 pu:3", (3,), "die:0 is"),
        (MACHINE, "core:7-9", (14, 15), "core 8 and core 9 are"),
        ("numa:2 core:2 pu:1", "node:1 socket:even", (2, 3), "socket:even is"),
        ("numa:1 core:4 pu:1", "numanode:1 0x5", (0, 2), "numanode:1 is"),
        (MACHINE, "socket:0.core:0 ~die:all", (0, 1), "die:all is"),
    ],
)
def test_hwlocs_locations_that_are_not_there_are_passed_over(machine, text, mask, lacking):
    found = read("hwloc", text, machine=machine)
    assert found.placement.mask == mask
    assert any(lacking in note for note in found.notes)


def test_hwlocs_locations_are_refused_where_none_is_there_or_known():
    for text in ("core:99", "die:even", "core:99 die:0"):
        with pytest.raises(InputError, match="not there, and nothing else is named"):
            read("hwloc", text)
    with pytest.raises(InputError, match="expected a kind of object"):
        read("hwloc", "processor:1 pu:0")
    assert read("hwloc", "l2ucache:0 l1dcache:1", machine="l2:2 l1:2 core:1 pu:1").placement.mask == (0, 1)


# mpirun of Open MPI 5.0.11; None where it refuses
@pytest.mark.parametrize(
    ("text", "ranks", "zones"),
    [
        ("pe-list=0,2", 2, [(0, 1, 4, 5)] * 2),
        ("pe-list=2,0", 1, [(0, 1, 4, 5)]),
        ("pe-list=2,0:ordered", 2, [(4, 5), (0, 1)]),
        ("PE-LIST=5,0,2:ORDERED", 2, [(10, 11), (0, 1)]),
        ("pe-list=1-2,3", 2, [(2, 3, 4, 5, 6, 7)] * 2),
        ("pe-list=0,9", 2, [(0, 1)] * 2),
        ("pe-list=0,2:oversubscribe", 3, [(0, 1, 4, 5)] * 3),
        # twice as many ranks as entries are bound, a range is one
        ("pe-list=1,2:oversubscribe", 6, [(2, 3, 4, 5)] * 4 + [tuple(range(16))] * 2),
        ("pe-list=1-2:oversubscribe", 3, [(2, 3, 4, 5)] * 2 + [tuple(range(16))]),
        ("pe-list=1 --oversubscribe", 3, [(2, 3)] * 2 + [tuple(range(16))]),
        ("pe-list=1:oversubscribe --bind-to hwthread", 6, None),
        ("pe-list=1-3:oversubscribe --bind-to core:overload-allowed", 2, None),
        ("pe-list=3-5:ordered", 1, [(6, 7)]),
        ("pe-list=0,4:hwtcpus", 2, [(0, 4)] * 2),
        ("pe-list=0,4 --use-hwthread-cpus", 2, [(0, 4)] * 2),
        ("pe-list=0,2 --bind-to hwthread", 2, [(0, 1, 4, 5)] * 2),
        ("pe-list=0,2:ordered --bind-to hwthread", 2, [(0,), (2,)]),
        ("pe-list=0,2", 4, None),
        ("pe-list=0-3", 2, None),
        ("pe-list=0,4", 2, None),
        ("pe-list=0,9:ordered", 2, None),
        ("pe-list=0,2 --bind-to package", 2, None),
        ("pe-list=0,2 --rank-by fill", 2, None),
        ("pe-list=0,2 --bind-to none", 2, None),
        ("pe-list=x,1", 2, None),
        ("numa:NOLOCAL", 2, None),
        ("slot:nolocal", 2, None),
    ],
)
def test_open_mpi_5_maps_by_a_list_and_to_no_local_node(text, ranks, zones):
    if zones is None:
        with pytest.raises(InputError):
            read("openmpi5", f"--map-by {text}", ranks)
    else:
        assert list(read("openmpi5", f"--map-by {text}", ranks).placement.zones) == zones


def test_why_nolocal_is_refused_on_one_node_is_said():
    with pytest.raises(InputError, match="NOLOCAL on one node"):
        read("openmpi5", "--map-by numa:NOLOCAL", 2)
    assert read("openmpi5", "--map-by numa:NOLOCAL", 4, 2).placement.nodes == 2
    with pytest.raises(InputError, match="several sockets"):
        read("openmpi5", "--map-by pe-list=0,4", 2)


def test_a_list_needs_sockets():
    for text in ("pe-list=1,13:ordered:hwtcpus", "pe-list=1,2"):
        with pytest.raises(InputError, match="no processors belong to a socket"):
            read("openmpi5", f"--map-by {text}", 1, machine="core:16 pu:1")


def test_srun_numbers_more_tasks_than_processors_as_it_counts():
    """As srun 22.05.8 was asked: `rank` starts over behind processors times threads of a core; what is not there ends the step."""
    there = "pack:1 core:2 pu:2"
    assert list(read("slurm", "-O -n 4 --cpu-bind=rank", machine=there).placement.zones) == [(0,), (1,), (2,), (3,)]
    for tasks in (5, 10):
        with pytest.raises(InputError, match="bind one to processor 4"):
            read("slurm", f"-O -n {tasks} --cpu-bind=rank", machine=there)
    found = read("slurm", "-O -n 3 --cpu-bind=rank", machine="pack:1 core:2 pu:1").placement.zones
    assert list(found) == [(0,), (1,), (0,)]


def test_hydra_binds_a_rank_to_nothing_where_its_set_has_what_is_not_there():
    """As MPICH 4.0.2 was asked."""
    found = read("mpich", "-bind-to user:0+99,1,98", 4)
    assert list(found.placement.zones) == [tuple(range(16)), (1,), tuple(range(16)), tuple(range(16))]
    assert any("rank 0 to nothing: 99" in note for note in found.notes)


def test_what_hydra_does_by_itself_on_hosts_is_refused_and_not_left_out(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("a:2 binding=user:0,1\nb:2\n")
    with pytest.raises(InputError, match="binding=user:0,1 binds the ranks of a by itself"):
        read("mpich", f"-f {file} -bind-to core", 4)
    with pytest.raises(InputError, match="names a again behind others"):
        read("mpich", "-hosts a:2,b,a -bind-to core", 4)
    assert read("mpich", "--np 4 --ppn 2 -hosts a,a,b -bind-to core").placement.nodes == 2
