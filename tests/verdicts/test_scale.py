# SPDX-License-Identifier: BSD-3-Clause
"""What a scaling shows, of runs that are made of numbers."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nodewise.base.errors import InputError
from nodewise.records.columns import Record
from nodewise.records.experiment import Writer, read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import ratio_interval
from nodewise.verdicts import scale
from nodewise.verdicts.scale import judge_scale, unreachable
from tests.verdicts.cases import BUSY, COUNTS, scaled


def test_speedup_and_efficiency_are_those_of_the_blocks(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x"), "runs")
    first, *_, last = found.points
    assert (first.speedup, first.efficiency, first.low) == (1.0, 1.0, None)
    true = 10 / (0.5 + 9.5 / 16)
    assert last.low is not None and last.high is not None and last.low <= true <= last.high
    assert last.ideal == 16 and last.efficiency == pytest.approx((last.speedup or 0) / 16)
    assert (last.efficiency_low, last.efficiency_high) == pytest.approx((last.low / 16, last.high / 16))
    assert found.law == "amdahl" and "Amdahl" in found.sentence and found.stopped == "runs"
    assert [law.left_out_error for law in found.laws] == sorted(law.left_out_error for law in found.laws)
    assert found.curve[0][0] == 1 and found.curve[-1][0] == 64


def test_a_prediction_has_time_speedup_efficiency_and_node_hours(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x", to=[32, 64], times=3600.0))
    near, far = found.predictions
    true = 0.5 + 9.5 / 64
    assert far.count == 64 and far.seconds.low <= true <= far.seconds.high
    assert far.job_s.value == pytest.approx(3600 * far.seconds.value)
    assert far.node_hours.value == pytest.approx(far.seconds.value)
    assert far.speedup.value == pytest.approx((found.points[0].seconds or 0) / far.seconds.value)
    assert far.efficiency.value == pytest.approx(far.speedup.value / 64)
    assert near.seconds.value > far.seconds.value


@pytest.mark.long
def test_the_least_number_that_ends_in_time_is_named(tmp_path: Path) -> None:
    # the runs end at some 180 s; a job of 100 times has 200 s more, so a run may take 2 s: 6.3 threads
    ended = max(r.sample.started_at + r.sample.wall_s for r in scaled(tmp_path / "x").records)
    found = judge_scale(scaled(tmp_path / "y", by="08:00", by_epoch_s=ended + 200, times=100.0)).deadline
    assert found is not None and found.surely is not None and found.likely is not None
    assert found.seconds == pytest.approx(200) and found.likely.count == 7 <= found.surely.count <= 8
    assert found.surely.job_s.high <= 200 and "are enough" in found.sentence
    never = judge_scale(scaled(tmp_path / "z", by="08:00", by_epoch_s=ended + 40, times=100.0)).deadline
    assert never is not None and never.likely is None and never.surely is None
    assert "no number of threads up to 64 is enough" in never.sentence and never.fastest.count == 64
    passed = judge_scale(scaled(tmp_path / "w", by="08:00", by_epoch_s=1.0)).deadline
    assert passed is not None and "had passed" in passed.sentence


def test_weak_scaling_is_judged_by_the_time_of_a_unit_of_work(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x", lambda n: 10 * (0.05 * n + 0.95), weak=True, to=[64]))
    last = found.points[-1]
    assert last.speedup == pytest.approx(16 / (0.05 * 16 + 0.95), rel=0.05)
    assert last.efficiency == pytest.approx(1 / (0.05 * 16 + 0.95), rel=0.05)
    (far,) = found.predictions
    assert far.seconds.low <= 10 * (0.05 * 64 + 0.95) <= far.seconds.high
    assert far.job_s.value == pytest.approx(far.seconds.value / 64)


def test_nodes_and_ranks_cost_as_many_nodes_as_they_take(tmp_path: Path) -> None:
    by_nodes = judge_scale(scaled(tmp_path / "x", over="nodes", per_node=4, to=[32])).predictions[0]
    by_ranks = judge_scale(scaled(tmp_path / "y", over="ranks", per_node=4, to=[33])).predictions[0]
    assert by_nodes.node_hours.value == pytest.approx(32 * by_nodes.seconds.value / 3600)
    assert by_ranks.node_hours.value == pytest.approx(9 * by_ranks.seconds.value / 3600)


def test_fewer_than_five_numbers_fit_no_law_and_say_what_to_measure(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x", counts=(1, 2), to=[4]))
    assert found.law is None and not found.laws and not found.predictions
    assert found.no_law == "no law is fitted: 2 numbers of threads were measured, and a law takes 5"
    assert found.measure.startswith("3 more numbers of threads") and found.sentence == found.no_law
    assert found.points[1].speedup == pytest.approx(10 / 5.25, rel=0.05)


def test_too_few_blocks_fit_no_law(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x", blocks=5))
    assert found.no_law == "no law is fitted: 5 whole blocks are too few" and found.points[-1].low is None
    assert "too few runs" in found.headline


def test_no_law_may_fit(tmp_path: Path) -> None:
    wild = {1: 10.0, 2: 4.0, 4: 6.0, 8: 1.5, 16: 3.0}
    found = judge_scale(scaled(tmp_path / "x", wild.__getitem__, to=[64]))
    assert found.law is None and found.no_law.startswith("no law fits: the best one is off by") and found.laws
    assert not found.predictions and not found.curve


def test_a_busy_machine_names_no_law_and_a_few_disturbed_blocks_are_left_out(tmp_path: Path) -> None:
    busy = judge_scale(scaled(tmp_path / "x", change=lambda n, b: {"marks": (BUSY,)} if b < 6 else {}, to=[64]))
    assert busy.law is None and "6 of 10 blocks were disturbed" in busy.no_law and not busy.predictions
    assert busy.points[-1].low is None and busy.headline.endswith("on a busy machine: undecided")
    half = judge_scale(scaled(tmp_path / "h", change=lambda n, b: {"marks": (BUSY,)} if b < 5 else {}, to=[64]))
    assert not half.no_law.startswith("no law is named") and half.left_out == 5
    few = judge_scale(scaled(tmp_path / "y", change=lambda n, b: {"marks": (BUSY,)} if b < 3 else {}, to=[64]))
    assert few.law == "amdahl" and (few.left_out, few.blocks, few.points[0].runs) == (3, 7, 7)
    accepted = judge_scale(
        scaled(tmp_path / "z", change=lambda n, b: {"marks": (BUSY,)} if b < 6 else {}, accept_disturbed=True)
    )
    assert accepted.law == "amdahl" and accepted.blocks == 10


def test_a_number_that_fails_is_a_row_with_the_reason(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x", change=lambda n, b: {"error": "exit code 3"} if n == 8 else {}))
    failed = found.points[3]
    assert (failed.seconds, failed.speedup, failed.error) == (None, None, "exit code 3")
    assert found.law is None and "4 numbers" in found.no_law
    with pytest.raises(InputError, match="no good run of any count"):
        judge_scale(scaled(tmp_path / "y", change=lambda n, b: {"error": "exit code 3"}))


def test_a_number_with_which_another_exit_code_comes_is_wrong(tmp_path: Path) -> None:
    found = judge_scale(
        scaled(tmp_path / "x", change=lambda n, _: {"usage": {"exit_code": 3.0 if n == 2 else 10.0}}), "runs"
    )
    errors = {point.count: point.error for point in found.points if point.error}
    assert errors == {2: "wrong result: its exit code is 3, with threads=1 10"}
    assert found.points[1].speedup is None and found.points[2].speedup is not None


def test_what_noise_may_be_is_said_so(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x", lambda n: 10.0, counts=(1, 2)))
    assert found.headline.endswith("which may be noise")


@pytest.mark.parametrize(
    ("counts", "wanted", "by", "said"),
    [
        (
            (1, 2),
            (4,),
            False,
            "--to needs a law, which is fitted to 5 or more numbers of threads: only 2 would be measured (1, 2)",
        ),
        ((1, 2), (), True, "--by needs a law"),
        (COUNTS, (65,), False, "--to 65 is beyond 4 times the largest measured, 16 threads"),
        ((2, 4, 6, 8, 10), (1,), False, "--to 1 is below the smallest measured, 2 threads"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    counts: tuple[int, ...], wanted: tuple[int, ...], by: bool, said: str
) -> None:
    problem = unreachable("threads", counts, wanted, by)
    assert problem is not None and problem[0].startswith(said) and problem[1]
    assert unreachable("threads", COUNTS, (64,), True) is None


def test_nothing_is_predicted_beyond_four_times_the_largest_number_or_below_the_least(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x", counts=(2, 4, 8, 16, 32), to=[1, 2, 128, 129]))
    assert [p.count for p in found.predictions] == [2, 128]


def test_the_curve_of_many_numbers_has_few_points_and_all_that_were_measured(tmp_path: Path) -> None:
    counts = (1, 16, 64, 256, 1000)
    found = judge_scale(scaled(tmp_path / "x", counts=counts))
    drawn = [n for n, _ in found.curve]
    assert drawn == sorted(drawn) and set(counts) <= set(drawn) and drawn[-1] == 4000 and 25 <= len(drawn) <= 45
    # at even ratios: neither ten times as far from one to the next, nor all of them close together
    assert max(b / a for a, b in pairwise(drawn)) < 2.1


@pytest.mark.parametrize(("left", "said"), [(2000.0, "1 thread is enough"), (200.0, "threads are enough")])
def test_one_is_and_several_are_enough(tmp_path: Path, left: float, said: str) -> None:
    ended = max(r.sample.started_at + r.sample.wall_s for r in scaled(tmp_path / "x").records)
    found = judge_scale(scaled(tmp_path / "y", by="08:00", by_epoch_s=ended + left, times=100.0)).deadline
    assert found is not None and said in found.sentence


def test_intervals_of_several_numbers_hold_together(tmp_path: Path) -> None:
    # the same blocks, of two numbers and of five: what is said of the last is the wider, the more is said
    alone = judge_scale(scaled(tmp_path / "x", counts=(1, 16)), "runs").points[-1]
    blocks = read_experiment(tmp_path / "x")
    costs = [[r.sample.seconds for r in blocks.records if r.setting == key] for key in blocks.question["settings"]]
    expected = ratio_interval(costs[0], costs[1], 0.95)
    assert (alone.low, alone.high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    many = scaled(tmp_path / "y", counts=(1, 2, 4, 8, 16))
    costs = [[r.sample.seconds for r in many.records if r.setting == key] for key in many.question["settings"]]
    expected = ratio_interval(costs[0], costs[-1], 1 - 0.05 / 4)
    last = judge_scale(many, "runs").points[-1]
    assert (last.low, last.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_a_deadline_says_how_long_it_takes_and_what_it_costs(tmp_path: Path) -> None:
    ended = max(r.sample.started_at + r.sample.wall_s for r in scaled(tmp_path / "x").records)
    found = judge_scale(scaled(tmp_path / "y", by="08:00", by_epoch_s=ended + 200, times=100.0)).deadline
    assert found is not None and found.surely is not None
    count, one = found.surely.count, found.surely
    cost = f"{one.node_hours.value:.3g} node-hours"
    assert re.fullmatch(rf"by 08:00: {count} threads are enough: [^(]+ s \([^)]+ s … [^)]+ s\), {cost}", found.sentence)


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (lambda n: 0.5 + 9.5 / n, "over threads it follows Amdahl's law"),
        (lambda n: 10 * n**-0.5, "over threads it follows a power of the number"),
    ],
)
def test_the_law_is_named_in_words(tmp_path: Path, time: Callable[[int], float], said: str) -> None:
    assert judge_scale(scaled(tmp_path / "x", time)).sentence.startswith(said)


def test_of_weak_scaling_a_unit_is_what_the_least_number_does(tmp_path: Path) -> None:
    # from two on: four do twice as much as two
    found = judge_scale(scaled(tmp_path / "x", lambda n: 10 * (0.05 * n + 0.95), (2, 4, 8, 16, 32), weak=True, to=[64]))
    (far,) = found.predictions
    assert far.seconds.low <= 10 * (0.05 * 64 + 0.95) <= far.seconds.high


def test_a_busy_machine_is_named_once(tmp_path: Path) -> None:
    busy = scaled(tmp_path / "x", change=lambda count, block: {"marks": (BUSY,)})
    found = judge_scale(busy)
    assert [found.no_law, *found.warnings].count(found.no_law) == 1
    assert sum("the machine was busy" in text for text in (found.no_law, *found.warnings)) == 1


def test_an_error_of_another_phase_is_no_error_of_a_number(tmp_path: Path) -> None:
    scaled(tmp_path / "y", change=lambda n, b: {"error": "exit code 3"} if n == 16 else {})
    with Writer(tmp_path / "y", None) as writer:
        setting = Setting(("a",), values={"threads": 16})
        writer.add(Record(setting.key, "warm-up", 99, 0, Sample(1.0, 1.0, 0.0, error="cold start")), setting)
    assert "cold start" not in repr(judge_scale(read_experiment(tmp_path / "y"), "runs"))


def test_what_gets_slower_is_said_to_with_the_digits_that_it_needs(tmp_path: Path) -> None:
    found = judge_scale(scaled(tmp_path / "x", lambda n: 1.0 if n == 1 else 200.0, counts=(1, 2)))
    assert re.fullmatch(r"slower with more: 0\.0050× with 2 threads, 0\.25% efficient", found.headline)
    # among others that are no slower it is not said
    assert "slower with" not in judge_scale(scaled(tmp_path / "y", lambda n: 1.0, counts=(1, 2))).headline


def test_disturbed_blocks_that_count_are_said(tmp_path: Path) -> None:
    def change(count: int, block: int) -> Mapping[str, Any]:
        return {"marks": (BUSY,)} if block < 3 and count == 2 else {}

    for accepting, warned in ((True, 1), (False, 0)):
        asked = scaled(tmp_path / str(accepting), change=change, accept_disturbed=accepting)
        said = [w for w in judge_scale(asked).warnings if w == "disturbed runs accepted: 3 of 10 blocks"]
        assert len(said) == warned


@pytest.mark.parametrize(("weak", "said"), [(False, "2.22× with 2 threads"), (True, "4.44× with 2 threads")])
def test_medians_that_would_give_another_speedup_are_explained(tmp_path: Path, weak: bool, said: str) -> None:
    """The machine is twice as slow in every other block, but for the second number in most of these."""

    def change(count: int, block: int) -> Mapping[str, Any]:
        slow = block % 2 and (count == 1 or block < 3)
        seconds = (10.0 if count == 1 else 9.0) * (2.0 if slow or (count == 1 and block == 0) else 1.0)
        return {"seconds": seconds, "wall_s": seconds}

    found = judge_scale(scaled(tmp_path / "x", counts=(1, 2), blocks=9, change=change, weak=weak), "runs")
    noted = [w for w in found.warnings if w.startswith("the medians alone would give")]
    assert len(noted) == 1 and said in noted[0]
    assert found.points[1].speedup == pytest.approx(20 / 9 if weak else 10 / 9)
    assert not [w for w in judge_scale(scaled(tmp_path / "y"), "runs").warnings if "medians alone" in w]


def test_the_least_number_is_the_base_still_where_one_of_its_runs_failed(tmp_path: Path) -> None:
    found = judge_scale(
        scaled(tmp_path / "x", change=lambda n, b: {"error": "exit code 3"} if n == 1 and b == 2 else {})
    )
    assert found.points[0].error == "exit code 3"
    assert [point.ideal for point in found.points] == list(COUNTS)
    # of the blocks in which both ran well
    assert found.points[-1].speedup == pytest.approx(10 / (0.5 + 9.5 / 16), rel=0.1)


def test_of_one_that_failed_nothing_is_explained_and_of_those_after_it_all(tmp_path: Path) -> None:
    def change(count: int, block: int) -> Mapping[str, Any]:
        slow = block % 2 and (count == 1 or block < 3)
        seconds = (10.0 if count == 1 else 9.0) * (2.0 if slow or (count == 1 and block == 0) else 1.0)
        return {"error": "exit code 3"} if count == 2 else {"seconds": seconds, "wall_s": seconds}

    found = judge_scale(scaled(tmp_path / "x", counts=(1, 2, 4), blocks=9, change=change), "runs")
    assert any("the medians alone would give 2.22× with 4 threads" in text for text in found.warnings)


def test_what_may_be_enough_and_is_not_sure_is_said_so(tmp_path: Path) -> None:
    ended = max(r.sample.started_at + r.sample.wall_s for r in scaled(tmp_path / "x").records)

    def deadline(left: float, name: str) -> Any:
        return judge_scale(scaled(tmp_path / name, by="08:00", by_epoch_s=ended + left, times=100.0)).deadline

    least = deadline(1.0, "y").fastest.job_s
    found = deadline((least.value + least.high) / 2, "z")
    assert found.surely is None and found.likely is not None
    assert found.sentence.startswith(f"by 08:00: {found.likely.count} threads may be enough, which is not sure: ")


def test_a_clock_that_is_low_in_all_runs_is_a_condition(tmp_path: Path) -> None:
    slow = "clock: 1.5 GHz where 2 GHz is its base"
    found = judge_scale(scaled(tmp_path / "x", change=lambda n, b: {"marks": (slow,)}), "runs")
    assert found.law == "amdahl" and found.left_out == 0
    assert "the clock below its base in all runs" in found.warnings


def test_all_counts_are_drawn_where_they_are_few() -> None:
    fits: Any = SimpleNamespace(counts=np.array([40.0, 50.0]))
    job = scale._Job("threads", False, 1, 1.0, fits, None)  # type: ignore[arg-type]
    assert job.farthest == 200
    assert job.counts(161) == [*range(40, 201)]
    few = job.counts(160)
    assert few != [*range(40, 201)] and {40, 50, 200} <= {*few} and len(few) <= 162


def test_the_headline_names_the_number_that_is_the_fastest(tmp_path: Path) -> None:
    times = {1: 10.0, 2: 6.0, 4: 4.0, 8: 5.0, 16: 7.0}
    assert "with 4 threads" in judge_scale(scaled(tmp_path / "x", times.__getitem__), "runs").headline


def test_medians_that_would_turn_a_small_gain_into_a_loss_are_explained(tmp_path: Path) -> None:
    first, second, *_ = judge_scale(scaled(tmp_path / "x"), "runs").points
    assert first.seconds is not None

    def said(speedup: float, plain: float) -> list[str]:
        return scale._unlike_medians(
            [first, replace(second, speedup=speedup, seconds=first.seconds / plain)], 0, "threads", False
        )

    assert said(1.04, 0.97) and said(0.97, 1.04)
    # both are gains, or so small that they count as none
    assert not said(1.04, 1.02) and not said(1.002, 0.999)


def test_how_far_to_measure_is_said_where_a_count_is_too_far() -> None:
    problem = unreachable("threads", COUNTS, (1000,), False)
    assert problem is not None and problem[1] == "measure up to 250 threads or more"
