# SPDX-License-Identifier: BSD-3-Clause
"""What OpenMP costs, from samples of known truth."""

from __future__ import annotations

import pytest

from nodewise.profile.openmp import TeamThread, in_region, openmp_shares, waits_at_barrier
from nodewise.profile.samples import Away, Frame, Life, Recorded, Taken

WORK = (Frame("work", "/app", 1), Frame("main._omp_fn.0", "/app", 2))
RUNTIMES = {
    "GNU": (
        (
            Frame("gomp_team_barrier_wait_end", "/lib/libgomp.so.1", 3),
            Frame("gomp_thread_start", "/lib/libgomp.so.1", 4),
        ),
        (Frame("GOMP_parallel", "/lib/libgomp.so.1", 5),),
    ),
    "LLVM": (
        (
            Frame("[unknown]", "[kernel.kallsyms]", 1),
            Frame("sched_yield", "/usr/lib/x86_64-linux-gnu/libc.so.6", 1),
            Frame("__kmp_fork_barrier", "/lib/libomp.so.5", 3),
            Frame("__kmp_launch_worker", "/lib/libomp.so.5", 4),
        ),
        (Frame("__kmpc_fork_call", "/lib/libomp.so.5", 5),),
    ),
    "Intel": (
        (Frame("[unknown]", "/opt/libiomp5.so", 3), Frame("[unknown]", "/opt/libiomp5.so", 4)),
        (Frame("__kmp_GOMP_microtask_wrapper", "/opt/libiomp5.so", 5),),
    ),
}


def _recorded(runtime: str, asleep: bool) -> Recorded:
    """Ten seconds at 100 a second: the first four alone, then a region in which the second thread works for two seconds of six."""
    waits, enters = RUNTIMES[runtime]
    main = (Frame("main", "/app", 9),)
    samples, away = [], []
    for i in range(1000):
        t = i / 100
        parallel = t >= 4
        samples.append(Taken(7, 7, t, (*WORK, *enters, *main) if parallel else (Frame("work", "/app", 1), *main)))
        if 4 <= t < 6:
            samples.append(Taken(7, 8, t, (*WORK, waits[-1])))
        elif not asleep:
            samples.append(Taken(7, 8, t, waits))
    if asleep:
        away = [Away(0.0, 4.0, waits), Away(6.0, 4.0, waits)]
    lives = {(7, 7): Life("app", 0.0, 10.0), (7, 8): Life("app", 0.0, 10.0, away=away), (7, 9): Life("io", 0.0, 10.0)}
    return Recorded(sorted(samples, key=lambda s: s.time), lives)


@pytest.mark.parametrize("asleep", [False, True], ids=["spinning", "asleep"])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_serial_time_and_imbalance_are_those_that_are_there(runtime: str, asleep: bool) -> None:
    [share] = openmp_shares({None: _recorded(runtime, asleep)}, True)
    assert share.runtime == runtime
    assert (
        share.seconds == 10
        and share.serial_s == pytest.approx(4, abs=0.03)
        and share.serial_share == pytest.approx(0.4, abs=0.01)
    )
    first, second = share.threads
    assert (first.work_s, first.barrier_s, first.idle_s) == pytest.approx((6, 0, 0), abs=0.03)
    assert (second.work_s, second.barrier_s, second.idle_s) == pytest.approx((2, 4, 4), abs=0.03)
    assert share.barrier_s == pytest.approx(4, abs=0.03)
    assert [_sum(t) for t in share.threads] == pytest.approx([10, 10])
    # the threads' work is six and two seconds
    assert share.imbalance == pytest.approx(1 - 4 / 6, abs=0.01)
    assert "a guess" in share.how
    assert ("have no names" in share.how) == (runtime == "Intel" and not asleep)


def _sum(thread: TeamThread) -> float:
    return thread.alone_s + thread.work_s + thread.barrier_s + thread.idle_s + thread.other_s


def test_the_times_of_a_thread_add_up_to_how_long_it_was_seen() -> None:
    """Also where others held it back, where it waits elsewhere, and where samples came more rarely than was asked for."""
    waits = RUNTIMES["GNU"][0]
    recorded = _recorded("GNU", True)
    recorded.threads[7, 8] = Life(
        "app", 1.0, 10.0, waited_s=4.0, preempted_s=2.0, away=[Away(1.0, 3.0, waits), Away(9.0, 1.0)]
    )
    recorded.threads[7, 7].preempted_s = 1.0
    recorded.samples[:] = [t for i, t in enumerate(recorded.samples) if i % 3]
    [share] = openmp_shares({None: recorded}, True)
    first, second = share.threads
    assert (first.seen_s, second.seen_s) == (10, 9)
    assert (_sum(first), _sum(second)) == pytest.approx((10, 9))
    # two seconds in which it was held back are nobody's work; of the first thread 0.6 of one, as it was alone for the rest
    assert (second.idle_s, second.barrier_s, second.work_s, second.other_s) == pytest.approx((3, 1, 3, 2), abs=0.1)
    assert (first.alone_s, first.work_s, first.other_s) == pytest.approx((4, 5.4, 0.6), abs=0.1)


def test_a_sleep_elsewhere_is_no_barrier() -> None:
    recorded = _recorded("GNU", True)
    recorded.threads[7, 8].away = [Away(6.0, 4.0, (Frame("read", "/lib/libc.so.6", 1), *WORK))]
    [share] = openmp_shares({3: recorded}, True)
    assert (
        share.rank == 3 and share.threads[1].barrier_s == 0 and share.threads[1].other_s == pytest.approx(4, abs=0.03)
    )
    # where it is not known where threads slept, they are taken to have slept at barriers, and that is said
    recorded.threads[7, 8].away = [Away(6.0, 4.0)]
    [share] = openmp_shares({3: recorded}, False)
    assert share.threads[1].barrier_s == pytest.approx(4, abs=0.03) and "--off-cpu" in share.how


def test_programs_without_openmp_have_no_such_part() -> None:
    alone = Recorded([Taken(7, 7, 0.1, (Frame("main", "/app", 1),))], {(7, 7): Life("app", 0, 1)})
    assert openmp_shares({None: alone}, True) == ()


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("gomp_barrier_wait_end", True),
        ("GOMP_loop_dynamic_next", False),
        ("GOMP_critical_start", False),
        ("omp_set_lock", False),
        ("GOMP_barrier", True),
    ],
)
def test_who_hands_out_work_does_not_wait(name: str, waits: bool) -> None:
    assert waits_at_barrier((Frame(name, "/lib/libgomp.so.1.0.0", 1),)) == waits
    assert not waits_at_barrier((Frame("work", "/app", 1), Frame("GOMP_parallel", "/lib/libgomp.so.1", 1)))


@pytest.mark.parametrize("name", ["f._omp_fn.3", ".omp_outlined.", "main.omp_outlined", "__kmpc_fork_call"])
def test_bodies_of_regions_are_known_by_their_names(name: str) -> None:
    assert in_region((Frame("work", "/app", 1), Frame(name, "/app", 2))) and not in_region((Frame("main", "/app", 1),))


def test_a_runtime_without_names_is_in_a_region_where_it_is_not_called_by_name() -> None:
    """As Debian's libgomp, which shows its exported functions alone: its end of a region is no time alone."""
    hidden = Frame("[unknown]", "/lib/libgomp.so.1", 3)
    assert in_region((hidden, Frame("main", "/app", 9)))
    assert not in_region((Frame("omp_get_wtime", "/lib/libgomp.so.1", 3), Frame("main", "/app", 9)))
    recorded = _recorded("GNU", True)
    for i, taken in enumerate(recorded.samples):
        if taken.tid == 7 and taken.time >= 8:
            recorded.samples[i] = Taken(7, 7, taken.time, (hidden, Frame("main", "/app", 9)))
    recorded.samples[:] = [t for t in recorded.samples if t.tid != 7 or t.time < 8.5]
    # it sleeps for the last second and a half, which is at the region's end
    recorded.threads[7, 7].away = [Away(8.5, 1.5)]
    [share] = openmp_shares({None: recorded}, False)
    assert share.serial_s == pytest.approx(4, abs=0.03)
    assert share.threads[0].barrier_s == pytest.approx(2, abs=0.05)
