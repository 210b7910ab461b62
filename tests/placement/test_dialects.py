# SPDX-License-Identifier: BSD-3-Clause
"""Each dialect as its own documentation has it, and what each refuses."""

import os
import shutil
import subprocess
import sys
from functools import cache

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.dialects.hwloc import read_hwloc
from nodewise.placement.dialects.likwid import read_likwid, write_likwid
from nodewise.placement.dialects.numactl import read_numactl
from nodewise.placement.dialects.taskset import read_taskset
from nodewise.placement.job import Job, share_zones
from nodewise.placement.openmp.subset import rank_subset
from nodewise.placement.resolve import Request, resolve

#: Two sockets of two cores, whose second hardware threads are 4 to 7, as in likwid's examples.
LIKWID = "pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)"
#: Two sockets of eight cores, whose second hardware threads are 16 to 31.
SMT = "pack:2 numa:1 core:8 pu:2(indexes=" + ",".join(f"{i},{i + 16}" for i in range(16)) + ")"


@cache
def synthetic(text, allow=None):
    return load_machine(f"synthetic:{text}", allow)


def zones(machine, **asked):
    ranks, nodes, threads = asked.pop("ranks", 0), asked.pop("nodes", 1), asked.pop("threads", 1)
    return resolve(machine, Job(threads, ranks, nodes), Request(**asked)).placement.zones


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", [1]),
        ("1,4", [1, 4]),
        ("0,1-3", [0, 1, 2, 3]),
        ("L:N:1,4-6", [1, 4, 5, 6]),
        ("E:N:1", [0]),
        ("E:N:2", [0, 4]),
        ("E:N:2:1:2", [0, 1]),
        ("E:N:4:2:4", [0, 4, 2, 6]),
        ("S:scatter", [0, 2, 1, 3, 4, 6, 5, 7]),
        ("S:scatter:4", [0, 2, 1, 3]),
        ("S:balanced:4", [0, 4, 2, 6]),
        ("S:cbalanced:4", [0, 1, 2, 3]),
        ("S0:0-1@S1:0", [0, 1, 2]),
        ("L:S1:2-3@E:S0:2", [6, 7, 0, 4]),
        ("M:scatter:2", [0, 1]),
    ],
)
def test_likwids_own_examples(text, expected):
    assert read_likwid(synthetic(LIKWID), text)[0] == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("E:X:1", 3),
        ("E:N:0", 5),
        ("E:S5:1", 3),
        ("L:0-1", 3),
        ("L:S0:0-4", 6),
        ("8-9", 1),
        ("S:middle", 3),
        ("0@", 3),
        ("E:N:1:0:1", 5),
        ("E:N:1:1:1:8", 5),
    ],
)
def test_likwid_errors_name_the_column(text, column):
    with pytest.raises(InputError, match=rf"column {column}:"):
        read_likwid(synthetic(LIKWID), text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E:N:1", [0]),
        ("E:N:4", [0, 1]),
        ("E:N:4:1:2", [0, 0]),
        ("E:N:4:2:2", [0, 1]),
        ("N:scatter", [0, 1]),
        ("N:scatter:4", [0, 1]),
        ("N:balanced:1", [0]),
        ("S:scatter:4", [0, 1]),
        ("M:scatter:3", [0, 1]),
        ("0-1@0-1", [0, 1, 0, 1]),
        ("S0:1@S0:0", [1, 0]),
    ],
)
def test_likwid_5_2_2_on_two_processors(text, expected):
    """What likwid-pin -c TEXT -p printed there."""
    assert read_likwid(synthetic("pack:1 numa:1 core:2 pu:1"), text)[0] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3-1,0", [3, 2, 1, 0]),
        ("S0", [0, 4, 1, 5]),
        ("N", [0, 4, 1, 5, 2, 6, 3, 7]),
        # a row ends where its domain does, and the list with the machine
        ("E:S0:6", [0, 4, 1, 5, 0, 4]),
        ("E:S0:5:3:3", [0, 4, 1, 5, 0]),
        ("E:N:3:1:2:1", [4, 5, 6]),
        ("E:S1", [2, 6, 3, 7, 2, 6, 3, 7]),
        ("L:N:9", [1]),
        ("S:cbalanced:6", [0, 4, 1, 2, 6, 3]),
        ("S:cbalanced:5", [0, 4, 1, 2, 3]),
        ("S:cbalanced:7", [0, 4, 1, 5, 2, 6, 3, 7]),
    ],
)
def test_what_likwids_page_does_not_say(text, expected):
    """As its own code answered, of 5.2.2 and of 5.4.1."""
    assert read_likwid(synthetic(LIKWID), text)[0] == expected


def test_likwids_versions_are_named():
    machine = synthetic("pack:1 core:2 pu:1")
    assert (
        "likwid 5.0 to 5.5 list no more entries than the machine's 2 processors" in read_likwid(machine, "E:N:4")[1][0]
    )
    with pytest.raises(InputError, match=r"likwid 5.0 to 5.5 refuse L: without one, though their page has it"):
        read_likwid(machine, "L:0-1")
    many = synthetic("pack:12 core:2 pu:1")
    assert "likwid 5.4 takes S10 for S1; 5.2 and 5.5 do not" in read_likwid(many, "E:S10:2")[1][0]


def test_likwid_leaves_out_what_is_not_there_and_counts_within_a_part_of_the_machine():
    found, notes = read_likwid(synthetic(LIKWID), "0,9")
    assert found == [0] and "leaves out processors 9" in notes[0]
    part = synthetic(LIKWID, "4-7")
    assert read_likwid(part, "1,3")[0] == [5, 7]
    assert read_likwid(part, "L:N:0-3")[0] == [4, 5, 6, 7]
    assert write_likwid(part, [(6,), (4,)]).words == ("likwid-pin", "-c", "L:N:2,0")
    assert read_likwid(part, "L:N:2,0")[0] == [6, 4]
    # more threads than processors: no list of indexes may be longer than its domain
    for numbers in ([4] * 6, [4, 5, 6, 7, 4, 5], [7, 7]):
        written = write_likwid(part, [(p,) for p in numbers]).words[-1]
        assert read_likwid(part, written)[0] == numbers
    assert write_likwid(synthetic(LIKWID, "4"), [(4,), (4,)]).words[-1] == "L:N:0@L:N:0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("package:0", {0, 1, 4, 5}),
        ("package:1.core:1", {3, 7}),
        ("core:1-2", {1, 5, 2, 6}),
        ("core:2-", {2, 6, 3, 7}),
        ("core:3:2", {3, 7, 0, 4}),
        ("core:all.pu:0", {0, 1, 2, 3}),
        ("core:even.pu:1", {4, 6}),
        ("core:3-9", {3, 7}),
        ("core:0:9", {0, 1, 2, 3, 4, 5, 6, 7}),
        ("package:all.core:1-5", {1, 5, 3, 7}),
        ("pu:odd", {4, 5, 6, 7}),
        ("pu:even", {0, 1, 2, 3}),
        ("0xf", {0, 1, 2, 3}),
        ("0x0,0x00000081", {0, 7}),
        ("all ~core:0", {1, 5, 2, 6, 3, 7}),
        ("package:0 xpu:even", {0, 1}),
        ("0xff ^0x0f", {4, 5, 6, 7}),
        ("--physical pu:6", {6}),
        ("socket:0.pu:0", {0}),
        ("numanode:0", {0, 1, 2, 3, 4, 5, 6, 7}),
    ],
)
def test_hwlocs_locations(text, expected):
    assert set(read_hwloc(synthetic(LIKWID), text)[0]) == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [("", 1), ("core", 5), ("core:x", 6), ("pear:0", 1), ("package:0.pear:0", 11), ("pci=0", 1), ("--up core:0", 1)],
)
def test_hwloc_errors_name_the_column(text, column):
    with pytest.raises(InputError, match=rf"column {column}:"):
        read_hwloc(synthetic(LIKWID), text)


def test_taskset_takes_lists_and_masks():
    machine = synthetic(LIKWID)
    assert read_taskset(machine, "-c 0,3,4-6:2")[0] == (0, 3, 4, 6)
    assert read_taskset(machine, "0x11")[0] == (0, 4)
    left, notes, _ = read_taskset(machine, "-c 6-9")
    assert left == (6, 7) and "8-9 are not there" in notes[0]
    with pytest.raises(InputError, match="none of the processors 9 "):
        read_taskset(machine, "--cpu-list 9")


@pytest.mark.parametrize("mask", ["3", "0x3", "0,3", "00000003", "5", "10"])
def test_digits_alone_are_a_mask_as_for_taskset_itself(mask):
    used, notes, _ = read_taskset(synthetic(LIKWID), mask)
    if not mask.startswith("0x"):
        assert f"taskset takes {mask} for a mask: processors" in notes[0] and f"a list is -c {mask}" in notes[0]
    if shutil.which("taskset") and set(used) <= os.sched_getaffinity(0):
        command = ["taskset", mask, sys.executable, "-c", "import os; print(*sorted(os.sched_getaffinity(0)))"]
        asked = subprocess.run(command, capture_output=True, text=True, check=True)
        assert tuple(map(int, asked.stdout.split())) == used


@pytest.mark.parametrize(
    "text", ["-ac 0,2", "-ca 0,2", "-c -a 0,2", "--cpu-list --all 0,2", "-a 5", "taskset -c -- 0,2"]
)
def test_options_of_taskset_have_no_values_and_may_be_together(text):
    assert read_taskset(synthetic(LIKWID), text).processors == (0, 2)


@pytest.mark.parametrize(
    "text",
    [
        *("0-3", "0X3", " 3", "3 ", "0x", "", "g", "-c", "-c x", "f" * 20000, "-p 3"),
        *("-c35,10", "-c0", "--cpu-list=0", "-c 0-4, 9", "-c 0 -a", "-c 0 program", "-c -- -1"),
    ],
)
def test_what_taskset_refuses_is_refused_with_how_to_write_a_list(text):
    with pytest.raises(InputError) as caught:
        read_taskset(synthetic(LIKWID), text)
    assert "-c" in str(caught.value) or "column" in str(caught.value)


def test_numactl_counts_nodes_and_relative_processors():
    machine = synthetic("numa:2 core:2 pu:2", "2-7")
    assert read_numactl(machine, "--physcpubind=+0-1")[0] == (2, 3)
    assert read_numactl(machine, "-C !2")[0] == (3, 4, 5, 6, 7)
    assert read_numactl(machine, "-C all")[0] == (2, 3, 4, 5, 6, 7)
    assert read_numactl(machine, "numactl --cpunodebind 1")[0] == (4, 5, 6, 7)
    assert read_numactl(machine, "-N0 --membind=1 -l") == ((2, 3), [], ("--membind=1", "--localalloc"))
    for text in ("--shm", "-C", "-C +9"):
        with pytest.raises(InputError):
            read_numactl(machine, text)


@pytest.mark.parametrize(
    "text",
    [
        "-C 1-2",
        "-C !1",
        "-C 9",
        "-C 2-9",
        "-C 2-6:2",
        "-N 0-2",
        "-N 5",
        "-N !2",
        "-C +5-6",
        "-C 2 -N 5",
        "-C 08",
        "-C 2,",
    ],
)
def test_numactl_refuses_what_is_not_there_or_not_allowed(text):
    """As numactl of libnuma 2.0.16 does."""
    with pytest.raises(InputError):
        read_numactl(synthetic("numa:2 core:2 pu:2", "2-7"), text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the ends of a range must be there, and holes are passed over
        ("-C 1-6", (1, 4, 5, 6)),
        ("-C !1-6", (0, 7)),
        ("-C +1-3", (1, 4, 5)),
        ("-C 6-4", (6,)),
        # numbers are those of C
        ("-C 0x4,04", (4,)),
        # the last option counts
        ("-C 1 -N 1", (4, 5, 6, 7)),
        ("-N 1 -C 1", (1,)),
        ("-C 0 -C 1", (1,)),
        # the older name of --cpunodebind
        ("--cpubind=1", (4, 5, 6, 7)),
        ("-c1", (4, 5, 6, 7)),
    ],
)
def test_numactl_passes_over_holes_and_goes_by_its_last_option(text, expected):
    """As numactl of libnuma 2.0.16 does where processors 2 and 3 are not there."""
    assert read_numactl(synthetic("numa:2 core:2 pu:2", "0-1,4-7"), text).processors == expected


def test_hwloc_leaves_out_what_is_past_the_end():
    assert "core 8 and core 9 are not there" in read_hwloc(synthetic("pack:2 core:4 pu:2"), "core:7-9")[1][0]


def test_a_ranks_share_is_neighbouring_cores_with_all_their_threads():
    """As on 68 cores of 4 threads: rank r of 4 has 17r+k, 68+17r+k, 136+17r+k and 204+17r+k."""
    indexes = ",".join(str(core + 68 * t) for core in range(68) for t in range(4))
    machine = synthetic(f"core:68 pu:4(indexes={indexes})")
    expected = [tuple(sorted(17 * r + k + 68 * t for k in range(17) for t in range(4))) for r in range(4)]
    assert share_zones(machine, 4) == expected


def test_more_ranks_than_cores_have_a_processor_each_in_turn():
    machine = synthetic("core:2 pu:2")
    assert share_zones(machine, 3) == [(0,), (1,), (2,)]
    assert share_zones(machine, 6) == [(0,), (1,), (2,), (3,), (0,), (1,)]


def test_the_wrappers_zones():
    """Four ranks of 60 threads on 61 cores: 15Cx4T from core 15·r, which leaves the last core free."""
    machine = synthetic("core:61 pu:4")
    assert [rank_subset(60, r, 4) for r in range(4)] == ["15c@0,4t", "15c@15,4t", "15c@30,4t", "15c@45,4t"]
    assert zones(machine, ranks=4, threads=60, zones="packed", policy="compact") == tuple(
        tuple(range(60 * r, 60 * r + 60)) for r in range(4)
    )
    with pytest.raises(InputError, match="rank 4 has no zone"):
        zones(machine, ranks=5, threads=60, zones="packed", policy="compact")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--cpu-bind=cores --distribution=block:block", [(0, 16), (1, 17), (2, 18), (3, 19)]),
        ("--cpu-bind=cores", [(0, 16), (8, 24), (1, 17), (9, 25)]),
        ("--cpu-bind=core", [(0, 16), (8, 24), (1, 17), (9, 25)]),
        ("--cpu-bind=threads -m block:block:block", [(0, 16), (1, 17), (2, 18), (3, 19)]),
        ("--cpu-bind=threads -m block:cyclic:cyclic", [(0, 16), (8, 24), (1, 17), (9, 25)]),
        (
            "--cpu-bind=cores -m block:fcyclic --threads-per-core=1",
            [(0, 8, 16, 24), (1, 9, 17, 25), (2, 10, 18, 26), (3, 11, 19, 27)],
        ),
        ("--cpu-bind=map_cpu:3,16", [(3,), (16,), (3,), (16,)]),
        ("--cpu-bind=map_cpu:3,,04*2,", [(3,), (4,), (4,), (3,)]),
        ("--cpu-bind=cores -m block::", [(0, 16), (8, 24), (1, 17), (9, 25)]),
        ("--cpu-bind=v,mask_cpu:0x3*2,f0", [(0, 1), (0, 1), (4, 5, 6, 7), (0, 1)]),
    ],
)
def test_slurm(text, expected):
    assert list(zones(synthetic(SMT), slurm=text, ranks=4, threads=2)) == expected


def test_slurm_binds_to_what_holds_a_tasks_cores():
    machine = synthetic(SMT)
    first, second = (*range(8), *range(16, 24)), (*range(8, 16), *range(24, 32))
    # of sockets only what the step was given, of NUMA nodes all
    assert zones(machine, slurm="--cpu-bind=sockets", ranks=2, threads=16) == (first, second)
    assert zones(machine, slurm="--cpu-bind=sockets", ranks=2, threads=2) == ((0, 16), (8, 24))
    for bind in ("ldoms", "rank_ldom", "map_ldom:0,1", "mask_ldom:1,2"):
        assert zones(machine, slurm=f"--cpu-bind={bind}", ranks=2, threads=2) == (first, second)
    assert zones(machine, slurm="--cpu-bind=none", ranks=2) == (tuple(range(32)),) * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--cpu-bind=map_cpu", "needs a list"),
        ("--cpu-bind=cores:1", "takes no list"),
        ("--cpu-bind=pears", "no 'pears'"),
        ("--cpu-bind=mask_cpu:zz", "no entry"),
        ("--cpu-bind=map_cpu:0xc", "no entry"),
        ("--cpu-bind=map_cpu:+3", "no entry"),
        ("--cpu-bind=map_cpu:0*0", "no entry"),
        ("--cpu-bind=map_cpu:,", "no entry"),
        ("--cpu-bind=mask_cpu:0X3", "no entry"),
        ("--cpu-bind=map_ldom:0x0", "no entry"),
        ("-m plane=2:*", "no number"),
        ("-m plane=2,pack", "no number"),
        ("-m block:inherit", "no 'inherit'"),
        ("--distribution=arbitrary", "file of hosts"),
        ("--distribution=block:pear", "no 'pear'"),
        ("--ntasks-per-socket=1", "bears on placement"),
        ("--cpu-bind", "needs a value"),
        ("--cpu-bind=cores -n 40 -c 2", "refuses 40 tasks"),
        ("--ntasks=x", "no number"),
    ],
)
def test_slurm_refuses(text, message):
    with pytest.raises(InputError, match=message):
        resolve(synthetic(SMT), Job(1, 0 if "-n" in text else 4), Request(slurm=text))


CORE = [(i, i + 16) for i in range(16)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-bind-to core", CORE[:4]),
        ("-bind-to core -map-by socket", [CORE[0], CORE[8], CORE[1], CORE[9]]),
        ("-bind-to core:2", [(0, 1, 16, 17), (2, 3, 18, 19), (4, 5, 20, 21), (6, 7, 22, 23)]),
        ("-bind-to hwthread", [(0,), (16,), (1,), (17,)]),
        (
            "-bind-to socket -map-by core",
            [(*range(8), *range(16, 24))] * 4,
        ),
        # ranks beyond the list are not bound
        ("-bind-to user:0+2,1+4,3", [(0, 2), (1, 4), (3,), tuple(range(32))]),
        ("-bind-to user:0-2+5,7", [(0, 1, 2, 5), (7,), tuple(range(32)), tuple(range(32))]),
        ("-bind-to rr", [(0,), (1,), (2,), (3,)]),
        ("-bind-to none -map-by core", [tuple(range(32))] * 4),
        ("-bind-to none", [tuple(range(32))] * 4),
    ],
)
def test_mpich(text, expected):
    assert list(zones(synthetic(SMT), mpich=text, ranks=4)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-n 4 -d 2 -j 1", [[(0,), (1,)], [(2,), (3,)], [(4,), (5,)], [(6,), (7,)]]),
        ("-n 4 -d 2 -j 1 -cc depth", [[(0, 1)] * 2, [(2, 3)] * 2, [(4, 5)] * 2, [(6, 7)] * 2]),
        ("-n 4 -S 2 -d 2 -j 1", [[(0,), (1,)], [(2,), (3,)], [(8,), (9,)], [(10,), (11,)]]),
        ("-n 2 -d 2 -cc 0,1:8,9", [[(0,), (1,)], [(8,), (9,)]]),
        ("-n 2 -d 2 -cc 0-3", [[(0,), (1,)], [(2,), (3,)]]),
        ("-n 1 -d 2 -cc 5,x", [[(5,), tuple(range(32))]]),
        ("-n 1 -d 2 -cc numa_node -j 1", [[(*range(8), *range(16, 24))] * 2]),
    ],
)
def test_aprun(text, expected):
    placed = resolve(synthetic(SMT), Job(1), Request(aprun=text)).placement
    assert [list(rank) for rank in placed.by_rank] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-d 2", "no number of ranks is given"),
        ("-n 9 -d 4", "refuses 9 elements"),
        ("-n 2 -cc 1-", "column 3"),
        ("-n 1 -y", "not known here"),
    ],
)
def test_aprun_refuses(text, message):
    with pytest.raises(InputError, match=message):
        resolve(synthetic(SMT), Job(1), Request(aprun=text))


def test_threads_are_refined_within_a_launchers_zones():
    placed = resolve(
        synthetic(SMT), Job(4, 2), Request(openmpi4="--map-by socket --bind-to socket", places="cores", bind="spread")
    ).placement
    assert placed.by_rank == (tuple((c, c + 16) for c in (0, 2, 4, 6)), tuple((c, c + 16) for c in (8, 10, 12, 14)))
    assert len(placed.zones[0]) == 16


def test_taskset_replaces_a_ranks_zone_and_numactl_keeps_to_it():
    machine = synthetic(SMT)
    launched = {"openmpi4": "--map-by socket --bind-to socket", "ranks": 2}
    assert zones(machine, taskset="-c 0-3", **launched) == ((0, 1, 2, 3),) * 2
    with pytest.raises(InputError, match="numactl refuses number 0"):
        zones(machine, numactl="-C 0-3", **launched)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"slurm": "--cpu-bind=cores", "mpich": "-bind-to core"}, "two launchers"),
        ({"taskset": "1", "hwloc": "pu:0"}, "two masks"),
        ({"affinity": "compact", "gomp": "0"}, "bound twice"),
        ({"policy": "compact", "likwid": "0"}, "bound twice"),
        ({"subset": "1c", "place_threads": "1c"}, "one setting"),
        ({"affinity": "compact", "runtime": "gnu"}, "no KMP_ variable"),
    ],
)
def test_what_contradicts_itself_is_refused(asked, message):
    with pytest.raises(InputError, match=message):
        resolve(synthetic(SMT), Job(2, 2), Request(**asked))


@pytest.mark.parametrize(("threads", "ranks", "nodes"), [(0, 1, 1), (1, -1, 1), (1, 1, 2), (1, 1, 0), (1 << 21, 1, 1)])
def test_a_job_that_makes_no_sense_is_refused(threads, ranks, nodes):
    with pytest.raises(InputError):
        Job(threads, ranks, nodes)
