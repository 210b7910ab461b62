# SPDX-License-Identifier: BSD-3-Clause
"""tune from the question to the verdict, on programs that exist only as formulas."""

import dataclasses
import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError, ProgramError
from nodewise.experiments.first_run import FEWEST_RUNS
from nodewise.experiments.tune import Progress, Tuner, tune
from nodewise.experiments.tune_question import Question
from nodewise.machine.model import Limits
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.runner.setting import Setting
from nodewise.tuning.wanted import Wanted
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.tune import tune_verdict
from tests.surfaces import Clocked, Scripted, machine, many_core, threads_of

KNC = machine(61, 4)
ALL = ("threads", "placement", "hugepages")


def _question(out: Path, runs: int = 300, **changes: Any) -> Question:
    return Question(
        ("./app", "in put"), changes.pop("on", KNC), ALL, out / "x", Budget(None, runs), environment={}, **changes
    )


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 5))])
def test_the_known_best_of_a_many_core_machine_is_found(tmp_path: Path, seed: int) -> None:
    result = tune(_question(tmp_path, seed=seed), Scripted(many_core, seed))
    best = result.best
    assert (best.threads, best.placement, result.verdict) == (183, "balanced", "faster")
    truth = many_core(Setting(("x",))) / many_core(_setting(result))
    assert result.low <= truth <= result.high
    assert result.runs <= 300
    assert sum(result.axes.values()) == pytest.approx(1)
    assert best.env["OMP_NUM_THREADS"] == "183"
    assert "taskset" not in best.launch_line
    assert any("nothing was bound" in note for note in result.notes)


def _setting(result: dict[str, Any]) -> Setting:
    best = result.best
    return Setting(("x",), best.values, best.env, (), None, tuple(tuple(p) for p in best.places))


@pytest.mark.parametrize("seed", range(2))
def test_what_a_clear_gain_is_from_is_told_where_the_runs_suffice(tmp_path: Path, seed: int) -> None:
    result = tune(_question(tmp_path / "a", 100, seed=seed), Scripted(many_core, seed))
    assert result.verdict == "faster" and len(result.best.values) > 1
    known = sum(result.axes.values())
    assert known == pytest.approx(1) if not result.unseparated else 0 < known < 1
    few = tune(_question(tmp_path / "b", 45, seed=seed), Scripted(many_core, seed))
    assert (few.verdict, few.unseparated) == ("faster", ("threads", "placement"))
    assert sum(few.axes.values()) == 0
    assert any(note.startswith("threads, placement could not be distinguished") for note in few.notes)


@pytest.mark.parametrize(("seeds", "least"), [(1, 1), pytest.param(60, 57, marks=pytest.mark.long)])
def test_where_nothing_matters_it_says_no_difference(tmp_path: Path, seeds: int, least: int) -> None:
    words = [tune(_question(tmp_path / str(s), 400, seed=s), Scripted(lambda _: 2.0, s)).verdict for s in range(seeds)]
    assert words.count("no difference") >= least


def test_the_baseline_stays_where_nothing_is_faster(tmp_path: Path) -> None:
    result = tune(_question(tmp_path), Scripted(lambda s: 1.0 if not s.values else 1.5))
    assert result.verdict == "slower"
    assert result.best.key == "baseline"
    assert result.best.launch_line == "./app 'in put'"
    assert any("slower" in note for note in result.notes)


def test_on_the_live_machine_the_places_are_bound_too(tmp_path: Path) -> None:
    here = machine(4, 1, live=True)
    result = tune(_question(tmp_path, on=here), Scripted(lambda s: 4.0 / len(s.mask or (0,))))
    assert result.best.mask == (0, 1, 2, 3)
    assert "taskset -c 0-3 ./app 'in put'" in result.best.launch_line


def test_a_process_allowed_two_of_64_processors_plans_for_two(tmp_path: Path) -> None:
    here = dataclasses.replace(machine(64, 1, live=True), limits=Limits((5, 9)))
    seen: set[tuple[int, ...]] = set()

    def seconds(setting: Setting) -> float:
        seen.add(setting.mask or ())
        assert threads_of(setting, 2) <= 2
        return 1.0 / threads_of(setting, 2)

    tune(_question(tmp_path, on=here), Scripted(seconds))
    assert seen <= {(), (5,), (9,), (5, 9)}


def test_settings_that_fail_are_left_out_and_named(tmp_path: Path) -> None:
    def seconds(setting: Setting) -> float | str:
        return "exit code 3" if threads_of(setting, 244) == 183 else many_core(setting)

    result = tune(_question(tmp_path), Scripted(seconds))
    assert result.best.threads != 183
    assert any("threads=183" in note and "exit code 3" in note for note in result.notes)


def test_a_candidate_that_fails_in_the_confirmation_gives_way_to_the_next(tmp_path: Path) -> None:
    phases = ["first run"]

    class Tires(Scripted):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Any:
            sample = super().run(setting, timeout_s=timeout_s)
            late = phases[-1] == "confirm" and setting.values.get("threads") == 183
            return dataclasses.replace(sample, error="killed by signal 11") if late else sample

    result = tune(_question(tmp_path), Tires(many_core), lambda progress: phases.append(progress.phase))
    assert result.best.threads != 183
    assert result.verdict == "faster"


def test_a_baseline_that_fails_is_an_error_with_its_output_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"exit code 1.*\n.*what it printed"):
        tune(_question(tmp_path), Scripted(lambda _: "exit code 1"))
    assert not (tmp_path / "x").exists()


def test_a_budget_too_small_is_said_with_what_would_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few"):
        tune(_question(tmp_path, FEWEST_RUNS - 1), Scripted(lambda _: 1.0))
    assert not (tmp_path / "x").exists()


def test_the_fewest_runs_end_in_a_verdict(tmp_path: Path) -> None:
    result = tune(_question(tmp_path, FEWEST_RUNS), Scripted(many_core))
    assert result.runs <= FEWEST_RUNS
    assert result.verdict in ("faster", "slower", "no difference", "undecided")


@pytest.mark.parametrize("at", [3, 40, 80])
def test_an_interrupt_ends_with_the_best_so_far(tmp_path: Path, at: int) -> None:
    result = tune(_question(tmp_path), Scripted(many_core, interrupt_at=at))
    assert result.stopped == "interrupted"
    assert result.runs == at - 1
    assert result.best.command == ("./app", "in put")


def test_the_verdict_follows_from_the_directory_alone(tmp_path: Path) -> None:
    result = tune(_question(tmp_path), Scripted(many_core))
    again = tune_verdict(read_experiment(tmp_path / "x"), result.stopped)
    assert again == result
    assert encode(result) == json.loads((tmp_path / "x/verdict.json").read_text())


def test_equal_seeds_give_equal_experiments(tmp_path: Path) -> None:
    runs = [tune(_question(tmp_path / d, seed=4), Scripted(many_core, 4)) for d in "ab"]
    assert [r.ratio for r in runs] == [runs[0].ratio] * 2
    records = [read_experiment(tmp_path / d / "x").records for d in "ab"]
    one, other = ([dataclasses.replace(r, spent_s=0) for r in found] for found in records)
    assert one == other


def test_progress_names_phases_and_the_leader(tmp_path: Path) -> None:
    seen: list[Progress] = []
    tune(_question(tmp_path), Scripted(many_core), seen.append)
    assert list(dict.fromkeys(p.phase for p in seen)) == ["first run", "search", "confirm"]
    assert seen[-1].leader == "threads=183 placement=balanced"
    assert seen[-1].speedup is not None


def test_an_unknown_axis_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    question = dataclasses.replace(_question(tmp_path), axes=("threads", "colour"))
    with pytest.raises(InputError, match="colour") as caught:
        tune(question, Scripted(many_core))
    assert "placement" in (caught.value.hint or "")


def test_only_the_named_axes_are_changed(tmp_path: Path) -> None:
    question = dataclasses.replace(_question(tmp_path), axes=("threads",))
    result = tune(question, Scripted(many_core))
    assert set(result.best.values) <= {"threads"}
    assert result.axes.keys() == {"threads"}


def _of_variable(out: Path, budget: Budget, *values: str, **changes: Any) -> Question:
    wanted = Wanted(variables={"KNOB": values})
    return Question(("./app",), KNC, ("KNOB",), out / "x", budget, environment={}, wanted=wanted, **changes)


def test_a_first_run_that_cannot_fit_is_stopped_with_the_budget_that_would_do(tmp_path: Path) -> None:
    launcher = Clocked(lambda _: 3600.0)
    with pytest.raises(InputError, match="stopped after 30") as caught:
        tune(_of_variable(tmp_path, Budget(120.0), "a"), launcher, clock=launcher.clock)
    assert "--budget 9min, such as 18min" in (caught.value.hint or "")
    assert launcher.spent_s <= 31
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("budget_s", [0.01, 0.1, 0.3])
def test_a_tiny_budget_names_one_that_will_do(tmp_path: Path, budget_s: float) -> None:
    """Also where it is spent before the first run."""
    launcher = Clocked(lambda s: 0.04 if s.env.get("KNOB") else 0.05)
    with pytest.raises(InputError, match="budget is too small: one run takes 5") as caught:
        tune(_of_variable(tmp_path, Budget(budget_s), "a"), launcher, clock=launcher.clock, spent_s=0.05)
    assert "give --budget 1s or more" in (caught.value.hint or "")
    launcher = Clocked(lambda s: 0.04 if s.env.get("KNOB") else 0.05)
    tune(_of_variable(tmp_path, Budget(1.0), "a"), launcher, clock=launcher.clock, spent_s=0.05)


@pytest.mark.parametrize(("budget_h", "most_h"), [(1.0, 0.3), (3.0, 0.8), (10.0, 1.7), (13.0, 2.0)])
def test_a_program_of_an_hour_is_refused_early_with_what_would_do(
    tmp_path: Path, budget_h: float, most_h: float
) -> None:
    hour = 3600.0
    launcher = Clocked(lambda s: hour * (0.7 if s.env.get("KNOB") else 1.0))
    with pytest.raises(InputError, match="budget is too small") as caught:
        tune(_of_variable(tmp_path, Budget(budget_h * hour), "a"), launcher, clock=launcher.clock)
    assert launcher.spent_s <= most_h * hour and "--budget " in (caught.value.hint or "")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("budget_h", [15.5, 18.0, 48.0])
def test_a_program_of_an_hour_is_tuned_where_the_budget_allows_it(tmp_path: Path, budget_h: float) -> None:
    hour = 3600.0
    launcher = Clocked(lambda s: hour * (0.7 if s.env.get("KNOB") else 1.0))
    result = tune(_of_variable(tmp_path, Budget(budget_h * hour), "a"), launcher, clock=launcher.clock)
    assert result.verdict == "faster" and result.best.env == {"KNOB": "a"}
    assert launcher.spent_s <= (budget_h + 1.1) * hour


def test_what_starting_up_took_is_a_part_of_the_budget(tmp_path: Path) -> None:
    launcher = Clocked(lambda s: 0.7 if s.env.get("KNOB") else 1.0)
    question = _of_variable(tmp_path / "a", Budget(60.0), "a")
    result = tune(question, launcher, clock=launcher.clock, spent_s=20.0)
    assert result.verdict == "faster" and launcher.spent_s <= 41.1 and result.seconds_spent == launcher.spent_s + 20
    # one that took all of it leaves half to the program
    slow = Clocked(lambda s: 0.7 if s.env.get("KNOB") else 1.0)
    tune(_of_variable(tmp_path / "b", Budget(60.0), "a"), slow, clock=slow.clock, spent_s=100.0)
    assert 20 < slow.spent_s <= 31.1
    refused = Clocked(lambda _: 3.0)
    with pytest.raises(InputError, match="too small") as caught:
        tune(_of_variable(tmp_path / "c", Budget(60.0), "a"), refused, clock=refused.clock, spent_s=20.0)
    assert "--budget 75s" in (caught.value.hint or "")
    with pytest.raises(InputError, match="too small") as caught:
        tune(_of_variable(tmp_path / "d", Budget(60.0), "a"), Clocked(lambda _: 3.0), clock=lambda: 0.0, spent_s=1000.0)
    # of a start that takes that long half of the budget is left
    assert "--budget 110s" in (caught.value.hint or "")


@pytest.mark.parametrize("seed", range(5))
def test_a_budget_of_the_fewest_runs_is_taken_and_answers(tmp_path: Path, seed: int) -> None:
    launcher = Clocked(lambda s: 1.3 if s.env.get("KNOB") else 1.88, seed)
    result = tune(_of_variable(tmp_path, Budget(30.0), "a", "b", seed=seed), launcher, clock=launcher.clock)
    assert result.verdict == "faster" and result.comparison is not None and result.comparison.blocks == 6
    assert launcher.spent_s <= 30 + 2


@pytest.mark.parametrize("budget", [25.0, 60.0, 200.0])
def test_no_run_is_without_a_limit_and_the_budget_is_kept_but_for_one(budget: float, tmp_path: Path) -> None:
    # whatever puts KNOB back, or changes it once more, hangs
    launcher = Clocked(lambda s: {"a": 0.7, "": 1.0}.get(s.env.get("KNOB", ""), 1e6))
    values = ("a", "b", "c", "d", "e", "f", "g", "h")
    result = tune(_of_variable(tmp_path, Budget(budget), *values), launcher, clock=launcher.clock)
    assert None not in launcher.limits
    assert launcher.spent_s <= budget + 1.1
    assert result.verdict == "faster" and result.best.env == {"KNOB": "a"}


def test_an_axis_whose_absence_hangs_is_not_put_back_without_a_limit(tmp_path: Path) -> None:
    def seconds(setting: Setting) -> float:
        one, other = setting.env.get("ONE", "off"), setting.env.get("OTHER", "off")
        return {"offoff": 1.0, "onon": 0.5, "onoff": 1e6, "offon": 0.8}[one + other]

    launcher = Clocked(seconds)
    wanted = Wanted(variables={"ONE": ("on",), "OTHER": ("on",)})
    question = Question(("./app",), KNC, ("ONE", "OTHER"), tmp_path / "x", Budget(60.0), environment={}, wanted=wanted)
    result = tune(question, launcher, clock=launcher.clock)
    assert launcher.spent_s <= 61.1
    assert result.best.env == {"ONE": "on", "OTHER": "on"}


def test_what_starts_as_the_baseline_does_is_never_its_rival(tmp_path: Path) -> None:
    result = tune(_of_variable(tmp_path, Budget(None, 60), "on"), Scripted(lambda _: 1.0))
    candidate = read_experiment(tmp_path / "x").settings[result.candidate]
    assert candidate.env == {"KNOB": "on"}
    started = [s for s in read_experiment(tmp_path / "x").settings.values() if not s.env]
    assert [s.key for s in started] == ["baseline"]


@pytest.mark.parametrize("seeds", [3, pytest.param(6, marks=pytest.mark.long)])
def test_the_launch_line_holds_only_what_carries_the_gain(tmp_path: Path, seeds: int) -> None:
    wanted = Wanted(variables={"GOOD": ("on",), "IDLE": ("on", "off"), "BAD": ("on",)})
    lines = []
    for seed in range(seeds):
        question = Question(
            ("./app",),
            KNC,
            ("threads", "placement", "GOOD", "IDLE", "BAD"),
            tmp_path / str(seed),
            Budget(None, 120), environment={}, wanted=wanted, seed=seed,
        )  # fmt: skip

        def seconds(setting: Setting) -> float:
            return (0.6 if setting.env.get("GOOD") else 1.0) * (1.2 if setting.env.get("BAD") else 1.0)

        result = tune(question, Scripted(seconds, seed, 0.01))
        assert result.verdict == "faster"
        lines.append(result.best.launch_line)
    assert lines.count("GOOD=on ./app") >= 2 / 3 * seeds


def test_runs_that_are_left_go_to_the_next_candidate_with_what_is_left_of_the_error_rate(tmp_path: Path) -> None:
    # the first candidate's gain is gone once it is confirmed
    phases = ["first run"]

    def seconds(setting: Setting) -> float:
        knob = setting.env.get("KNOB", "")
        return {"": 1.0, "a": 1.0 if phases[-1] == "confirm" else 0.8, "b": 0.9}[knob]

    question = _of_variable(tmp_path, Budget(None, 300), "a", "b")
    watched = Scripted(seconds)
    tuner = Tuner(question, watched, lambda progress: phases.append(progress.phase))
    original = tuner._confirm

    def confirm(*words: Any) -> Any:
        phases.append("confirm")
        return original(*words)

    tuner._confirm = confirm  # type: ignore[method-assign]
    result = tuner.run()
    plans = read_experiment(tmp_path / "x").plans
    assert [p.candidate for p in plans] == ["KNOB=a", "KNOB=b"]
    assert sum(p.alpha for p in plans) <= 0.05
    assert result.verdict == "faster" and result.best.env == {"KNOB": "b"}
    assert any("one after another" in note for note in result.notes)


@pytest.mark.parametrize("seed", range(3))
def test_what_fails_now_and_then_gives_way_and_costs_nothing_of_the_error_rate(tmp_path: Path, seed: int) -> None:
    random_, tries = random.Random(seed), [0]

    def seconds(setting: Setting) -> float | str:
        knob = setting.env.get("KNOB", "")
        tries[0] += knob == "a"
        # well while it is searched, then every other time not
        return (
            "exit code 1"
            if knob == "a" and tries[0] > 3 and tries[0] % 2
            else {"": 1.0, "a": 0.5, "b": 0.8}[knob] * random_.gauss(1, 0.005)
        )

    result = tune(_of_variable(tmp_path, Budget(None, 60), "a", "b", seed=seed), Scripted(seconds))
    assert result.verdict == "faster" and result.best.env == {"KNOB": "b"}
    assert [p.alpha for p in read_experiment(tmp_path / "x").plans] == pytest.approx([0.045, 0.045])
    assert any(re.match(r"KNOB=a failed in \d+ of \d+ runs and was left out: ", note) for note in result.notes)
    assert not any("one after another" in note for note in result.notes)


def test_where_all_that_looked_faster_failed_that_is_the_reason(tmp_path: Path) -> None:
    tries = [0]

    def seconds(setting: Setting) -> float | str:
        knob = setting.env.get("KNOB")
        tries[0] += knob is not None
        return "exit code 1" if knob and tries[0] > 2 else 0.5 if knob else 1.0

    result = tune(_of_variable(tmp_path, Budget(None, 30), "a"), Scripted(seconds))
    assert result.verdict == "undecided" and result.stopped == "nothing left"
    assert "failed" in result.reason
    assert "too few runs to confirm" not in result.reason


@pytest.mark.parametrize("seed", range(3))
def test_the_fewest_runs_try_another_setting_where_no_axis_is_crossed(tmp_path: Path, seed: int) -> None:
    result = tune(_of_variable(tmp_path, Budget(None, FEWEST_RUNS), "a", seed=seed), Scripted(lambda _: 1.0, seed))
    assert result.candidate == "KNOB=a" and result.comparison is not None and result.comparison.blocks >= 6


def test_a_program_that_fails_by_itself_is_tuned_and_that_is_said(tmp_path: Path) -> None:
    random_ = random.Random(5)
    first = [True]

    def seconds(setting: Setting) -> float | str:
        failing = random_.random() < 0.2 and not first[0]
        first[0] = False
        return "exit code 1" if failing else 0.7 if setting.env.get("KNOB") == "b" else 1.0

    result = tune(_of_variable(tmp_path, Budget(None, 120), "a", "b", "c"), Scripted(seconds))
    assert result.verdict == "faster" and result.best.env == {"KNOB": "b"}
    assert any(re.match(r"the program failed in \d+ of \d+ runs as it is", note) for note in result.notes)
    assert not any("was left out" in note for note in result.notes)


def test_where_every_other_value_is_cut_off_the_baseline_stays(tmp_path: Path) -> None:
    launcher = Clocked(lambda setting: 20.0 if setting.env.get("MODE") else 1.0)
    wanted = Wanted(variables={"MODE": ("a", "b", "c", "d")})
    question = Question(("./app",), KNC, ("MODE",), tmp_path / "x", Budget(None, 17), environment={}, wanted=wanted)
    result = tune(question, launcher, clock=launcher.clock)
    assert result.verdict == "undecided" and result.best.env == {}
    assert result.reason == "every other setting was cut off"


@pytest.mark.parametrize("seeds", [3, pytest.param(6, marks=pytest.mark.long)])
def test_what_is_confirmed_ran_before(tmp_path: Path, seeds: int) -> None:
    # together they gain, alone neither does: what is left of the two is no guess
    for seed in range(seeds):
        wanted = Wanted(variables={"A": ("1", "2"), "B": ("1", "2")})
        out = tmp_path / str(seed)
        question = Question(
            ("./app",), KNC, ("A", "B"), out, Budget(None, 40), environment={}, wanted=wanted, seed=seed
        )

        def seconds(setting: Setting) -> float:
            return 0.7 if (setting.env.get("A"), setting.env.get("B")) == ("2", "1") else 1.0

        assert tune(question, Scripted(seconds, seed, 0.02)).best.env == {"A": "2", "B": "1"}


def test_a_sweep_runs_every_setting_and_says_what_it_had_no_runs_for(tmp_path: Path) -> None:
    on, axes = machine(4, 1), ("threads", "placement")
    question = dataclasses.replace(_question(tmp_path, 400, on=on), axes=axes, sweep=True)
    result = tune(question, Scripted(many_core, 1))
    stored = read_experiment(tmp_path / "x").question
    # one thread, and all four, sit alike by several names
    searched = [s for s in result.settings if s.runs and s.key != "baseline"]
    assert stored["unswept"] == 0 and stored["sweep"] <= 16
    assert {s.values.get("threads", 4) for s in searched} == {1, 2, 3, 4}
    assert len(searched) >= stored["sweep"] - 1 and all(s.runs >= 6 for s in searched)
    assert not any("not whole" in note for note in result.notes)


def tune_or_stop(question: Question, launcher: Scripted) -> bool:
    """Whether it was stopped before its end."""
    try:
        return tune(question, launcher).stopped == "interrupted"
    except KeyboardInterrupt:
        return True


def test_a_sweep_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    def asked(name: str, resume: bool = False) -> Question:
        changes: dict[str, Any] = {"axes": ("threads", "placement"), "sweep": True, "resume": resume}
        return dataclasses.replace(_question(tmp_path / name, 400, on=machine(4, 1)), **changes)

    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    tune(asked("whole"), Scripted(many_core, 1))
    whole = read_experiment(tmp_path / "whole" / "x")
    # in the first block, and twice later
    had = [0]
    for cut in (4, 25, 30):
        stopped = tune_or_stop(asked("cut", resume=cut > 4), Scripted(many_core, cut, interrupt_at=cut))
        assert stopped
        had.append(len((tmp_path / "cut" / "x" / "samples.jsonl").read_text().splitlines()))
    assert had == sorted(set(had))
    result = tune(asked("cut", resume=True), Scripted(many_core, 2))
    stored = read_experiment(tmp_path / "cut" / "x")
    assert stored.question["sweep"] == whole.question["sweep"] and stored.question["unswept"] == 0
    searched = [s for s in result.settings if s.runs and s.key != "baseline"]
    assert len(searched) >= stored.question["sweep"] - 1 and all(s.runs >= 6 for s in searched)
    assert not any("not whole" in note for note in result.notes)


def test_a_sweep_of_too_few_runs_is_refused_at_once(tmp_path: Path) -> None:
    question = dataclasses.replace(_question(tmp_path, 100), axes=("threads", "placement"), sweep=True)
    with pytest.raises(InputError, match=r"a sweep of \d+ settings") as refused:
        tune(question, Scripted(many_core, 1))
    assert "--max-runs" in str(refused.value.hint) and not (tmp_path / "x").exists()


def test_whether_another_setting_overtakes_is_asked_ever_more_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def never(self: Tuner, *_: object) -> bool:
        assert self._judged is not None
        asked.append(self._judged.count)
        return False

    monkeypatch.setattr(Tuner, "_is_overtaken", never)
    tune(_question(tmp_path), Scripted(lambda s: 1.0 if s.values else 1.004))
    assert len(asked) >= 8 and asked[-1] > 2 * len(asked)
    assert all(later >= 1.25 * before for before, later in itertools.pairwise(asked))


def test_a_candidate_that_is_overtaken_gives_way_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def first(self: Tuner, candidate: Setting, *_: object) -> bool:
        compared.append(candidate.key)
        return compared.count(candidate.key) == len(compared)

    monkeypatch.setattr(Tuner, "_is_overtaken", first)
    tune(_question(tmp_path), Scripted(many_core, 1))
    assert len(set(compared)) == 2 and compared.count(compared[0]) == 1
