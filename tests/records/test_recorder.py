# SPDX-License-Identifier: BSD-3-Clause
"""Going on with what an earlier process recorded: its time counts, and a line that was cut off is no run."""

from dataclasses import asdict
from pathlib import Path

import pytest

from nodewise.records.budget import Budget, Meter
from nodewise.records.columns import Record
from nodewise.records.experiment import Writer, read_experiment
from nodewise.records.recorder import Recorder
from nodewise.runner.outlived import RUN_VARIABLE
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.questions import tune_question

QUESTION = tune_question()
SETTING = Setting(("app",))


class _Clock:
    """Stands still until a run moves it."""

    def __init__(self, now: float):
        self.now = now

    def __call__(self) -> float:
        return self.now

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        self.now += 2.0
        return Sample(1.0, 1.0, self.now)

    def close(self) -> None:
        """Nothing is kept running."""


def _recorded(path: Path, runs: int) -> None:
    with Writer(path, QUESTION) as writer:
        for n in range(runs):
            writer.add(Record(SETTING.key, "search", n, 0, Sample(1.0, 1.0, float(n)), 10.0 * (n + 1)), SETTING)


def test_the_time_that_was_spent_counts_and_the_time_between_does_not(tmp_path: Path) -> None:
    _recorded(tmp_path / "e", 3)
    clock = _Clock(5000.0)
    meter = Meter(Budget(100.0, None), clock)
    with Writer(tmp_path / "e", None) as writer:
        recorder = Recorder(writer, clock, meter, writer.earlier)
        costs = [recorder.sample(SETTING, "search", n, 0, None)[1] for n in range(3)]
        assert (costs, meter.seconds, meter.runs) == ([10.0] * 3, 30.0, 3)
        assert not recorder.replaying
        # whatever happens between the last recorded run and the first new one costs the budget nothing
        clock.now += 700.0
        recorder.sample(SETTING, "search", 3, 0, None)
    assert (meter.seconds, meter.runs) == (32.0, 4)
    assert meter.affordable(2.0) == 34
    assert [r.spent_s for r in read_experiment(tmp_path / "e").records] == [10.0, 20.0, 30.0, 32.0]


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_a_line_that_was_cut_off_is_made_again_and_the_next_stands_alone(tmp_path: Path, cut: int) -> None:
    _recorded(tmp_path / "e", 3)
    samples = tmp_path / "e/samples.jsonl"
    samples.write_bytes(samples.read_bytes()[:-cut])
    kept = 3 if cut == 1 else 2
    clock = _Clock(0.0)
    with Writer(tmp_path / "e", None) as writer:
        recorder = Recorder(writer, clock, Meter(Budget(), clock), writer.earlier)
        for n in range(4):
            recorder.sample(SETTING, "search", n, 0, None)
    assert clock.now == 2.0 * (4 - kept)
    again = read_experiment(tmp_path / "e")
    assert (len(again.records), again.damaged_lines) == (4, 0)
    assert [r.block for r in again.records] == [0, 1, 2, 3]


def test_the_budget_named_last_holds_also_where_nothing_was_run_under_it(tmp_path: Path) -> None:
    first, second, third = Budget(None, 10), Budget(None, 20), Budget(None, 30)
    with Writer(tmp_path / "e", {**QUESTION, "budget": asdict(first)}) as writer:
        for n in range(3):
            writer.add(Record(SETTING.key, "search", n, 0, Sample(1.0, 1.0, float(n)), 10.0 * (n + 1)), SETTING)

    def held(named: Budget, runs: int) -> list[Budget]:
        """The budget before each run and after the last, of so many."""
        clock = _Clock(0.0)
        meter = Meter(named, clock)
        with Writer(tmp_path / "e", None) as writer:
            recorder = Recorder(writer, clock, meter, writer.earlier, named)
            found = [meter.budget]
            for n in range(runs):
                recorder.sample(SETTING, "search", n, 0, None)
                found.append(meter.budget)
        return found

    assert held(second, 3) == [first] * 3 + [second]
    # the first one is what is given where none is named
    assert held(first, 3) == [first] * 3 + [second]
    assert held(third, 4) == held(first, 4) == [first] * 3 + [third] * 2
    lines = (tmp_path / "e/samples.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "e/samples.jsonl").write_bytes(b"".join(lines[:-2]))
    assert held(first, 3) == [first] * 2 + [third] * 2


def test_a_run_is_given_its_number(tmp_path: Path) -> None:
    given = []

    class Watched(_Clock):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            given.append(setting.env[RUN_VARIABLE])
            return super().run(setting, timeout_s=timeout_s)

    clock = Watched(0.0)
    with Writer(tmp_path / "e", QUESTION) as writer:
        recorder = Recorder(writer, clock, Meter(Budget(100.0, None), clock), writer.earlier)
        for n in range(3):
            recorder.sample(SETTING, "search", n, 0, None)
    assert given == ["1", "2", "3"]
