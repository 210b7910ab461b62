# SPDX-License-Identifier: BSD-3-Clause
"""What is left of a budget, to the run."""

from nodewise.records.budget import Budget, Meter


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _meter(seconds: float | None, runs: int | None) -> tuple[Meter, _Clock]:
    clock = _Clock()
    return Meter(Budget(seconds, runs), clock), clock


def test_time_and_runs_each_end_it() -> None:
    meter, clock = _meter(60.0, None)
    assert meter.affordable(1.0) == 60 and meter.affordable(7.0) == 8
    clock.now += 10
    meter.count()
    assert (meter.seconds, meter.runs) == (10.0, 1) and meter.affordable(1.0) == 50
    clock.now += 100
    meter.count()
    assert meter.affordable(1.0) == 0
    meter, clock = _meter(None, 9)
    meter.count()
    assert meter.affordable(1e9) == 8
    both, _ = _meter(60.0, 9)
    assert both.affordable(1.0) == 9 and both.affordable(30.0) == 2
    assert _meter(None, None)[0].affordable(1.0) == 1_000_000
    assert _meter(1.0, None)[0].affordable(0.0) == 1_000_000
    assert Budget() == Budget(120.0, None)


def test_what_stands_still_costs_nothing_and_recorded_runs_cost_what_they_did() -> None:
    meter, clock = _meter(60.0, None)
    with meter.standing_still():
        clock.now += 500
    clock.now += 2
    meter.count()
    assert meter.seconds == 2.0
    meter.count(recorded_s=30.0)
    assert (meter.seconds, meter.runs) == (30.0, 2)
    clock.now += 500
    with meter.standing_still():
        clock.now += 500
    assert meter.resume() == clock.now - 30.0
    clock.now += 3
    meter.count()
    assert (meter.seconds, meter.runs) == (33.0, 3)


def test_what_was_spent_before_the_first_run_counts_from_it_on_and_not_where_runs_were_recorded() -> None:
    clock = _Clock()
    meter = Meter(Budget(60.0, None), clock, 5.0)
    assert meter.left_s(meter.budget) == 55.0
    clock.now += 10
    meter.count()
    assert meter.seconds == 15.0 and meter.affordable(1.0) == 45
    gone_on = Meter(Budget(60.0, None), clock, 5.0)
    gone_on.count(20.0)
    clock.now += 1
    gone_on.count()
    assert gone_on.seconds == 20.0


def test_what_is_left_is_that_of_the_budget_that_is_named() -> None:
    """A run of an experiment that goes on may have another one than the meter's."""
    meter, clock = _meter(60.0, None)
    meter.count()
    clock.now += 15
    assert meter.left_s(Budget(100.0, None)) == 85.0 and meter.left_s(meter.budget) == 45.0
    assert meter.left_s(Budget(None, 3)) == float("inf")
