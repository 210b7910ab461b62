# SPDX-License-Identifier: BSD-3-Clause
"""Where threads would sit: what binds them, with memory and pages."""

from dataclasses import replace

import nodewise
from nodewise.machine.sources import load_machine
from nodewise.placement.memory import read_memory
from nodewise.placement.placement import Placement
from nodewise.verdicts.place import PlaceOutput, is_bound
from tests.surfaces import machine

MACHINE = load_machine("synthetic:numa:2 core:2 pu:1")


def _place(policy: str, **more: object) -> PlaceOutput:
    return nodewise.place(policy, machine=MACHINE, **more)  # type: ignore[arg-type]


def test_what_is_bound_is_less_than_all_that_may_be_used() -> None:
    assert _place("compact", threads=2).bound and not _place("os", threads=2).bound
    one = _place("compact", threads=2)
    assert is_bound(one.machine, one.placement)


def test_what_starts_a_program_so() -> None:
    compact = _place("compact", threads=2)
    launched = compact.launch()
    assert launched is not None and launched.env["OMP_NUM_THREADS"] == "2" and launched.words == ()
    assert _place("os").launch() is None
    counted = _place("os", threads=2).launch()
    assert counted is not None and (counted.env, counted.words) == ({"OMP_NUM_THREADS": "2"}, ())
    assert _place("compact", ranks=2).launch() is None
    free = _place("os", threads=2)
    policy = read_memory(MACHINE, "interleave:0-1")
    with_memory = replace(free, pages=(policy, "default")).launch()
    assert with_memory is not None and with_memory.words == ("numactl", "--interleave=0-1")
    assert with_memory.env == {"OMP_NUM_THREADS": "2"}
    assert replace(free, pages=(None, "transparent")).launch() is not None


def test_memory_is_written_before_the_program_in_every_dialect() -> None:
    policy = read_memory(MACHINE, "bind:0")
    placed = replace(_place("compact", threads=1), pages=(policy, "default"))
    assert placed.render("taskset").words[-2:] == ("numactl", "--membind=0")
    assert placed.render("numactl").words.count("numactl") == 1
    assert "--membind=0" in placed.render("numactl").words


def test_teams_within_teams_that_nothing_binds_have_their_numbers() -> None:
    free = _place("os", threads=(2, 2)).launch()
    assert free is not None
    assert free.env == {"OMP_NUM_THREADS": "2,2", "OMP_MAX_ACTIVE_LEVELS": "2"} and free.words == ()


def test_one_thread_that_is_held_to_less_is_bound() -> None:
    two = machine(2, 1)
    places = Placement("list", (tuple(two.allowed), tuple(two.allowed)[:1]), (2,))
    assert is_bound(two, places)
    assert not is_bound(two, Placement("list", (tuple(two.allowed),) * 2, (2,)))


def test_what_holds_this_program_holds_the_one_that_is_launched() -> None:
    narrow = replace(MACHINE, source="live", narrowed=True)
    launched = replace(_place("os", threads=2), machine=narrow).launch()
    assert launched is not None and launched.words == ("taskset", "-c", "0-3")
    assert launched.env == {"OMP_NUM_THREADS": "2"}
    uncounted = replace(_place("os"), machine=narrow).launch()
    assert uncounted is not None and (uncounted.words, uncounted.env) == (launched.words, {})
