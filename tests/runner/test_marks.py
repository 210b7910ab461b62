# SPDX-License-Identifier: BSD-3-Clause
"""What of a run's conditions marks it as disturbed, and what is no more than rounding."""

from typing import Any

import pytest

from nodewise.runner.marks import find_marks, stolen_s


def test_the_clock_is_held_against_its_base() -> None:
    held = {"frequency_hz": 1.2e9, "base_frequency_hz": 2.5e9}
    assert find_marks(1.0, {}, held) == ("clock: 1.20 GHz on the average, below its base of 2.50 GHz",)
    assert find_marks(1.0, {}, {**held, "frequency_hz": 3.1e9}) == ()
    # clocks that are read are coarse: a twentieth below is none that was held down
    assert find_marks(1.0, {}, {**held, "frequency_hz": 2.4e9}) == ()
    assert find_marks(1.0, {}, {**held, "frequency_hz": 2.3e9})
    # a clock looked at after the run says nothing of it
    assert find_marks(1.0, {}, {"frequency_hz": 1.2e9}) == ()


def test_marks_begin_with_their_kind_and_nothing_is_marked_without_cause() -> None:
    assert (
        find_marks(1.0, {"user_s": 1.0}, {"busy_s": 1.01, "steal_s": 0.0, "throttled_s": 0.0, "heat_events": 0.0}) == ()
    )
    every = find_marks(
        1.0,
        {"user_s": 1.0, "major_faults": 30.0},
        {
            "busy_s": 2.0,
            "steal_s": 1.0,
            "throttled_s": 1.0,
            "heat_events": 1.0,
            "pressure_memory_s": 1.0,
            "frequency_hz": 1e9,
            "base_frequency_hz": 2e9,
        },
        (4, 5),
    )
    found = [m.partition(":")[0] for m in every]
    assert found == ["steal", "other load", "memory pressure", "throttled", "heat", "clock", "paging", "rebound"]


def marked(wall_s: float, usage: dict[str, float], conditions: dict[str, float]) -> set[str]:
    return {m.partition(":")[0] for m in find_marks(wall_s, usage, conditions)}


@pytest.mark.parametrize(
    ("usage", "conditions", "kind"),
    [
        # of a run of 10 s of one thread, 5% are half a second; the second number is what it takes of it
        ({}, lambda s: {"mask_steal_s": s / 0.95, "mask_busy_s": 10.0}, "steal"),
        ({}, lambda s: {"throttled_s": s}, "throttled"),
        ({}, lambda s: {"pressure_memory_s": s}, "memory pressure"),
        ({"major_faults": 1.0}, lambda s: {"pressure_io_s": s}, "paging"),
        ({"major_faults": 1.0}, lambda s: {"pressure_io_s": s / 2, "pressure_memory_s": s / 2}, "paging"),
        ({}, lambda s: {"domain_busy_s": 10.0 + s}, "other load"),
    ],
)
def test_a_twentieth_of_its_own_time_disturbs_a_run(usage: dict[str, float], conditions: Any, kind: str) -> None:
    own = {"user_s": 9.0, "system_s": 1.0, **usage}
    assert marked(10.0, own, conditions(0.49)) == set()
    assert marked(10.0, own, conditions(0.51)) == {kind}


def test_of_a_run_that_mostly_slept_its_duration_counts() -> None:
    waited = {"waited_s": 0.02, "watched_s": 0.1, "watched_threads": 1.0, "involuntary_switches": 2}
    assert marked(10.0, {"user_s": 0.1, **waited}, {"mask_busy_s": 3.0, "processors": 2.0}) == set()
    assert marked(0.12, {"user_s": 0.1, **waited}, {"mask_busy_s": 0.1, "processors": 2.0}) == {"other load"}
    assert marked(10.0, {"user_s": 0.1}, {"throttled_s": 0.1, "mask_steal_s": 0.1, "mask_busy_s": 0.1}) == set()


def threaded(cpu_s: float, waited_s: float, threads: int) -> dict[str, float]:
    seen = {"waited_s": waited_s, "watched_s": cpu_s, "watched_threads": float(threads), "involuntary_switches": 2}
    return {"user_s": cpu_s, **seen}


@pytest.mark.parametrize(
    ("wall_s", "usage", "processors", "busy_s", "disturbed"),
    [
        # two threads of 128 processors, 60 of which others use, or all but one
        (1.0, threaded(2.0, 0.001, 2), 128, 62.0, False),
        (1.0, threaded(2.0, 0.001, 2), 128, 127.0, False),
        (2.0, threaded(2.0, 1.9, 2), 128, 256.0, True),
        # four threads on two processors wait for each other, whoever else is there
        (1.0, threaded(2.0, 2.0, 4), 2, 2.0, False),
        (1.1, threaded(2.0, 2.2, 4), 2, 2.2, True),
        # one thread and a hog on two processors: it waits for nothing, and has no room
        (1.0, threaded(1.0, 0.001, 1), 2, 2.0, True),
        (1.0, threaded(1.0, 0.001, 1), 2, 1.4, False),
        # or half a hog, which leaves less than half of a processor idle
        (1.0, threaded(1.0, 0.001, 1), 2, 1.6, True),
        # one that itself worked for less than half of its time has no room to lose
        (1.0, threaded(0.6, 0.001, 1), 2, 1.8, True),
        (1.0, threaded(0.4, 0.001, 1), 2, 1.8, False),
        (1.0, threaded(1.0, 0.06, 1), 2, 1.0, True),
        (1.0, threaded(1.0, 0.04, 1), 2, 1.4, False),
        # what it waited for small threads of its own, or for a processor that slept, is nobody's load
        (1.0, {**threaded(1.0, 0.06, 1), "busiest_s": 0.98}, 2, 1.0, False),
        (1.0, {**threaded(1.0, 0.06, 1), "busiest_s": 1.0}, 2, 1.0, True),
        (1.0, {**threaded(1.0, 0.06, 1), "involuntary_switches": 0}, 2, 1.0, False),
        (0.001, threaded(0.001, 0.0005, 1), 2, 0.0, False),
        # what it left running is its own: mpirun's daemon, say
        (1.0, threaded(1.0, 0.3, 3), 2, 1.06, True),
        (1.0, {**threaded(1.0, 0.3, 3), "left_s": 0.06}, 2, 1.06, False),
        # and nodewise reads what it prints
        (1.0, {**threaded(1.0, 0.3, 3), "read_s": 0.06}, 2, 1.06, False),
        (1.0, {**threaded(1.0, 0.3, 3), "read_s": 0.06}, 2, 1.12, True),
        # where the threads that worked were not seen, room decides
        (1.0, {"user_s": 2.0, "waited_s": 0.0, "watched_s": 0.01, "watched_threads": 1.0}, 128, 62.0, False),
        (2.0, {"user_s": 2.0, "waited_s": 0.0, "watched_s": 0.01, "watched_threads": 1.0}, 2, 4.0, True),
        (2.0, {"user_s": 2.0}, 2, 4.0, True),
        # a process that waited for its children, which were not seen, reports nothing of theirs
        (1.25, {"user_s": 2.0, "waited_s": 0.0, "watched_s": 0.9, "watched_threads": 1.0}, 2, 2.2, True),
        (1.25, {"user_s": 2.0, "waited_s": 0.0, "watched_s": 1.1, "watched_threads": 2.0}, 2, 2.2, False),
        # what was seen stands for what was not
        (1.1, {"user_s": 2.0, "waited_s": 0.06, "watched_s": 1.1, "watched_threads": 2.0}, 2, 2.2, True),
    ],
)
def test_load_disturbs_where_it_keeps_threads_from_a_processor(
    wall_s: float, usage: dict[str, float], processors: int, busy_s: float, disturbed: bool
) -> None:
    found = marked(wall_s, usage, {"mask_busy_s": busy_s, "busy_s": busy_s, "processors": float(processors)})
    assert found == ({"other load"} if disturbed else set())


def test_short_runs_are_judged_by_what_was_ready_at_the_same_time() -> None:
    # 10 ms of four threads on two processors: ticks tell nothing, and threads that wait may do so for each other
    usage = {"user_s": 0.02, "waited_s": 0.004, "watched_s": 0.02, "watched_threads": 4.0}
    quiet = {"mask_busy_s": 0.03, "processors": 2.0, "ready": 0.0}
    assert marked(0.01, usage, quiet) == set()
    assert marked(0.01, usage, {**quiet, "ready": 1.0}) == {"other load"}


def test_ticks_that_round_are_no_load() -> None:
    usage = threaded(0.2, 0.03, 2)
    assert marked(0.1, usage, {"mask_busy_s": 0.225, "processors": 2.0}) == set()
    assert marked(0.1, usage, {"mask_busy_s": 0.25, "processors": 2.0}) == {"other load"}
    # on many processors they add up
    many = threaded(2.56, 1.0, 64)
    assert marked(0.04, many, {"mask_busy_s": 2.56 + 0.16, "processors": 64.0}) == set()
    assert marked(0.04, many, {"mask_busy_s": 2.56 + 0.18, "processors": 64.0}) == {"other load"}
    # two hundredths of a second of steal may be one that was rounded up
    assert marked(0.1, {"user_s": 0.1}, {"mask_steal_s": 0.02, "mask_busy_s": 0.1}) == set()
    assert marked(0.1, {"user_s": 0.1}, {"mask_steal_s": 0.04, "mask_busy_s": 0.1}) == {"steal"}


def test_ticks_that_round_are_no_load_on_the_same_memory() -> None:
    # of 64 processors a sixth of a second
    few = {"domain_busy_s": 0.1 + 0.16, "mask_busy_s": 0.1, "processors": 64.0}
    assert marked(0.1, {"user_s": 0.1}, few) == set()
    assert marked(0.1, {"user_s": 0.1}, {**few, "domain_busy_s": 0.1 + 0.18}) == {"other load"}


def test_steal_is_shared_by_those_that_ran() -> None:
    # half of what ran on its processors was others': so was half of what was stolen
    assert stolen_s({"user_s": 1.0}, {"mask_steal_s": 0.5, "mask_busy_s": 2.0}) == 0.25
    assert stolen_s({"user_s": 1.0}, {"steal_s": 0.5, "busy_s": 0.9}) == 0.5
    assert stolen_s({}, {"steal_s": 0.5}) == 0.5 and stolen_s({"user_s": 1.0}, {}) == 0


def test_one_page_fault_of_a_long_run_is_no_harm() -> None:
    assert marked(60.0, {"user_s": 60.0, "major_faults": 2.0}, {}) == set()
    assert marked(0.1, {"user_s": 0.1, "major_faults": 2.0}, {}) == {"paging"}
    # 10 ms each, where waiting is not reported: a twentieth of 0.2 s
    assert marked(0.19, {"user_s": 0.19, "major_faults": 1.0}, {}) == {"paging"}
    assert marked(0.21, {"user_s": 0.21, "major_faults": 1.0}, {}) == set()


def test_ticks_of_one_processor_are_rounded_as_those_of_two() -> None:
    assert marked(0.1, {"user_s": 0.1}, {"mask_busy_s": 0.125, "processors": 1.0}) == set()
    assert marked(0.1, {"user_s": 0.1}, {"mask_busy_s": 0.135, "processors": 1.0}) == {"other load"}


def test_what_threads_waited_is_not_less_where_more_than_its_own_were_watched() -> None:
    seen = {"waited_s": 0.01, "watched_s": 0.2, "watched_threads": 2.0}
    assert marked(0.15, {"user_s": 0.1, **seen}, {"mask_busy_s": 0.132, "processors": 2.0}) == {"other load"}


def test_what_a_server_took_of_its_processor_is_no_load_of_others() -> None:
    """A busy thread that was taken from its processor by what it waits for, as a server's, was kept by its own work."""
    one = {"user_s": 1.0, "waited_s": 0.4, "watched_s": 1.0, "watched_threads": 1.0, "busiest_s": 1.0}
    conditions = {"mask_busy_s": 1.0, "processors": 1.0}
    taken = {**one, "involuntary_switches": 9}
    assert marked(1.4, taken, conditions) == {"other load"}
    assert marked(1.4, {**taken, "served_s": 0.4}, {**conditions, "mask_busy_s": 1.4}) == set()
