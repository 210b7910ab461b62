# SPDX-License-Identifier: BSD-3-Clause
"""Against GNU's runtime, as the compiler here brings it: its recorded answers, and new ones."""

import os
import subprocess
from dataclasses import replace

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.openmp.gnu import room as gnu_room
from nodewise.placement.openmp.gnu_text import read_gnu_places, read_gomp
from nodewise.placement.resolve import Request, fitting_threads, resolve
from nodewise.placement.traps import find_traps
from tests.placement.runtimes import ask_gnu, runtime_folder  # noqa: F401
from tests.placement.runtimes.asked import differing, differing_from_recorded

#: Sockets alternate in the system's numbers.
ALTERNATING = "synthetic:pack:2 core:4 pu:2(indexes=0,8,2,10,4,12,6,14,1,9,3,11,5,13,7,15)"


def gnu(machine, threads, **asked):
    return resolve(machine, Job(threads), Request(runtime="gnu", **asked))


def test_agrees_with_what_was_recorded():
    """libgomp 12.2.0, as tools/placements.py asked it."""
    assert differing_from_recorded("gnu", "gnu-openmp-12.2.0.jsonl") == []


def test_agrees_with_the_runtime_itself(runtime_folder):  # noqa: F811
    assert differing("gnu", runtime_folder, cases=40, seed="the suite's") == []


def test_cores_are_in_the_order_of_their_lowest_processor_whatever_their_socket():
    found = gnu(load_machine(ALTERNATING), 4, places="cores", bind="close").placement
    assert found.places == ((0, 8), (1, 9), (2, 10), (3, 11))


def test_a_list_is_narrowed_to_what_is_allowed():
    found = gnu(load_machine("synthetic:core:8 pu:1", "2-5"), 2, places="{0:4}", bind="close")
    assert found.placement.places == ((2, 3), (2, 3))


def test_gomp_cpu_affinity_binds_outside_of_the_mask_all_the_same():
    found = gnu(load_machine("synthetic:core:8 pu:1", "2-5"), 2, gomp="6 3")
    assert found.placement.places == ((6,), (3,))
    assert "processors 6 are outside" in found.notes[0]


def test_outside_of_the_cpuset_the_program_ends():
    """The kernel refuses to start a thread there; the main thread's own binding only fails."""
    there = load_machine("synthetic:core:8 pu:1", "2-5")
    machine = replace(there, limits=replace(there.limits, cpuset=(2, 3, 4, 5)))
    with pytest.raises(InputError, match="a thread is to start on processor 6, which this process's cpuset has not"):
        gnu(machine, 2, gomp="3 6")
    found = gnu(machine, 2, gomp="6 3")
    assert found.placement.places == ((2, 3, 4, 5), (3,)) and "the main thread is not bound" in found.notes[0]
    wider = replace(there, limits=replace(there.limits, cpuset=tuple(range(8))))
    assert gnu(wider, 2, gomp="3 6").placement.places == ((3,), (6,))


def test_where_it_is_not_known_what_the_cpuset_has_it_is_a_trap():
    machine = load_machine("synthetic:core:8 pu:1", "2-5")
    request = Request(runtime="gnu", gomp="3 6")
    traps = find_traps(machine, resolve(machine, Job(2), request).placement, request)
    assert "program ends" in [trap.name for trap in traps]
    known = replace(machine, limits=replace(machine.limits, cpuset=tuple(range(8))))
    assert "program ends" not in [t.name for t in find_traps(known, resolve(known, Job(2), request).placement, request)]


def test_libgomp_itself_ends_where_a_thread_cannot_start(tmp_path):
    """On this very machine: more threads than processors, on ones that it has not."""
    (tmp_path / "p.c").write_text("int main(void) {\n#pragma omp parallel\n  { }\n  return 0;\n}\n")
    subprocess.run(["gcc", "-fopenmp", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    there = load_machine(None)
    last = max(there.pus)
    listed, count = f"{min(there.allowed)}-{last + 2}", str(last + 3)
    env = {**os.environ, "OMP_NUM_THREADS": count, "GOMP_CPU_AFFINITY": listed}
    done = subprocess.run([str(tmp_path / "p")], env=env, capture_output=True, text=True, check=False)
    assert done.returncode and "Thread creation failed" in done.stderr
    with pytest.raises(InputError, match="ends the program"):
        gnu(there, last + 3, gomp=listed)


def test_a_thread_on_a_processor_that_is_not_there_ends_the_program():
    machine = load_machine("synthetic:core:2 pu:1")
    with pytest.raises(InputError, match="ends the program: a thread is to start on processor 2"):
        gnu(machine, 4, gomp="0-3")
    assert gnu(machine, 2, gomp="0-3").placement.places == ((0,), (1,))
    found = gnu(machine, 2, gomp="5 0")
    assert found.placement.places == ((0, 1), (0,))
    assert found.notes == ("processor 5 is not there: the main thread is not bound",)


@pytest.mark.parametrize(
    ("places", "bind", "expected"),
    [
        ("{0},{1},!{0}", "close", ((1,), (1,))),
        ("!{0}", "close", ((0,), (1,))),
        ("croes", "close", ((0,), (1,))),
        ("croes", None, ((0, 1, 2, 3), (0, 1, 2, 3))),
        ("{70}", "spread", ((0,), (2,))),
        ("{0:4,!2}", "close", ((0, 1, 3), (0, 1, 3))),
        ("{3", "true", ((0,), (1,))),
        ("cores", "closely", ((0,), (1,))),
    ],
)
def test_a_list_that_it_refuses_is_reported_and_single_threads_are_bound(places, bind, expected):
    found = gnu(load_machine("synthetic:core:4 pu:1"), 2, places=places, bind=bind)
    assert found.placement.places == expected
    refused = places in ("!{0}", "croes", "{70}", "{3") or bind == "closely"
    assert any(note.startswith("GNU's runtime ignores") for note in found.notes) == refused


NOTHING, SINGLE = "nothing is bound", "threads are bound to single hardware threads instead"


@pytest.mark.parametrize(
    ("asked", "places", "notes"),
    [
        ({"bind": "false"}, None, []),
        ({"bind": " False "}, None, []),
        ({"places": "{3}", "bind": "false"}, None, ["OMP_PROC_BIND is false: nothing is bound"]),
        ({"bind": "closely"}, None, ["GNU's runtime ignores OMP_PROC_BIND='closely', column 1", NOTHING]),
        ({"places": "croes"}, None, ["GNU's runtime ignores OMP_PLACES='croes', column 1", NOTHING]),
        ({"gomp": "x", "bind": "false"}, None, ["GNU's runtime ignores GOMP_CPU_AFFINITY='x', column 1", NOTHING]),
        ({"gomp": "64"}, None, ["processors from 64 on are left out", NOTHING]),
        ({"gomp": "2 64 3"}, ((2,), (3,), (2,)), ["processors from 64 on are left out"]),
        ({"gomp": "3 63"}, None, None),
        ({"gomp": "1 3"}, ((1,), (3,), (1,)), ["processors 1 are outside of what this process may use"]),
        ({"bind": "true"}, ((2,), (3,), (4,)), []),
        ({"places": "{9", "bind": "close"}, ((2,), (3,), (4,)), ["GNU's runtime ignores OMP_PLACES='{9'", SINGLE]),
        ({"gomp": "x", "bind": "close"}, ((2,), (3,), (4,)), ["GNU's runtime ignores GOMP_CPU_AFFINITY='x'", SINGLE]),
        ({"places": "{0},{2},{9}"}, ((2,),) * 3, ["2 places have no processor that may be used: they are left out"]),
        ({"places": "{2},{3}"}, ((2,), (3,), (2,)), []),
        ({"places": "cores(4)"}, ((2,), (3,), (4,)), []),
        ({"places": "cores(5)"}, ((2,), (3,), (4,)), ["there are 4 places, not 5"]),
        ({"places": "cores(0)"}, None, ["GNU's runtime ignores OMP_PLACES: no place is asked for", NOTHING]),
        ({"places": "ll_caches"}, ((2, 3, 4, 5),) * 3, []),
    ],
)
def test_what_it_does_with_each_of_its_variables_is_noted(asked, places, notes):
    """Of eight processors it may use four; None: all of those, or that the program ends."""
    machine = load_machine("synthetic:core:8 pu:1", "2-5")
    if notes is None:
        with pytest.raises(InputError, match="on processor 63, which this machine has not"):
            gnu(machine, 3, **asked)
        return
    found = gnu(machine, 3, **asked)
    assert found.placement.places == (places or ((2, 3, 4, 5),) * 3)
    assert [said.startswith(note) for said, note in zip(found.notes, notes, strict=True)] == [True] * len(notes)


def test_it_has_room_up_to_a_whole_word_of_64_processors():
    machine = load_machine("synthetic:core:66 pu:1")
    assert [gnu_room(load_machine("synthetic:core:66 pu:1", to)) for to in ("0", "0-63", "64", "2,65")] == [
        64,
        64,
        128,
        128,
    ]
    assert gnu_room(machine) == 128


def test_omp_places_goes_before_gomp_cpu_affinity():
    machine = load_machine("synthetic:core:4 pu:1")
    assert gnu(machine, 2, places="{1},{3}", gomp="0 2").placement.places == ((1,), (3,))
    assert gnu(machine, 2, places="{9", gomp="0 2").placement.places == ((0,), (2,))
    assert fitting_threads(machine, Job(1), Request(gomp="0 x")) == 4


def test_a_version_finds_one_last_level_cache_or_all(runtime_folder):  # noqa: F811
    """libgomp 12 finds the first only, which is what is modelled and reported."""
    machine = load_machine("synthetic:l3:2 core:2 pu:2")
    env = {"OMP_PLACES": "ll_caches", "OMP_PROC_BIND": "close"}
    real = ask_gnu(runtime_folder, machine, env, 2).places
    assert real in ([(0, 1, 2, 3)] * 2, [(0, 1, 2, 3), (4, 5, 6, 7)])
    mine = resolve(machine, Job(2), Request(runtime="gnu", places="ll_caches", bind="close"))
    assert mine.placement.places == ((0, 1, 2, 3),) * 2
    assert any("only the first last-level cache" in note for note in mine.notes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 3 1-2 4-15:2", (0, 3, 1, 2, 4, 6, 8, 10, 12, 14)),
        ("0,1 , 2", (0, 1, 2)),
        (" 7 ", (7,)),
        ("0x1f 010 +3", (31, 8, 3)),
        ("2- 4", (2, 3, 4)),
    ],
)
def test_the_list_is_read(text, expected):
    assert read_gomp(text) == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [("", 1), ("0-", 3), ("3-1", 1), ("0 x", 3), ("0:2", 2), ("0-4:0", 1), ("0,,1", 3), ("2 -4", 3), ("65536", 1)],
)
def test_an_error_names_the_column(text, column):
    with pytest.raises(InputError, match=rf"column {column}:"):
        read_gomp(text)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("croes", 1),
        ("cores(", 7),
        ("{0", 3),
        ("{0},", 5),
        ("!!{0}", 2),
        ("{0x1}", 3),
        ("{1:2,!0:2}", 10),
        ("!{0}:2", 5),
    ],
)
def test_an_error_in_its_places_names_the_column(text, column):
    with pytest.raises(InputError, match=rf"column {column}:"):
        read_gnu_places(text)
