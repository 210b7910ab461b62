# SPDX-License-Identifier: BSD-3-Clause
"""A confirmation whose blocks did not decide: what goes on with it."""

import math
import random
from pathlib import Path

import pytest

from nodewise.experiments.blocks import Block
from nodewise.experiments.confirmation import Confirmation, further_looks
from nodewise.experiments.tune import tune
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.sequential import Looks, plan_looks
from nodewise.statistics.verdict import Word
from nodewise.tuning.wanted import Wanted
from tests.surfaces import Scripted, machine


def _confirmation(pairs: list[tuple[float, float]], looks: Looks) -> Confirmation:
    judged = Confirmation(looks, 0.01, None, False)
    _add(judged, pairs, 1)
    return judged


def _add(judged: Confirmation, pairs: list[tuple[float, float]], first: int) -> bool:
    settled = False
    for number, (one, other) in enumerate(pairs, first):
        samples = {"baseline": Sample(one, one, 0.0), "c": Sample(other, other, 0.0)}
        settled |= judged.add(Block(number, samples, {}, {"baseline": None, "c": None}, False))
    return settled


def test_what_a_plan_left_open_further_looks_go_on_with_on_all_blocks() -> None:
    rng = random.Random(3)
    pairs = [(1.035 * math.exp(rng.gauss(0, 0.03)), math.exp(rng.gauss(0, 0.03))) for _ in range(80)]
    judged = _confirmation(pairs[:12], plan_looks(12, 0.045))
    assert judged.word is Word.UNDECIDED and judged.fewest_more == 6
    more = judged.going_on(further_looks(judged.count, 68, 0.0045))
    assert (more.count, more.fewest_more) == (12, 0)
    assert _add(more, pairs[12:], 13) or more.word is Word.FASTER
    # the pairs so far stay what they were
    assert judged.count == 12
    # what is decided is not gone on with
    assert _confirmation([(1.5, 1.0 + i / 1000) for i in range(12)], plan_looks(12, 0.045)).fewest_more == 0


def test_what_disturbed_the_blocks_so_far_is_known_to_what_goes_on_with_them() -> None:
    judged = Confirmation(plan_looks(12, 0.045), 0.01, None, False)
    for number in range(1, 13):
        marks = ("other load: it waited 0.5 s for processors that others used",) if number <= 4 else ()
        samples = {name: Sample(1.0, 1.0, 0.0, marks=marks) for name in ("baseline", "c")}
        judged.add(Block(number, samples, {}, {"baseline": None, "c": None}, bool(marks)))
    assert judged.count == 8 == judged.going_on(plan_looks(24, 0.005)).count


def test_a_confirmation_left_open_goes_on_while_the_budget_lasts(tmp_path: Path) -> None:
    """Where its runs turn out to be cheaper than those before, there is room for more blocks than were planned."""
    now = [0.0]

    class Cheaper(Scripted):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting, timeout_s=timeout_s)
            now[0] += 1.0 if now[0] < 30 else 0.2
            return sample

    def seconds(setting: Setting) -> float:
        return 0.99 if setting.values.get("MODE") == "a" else 1.0

    question = Question(
        ("./app",), machine(2, 1), ("MODE",), tmp_path / "x", Budget(60.0), environment={},
        wanted=Wanted(variables={"MODE": ["a"]}),
    )  # fmt: skip
    verdict = tune(question, Cheaper(seconds, sigma=0.05), clock=lambda: now[0])
    plans = read_experiment(tmp_path / "x").plans
    assert len(plans) > 1 and plans[0].candidate == plans[1].candidate
    assert plans[1].alpha == pytest.approx(plans[0].alpha / 10) and plans[1].looks[0] > plans[0].looks[-1]
    assert verdict.seconds_spent <= 60.0 + 1.0


def test_further_looks_are_those_of_a_plan_after_the_blocks_that_there_are() -> None:
    at = plan_looks(68, 0.0045).at
    assert len(at) > 1
    assert further_looks(12, 68, 0.0045) == Looks(tuple(12 + n for n in at), 0.0045)


def test_a_block_in_which_one_failed_is_no_further_look() -> None:
    judged = Confirmation(plan_looks(12, 0.045), 0.01, None, False)
    looks = judged._looks.at
    pairs = [(1.5, 1.0 + i / 1000) for i in range(looks[0])]
    assert _add(judged, pairs, 1)
    failed = {"baseline": Sample(1.0, 1.0, 0.0), "c": Sample(1.0, 1.0, 0.0, error="exit code 1")}
    assert not judged.add(Block(looks[0] + 1, failed, {}, {"baseline": None, "c": None}, False))
    # nor is one that was disturbed and does not count, though a look is due at as many as there are
    marks = ("other load: it waited 0.5 s for processors that others used",)
    disturbed = {name: Sample(1.0, 1.0, 0.0, marks=marks) for name in ("baseline", "c")}
    assert not judged.add(Block(looks[0] + 2, disturbed, {}, {"baseline": None, "c": None}, True))
    assert judged.count == looks[0]
