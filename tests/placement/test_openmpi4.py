# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 4's mpirun: its options in the words of version 4.1, and what it refuses. Its recorded answers are in test_launchers."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from tests.placement.test_dialects import CORE, SMT, synthetic, zones


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--map-by core", CORE[:4]),
        ("--map-by core --bind-to hwthread", [(0,), (1,), (2,), (3,)]),
        ("--map-by hwthread", [(0,), (16,), (1,), (17,)]),
        ("--map-by socket --bind-to core", [CORE[0], CORE[8], CORE[1], CORE[9]]),
        ("--map-by socket:PE=2", [(0, 1, 16, 17), (8, 9, 24, 25), (2, 3, 18, 19), (10, 11, 26, 27)]),
        ("--map-by slot:PE=2 --bind-to core", [(0, 1, 16, 17), (2, 3, 18, 19), (4, 5, 20, 21), (6, 7, 22, 23)]),
        ("--map-by ppr:2:socket --bind-to core", [CORE[0], CORE[1], CORE[8], CORE[9]]),
        ("--map-by socket --rank-by socket:fill --bind-to core", [CORE[0], CORE[1], CORE[8], CORE[9]]),
        # modifiers are separated by commas, and words may be cut short
        ("--map-by sock:pe=2,SPAN", [(0, 1, 16, 17), (8, 9, 24, 25), (2, 3, 18, 19), (10, 11, 26, 27)]),
        ("--map-by :PE=2", [(0, 1, 16, 17), (8, 9, 24, 25), (2, 3, 18, 19), (10, 11, 26, 27)]),
        ("--cpus-per-proc 2", [(0, 1, 16, 17), (8, 9, 24, 25), (2, 3, 18, 19), (10, 11, 26, 27)]),
        ("--bycore", CORE[:4]),
        ("--npersocket 2 --bind-to-core", [CORE[0], CORE[1], CORE[8], CORE[9]]),
        ("--map-by core --bind-to core:overload-allowed,if-supported", CORE[:4]),
        ("--map-by slot --use-hwthread-cpus --bind-to hwthread", [(0,), (16,), (1,), (17,)]),
        ("--bind-to none", [tuple(range(32))] * 4),
        ("--map-by ppr:2:socket:pe=2", [(0, 1, 16, 17), (2, 3, 18, 19), (8, 9, 24, 25), (10, 11, 26, 27)]),
        ("--map-by PPR:2:Socket --bind-to core", [CORE[0], CORE[1], CORE[8], CORE[9]]),
        # what follows the number after another colon is not read
        ("--map-by socket:PE=2:x", [(0, 1, 16, 17), (8, 9, 24, 25), (2, 3, 18, 19), (10, 11, 26, 27)]),
    ],
)
def test_open_mpi_4(text, expected):
    assert list(zones(synthetic(SMT), openmpi4=text, ranks=4)) == expected


@pytest.mark.parametrize("cache", ["l1cache", "l2cache", "l3cache"])
def test_open_mpi_4_numbers_ranks_by_caches_where_there_are_some(cache):
    with pytest.raises(InputError, match=f"this machine has no {cache}"):
        zones(synthetic(SMT), openmpi4=f"--map-by core --rank-by {cache}", ranks=4)


def test_open_mpi_4_leaves_ranks_unbound_where_it_could_not_bind_them():
    everything = (tuple(range(32)),)
    assert zones(synthetic(SMT), openmpi4="--map-by ppr:3:hwthread", ranks=2) == everything * 2
    assert zones(synthetic(SMT), openmpi4="--map-by ppr:3:hwthread", ranks=1) == (CORE[0],)
    assert zones(synthetic(SMT), openmpi4="--map-by core:OVERSUBSCRIBE", ranks=17) == everything * 17


# node of each rank, as the mpirun of Open MPI 4.1.4 maps them on two hosts of four slots, of two sockets of four cores
@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("-n 8 --map-by socket:SPAN", [0] * 4 + [1] * 4),
        ("-n 4 --map-by socket:SPAN --rank-by slot", [0, 0, 1, 1]),
        ("-n 4 --map-by ppr:1:socket:SPAN", [0, 0, 1, 1]),
        ("-n 6 --map-by slot:SPAN", [0] * 4 + [1] * 2),
        ("-n 4 --map-by node", [0, 1, 0, 1]),
        ("-n 4 --map-by node:SPAN", [0, 1, 0, 1]),
        ("-n 3 --map-by node", [0, 1, 0]),
        ("-n 4 --map-by node --rank-by slot", [0, 0, 1, 1]),
        ("-n 6 --map-by node:SPAN --rank-by core", [0, 0, 0, 1, 1, 1]),
        ("-n 4 --map-by node --rank-by slot -N 3", [0, 0, 0, 1]),
        ("-n 4 --map-by node --rank-by node", [0, 1, 0, 1]),
        ("-n 4 --rank-by node -N 2", [0, 1, 0, 1]),
        ("-n 8 --rank-by node", [0, 1] * 4),
        ("-n 6 --rank-by slot:SPAN", [0] * 4 + [1] * 2),
        ("-n 6 --map-by core", [0] * 4 + [1] * 2),
        ("-n 2 --map-by ppr:1:node --rank-by node", [0, 1]),
    ],
)
def test_open_mpi_4_numbers_ranks_over_nodes(text, nodes):
    machine = synthetic("pack:2 core:4 pu:1")
    placed = resolve(machine, Job(1), Request(openmpi4=f"--host h0:4,h1:4 {text}")).placement
    assert [node for node, _ in placed.seats()] == nodes


@pytest.mark.parametrize(
    "text",
    [
        "-n 6 --map-by socket:SPAN",
        "-n 4 --map-by socket:SPAN -N 2",
        "-n 6 --rank-by node",
        "-n 4 --rank-by node -N 3",
        "-n 8 --map-by core --rank-by socket:SPAN",
    ],
)
def test_open_mpi_4_on_hosts_that_it_deals_to_unevenly_is_refused(text):
    with pytest.raises(InputError, match="is not modelled"):
        resolve(synthetic("pack:2 core:4 pu:1"), Job(1), Request(openmpi4=f"--host h0:4,h1:4 {text}"))


@pytest.mark.parametrize(
    ("text", "ranks", "message"),
    [
        ("--map-by ppr:2", 2, "not complete"),
        ("--map-by ppr:2:slot", 2, "'slot' is not known"),
        ("--map-by ppr:x:socket", 2, "ppr"),
        ("--map-by socket:pe=x", 2, "PE"),
        ("--map-by pear", 2, "'pear' is not known"),
        ("--map-by seq", 2, "seq bears on placement, and what it does is not modelled"),
        ("--map-by core:PEAR", 2, "no modifier"),
        *((f"--map-by {other}", 2, "is not known") for other in ("board", "package", "machine")),
        *((f"--map-by socket:{other}", 2, "no modifier") for other in ("HWTCPUS", "INHERIT", "NOLOCAL", "SPAN:PE=2")),
        *((f"--bind-to {other}", 2, "is not known") for other in ("package", "machine", "slot", "sock")),
        *((f"--rank-by {other}", 2, "is not known") for other in ("fill", "span", "package")),
        ("--bind-to core:no-overload", 2, "no modifier"),
        ("--map-by core:PE=1 --bind-to numa", 2, "PE=1 binds"),
        ("--map-by socket:PE=2 --bind-to board", 2, "PE=2 binds"),
        ("--bycore --map-by slot", 2, "contradict"),
        ("--bynode --bycore", 2, "contradict"),
        ("--bynode --rank-by slot", 2, "contradict"),
        ("--bind-to-core --bind-to socket", 2, "contradict"),
        ("--bind-to-core --bind-to-socket", 2, "contradict"),
        ("--map-by core:OVERSUBSCRIBE --nooversubscribe", 2, "contradict"),
        ("--map-by core:NOOVERSUBSCRIBE --oversubscribe", 2, "contradict"),
        ("--oversubscribe --nooversubscribe", 2, "contradict"),
        ("-N 1", 2, "refuses 2 ranks on one node by -N 1"),
        ("--pernode", 8, "ask for fewer|-N 1"),
        ("--map-by numa:PE=9 --bind-to none", 2, "PE=9"),
        ("--map-by core:PE=2", 2, "PE=2"),
        ("--map-by core", 17, "refuses 17 ranks"),
        ("--map-by socket:PE=9", 2, "one has 8 cores"),
        ("--bind-to pear", 2, "'pear' is not known"),
        ("--map-by ppr:1:socket", 3, "not 3"),
        ("-n 3", 2, "3 ranks in its options, and 2"),
        ("./solver", 2, "is no option"),
    ],
)
def test_open_mpi_4_refuses(text, ranks, message):
    with pytest.raises(InputError, match=message):
        zones(synthetic(SMT), openmpi4=text, ranks=ranks)
