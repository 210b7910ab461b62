# SPDX-License-Identifier: BSD-3-Clause
"""compare from the question to the verdict, on commands that exist only as formulas."""

import json
import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError, ProgramError, StoreError
from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import make_contenders
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import read_experiment
from nodewise.report.text.comparison import table_rows
from nodewise.runner.objective import Objective
from nodewise.runner.outlived import RUN_VARIABLE
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.baseline import against_baseline
from nodewise.verdicts.compare import RUN, compare_verdict
from nodewise.verdicts.disturbed import PhaseMet
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.gate import gate_of
from tests.surfaces import machine

HERE = machine(4, 1, live=True)


class Stream:
    """A Launcher whose n-th run of an experiment always gives the same, whatever process asks for it."""

    def __init__(self, seconds: Callable[[str], float | str], sigma: float = 0.01, die_at: int = -1):
        self._seconds = seconds
        self._sigma = sigma
        self._die_at = die_at
        self.runs: list[str] = []

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        number = int(setting.env[RUN_VARIABLE])
        if number == self._die_at:
            raise KeyboardInterrupt
        self.runs.append(setting.key)
        told = self._seconds(setting.key)
        if isinstance(told, str):
            return Sample(0.1, 0.1, float(number), error=told, output="what it printed")
        noise = random.Random(f"{setting.key}/{number}").gauss(0, self._sigma)
        t = told * math.exp(noise)
        usage = {"user_s": t * 0.9, "system_s": t * 0.05, "peak_bytes": 1e6}
        return Sample(t, t, float(number), usage=usage, metrics={"flops": 1e9 * len(setting.key), "rate": 1e9 / t})

    def close(self) -> None:
        """Nothing is kept running."""


def _question(out: Path, commands: list[str], **changes: Any) -> CompareQuestion:
    return CompareQuestion(
        tuple(make_contenders(commands, {})), HERE, out / "x", Budget(None, 4000), environment={}, **changes
    )


def _times(**seconds: float | str) -> Callable[[str], float | str]:
    return lambda key: seconds[key]


def test_the_faster_of_two_is_named_with_its_gain(tmp_path: Path) -> None:
    result = compare(_question(tmp_path, ["a", "b"]), Stream(_times(a=1.5, b=1.0)))
    (pair,) = result.pairs
    assert (pair.verdict, result.fastest, result.stopped) == ("faster", ("b",), "decided")
    assert pair.low <= 1.5 <= pair.high
    assert result.contenders[1].against_reference.ratio == pair.ratio
    assert compare_verdict(read_experiment(tmp_path / "x"), "decided") == result
    assert encode(result) == json.loads((tmp_path / "x/verdict.json").read_text())


def test_equal_ones_are_said_to_be_equal_and_it_ends(tmp_path: Path) -> None:
    result = compare(_question(tmp_path, ["a", "b"], within=0.02), Stream(_times(a=1.0, b=1.0)))
    assert (result.pairs[0].verdict, result.stopped) == ("no difference", "decided")
    assert result.fastest == ("a", "b")


@pytest.mark.parametrize("within", [pytest.param(0.006, marks=pytest.mark.long), 0.012])
def test_at_an_edge_it_goes_on_until_the_interval_is_as_narrow_as_what_counts_as_none_to_both_sides(
    tmp_path: Path, within: float
) -> None:
    times = Stream(_times(a=1.5, b=1.0), sigma=0.04)
    (pair,) = compare(_question(tmp_path, ["a", "b"], apart=1.5, within=within), times).pairs
    assert 1 + within < pair.high / pair.low <= 1 + 2 * within
    (sooner,) = compare(_question(tmp_path / "without", ["a", "b"], within=within), times).pairs
    assert sooner.pairs < pair.pairs / 2


def test_what_disturbed_the_runs_is_worked_out_at_looks_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    whole = PhaseMet.of
    monkeypatch.setattr(PhaseMet, "of", lambda met, *keys: asked.append(1) or whole(met, *keys))
    times = Stream(_times(a=1.5, b=1.0), sigma=0.04)
    (pair,) = compare(_question(tmp_path, ["a", "b"], apart=1.5, within=0.008), times).pairs
    assert pair.pairs > 900 and len(asked) < 150


def test_every_block_holds_each_command_once_in_random_order(tmp_path: Path) -> None:
    compare(_question(tmp_path, ["a", "b", "c"], most=30, fewest=30), Stream(_times(a=1.0, b=1.1, c=1.2)))
    records = read_experiment(tmp_path / "x").records
    orders = set()
    for block in range(1, 32):
        inside = [r for r in records if r.block == block]
        assert sorted(r.setting for r in inside) == ["a", "b", "c"]
        orders.add(tuple(r.setting for r in sorted(inside, key=lambda r: r.position)))
    assert len(orders) == 6


def test_intervals_of_three_hold_together_and_are_wider_than_those_of_two(tmp_path: Path) -> None:
    two = compare(_question(tmp_path / "2", ["a", "b"], most=20, fewest=20), Stream(_times(a=1.2, b=1.0)))
    three = compare(_question(tmp_path / "3", ["a", "b", "c"], most=20, fewest=20), Stream(_times(a=1.2, b=1.0, c=1.1)))
    assert three.level > two.level
    assert len(three.pairs) == 3
    assert three.fastest == ("b",)


def test_with_many_commands_each_is_held_against_the_first(tmp_path: Path) -> None:
    seconds = {f"c{i}": 1 + 0.1 * i for i in range(8)}
    result = compare(_question(tmp_path, list(seconds)), Stream(_times(**seconds)))
    assert [p.one for p in result.pairs] == ["c0"] * 7
    assert result.fastest == ("c0",)
    turned = dict(reversed(seconds.items()))
    assert compare(_question(tmp_path / "t", list(turned)), Stream(_times(**turned))).fastest == ("c0",)


def test_speed_rate_and_redundancy_stand_side_by_side(tmp_path: Path) -> None:
    result = compare(_question(tmp_path, ["a", "bb"]), Stream(_times(a=1.0, bb=0.5)))
    work = result.contenders[1].work
    assert (work.kind, work.amount, work.redundancy) == ("flops", 2e9, 2.0)
    assert work.rate_ratio == pytest.approx(4.0, rel=0.02)


def test_a_metric_may_decide_and_more_of_it_be_better(tmp_path: Path) -> None:
    result = compare(_question(tmp_path, ["a", "b"], objective=Objective("rate", True)), Stream(_times(a=1.0, b=0.8)))
    assert result.pairs[0].verdict == "faster"
    assert result.pairs[0].ratio == pytest.approx(1.25, rel=0.02)
    assert result.contenders[1].median == pytest.approx(1.25e9, rel=0.02)


def test_a_metric_that_no_run_tells_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="reports no wings"):
        compare(_question(tmp_path, ["a", "b"], objective=Objective("wings")), Stream(_times(a=1.0, b=1.0)))
    assert not (tmp_path / "x").exists()


def test_a_command_that_never_runs_well_is_an_error_that_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"b: exit code 3(.|\n)*what it printed"):
        compare(_question(tmp_path, ["a", "b"]), Stream(_times(a=1.0, b="exit code 3")))
    assert not (tmp_path / "x").exists()


def test_one_that_fails_later_is_left_out_and_named(tmp_path: Path) -> None:
    count = {"c": 0}

    def seconds(key: str) -> float | str:
        count[key] = count.get(key, 0) + 1
        return "killed by signal 9 (SIGKILL)" if key == "c" and count[key] > 4 else 1.0

    result = compare(_question(tmp_path, ["a", "b", "c"], within=0.02), Stream(seconds))
    assert result.pairs[0].verdict == "no difference"
    assert "c" not in result.fastest
    assert any("SIGKILL" in w for w in result.warnings)


# a few milliseconds are what starting it takes
@pytest.mark.parametrize(
    ("wall_s", "cpu_s", "said"), [(1.0, 0.1, 2), (0.012, 0.002, 2), (0.006, 0.002, 0), (1.0, 0.7, 0)]
)
def test_waiting_is_told_from_computing(tmp_path: Path, wall_s: float, cpu_s: float, said: int) -> None:
    class Waits(Stream):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting, timeout_s=timeout_s)
            return Sample(sample.seconds, sample.wall_s, sample.started_at, usage={"user_s": cpu_s, "system_s": 0.0})

    result = compare(_question(tmp_path, ["a", "b"]), Waits(_times(a=wall_s, b=wall_s)))
    assert sum("waits" in w for w in result.warnings) == said


def test_noise_that_hides_the_answer_is_said(tmp_path: Path) -> None:
    result = compare(_question(tmp_path, ["a", "b"], most=12), Stream(_times(a=1.0, b=1.01), sigma=0.3))
    assert result.pairs[0].verdict == "undecided"
    assert any("noise hides" in w for w in result.warnings)


def test_steps_run_around_and_in_their_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    made = make_contenders(
        ["a", "b"], {}, setup=f"echo setup >> {log}", prepare=[f"echo p-a >> {log}", f"echo p-b >> {log}"],
        conclude=[f"echo c >> {log}"], cleanup=f"echo cleanup >> {log}",
    )  # fmt: skip
    question = CompareQuestion(tuple(made), HERE, tmp_path / "x", Budget(None, 100), most=3, warmup=0, environment={})
    compare(question, Stream(_times(a=1.0, b=1.0)))
    lines = log.read_text().split()
    assert lines.count("setup") == lines.count("cleanup") == 2
    assert lines.count("p-a") == lines.count("p-b") == 3
    assert lines.count("c") == 6
    assert lines[-2:] == ["cleanup", "cleanup"]


def test_a_step_that_fails_is_one_clear_message_and_what_was_set_up_is_cleaned_up(tmp_path: Path) -> None:
    made = make_contenders(["a", "b"], {}, prepare=["true", "echo why; exit 4"], cleanup=f"echo x >> {tmp_path}/gone")
    question = CompareQuestion(tuple(made), HERE, tmp_path / "x", Budget(None, 100), environment={})
    with pytest.raises(ProgramError, match=r"--prepare failed with exit code 4(.|\n)*why"):
        compare(question, Stream(_times(a=1.0, b=1.0)))
    assert (tmp_path / "gone").read_text().count("x") >= 1


@pytest.mark.parametrize("die_at", [2, 3, 8, 21, 40])
def test_going_on_after_an_interrupt_gives_the_verdict_of_an_undisturbed_run(tmp_path: Path, die_at: int) -> None:
    seconds = _times(a=1.03, b=1.0, c=1.02)
    whole = compare(_question(tmp_path / "whole", ["a", "b", "c"]), Stream(seconds))
    dying = Stream(seconds, die_at=die_at)
    # too early there is no verdict, but what was measured is kept
    with suppress(KeyboardInterrupt):
        compare(_question(tmp_path / "cut", ["a", "b", "c"]), dying)
    going_on = Stream(seconds)
    again = compare(_question(tmp_path / "cut", ["a", "b", "c"], resume=True), going_on)
    assert len(dying.runs) + len(going_on.runs) == whole.runs == again.runs
    assert replace(again, experiment="", seconds_spent=0) == replace(whole, experiment="", seconds_spent=0)


def test_going_on_with_another_question_is_refused(tmp_path: Path) -> None:
    compare(_question(tmp_path, ["a", "b"], most=4), Stream(_times(a=1.0, b=1.0)))
    with pytest.raises(InputError, match="cannot be continued"):
        compare(_question(tmp_path, ["a", "c"], most=4, resume=True), Stream(_times(a=1.0, c=1.0)))
    with pytest.raises(InputError, match="no experiment to continue"):
        compare(_question(tmp_path / "none", ["a", "b"], resume=True), Stream(_times(a=1.0, b=1.0)))


def test_a_later_experiment_is_held_against_an_earlier_one_of_the_same_machine(tmp_path: Path) -> None:
    compare(_question(tmp_path / "then", ["a", "b"], most=12), Stream(_times(a=1.0, b=1.2)))
    compare(_question(tmp_path / "now", ["a", "b"], most=12), Stream(_times(a=1.5, b=1.2)))
    now, then = (read_experiment(tmp_path / d / "x") for d in ("now", "then"))
    told = against_baseline(now, then)
    assert told.differences == ()
    slower, same = told.pairs
    assert (slower.verdict, same.verdict) == ("slower", "no difference")
    assert slower.low <= 1 / 1.5 <= slower.high
    then.question["machine"]["processor"]["model"] = "another"
    told = against_baseline(now, then)
    assert "processor: another then" in told.differences[0]
    assert not any(p.comparable for p in told.pairs)


def test_with_a_baseline_it_goes_on_until_that_is_decided_or_the_budget_ends(tmp_path: Path) -> None:
    compare(_question(tmp_path / "then", ["a"], fewest=40, most=40), Stream(_times(a=1.0), sigma=0.02))
    then = read_experiment(tmp_path / "then/x")
    # the same, within 3%: twelve runs do not say it
    noisy = Stream(_times(a=1.0), sigma=0.05)
    known = compare(_question(tmp_path / "same", ["a"], baseline=then, within=0.03), noisy)
    assert known.stopped == "decided" and known.blocks > 20, known.baseline
    assert known.baseline is not None and known.baseline.pairs[0].verdict == "no difference"
    # eleven runs of then can be held against no end of runs now
    compare(_question(tmp_path / "few", ["a"], most=11), Stream(_times(a=1.0), sigma=0.02))
    few = read_experiment(tmp_path / "few/x")
    open_ = compare(_question(tmp_path / "open", ["a"], baseline=few, within=0.001), Stream(_times(a=1.0), sigma=0.05))
    assert 100 <= open_.blocks < 200
    # and what lies on the edge is not known when all is spent
    edge = replace(_question(tmp_path / "edge", ["a"], baseline=then), threshold=0.05, budget=Budget(None, 100))
    spent = compare(edge, Stream(_times(a=1.05), sigma=0.05))
    assert spent.stopped == "budget" and spent.runs == 100
    assert gate_of(spent, 0.05).undecided == ("a (baseline)",)
    # what is far away is known at once
    far = compare(_question(tmp_path / "far", ["a"], baseline=then), Stream(_times(a=2.0)))
    assert far.stopped == "decided" and far.blocks < 15
    assert gate_of(far, 0.05).slower == ("a (baseline)",) and gate_of(far, 0.05).blocked


def test_a_baseline_of_another_machine_decides_only_where_that_is_asked(tmp_path: Path) -> None:
    compare(_question(tmp_path / "then", ["a"], most=20), Stream(_times(a=1.0)))
    then = read_experiment(tmp_path / "then/x")
    then.question["machine"]["hostname"] = "another"
    refused = compare(_question(tmp_path / "refused", ["a"], baseline=then), Stream(_times(a=2.0)))
    assert refused.blocks == 10 and gate_of(refused, 0.05).incomparable
    asked = compare(_question(tmp_path / "asked", ["a"], baseline=then, any_machine=True), Stream(_times(a=2.0)))
    assert asked.baseline is not None and asked.baseline.differences[0].startswith("host: another then")
    assert gate_of(asked, 0.05).blocked


def test_a_full_disk_is_one_clear_message_and_nothing_measured_is_lost(tmp_path: Path, monkeypatch: Any) -> None:
    import os

    from nodewise.records import experiment as store

    count = [0]
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        count[0] += 1
        if count[0] == 9:
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(store.os, "write", write)
    with pytest.raises(StoreError, match="No space left"):
        compare(_question(tmp_path, ["a", "b"]), Stream(_times(a=1.0, b=1.2)))
    monkeypatch.setattr(store.os, "write", real)
    assert len(read_experiment(tmp_path / "x").records) == 8
    again = compare(_question(tmp_path, ["a", "b"], resume=True), Stream(_times(a=1.0, b=1.2)))
    assert again.pairs[0].verdict == "slower"


def test_runs_that_gather_at_two_places_are_shown_as_such(tmp_path: Path) -> None:
    class Two(Stream):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting, timeout_s=timeout_s)
            slow = setting.key == "b" and random.Random(setting.env[RUN_VARIABLE]).random() < 0.5
            return Sample(sample.seconds * (1.5 if slow else 1.0), sample.wall_s, sample.started_at, usage=sample.usage)

    result = compare(_question(tmp_path, ["a", "b"], fewest=60, most=60), Two(_times(a=1.0, b=1.0)))
    one, other = result.contenders
    assert (len(one.shape.modes), len(other.shape.modes)) == (1, 2)
    assert [value for value, _ in other.shape.modes] == pytest.approx([1.0, 1.5], rel=0.02)
    assert any("bimodal" in w for w in result.warnings)
    assert " | " in table_rows(result)[1][1][1]


@pytest.mark.parametrize(("factor", "why"), [(3.0, "files were not cached"), (0.5, "something else differed then")])
def test_a_first_run_that_differs_is_named_also_where_it_was_a_warm_up(tmp_path: Path, factor: float, why: str) -> None:
    class Cold(Stream):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting, timeout_s=timeout_s)
            first = setting.key not in self.runs[:-1]
            return Sample(
                sample.seconds * (factor if first else 1.0), sample.wall_s, sample.started_at, usage=sample.usage
            )

    result = compare(_question(tmp_path, ["a", "b"], most=12, fewest=12), Cold(_times(a=1.0, b=1.0)))
    assert sum("warm-up run, which does not count, took" in w and why in w for w in result.warnings) == 2
    assert result.contenders[0].max < 1.2


def test_disturbed_blocks_are_kept_and_others_made_besides(tmp_path: Path) -> None:
    class Disturbed(Stream):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting, timeout_s=timeout_s)
            marks = ("other load: it waited 0.5 s for processors",) if len(self.runs) in (7, 13) else ()
            return Sample(sample.seconds, sample.wall_s, sample.started_at, usage=sample.usage, marks=marks)

    result = compare(_question(tmp_path, ["a", "b"], most=20, fewest=20), Disturbed(_times(a=1.0, b=1.0)))
    assert result.blocks == 22
    assert sum(r.disturbed for r in result.contenders) == 2
    # what is a bound is one
    bound = compare(_question(tmp_path / "most", ["a", "b"], most=20), Disturbed(_times(a=1.0, b=1.0)))
    assert bound.blocks == 20


class Waiting(Stream):
    """A Stream whose runs take their time of a clock; a command whose seconds are endless runs until it is stopped."""

    def __init__(self, seconds: Callable[[str], float | str], now: list[float]):
        super().__init__(seconds)
        self._now = now

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        told = self._seconds(setting.key)
        if isinstance(told, float) and math.isinf(told):
            self.runs.append(setting.key)
            assert timeout_s is not None, "it would run for ever"
            self._now[0] += timeout_s
            return Sample(timeout_s, timeout_s, 0.0, error="cut off", cut_off=True)
        sample = super().run(setting, timeout_s=timeout_s)
        self._now[0] += sample.wall_s
        return sample


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of a comparison's budget."""
    at = [0.0]
    monkeypatch.setattr("nodewise.experiments.compare.Meter", lambda budget: Meter(budget, lambda: at[0]))
    return at


def test_a_command_that_hangs_is_stopped_early_and_said_with_a_budget_that_would_do(
    tmp_path: Path, now: list[float]
) -> None:
    question = replace(_question(tmp_path, ["a", "b"]), budget=Budget(8.0))
    with pytest.raises(InputError, match=r"a run of b was stopped after 2 s, and an answer takes 16 runs") as told:
        compare(question, Waiting(_times(a=0.01, b=math.inf), now))
    assert told.value.hint is not None and "more than --budget 31s" in told.value.hint
    assert not question.out.exists()


def test_a_budget_that_holds_no_answer_is_said_after_the_first_block(tmp_path: Path, now: list[float]) -> None:
    question = replace(_question(tmp_path, ["a", "b"]), budget=Budget(0.5))
    stream = Waiting(_times(a=0.1, b=0.1), now)
    with pytest.raises(InputError, match=r"one run of each of the 2 takes 199 ms, and an answer takes 16 runs"):
        compare(question, stream)
    assert len(stream.runs) == 2
    # a few runs are all that is asked for
    few = replace(question, most=1, budget=Budget(5.0))
    assert compare(few, Waiting(_times(a=0.1, b=0.1), now)).stopped == "runs"


def test_a_run_that_hangs_later_ends_it_and_is_no_failure(tmp_path: Path, now: list[float]) -> None:
    counts = {"a": 0, "b": 0}

    def seconds(key: str) -> float:
        counts[key] += 1
        return math.inf if key == "b" and counts[key] > 10 else 0.002

    question = replace(_question(tmp_path, ["a", "b"], within=0.0001), budget=Budget(2.0))
    result = compare(question, Waiting(seconds, now))
    assert result.stopped == "budget"
    assert (result.contenders[1].runs, result.contenders[1].failed, result.contenders[1].error) == (4, 0, None)
    assert any("a run was stopped after" in w and "does it hang?" in w for w in result.warnings)


def test_of_a_command_alone_that_fails_at_times_the_good_runs_are_told(tmp_path: Path) -> None:
    count = iter(range(1000))

    def seconds(key: str) -> float | str:
        return "exit code 3" if next(count) % 4 == 0 else 1.0

    question = replace(_question(tmp_path, ["a"], most=20), kind=RUN)
    result = compare(question, Stream(seconds))
    (row,) = result.contenders
    assert (row.runs, row.failed, row.error) == (15, 5, "exit code 3")
    assert result.warnings[0] == "failed in 5 of 20 runs; only the other runs are reported: exit code 3"


def test_a_command_alone_that_never_runs_well_is_tried_a_few_times(tmp_path: Path) -> None:
    stream = Stream(_times(a="exit code 3"))
    with pytest.raises(ProgramError, match="a: exit code 3; it printed"):
        compare(replace(_question(tmp_path, ["a"], most=20), kind=RUN), stream)
    assert len(stream.runs) == 3 and not (tmp_path / "x").exists()


def test_a_step_that_hangs_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    contenders = make_contenders(["a", "b"], {}, prepare=("sleep 100; true",))
    question = replace(_question(tmp_path, ["a", "b"]), contenders=tuple(contenders), budget=Budget(0.3))
    with pytest.raises(ProgramError, match="--prepare was stopped after 300 ms, where the budget ended: sleep 100"):
        compare(question, Stream(_times(a=1.0, b=1.0)))
