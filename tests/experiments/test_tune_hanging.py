# SPDX-License-Identifier: BSD-3-Clause
"""A tune of which some settings hang or crash: these are no answer, never confirmed, and are named."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.base.errors import ProgramError
from nodewise.experiments.ablate import Ablate
from nodewise.experiments.tune import Tuner, tune
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.report.text.going_on import GoingOn, going_on
from nodewise.report.text.tune import tune_text
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.tuning.wanted import Wanted
from nodewise.verdicts.stored import stored
from nodewise.verdicts.tune import CONFIRM, TuneVerdict
from tests.surfaces import Clocked, machine

HANGS = 1e6


class Program(Clocked):
    """What takes so many seconds by the values of M and N, hangs, or ends with an exit code where that is a text."""

    def __init__(self, outcomes: dict[str, float | str], seed: int = 0):
        super().__init__(lambda setting: float(self._outcome(setting)), seed)
        self._outcomes = outcomes

    def _outcome(self, setting: Setting) -> float | str:
        return self._outcomes[" ".join(setting.env[name] for name in ("M", "N") if name in setting.env)]

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        outcome = self._outcome(setting)
        if isinstance(outcome, float):
            return super().run(setting, timeout_s=timeout_s)
        self.limits.append(timeout_s)
        self.spent_s += 0.1
        return Sample(0.1, 0.1, self.spent_s, error=outcome)


def tuned(out: Path, launcher: Program, budget: Budget, seed: int = 0, **variables: tuple[str, ...]) -> TuneVerdict:
    wanted = Wanted(variables=variables)
    question = Question(
        ("./app",), machine(4, 1), tuple(variables), out / "x", budget, environment={}, wanted=wanted, seed=seed
    )
    return tune(question, launcher, clock=launcher.clock)


def _confirmed(out: Path) -> set[str]:
    experiment = read_experiment(out / "x")
    return {key for key in experiment.settings if experiment.records.of(key, CONFIRM).size} - {"baseline"}


@pytest.mark.some(6)
@pytest.mark.parametrize("budget", [Budget(100.0), Budget(None, 60), Budget(None, 20)])
@pytest.mark.parametrize(
    ("outcomes", "values", "reason", "notes"),
    [
        ({"": 1.0, "h": HANGS}, ("h",), "the only other setting was cut off", ["M=h was cut off in its only run"]),
        ({"": 1.0, "c": "exit code 3"}, ("c",), "the only other setting failed", ["M=c was left out: exit code 3"]),
        (
            {"": 1.0, "h": HANGS, "c": "exit code 3"},
            ("h", "c"),
            "every other setting was cut off or failed",
            ["M=c was left out: exit code 3", "M=h was cut off in its only run"],
        ),
        ({"": 1.0, "h": HANGS, "i": HANGS}, ("h", "i"), "every other setting was cut off", ["M=h was", "M=i was"]),
    ],
)
def test_where_nothing_else_ends_the_program_stays_and_it_is_said(
    tmp_path: Path,
    budget: Budget,
    outcomes: dict[str, float | str],
    values: tuple[str, ...],
    reason: str,
    notes: list[str],
) -> None:
    launcher = Program(outcomes)
    result = tuned(tmp_path, launcher, budget, M=values)
    assert (result.verdict, result.reason, result.best.env) == ("undecided", reason, {})
    assert (result.stopped, result.more_runs) == ("nothing left", None)
    assert _confirmed(tmp_path) == set() and not read_experiment(tmp_path / "x").plans
    # a hanging run shows what it is by itself
    assert max(s.runs for s in result.settings if s.key != "baseline") <= 2
    for start in notes:
        assert any(note.startswith(start) for note in result.notes), result.notes
    text = tune_text(stored(read_experiment(tmp_path / "x"), result), 100)
    assert f"best      as it is: {reason}\n" in text
    assert "--resume" not in text and "more runs" not in text and going_on(result, budget) == GoingOn()


@pytest.mark.some(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("outcomes", "best", "hanging"),
    [
        ({"": 1.0, "h": HANGS, "f": 0.8}, "f", "h"),
        ({"": 1.0, "c": "exit code 3", "h": HANGS, "f": 0.8}, "f", "h"),
        ({"": 1.0, "h": HANGS, "f": 1.2}, None, "h"),
    ],
)
def test_beside_one_that_hangs_another_is_judged_as_ever(
    tmp_path: Path, seed: int, outcomes: dict[str, float | str], best: str | None, hanging: str
) -> None:
    launcher = Program(outcomes, seed)
    result = tuned(tmp_path, launcher, Budget(100.0), seed, M=tuple(o for o in outcomes if o))
    assert result.best.env == ({"M": best} if best else {})
    assert result.verdict == ("faster" if best else "slower")
    assert any(note.startswith(f"M={hanging} was cut off") for note in result.notes)
    assert _confirmed(tmp_path) == {"M=f"} and launcher.spent_s <= 101.1


@pytest.mark.parametrize("seed", range(3))
def test_two_values_that_hang_together_are_named_together(tmp_path: Path, seed: int) -> None:
    launcher = Program({"": 1.0, "m": 0.8, "n": 0.9, "m n": HANGS}, seed)
    result = tuned(tmp_path, launcher, Budget(120.0), seed, M=("m",), N=("n",))
    assert result.verdict == "faster" and result.best.env == {"M": "m"}
    assert any(note.startswith("M=m with N=n was cut off") for note in result.notes)
    assert launcher.spent_s <= 121.1


@pytest.mark.parametrize("seed", range(3))
def test_a_value_that_hangs_with_whatever_else_is_named_by_itself(tmp_path: Path, seed: int) -> None:
    launcher = Program({"": 1.0, "m": HANGS, "n": 0.7, "m n": HANGS}, seed)
    result = tuned(tmp_path, launcher, Budget(120.0), seed, M=("m",), N=("n",))
    assert result.verdict == "faster" and result.best.env == {"N": "n"}
    assert next(note for note in result.notes if "cut off" in note).startswith("M=m was cut off")
    assert not any("with N=n" in note for note in result.notes)


def test_one_that_hangs_only_when_it_is_confirmed_is_given_up_and_said(tmp_path: Path) -> None:
    class Late(Program):
        def _outcome(self, setting: Setting) -> float | str:
            searched = sum(limit is not None for limit in self.limits) < 30
            return 1.0 if "M" not in setting.env else 0.7 if searched else HANGS

    result = tuned(tmp_path, Late({}), Budget(None, 100), M=("a",))
    assert (result.verdict, result.candidate) == ("undecided", "baseline")
    assert result.reason == "the only other setting was cut off now and then" and result.more_runs is None
    # two while it searched, and the two after which it is given up
    assert any(re.match(r"M=a was cut off in 4 of \d+ runs, the longest after", note) for note in result.notes)


@pytest.mark.parametrize("seed", range(2))
def test_one_that_hangs_now_and_then_while_axes_are_put_back_is_given_up(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # two axes that gain together: once the gain is decided, the setting is run beside itself with one of them put back
    class Late(Program):
        decided = 0

        def _outcome(self, setting: Setting) -> float | str:
            both = "M" in setting.env and "N" in setting.env
            return (HANGS if self.decided else 0.5) if both else 1.0

    put_back = Ablate.run

    def watched(self: Ablate, candidate: Setting, arms: Mapping[str, Setting]) -> bool:
        launcher.decided += 1
        return put_back(self, candidate, arms)

    monkeypatch.setattr(Ablate, "run", watched)
    launcher = Late({}, seed)
    wanted = Wanted(variables={"M": ("m",), "N": ("n",)})
    question = Question(
        ("./app",), machine(4, 1), ("M", "N"), tmp_path / "x", Budget(None, 80), environment={}, wanted=wanted
    )
    result = Tuner(question, launcher, clock=launcher.clock).run()
    assert launcher.decided == 1 and result.verdict != "faster" and result.best.env == {}
    assert any("was cut off in" in note for note in result.notes)


def test_what_never_ran_is_left_for_another_time(tmp_path: Path) -> None:
    # so few runs that some values have none: with more there would be something to try
    values = tuple("abcdefghijklmnopqrst")
    launcher = Program({"": 1.0, **dict.fromkeys(values, HANGS)})
    result = tuned(tmp_path, launcher, Budget(None, 20), M=values)
    assert result.reason == "every other setting was cut off" and result.stopped == "budget"
    assert "--resume" in going_on(result, Budget(None, 20)).line


class Stillborn(Program):
    """Ends a text before the program has begun, which takes no time at all."""

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        sample = super().run(setting, timeout_s=timeout_s)
        return sample if sample.cut_off or not sample.error else replace(sample, seconds=0.0, wall_s=0.0)


def test_what_dies_before_it_has_begun_is_left_out(tmp_path: Path) -> None:
    launcher = Stillborn({"": 1.0, "c": "killed by signal 9 (SIGKILL)", "f": 0.8})
    result = tuned(tmp_path / "a", launcher, Budget(60.0), M=("c", "f"))
    assert result.verdict == "faster" and result.best.env == {"M": "f"}
    assert "M=c was left out: killed by signal 9 (SIGKILL)" in result.notes
    alone = tuned(tmp_path / "b", Stillborn({"": 1.0, "c": "killed by signal 9 (SIGKILL)"}), Budget(60.0), M=("c",))
    assert (alone.reason, alone.stopped) == ("the only other setting failed", "nothing left")
    with pytest.raises(ProgramError, match="does not run as it is: killed by signal 9"):
        tuned(tmp_path / "c", Stillborn({"": "killed by signal 9 (SIGKILL)"}), Budget(60.0), M=("c",))
    assert not (tmp_path / "c" / "x").exists()


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 5))])
def test_a_value_that_is_much_slower_with_all_others_does_not_eat_up_the_confirmation(
    tmp_path: Path, seed: int
) -> None:
    # as Open MPI's yielding does on a small machine: nothing fails, and each of the sixteen settings with it takes as long as four
    def seconds(setting: Setting) -> float:
        on = {name for name in ("YIELD", "WAY", "COPY", "LIMIT", "PAGES") if name in setting.env}
        return (1.6 if "YIELD" in on else 0.25 if "WAY" in on else 0.46) * (0.97 if "PAGES" in on else 1.0)

    launcher = Clocked(seconds, seed, sigma=0.03)
    wanted = Wanted(variables=dict.fromkeys(("YIELD", "WAY", "COPY", "LIMIT", "PAGES"), ("on",)))
    question = Question(
        ("./app",),
        machine(2, 1),
        ("threads", "placement", *wanted.variables),
        tmp_path / "x",
        Budget(30.0),
        environment={},
        wanted=wanted,
        seed=seed,
    )
    result = tune(question, launcher, clock=launcher.clock)
    assert result.verdict == "faster" and "WAY" in result.best.env and "YIELD" not in result.best.env
    assert result.low is not None and result.low > 1.5


@pytest.mark.parametrize("seed", range(2))
def test_where_little_is_left_a_run_may_still_take_half_as_long_again_as_the_program(tmp_path: Path, seed: int) -> None:
    values = ("a", "b", "c", "d", "e", "f")
    launcher = Program({"": 1.0, **dict.fromkeys(values, 1.3)}, seed)
    tuned(tmp_path, launcher, Budget(30.0), seed, M=values)
    records = read_experiment(tmp_path / "x").records
    searched = [at for r, at in zip(records, launcher.limits, strict=True) if r.phase == "search"]
    assert not any(r.sample.cut_off for r in records)
    # less than at first, since what is left is for the confirmation
    assert 1.5 < min(at for at in searched if at is not None) < 1.6 < max(at for at in searched if at is not None)
