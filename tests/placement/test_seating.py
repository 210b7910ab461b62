# SPDX-License-Identifier: BSD-3-Clause
"""On which node each rank is: as srun 22.05.8 on four nodes and MPICH's Hydra 4.0.2 over host names were asked, and by dealing out one by one."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.render import render
from nodewise.placement.rendering import NotExpressibleError
from nodewise.placement.resolve import Request, resolve
from nodewise.placement.seating import Seating, even
from tests.placement.runtimes.mpirun5 import machine_of

MACHINE = machine_of("pack:2 core:2 pu:2")

# what srun was asked, and the node of each task
ASKED = [
    ("-N 4 -n 6", "001123"),
    ("-N 3 -n 4", "0012"),
    ("-N 4 -n 10", "0001112233"),
    ("-N 2 -n 13 -O", "0000000111111"),
    ("-n 6 -N 2 --ntasks-per-node=4", "000111"),
    ("-N 4 -n 6 --ntasks-per-node=2", "001123"),
    ("-N 4 -n 6 -m cyclic", "012301"),
    ("-N 3 -n 7 -m cyclic", "0120120"),
    ("-N 4 -n 6 -m plane=2", "001123"),
    ("-N 4 -n 7 -m plane=2", "0011223"),
    ("-N 4 -n 9 -m plane=2", "001122330"),
    ("-N 4 -n 6 -m plane=3", "000123"),
    ("-N 4 -n 10 -m plane=3", "0001112223"),
    ("-N 4 -n 13 -m plane=3", "0001112223330"),
    ("-N 4 -n 8 -m plane=4", "00001123"),
    ("-N 3 -n 5 -m plane=4", "00012"),
    ("-N 2 -n 6 -m plane=4", "000011"),
    ("-N 2 -n 9 -m plane=3", "000111000"),
    ("-N 4 -n 17 -m plane=5", "00000111112222233"),
    ("-N 2 -n 15 -m plane=8", "000000001111111"),
    ("-N 2 -n 15 -m plane=7", "000000011111110"),
    ("-N 2 -n 15 -m plane=3", "000111000111001"),
    ("-N 3 -n 20 -m plane=8", "00000000111111112222"),
    ("-N 2 -n 12 -m block,pack", "000000001111"),
    ("-N 2 -n 12 -m block:block,Pack", "000000001111"),
    ("-N 4 -n 12 -m block,pack --ntasks-per-node=4", "000000001123"),
    ("-N 2 -n 6 -m cyclic,pack", "010101"),
    ("-N 2 -n 12 -m block,nopack", "000000111111"),
    ("-N 2 -c 1", "0000000011111111"),
    ("-N 2 -c 2", "00001111"),
    ("-N 2", "01"),
]


@pytest.mark.parametrize(("line", "nodes"), ASKED)
def test_srun_leaves_no_node_without_a_task(line, nodes):
    placement = resolve(MACHINE, Job(1), Request(slurm=f"srun {line} --cpu-bind=none ./a")).placement
    seats = list(placement.seats())
    assert "".join(str(node) for node, _ in seats) == nodes
    # the tasks of a node are numbered from 0 on, and the fullest node is the one that is shown
    for node in set(nodes):
        own = [inside for at, inside in seats if str(at) == node]
        assert own == list(range(len(own)))
    assert placement.per_node == max(map(nodes.count, nodes))


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 9), st.sampled_from(["block", "even", "cyclic", "plane"]))
def test_an_order_deals_out_each_rank_once(size, nodes, together, order):
    order = f"plane={together}" if order == "plane" else order
    if size < nodes:
        return
    seating = Seating(order, size, nodes, max(Seating(order, size, nodes, size).counts()))
    seats = list(seating.turns())
    counts = seating.counts()
    assert sorted(seats) == [(node, inside) for node, count in enumerate(counts) for inside in range(count)]
    assert len(seats) == sum(counts) == size
    if order != "block":
        assert min(counts) >= 1
    if order in ("even", "cyclic"):
        assert max(counts) - min(counts) <= 1
    if order in ("block", "even"):
        assert seats == sorted(seats)
    neighbours = [{node for node, _ in seats[at : at + together]} for at in range(0, size - together + 1, together)]
    if order.startswith("plane") and size >= nodes * together:
        # where none has to be kept for a node, they stay together
        assert all(len(some) == 1 for some in neighbours)


@given(st.integers(1, 60), st.integers(1, 12))
def test_even_is_named_only_where_it_is_not_filling(size, nodes):
    if size < nodes:
        return
    full = -(-size // nodes)
    same = Seating("even", size, nodes, full).counts() == Seating("block", size, nodes, full).counts()
    assert even(size, nodes) == ("block" if same else "even")


@pytest.mark.parametrize("wrong", ["", "evenly", "plane", "plane=0", "block:cyclic", "plane=12345678"])
def test_an_unknown_order_is_refused(wrong):
    with pytest.raises(InputError, match="cannot be numbered"):
        Seating(wrong, 4, 2, 2)


@pytest.mark.parametrize(("order", "size", "nodes", "full"), [("block", 5, 2, 2), ("even", 7, 3, 2)])
def test_ranks_that_do_not_fit_are_refused(order, size, nodes, full):
    with pytest.raises(InputError, match=f"{size} ranks on {nodes} nodes"):
        Seating(order, size, nodes, full)


def _spread(order, total, nodes=4):
    full = Seating(order, total, nodes, total).counts()[0] if order != "block" else 2
    zones = tuple((p,) for p in range(full))
    return Placement("a test's", zones, (1,) * full, nodes, order, total)


def test_a_policy_spreads_ranks_evenly_over_the_nodes_that_are_named():
    placement = resolve(MACHINE, Job(1, 6, 4), Request("compact")).placement
    assert [node for node, _ in placement.seats()] == [0, 0, 1, 1, 2, 3]
    assert resolve(MACHINE, Job(1, 7, 2), Request("compact")).placement.order == "block"


@pytest.mark.parametrize("order", ["even", "cyclic", "plane=2", "plane=3"])
def test_what_is_written_for_srun_is_read_as_it_was(order):
    placement = _spread(order, 7)
    written = render("slurm", MACHINE, placement)
    again = resolve(MACHINE, Job(1), Request(slurm=" ".join(written.words))).placement
    assert list(again.seats()) == list(placement.seats())


def test_srun_and_aprun_refuse_what_they_would_number_otherwise():
    with pytest.raises(NotExpressibleError, match="spreads 6 ranks evenly over 4 nodes"):
        render("slurm", MACHINE, _spread("block", 6))
    with pytest.raises(NotExpressibleError, match="spread evenly"):
        render("aprun", MACHINE, _spread("even", 6))
    listed = render("slurm", MACHINE, _spread("block", 6), ("a", "b", "c", "d"))
    assert listed.files["hostfile"].split() == ["a", "a", "b", "b", "c", "c"]


@pytest.mark.parametrize("version", ["openmpi4", "openmpi5"])
def test_a_rank_file_has_each_rank_on_its_node(version):
    lines = render(version, MACHINE, _spread("even", 6)).files["rankfile"].splitlines()
    assert [line.split()[1].partition(" ")[0].removeprefix(f"{rank}=+n") for rank, line in enumerate(lines)] == list(
        "001123"
    )


@pytest.mark.parametrize(
    ("order", "counts"), [("even", "2211"), ("plane=3", "3111"), ("plane=2", "2211"), ("cyclic", None)]
)
def test_hydra_gets_each_hosts_ranks(order, counts):
    placement = _spread(order, 6)
    written = render("mpich", MACHINE, placement)
    hosts = [line.partition(":")[2] for line in written.files["hostfile"].split()]
    if counts is None:
        assert ("-ppn" in written.words, hosts) == (True, ["1"] * 4)
        return
    assert ("-ppn" in written.words, hosts) == (False, list(counts))
    if not shutil.which("mpiexec.hydra"):
        return
    # the real one, over four names of this machine; of one whose ranks have ended before the others have begun it dies
    asked = subprocess.run(
        ["mpiexec.hydra", "-launcher", "fork", "-n", "6", "-hosts", ",".join(f"127.0.0.{n + 1}:{c}" for n, c in enumerate(hosts)),
         "sh", "-c", "echo $PMI_RANK $MPI_LOCALRANKID; sleep 0.2"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    inside = [int(line.split()[1]) for line in sorted(asked.stdout.splitlines())]
    assert inside == [inside for _, inside in placement.seats()]


@pytest.mark.parametrize("version", ["openmpi4", "openmpi5"])
def test_ranks_a_node_are_what_a_node_is_filled_up_to(version):
    placement = resolve(MACHINE, Job(1, 0, 2), Request(**{version: "mpirun --npernode 4 -np 6 ./a"})).placement
    assert [node for node, _ in placement.seats()] == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("line", "noted"),
    [("-c 2 --cpu-bind=none", True), ("-c 2 --cpu-bind=threads", False), ("--cpu-bind=threads", False)],
)
def test_a_node_with_fewer_tasks_that_binds_them_otherwise_is_noted(line, noted):
    # a step on a node has the cores of that node's tasks: one where there is one task of two processors
    notes = resolve(MACHINE, Job(1), Request(slurm=f"srun -N 4 -n 6 {line} ./a")).notes
    assert ("a node with 1 of the tasks binds them otherwise: shown is one with 2" in notes) == noted
