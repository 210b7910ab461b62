# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that a launcher's line names: how many nodes there are, and how many ranks each gets."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.hosts import filled, in_slurms_words, shaped
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes.mpirun5 import machine_of

MACHINE = "pack:2 numa:1 core:4 pu:1"


def read(name, text, nodes=1, ranks=0):
    return resolve(machine_of(MACHINE), Job(1, ranks, nodes), Request(**{name: text}))


def nodes_of(found):
    """The node of each rank."""
    return [node for node, _ in found.placement.seats()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-n 3 -hosts a:2,b:1 -ppn x", "mpiexec: -ppn 'x' is no number"),
        ("-n x -hosts a,b", "mpiexec: -n 'x' is no number"),
        ("-n 2 -hosts a,,b", "mpiexec: -hosts 'a,,b'"),
    ],
)
def test_what_is_wrong_with_hydras_hosts_is_said_as_mpiexecs(text, said):
    with pytest.raises(InputError) as caught:
        read("mpich", f"mpiexec {text} -bind-to core")
    assert caught.value.what.startswith(said)


# which proxy of MPICH's Hydra 4.0 started each rank, asked here with -launcher fork
@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("-n 4 -hosts a,b", [0, 1, 0, 1]),
        ("-n 5 -hosts a,b", [0, 1, 0, 1, 0]),
        ("-n 4 -hosts a:2,b:2", [0, 0, 1, 1]),
        ("-n 6 -hosts a:2,b:2", [0, 0, 1, 1, 0, 0]),
        ("-hosts a,b", [0, 1]),
        ("-n 4 -ppn 2 -hosts a,b", [0, 0, 1, 1]),
        ("-n 2 -hosts a:2,b:2", [0, 0]),
        ("-hosts a:2,b:2 -n 3 -ppn 1", [0, 1, 0]),
        ("-n 3 --host a", [0, 0, 0]),
    ],
)
def test_hydra_deals_ranks_to_its_hosts_in_turn(text, nodes):
    found = read("mpich", f"mpiexec {text} -bind-to core")
    assert nodes_of(found) == nodes
    assert found.placement.per_node == max(nodes.count(node) for node in nodes)
    assert found.placement.zones == tuple((p,) for p in range(found.placement.per_node))


# as Open MPI's slots are: ORTE fills a host's before the next one's, unless ranks are mapped by node
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("-np 4 --host a:2,b:2", [0, 0, 1, 1]),
        ("-np 4 --host a:4,b:4", [0, 0, 0, 0]),
        ("-np 4 --host a:4,b:4 --map-by node", [0, 1, 0, 1]),
        ("-np 5 --host a:2,b:2,c:2", [0, 0, 1, 1, 2]),
        ("-H a,b", [0, 1]),
        ("-H a -H b", [0, 1]),
        ("-H a,a,b,b", [0, 0, 1, 1]),
        ("-N 1 -H a:2,b:2", [0, 1]),
        ("-np 4 -H a:2,b:2 --map-by ppr:1:numa", [0, 0, 1, 1]),
        ("-np 4 -H a,b --map-by :OVERSUBSCRIBE", [0, 0, 1, 1]),
        ("-np 5 -H a:*", [0, 0, 0, 0, 0]),
    ],
)
def test_open_mpi_fills_the_slots_of_its_hosts(name, text, nodes):
    found = read(name, f"mpirun {text}")
    assert nodes_of(found) == nodes
    assert not any("passed over" in note for note in found.notes)


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_open_mpi_refuses_more_ranks_than_its_hosts_have_slots(name):
    # "There are not enough slots available", said mpirun 4.1.4 here
    with pytest.raises(InputError, match=r"4 ranks: its hosts have 2 slots \(localhost:2\)"):
        read(name, "mpirun -np 4 -H localhost,localhost")
    with pytest.raises(InputError, match="its hosts take 2"):
        read(name, "mpirun -np 4 -N 1 -H a:4,b:4")


def test_ranks_that_hosts_have_slots_for_may_be_more_than_cores():
    found = read("openmpi4", "mpirun -np 10 -H a:10 --bind-to none")
    assert nodes_of(found) == [0] * 10


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("openmpi4", "mpirun -np 4 -H a:1,b:3"),
        ("openmpi5", "mpirun -H a:1,b:2"),
        ("mpich", "mpiexec -n 6 -hosts a:2,b"),
    ],
)
def test_hosts_that_are_filled_unlike_are_refused_with_the_numbers(name, text):
    with pytest.raises(InputError, match=r"different numbers of ranks \(\d on a, \d on b\)"):
        read(name, text)


@pytest.mark.parametrize(("name", "text"), [("openmpi4", "--hostfile {} -np {}"), ("mpich", "-f {} -n {}")])
def test_a_file_of_hosts_is_read(name, text, tmp_path):
    file = tmp_path / "hosts"
    file.write_text("# two\na slots=2\nb slots=2\n" if name == "openmpi4" else "# two\na:2\nb:2\n")
    assert nodes_of(read(name, text.format(file, 4))) == [0, 0, 1, 1]
    # one line alone has as many slots as cores with Open MPI, one with Hydra; named again, one for each time
    file.write_text("a\nb\n")
    assert nodes_of(read(name, text.format(file, 4))) == ([0] * 4 if name == "openmpi4" else [0, 1, 0, 1])
    file.write_text("a\na\nb\nb\n")
    assert nodes_of(read(name, text.format(file, 4))) == [0, 0, 1, 1]
    file.write_text("\n")
    with pytest.raises(InputError, match="names no host"):
        read(name, text.format(file, 4))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("openmpi4", "--hostfile absent -np 4"),
        ("openmpi5", "-machinefile absent -np 4"),
        ("mpich", "-f absent -n 4"),
        ("slurm", "-w ./absent -n 4"),
        ("slurm", "-F ./absent -n 4"),
    ],
)
def test_a_file_that_is_not_there_needs_the_number_of_nodes(name, text):
    with pytest.raises(InputError, match="bears on placement") as refused:
        read(name, text)
    assert "--nodes" in refused.value.hint
    found = read(name, text, nodes=2)
    assert (found.placement.nodes, found.placement.per_node) == (2, 2)
    assert any("absent cannot be read here" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "nodes", "note"),
    [
        ("-w n1,n2 -n4", 2, ""),
        ("--nodelist=n[1-2]", 2, ""),
        ("-w n1,n2 -N 3 -n 6", 3, ""),
        ("-w n1,n2 -N 1 -n 4", 1, "srun takes 1 of the 2 nodes"),
        ("-w n[1-3] -n 2", 2, "srun uses 2 of the 3 nodes"),
        ("-C haswell -n 4", 1, "-C chooses nodes by what they are"),
    ],
)
def test_sruns_list_of_nodes_says_how_many_there_are(text, nodes, note):
    found = read("slurm", f"srun {text} --cpu-bind=cores")
    assert found.placement.nodes == nodes
    assert any(note in one for one in found.notes)
    assert not any("says nothing of placement" in one for one in found.notes)


@pytest.mark.parametrize(
    ("text", "count"),
    [("n1", 1), ("n[01-10,12]", 11), ("a[1-2]b[1-3],login", 7), ("n1,n1,n2", 2), ("r[1-2][3-4]", 4)],
)
def test_slurms_lists_are_counted(text, count):
    assert in_slurms_words("srun", "-w", text, Job(1)) == count


@pytest.mark.parametrize("text", ["n[1-", "n[2-1]", "n]1[", "n[x]", ",", "n[1-999999999]", "[1-9999][1-9999]"])
def test_what_is_no_list_of_slurms_is_refused(text):
    with pytest.raises(InputError, match="names"):
        in_slurms_words("srun", "-w", text, Job(1))


def test_nodes_that_contradict_the_hosts_are_refused():
    with pytest.raises(InputError, match="--nodes says 3"):
        read("openmpi4", "mpirun -np 4 -H a:2,b:2", nodes=3, ranks=4)


def test_nodes_without_ranks_are_refused_where_no_launcher_says_how_many():
    with pytest.raises(InputError, match="do not fill 2 nodes"):
        resolve(machine_of(MACHINE), Job(1, 0, 2), Request("compact"))


NINE = {f"n{i}": 1 for i in range(9)}


@pytest.mark.parametrize(
    ("slots", "ranks", "how", "counts"),
    [
        ({"a": 1}, 1, {}, [1]),
        ({"a": 2, "b": 3}, 4, {}, [2, 2]),
        ({"a": 2, "b": 3}, 5, {}, [2, 3]),
        ({"a": 4, "b": 4}, 4, {"each": 2}, [2, 2]),
        ({"a": 4, "b": 4}, 3, {"each": 2}, [2, 1]),
        ({"a": 4, "b": 4}, 8, {"each": 6}, [4, 4]),
        ({"a": 4, "b": 4}, 12, {"each": 6, "crowded": True}, [6, 6]),
        ({"a": 1, "b": 3}, 3, {"by_node": True}, [1, 2]),
        ({"a": 1, "b": 3}, 4, {"by_node": True}, [1, 3]),
        ({"a": 3, "b": 3}, 3, {"by_node": True}, [2, 1]),
        ({"a": 1, "b": 1}, 5, {"crowded": True}, [3, 2]),
        ({"a": 1, "b": 1}, 3, {"crowded": True, "by_node": True}, [2, 1]),
        (NINE, 9, {}, [1] * 9),
    ],
)
def test_ranks_fill_slots(slots, ranks, how, counts):
    assert filled("mpirun", slots, ranks, **how) == counts


@pytest.mark.parametrize(
    ("slots", "ranks", "each", "what", "hint"),
    [
        ({"a": 1}, 2, 0, "mpirun refuses 2 ranks: its hosts have 1 slot (a:1)", "a:2, or add"),
        ({"a": 2, "b": 1}, 5, 0, "mpirun refuses 5 ranks: its hosts have 3 slots (a:2, b:1)", "a:3, or add"),
        ({"a": 4, "b": 4}, 5, 2, "mpirun refuses 5 ranks, 2 a node: its hosts take 4 (a:4, b:4)", "name more hosts"),
        (dict(list(NINE.items())[:8]), 9, 0, f"8 slots ({', '.join(f'n{i}:1' for i in range(8))})", "n0:2, or add"),
        (NINE, 19, 0, f"9 slots ({', '.join(f'n{i}:1' for i in range(8))}, …)", "n0:3, or add"),
    ],
)
def test_more_ranks_than_slots_are_refused(slots, ranks, each, what, hint):
    with pytest.raises(InputError) as caught:
        filled("mpirun", slots, ranks, each=each)
    assert what in caught.value.what and hint in caught.value.hint


def test_hosts_that_get_ranks_are_the_nodes():
    job = Job(2)
    assert shaped("mpirun", job, ["a", "b"], [3, 0]) == Job(2, 3, 1, 3)
    assert shaped("mpirun", Job(2, 0, 2), ["a", "b"], [3, 3]) == Job(2, 6, 2, 3)
    with pytest.raises(InputError, match="its ranks go to 1 node of those that it names, and --nodes says 3"):
        shaped("mpirun", Job(2, 0, 3), ["a", "b"], [3, 0])
    with pytest.raises(InputError, match="go to 2 nodes of those"):
        shaped("mpirun", Job(2, 0, 3), ["a", "b"], [3, 3])
    numbers = [1, *([2] * 8)]
    with pytest.raises(InputError) as caught:
        shaped("mpirun", job, list(NINE), numbers)
    listed = ", ".join(f"{n} on n{i}" for i, n in enumerate(numbers[:8]))
    assert caught.value.what.startswith(f"mpirun: its hosts get different numbers of ranks ({listed}), and nodes")
    assert caught.value.hint == "ask for one of them alone, such as n0 with 1 rank"
