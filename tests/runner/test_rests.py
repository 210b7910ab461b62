# SPDX-License-Identifier: BSD-3-Clause
"""Looks at the machine between runs: when, how often, and what they tell."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from nodewise.machine.quiet_wait import Activity
from nodewise.runner import local, rests
from nodewise.runner.rests import Rests
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting

AS_FOR_USERS = {name: getattr(rests, name) for name in ("_FIRST_S", "_SHARE")}
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


@pytest.fixture(autouse=True)
def as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks are made, which tests/conftest.py leaves out."""
    for name, value in AS_FOR_USERS.items():
        monkeypatch.setattr(rests, name, value)


def _rests(machine: Machine) -> Rests:
    return Rests(read=machine.read, sleep=machine.sleep)


def test_a_look_follows_a_run_that_others_disturbed_and_no_other() -> None:
    looking = _rests(Machine(0.5))
    assert looking.before([2, 3]) == {}
    for marks in ((), ("steal: the hypervisor took 9%",)):
        looking.after(Sample(1.0, 1.0, 0.0, marks=marks))
        assert looking.before([2, 3]) == {}
    looking.after(Sample(1.0, 1.0, 0.0, marks=LOUD))
    assert looking.before([2, 3]) == pytest.approx({"rest_s": 0.25, "rest_busy_s": 0.125})


def test_looks_take_a_second_and_a_tenth_of_the_runs_time_at_most() -> None:
    machine = Machine(0.0)
    looking = _rests(machine)
    looks = 0
    for _ in range(100):
        looking.after(Sample(0.5, 0.5, 0.0, marks=LOUD))
        looks += bool(looking.before([2, 3]))
    assert looks == int((1 + 0.1 * 50) / 0.25) and machine.now == looks * 0.25


def test_a_launcher_looks_before_each_run_by_how_those_before_went(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[object] = []

    class Looking:
        def __init__(self, root: Path):
            assert root == Path("/")

        def before(self, processors: Iterable[int]) -> dict[str, float]:
            met.append(set(processors))
            return {"rest_s": 0.5, "rest_busy_s": 0.25}

        def after(self, sample: Sample) -> None:
            met.append(sample)

    monkeypatch.setattr(local, "Rests", Looking)
    mine = os.sched_getaffinity(0)
    with local.LocalLauncher() as launcher:
        samples = [launcher.run(Setting(("true",), mask=mask)) for mask in (None, (min(mine),))]
    assert met == [mine, samples[0], {min(mine)}, samples[1]]
    assert all((s.conditions["rest_s"], s.conditions["rest_busy_s"]) == (0.5, 0.25) for s in samples)
