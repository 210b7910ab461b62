# SPDX-License-Identifier: BSD-3-Clause
"""aprun's options as aprun(1) has them, and what is written for it read back."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects.aprun import read_aprun, write_aprun
from nodewise.placement.job import Job
from nodewise.placement.rendering import NotExpressibleError
from tests.placement.test_dialects import LIKWID, SMT, synthetic


def _read(text, machine=None):
    return read_aprun(machine or synthetic(SMT), text, Job(1))


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("--pes 4 --cpus-per-pe 2", "-n 4 -d 2"),
        ("--pes 4 --pes-per-node 2", "-n 4 -N 2"),
        ("-n 4 --pes-per-numa-node 2", "-n 4 -S 2"),
        ("-n 4 -d 2 --cpus-per-cu 1", "-n 4 -d 2 -j 1"),
        ("-n 2 --cpu-binding 3,1", "-n 2 -cc 3,1"),
        # neither has a value
        ("-ss -n 2", "--strict-memory-containment -n 2"),
        # what says nothing of places
        ("-n 2 -q -b -T -d 2", "-n 2 -d 2"),
        ("-n 2 -a xt -D 1 -t 60 -d 2", "-n 2 -d 2"),
        ("-n 2 -cc cpus", "-n 2 -cc cpu"),
        # 0 is all hardware threads of a core
        ("-n 2 -d 2 -j 0", "-n 2 -d 2"),
    ],
)
def test_an_option_has_two_names(long, short):
    one, other = _read(long)[0], _read(short)[0]
    assert one == other


@pytest.mark.parametrize("binding", ["", "-cc none", "-cc cpu", "-cc depth", "-cc numa_node", "-cc 0,1"])
def test_a_placement_says_whose_it_is(binding):
    assert _read(f"-n 2 {binding}")[0].policy == "aprun"


@pytest.mark.parametrize("option", ["-B", "-F", "-r", "-sl", "-sn", "-cp"])
def test_what_is_not_modelled_is_said(option):
    try:
        said = "".join(_read(f"-n 1 {option} 1")[1])
    except InputError as problem:
        said = str(problem)
    assert option in said


def test_elements_fill_one_numa_node_after_the_other():
    placed = _read("-n 3 -S 2 -d 2 -j 1")[0]
    assert [list(rank) for rank in placed.by_rank] == [[(0,), (1,)], [(2,), (3,)], [(8,), (9,)]]
    assert [list(rank) for rank in _read("-n 2 -S 1 -j 1")[0].by_rank] == [[(0,)], [(8,)]]
    with pytest.raises(InputError, match="-S 1 on 2 NUMA nodes is less than the 3 elements"):
        _read("-n 3 -S 1")
    # a machine that knows of no node is one
    with pytest.raises(InputError, match="-S 1 on 1 NUMA node is less than the 2 elements"):
        _read("-n 2 -S 1", synthetic("core:4 pu:1"))


def test_as_many_elements_as_there_is_room_for():
    assert len(_read("-n 8 -d 4")[0].by_rank) == 8
    with pytest.raises(InputError, match="refuses 17 elements of depth 1 on 16 processors"):
        _read("-n 17 -j 1")


def test_a_list_is_taken_in_turn():
    assert [list(rank) for rank in _read("-n 3 -d 2 -cc 0,1,2")[0].by_rank] == [
        [(0,), (1,)],
        [(2,), (0,)],
        [(1,), (2,)],
    ]
    assert [list(rank) for rank in _read("-n 3 -d 2 -cc 0,1:8,9")[0].by_rank] == [
        [(0,), (1,)],
        [(8,), (9,)],
        [(0,), (1,)],
    ]


def test_processors_that_are_not_there_are_left_out_of_a_list():
    placed, notes = _read("-n 2 -cc 0,7-8", synthetic(LIKWID))
    assert [list(rank) for rank in placed.by_rank] == [[(0,)], [(7,)]] and "8" in notes[-1]
    with pytest.raises(InputError, match="no processor that is there"):
        _read("-n 2 -cc 0:8", synthetic(LIKWID))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-n 1 -d 2 -cc 5,x", "aprun -n 1 -N 1 -d 2 -j 2 -cc 5,x"),
        ("-n 2 -d 2 -cc 0,1:8,9", "aprun -n 2 -N 2 -d 2 -j 2 -cc 0,1:8,9"),
        ("-n 2 -cc none", "aprun -n 2 -N 2 -d 1 -j 2 -cc none"),
        ("-n 4 -N 2 -d 16 -cc none", "aprun -n 4 -N 2 -d 16 -j 2 -cc none"),
    ],
)
def test_what_is_written_is_read_as_it_was(text, written):
    placed = _read(text)[0]
    rendering = write_aprun(synthetic(SMT), placed)
    assert " ".join(rendering.words) == written and rendering.notes == ()
    assert _read(written.removeprefix("aprun "))[0] == placed
    assert "hosts by name are not written" in write_aprun(synthetic(SMT), placed, ("a",)).notes[0]


def test_on_one_processor_a_thread_is_bound_and_free_at_once():
    one = synthetic("core:1 pu:1")
    assert write_aprun(one, _read("-n 1", one)[0]).words[-2:] == ("-cc", "none")


def test_what_aprun_cannot_do_is_refused():
    def refused(job, **asked):
        placed = job.floating("test", [(0, 1)] * job.per_node, **asked)
        with pytest.raises(NotExpressibleError) as caught:
            write_aprun(synthetic(SMT), placed)
        return str(caught.value)

    assert "numbered by cyclic" in refused(Job(1, 4, 2), order="cyclic")
    assert "33 threads are to share 32" in refused(Job(33, 1))
    # a thread that may use two of them is neither bound nor free
    assert refused(Job(1, 2))
