# SPDX-License-Identifier: BSD-3-Clause
"""Lines as a user has them: with the program behind, the variable's name in front, names cut short; and what is said of them."""

import pytest

from nodewise.api.place import place, request_of
from nodewise.placement.explain import explain
from nodewise.placement.job import Job
from nodewise.placement.rendering import left_out
from nodewise.placement.resolve import Request, resolve
from nodewise.placement.traps import find_traps
from tests.placement.runtimes.mpirun5 import machine_of

MACHINE = "pack:2 numa:1 core:4 pu:2"


def read(name, text, threads=4, ranks=0):
    return resolve(machine_of(MACHINE), Job(threads, ranks), Request(**{name: text}))


def explained(threads=4, ranks=0, **texts):
    machine = machine_of(MACHINE)
    request = Request(**texts)
    return " ".join(explain(machine, resolve(machine, Job(threads, ranks), request).placement, request))


@pytest.mark.parametrize(
    ("name", "line", "plain"),
    [
        ("numactl", "numactl -N 0 ./app", "-N 0"),
        ("numactl", "A=b /usr/bin/numactl --physcpubind=0-1 -- ./app -N 1", "--physcpubind=0-1"),
        ("numactl", "-N 1 ./app", "-N 1"),
        ("taskset", "taskset -c 0-3 ./app --x", "-c 0-3"),
        ("taskset", "OMP_NUM_THREADS=4 taskset 0xf ./app", "0xf"),
        ("likwid", "likwid-pin -c N:0-3 ./app -c 1", "N:0-3"),
        ("hwloc", "hwloc-bind core:0-1 core:3 -- ./app -p", "core:0-1 core:3"),
        ("hwloc", "hwloc-bind core:0-1 ./app core:3", "core:0-1"),
        ("hwloc", "hwloc-bind --membind node:0 --mempolicy interleave --cpubind pu:0 ./app", "--membind node:0 --mempolicy interleave --cpubind pu:0"),
    ],
)  # fmt: skip
def test_the_program_behind_a_tools_line_is_left_out(name, line, plain):
    found, known = read(name, line), read(name, plain)
    assert (found.placement.by_rank, found.memory) == (known.placement.by_rank, known.memory)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("places", "OMP_PLACES=cores", "cores"),
        ("places", "export OMP_PLACES='{0},{1}'", "{0},{1}"),
        ("affinity", 'KMP_AFFINITY="granularity=fine,compact"', "granularity=fine,compact"),
        ("gomp", "GOMP_CPU_AFFINITY=0-3", "0-3"),
        ("affinity", "granularity=fine,compact", "granularity=fine,compact"),
    ],
)
def test_the_variables_name_is_taken_off(name, text, value):
    assert request_of(None, "share", None, {name: text}).texts == {name: value}


# what hwloc-calc 2.9 answers here for pack:2 core:8 pu:2
@pytest.mark.parametrize(
    ("word", "name"),
    [("pack", "package"), ("pa", "package"), ("soc", "package"), ("cor", "core"), ("num", "numanode"), ("mach", "machine")],
)  # fmt: skip
def test_hwlocs_names_may_be_cut_short(word, name):
    assert read("hwloc", f"{word}:0").placement.mask == read("hwloc", f"{name}:0").placement.mask


@pytest.mark.parametrize("how", ["scatter", "balanced", "cbalanced"])
def test_likwid_spreads_over_one_domain(how):
    # likwid-pin 5.2.2 takes S0:scatter, and no S1 on a machine of one socket
    assert set(read("likwid", f"S1:{how}").placement.mask) <= set(range(8, 16))


def test_srun_is_told_what_it_is_asked_for_beside_the_text():
    note = "taken as with -n 2 -c 1"
    assert any(note in n for n in read("slurm", "--cpu-bind=cores", 1, 2).notes)
    assert not any("taken as with" in n for n in read("slurm", "srun -n 2 --cpu-bind=cores", 1).notes)
    assert "--exact" in explained(slurm="srun -n 2 -c 1")
    assert "--exact" not in explained(slurm="srun -n 2 --cpu-bind=cores")


def test_ranks_that_a_launcher_stacks_are_not_laid_to_openmp():
    machine, request = machine_of(MACHINE), Request(slurm="-n 2 --cpu-bind=map_cpu:0,0")
    (trap,) = [
        t
        for t in find_traps(machine, resolve(machine, Job(1), request).placement, request)
        if t.name == "stacked ranks"
    ]
    assert "--slurm's options" in trap.what
    assert "OpenMP" not in f"{trap}"


@pytest.mark.parametrize("texts", [{"affinity": "disabled"}, {"numactl": "-N 0"}, {"taskset": "0xff"}])
def test_nothing_is_said_of_neighbours_that_may_move(texts):
    assert "neighbouring" not in explained(**texts)


def test_neighbours_whose_places_lie_apart_are_counted_though_they_may_move():
    assert "1 lies on different sockets" in explained(2, places="sockets", bind="close")


def test_sentences_say_what_is_meant():
    assert "GNU's places every thread as it does" in explained(2, places="cores", bind="spread", runtime="llvm")
    permuted = explained(affinity="granularity=fine,compact,1,0")
    assert "filling a core" not in permuted
    assert "innermost level of" in permuted
    assert "filling a core before the next" in explained(affinity="granularity=fine,compact")
    assert "4 ranks on one node." in explained(1, slurm="-n 4")
    assert left_out([7]) == ["processor 7 is not there or not allowed: left out"]
    assert left_out([7, 8]) == ["processors 7-8 are not there or not allowed: left out"]


def test_a_placement_of_hosts_is_the_apis_too():
    found = place(mpich="-n 4 -hosts a,b", machine=f"synthetic:{MACHINE}")
    assert (found.nodes, found.order) == (2, "cyclic")
