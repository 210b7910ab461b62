# SPDX-License-Identifier: BSD-3-Clause
"""Looks at the machine between runs: when, how often, and what they tell."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from nodewise.machine.quiet_wait import Activity
from nodewise.runner.rests import Rests
from nodewise.runner.sample import Sample

LOUD = ("other load: it waited 1 s for processors that others used",)


class Machine:
    """A clock that only sleeps move, and so many processors that others keep busy."""

    def __init__(self, used: float):
        self.now = 0.0
        self.used = used

    def read(self, processors: Iterable[int], root: Path) -> Activity:
        assert list(processors) == [2, 3] and root == Path("/")
        return Activity(self.now, self.used * self.now, 0.0)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def _rests(machine: Machine) -> Rests:
    return Rests(read=machine.read, sleep=machine.sleep)


def test_a_look_follows_a_run_that_others_disturbed_and_no_other() -> None:
    rests = _rests(Machine(0.5))
    assert rests.before([2, 3]) == {}
    for marks in ((), ("steal: the hypervisor took 9 %",)):
        rests.after(Sample(1.0, 1.0, 0.0, marks=marks))
        assert rests.before([2, 3]) == {}
    rests.after(Sample(1.0, 1.0, 0.0, marks=LOUD))
    assert rests.before([2, 3]) == pytest.approx({"rest_s": 0.25, "rest_busy_s": 0.125})


def test_looks_take_a_second_and_a_tenth_of_the_runs_time_at_most() -> None:
    machine = Machine(0.0)
    rests = _rests(machine)
    looks = 0
    for _ in range(100):
        rests.after(Sample(0.5, 0.5, 0.0, marks=LOUD))
        looks += bool(rests.before([2, 3]))
    assert looks == int((1 + 0.1 * 50) / 0.25) and machine.now == looks * 0.25
