# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for quiet, on machines that get quiet as a test wants it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from nodewise.machine.quiet_wait import Activity, Waited, read_activity, wait_until_quiet


class Machine:
    """A machine whose load, in processors, steal and memory pressure, in shares, are given second by second."""

    def __init__(self, load: Sequence[float], steal: Sequence[float] = (), memory: Sequence[float] = ()):
        self._load, self._steal, self._memory = load, steal, memory
        self.now = 0

    def read(self, processors: tuple[int, ...]) -> Activity:
        return Activity(
            self.now, sum(self._load[: self.now]), sum(self._steal[: self.now]), sum(self._memory[: self.now])
        )

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds)

    def wait(self, limit_s: float, processors: int, needed: float | None = None) -> Waited:
        return wait_until_quiet(limit_s, range(processors), needed, read=self.read, sleep=self.sleep)


def test_a_quiet_machine_is_waited_for_no_longer_than_it_takes_to_see() -> None:
    assert Machine([0.05] * 10).wait(60, 2) == Waited(1, True, "")


def test_it_goes_on_when_the_load_has_gone() -> None:
    assert Machine([2, 2, 1, 0.4, 0.09, 2, 2]).wait(60, 2) == Waited(5, True, "")


def test_the_limit_ends_it_and_says_what_was_there() -> None:
    waited = Machine([1.25] * 100).wait(10, 2)
    assert waited == Waited(10, False, "other load: 1.25 of 2 processors are used by others")
    assert Machine([1.25] * 100).wait(0.5, 2).seconds == 1


@pytest.mark.parametrize(
    ("load", "processors", "needed", "quiet"),
    [
        (0.11, 2, None, False),
        (0.09, 2, None, True),
        (40, 128, 2, True),
        (126, 128, 2, False),
        (40, 128, None, False),
        (0.4, 2, 1, True),
        (0.6, 2, 1, False),
    ],
)
def test_load_disturbs_where_it_leaves_no_room(load: float, processors: int, needed: float | None, quiet: bool) -> None:
    assert Machine([load] * 9).wait(3, processors, needed).quiet is quiet


def test_stolen_time_and_waiting_for_memory_disturb() -> None:
    assert "steal" in Machine([0.05] * 9, steal=[0.3] * 9).wait(3, 2).reason
    assert Machine([0.05] * 9, steal=[0.04] * 9).wait(3, 2).quiet
    assert "for 6% of the time" in Machine([0] * 9, memory=[0.06] * 9).wait(3, 2).reason
    assert Machine([0] * 9, memory=[0.04] * 9).wait(3, 2).quiet


def test_totals_are_those_of_the_processors_that_are_used(tmp_path: Path) -> None:
    (tmp_path / "proc/pressure").mkdir(parents=True)
    lines = [f"cpu{p} {100 * p} 0 0 9000 7 0 0 {10 * p} 0 0" for p in range(4)]
    (tmp_path / "proc/stat").write_text("\n".join(["cpu  600 0 0 36000 28 0 0 60 0 0", *lines]) + "\n")
    (tmp_path / "proc/pressure/memory").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n")
    assert read_activity((1, 3), tmp_path, 5.0) == Activity(5.0, 4.0, 0.4, 0.25)


def test_this_machine_can_be_waited_for() -> None:
    waited = wait_until_quiet(0.02, (0,), look_s=0.02)
    assert 0.02 <= waited.seconds < 5 and waited.quiet == (waited.reason == "")
