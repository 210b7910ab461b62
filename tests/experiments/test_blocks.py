# SPDX-License-Identifier: BSD-3-Clause
"""The interleaving loop, on runs without a clock."""

import random
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from nodewise.experiments.blocks import Arm, Block, Blocks, Stop
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, read_experiment
from nodewise.records.recorder import Recorder
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.questions import compare_question


class Runs:
    """A launcher without a clock; `marks` says what disturbed the n-th run."""

    def __init__(self, marks: Callable[[int], tuple[str, ...]] = lambda _: (), failing: str = ""):
        self.order: list[str] = []
        self._marks, self._failing = marks, failing

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        self.order.append(setting.key)
        error = "exit code 1" if setting.key == self._failing else None
        return Sample(1.0, 1.0, float(len(self.order)), marks=self._marks(len(self.order)), error=error)

    def close(self) -> None:
        """Nothing is kept running."""


def _blocks(
    out: Path, launcher: Runs, budget: Budget | None = None, before: Callable[[], None] = lambda: None
) -> Blocks:
    question = compare_question("a", "b", "c")
    writer = Writer(out, question)
    meter = Meter(budget or Budget(None))
    return Blocks(Recorder(writer, launcher, meter), meter, random.Random(1), before_block=before)


def _arms(*names: str) -> list[Arm]:
    return [Arm(Setting((name,), name=name)) for name in names]


def test_each_block_holds_each_once_and_every_run_is_kept(tmp_path: Path) -> None:
    runs = Runs()
    blocks = _blocks(tmp_path / "x", runs)
    for _ in range(30):
        blocks.run(_arms("a", "b", "c"), "compare")
    kept = read_experiment(tmp_path / "x").records
    assert [r.setting for r in kept] == runs.order
    assert all(Counter(runs.order[i : i + 3]) == Counter("abc") for i in range(0, 90, 3))


@pytest.mark.parametrize("names", ["ab", "abc", "abcde"])
def test_what_ran_before_is_each_other_equally_often_also_over_the_edges_of_blocks(tmp_path: Path, names: str) -> None:
    runs = Runs()
    blocks = _blocks(tmp_path / "x", runs)
    for _ in range(300):
        blocks.run(_arms(*names), "compare")
    met = Counter(pairwise(runs.order))
    assert len(met) == len(names) ** 2
    fair = 300 * len(names) / len(names) ** 2
    assert max(met.values()) < 1.5 * fair and min(met.values()) > 0.5 * fair


def test_disturbed_blocks_are_made_again_as_often_as_there_were_to_be_at_most(tmp_path: Path) -> None:
    def made(marks: Callable[[int], tuple[str, ...]], name: str) -> int:
        blocks, taken = _blocks(tmp_path / name, Runs(marks)), []
        assert blocks.repeat(lambda: _arms("a", "b"), "compare", Stop(8, 8), taken.append) == "runs"
        return len(taken)

    assert made(lambda n: ("other load: much",) if n in (3, 4, 9) else (), "some") == 10
    assert made(lambda _: ("other load: much",), "all") == 16
    # what would be there again is no reason
    assert made(lambda _: ("rebound: elsewhere",), "lasting") == 8


def test_it_ends_when_settled_and_not_before_the_fewest(tmp_path: Path) -> None:
    blocks, asked = _blocks(tmp_path / "x", Runs()), []

    def settled(count: int) -> bool:
        asked.append(count)
        return count >= 7

    assert blocks.repeat(lambda: _arms("a", "b"), "compare", Stop(5), lambda _: None, settled) == "decided"
    assert asked == [5, 6, 7]


def test_the_budget_of_runs_ends_it_and_leaves_what_is_reserved(tmp_path: Path) -> None:
    for reserved, expected in ((0, 20), (7, 12)):
        runs = Runs()
        blocks = _blocks(tmp_path / f"x{reserved}", runs, Budget(None, 20))
        assert blocks.repeat(lambda: _arms("a", "b"), "c", Stop(1, reserved=reserved), lambda _: None) == "budget"
        assert len(runs.order) == expected


def test_too_few_arms_end_it(tmp_path: Path) -> None:
    blocks, failed = _blocks(tmp_path / "x", Runs(failing="b")), set()

    def take(block: Block) -> None:
        failed.update(k for k, s in block.samples.items() if not s.ok)

    assert blocks.repeat(
        lambda: [a for a in _arms("a", "b") if a.key not in failed], "c", Stop(), take, least_arms=2
    ) == ("failed")


def test_waiting_costs_no_budget() -> None:
    now = [0.0]
    meter = Meter(Budget(10.0), lambda: now[0])
    now[0] = 2.0
    meter.count()
    with meter.standing_still():
        now[0] = 500.0
    now[0] = 503.0
    meter.count()
    assert (meter.seconds, meter.runs) == (5.0, 2)


def test_what_is_waited_before_a_block_is_no_part_of_the_budget(tmp_path: Path) -> None:
    now = [0.0]
    meter = Meter(Budget(10.0), lambda: now[0])
    recorder = Recorder(Writer(tmp_path / "x", compare_question("a", "b")), Runs(), meter)

    def wait() -> None:
        now[0] += 100.0

    blocks = Blocks(recorder, meter, random.Random(1), before_block=wait)
    for _ in range(3):
        blocks.run(_arms("a", "b"), "compare")
    assert now[0] >= 300 and meter.left_s(Budget(10.0)) > 0


def test_before_each_block_there_may_be_a_wait(tmp_path: Path) -> None:
    waits: list[int] = []
    blocks = _blocks(tmp_path / "x", Runs(), before=lambda: waits.append(1))
    for _ in range(3):
        blocks.run(_arms("a", "b"), "compare")
    assert len(waits) == 3


def test_a_block_that_ended_early_is_followed_by_what_ran_last(tmp_path: Path) -> None:
    runs = Runs()
    blocks = _blocks(tmp_path / "x", runs)
    for number in range(8):
        allowed = iter([9.0, 0.0])
        block = blocks.run(_arms("a", "b", "c"), "compare", lambda allowed=allowed: next(allowed))  # type: ignore[misc]
        assert len(block.samples) == 1
        whole = blocks.run(_arms("a", "b", "c"), "compare")
        # the whole block begins with the one that ran, and not with one that was only planned
        assert whole.after[runs.order[4 * number]] == runs.order[4 * number]


class Slow(Runs):
    """A launcher whose runs take their time: `hangs` for ever, from its run `since` on, all others a hundredth of a second."""

    def __init__(self, hangs: str, since: int = 1):
        super().__init__()
        self._hangs, self._since = hangs, since
        self.limits: list[float | None] = []

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        self.order.append(setting.key)
        self.limits.append(timeout_s)
        if setting.key == self._hangs and self.order.count(setting.key) >= self._since:
            assert timeout_s is not None, "it would run for ever"
            time.sleep(timeout_s)
            return Sample(timeout_s, timeout_s, 0.0, error="cut off", cut_off=True)
        time.sleep(0.01)
        return Sample(0.01, 0.01, 0.0)


def test_a_run_that_hangs_is_stopped_one_run_after_the_end_of_the_budget(tmp_path: Path) -> None:
    slow, taken = Slow("b", since=3), []
    blocks = _blocks(tmp_path / "x", slow, Budget(0.4))
    assert blocks.repeat(lambda: _arms("a", "b"), "compare", Stop(), taken.append) == "budget"
    assert [b.whole for b in taken] == [True, True, False] and taken[-1].stopped == {"b"}
    # its own limit is no end of the budget, and a first run may have less than all of that
    slow, taken = Slow("b"), []
    blocks = _blocks(tmp_path / "y", slow, Budget(5.0))
    block = blocks.run([Arm(a.setting, timeout_s=0.02) for a in _arms("a", "b")], "compare")
    assert not block.stopped and block.whole
    block = blocks.run([Arm(a.setting, share_s=0.02) for a in _arms("a", "b")], "compare")
    assert block.stopped == {"b"} and not block.whole


def test_a_budget_that_nobody_asked_for_holds_after_the_fewest_blocks(tmp_path: Path) -> None:
    for firm, made in ((False, 5), (True, 1)):
        slow, taken = Slow(""), []
        blocks = _blocks(tmp_path / f"x{firm}", slow, Budget(0.001))
        assert blocks.repeat(lambda: _arms("a"), "compare", Stop(5, firm=firm), taken.append) == "budget"
        assert len(taken) == made
        assert all(limit is not None for limit in slow.limits)


def test_a_run_may_begin_before_the_end_of_the_budget_and_take_as_long_as_the_slowest_good_one(tmp_path: Path) -> None:
    blocks = _blocks(tmp_path / "x", Slow(""), Budget(10.0))
    assert blocks.allowed_s() == pytest.approx(10.0, abs=0.01)
    blocks.run(_arms("a"), "compare")
    # the run took a hundredth of a second or more, and a little goes by between the two readings
    left = 10.0 - blocks._meter.seconds
    assert blocks.allowed_s() > left + 0.008


def test_a_run_may_take_what_is_left_and_as_long_as_the_slowest_one_took(tmp_path: Path) -> None:
    now = [0.0]
    lasts = iter([1.0, 40.0, 2.0])

    class Slow(Runs):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            now[0] += next(lasts)
            return super().run(setting, timeout_s=timeout_s)

    meter = Meter(Budget(100.0), lambda: now[0])
    recorder = Recorder(Writer(tmp_path / "x", compare_question("a", "b", "c")), Slow(), meter)
    blocks = Blocks(recorder, meter, random.Random(1))
    assert blocks.allowed_s() == pytest.approx(100)
    blocks.run(_arms("a", "b", "c"), "compare")
    assert blocks.allowed_s() == pytest.approx(57 + 40)
    assert blocks.patience_s() > blocks.allowed_s()


def test_where_it_is_says_how_many_runs_were_disturbed_and_by_what_most_of_them(tmp_path: Path) -> None:
    seen: dict[int, tuple[str, ...]] = {1: ("heat: 1",), 2: ("other load: 2", "quota: 1"), 3: ("other load: 1",)}
    blocks = _blocks(tmp_path / "x", Runs(lambda n: seen.get(n, ("quota: 2",))))
    blocks.run(_arms("a", "b"), "compare")
    blocks.run(_arms("a", "b"), "compare")
    at = blocks.progress("compare", "a", 1.5, 2)
    assert (at.phase, at.runs, at.disturbed, at.by) == ("compare", 4, 3, "other load")
    assert (at.leader, at.speedup, at.racing) == ("a", 1.5, 2)
    assert _blocks(tmp_path / "y", Runs()).progress("compare").by == ""


@pytest.mark.parametrize(("limit_s", "blocks_made"), [(10.0, 2), (11.9, 2), (12.1, 3), (None, 4)])
def test_no_block_begins_that_would_end_after_its_part_of_the_budget(
    tmp_path: Path, limit_s: float | None, blocks_made: int
) -> None:
    now, taken = [0.0], []

    class Steady(Runs):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            now[0] += 2.0
            return Sample(2.0, 2.0, now[0])

    writer = Writer(tmp_path / "x", compare_question("a", "b"))
    meter = Meter(Budget(100.0), clock=lambda: now[0])
    blocks = Blocks(Recorder(writer, Steady(), meter), meter, random.Random(1))
    ended = blocks.repeat(lambda: _arms("a", "b"), "compare", Stop(1, 4, limit_s=limit_s), taken.append)
    assert (len(taken), ended) == (blocks_made, "runs" if limit_s is None else "budget")
