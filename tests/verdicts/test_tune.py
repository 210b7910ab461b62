# SPDX-License-Identifier: BSD-3-Clause
"""A tune's verdict from its stored runs: what is said of the axes of a gain."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nodewise.records.budget import Budget
from nodewise.records.columns import Record
from nodewise.records.experiment import Experiment, Plan, Writer, read_experiment
from nodewise.report.text.going_on import GoingOn, going_on
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import Ratio
from nodewise.statistics.order import BalancedOrder
from nodewise.statistics.verdict import Verdict, Word
from nodewise.verdicts import tune
from nodewise.verdicts.ablation import REDUCE
from nodewise.verdicts.disturbed import PhaseMet, met_of
from nodewise.verdicts.pair import Pairs
from nodewise.verdicts.tune import CONFIRM, TuneVerdict, _more_runs, plan_of, tune_verdict
from tests.questions import tune_question
from tests.verdicts.cases import BUSY, Runs, hold, tuned

BASELINE = Setting(("app",))
BOTH = Setting(("app",), {"a": 1, "b": 1}, name="both")
NO_A, NO_B = Setting(("app",), {"b": 1}, name="no a"), Setting(("app",), {"a": 1}, name="no b")


def concluded(
    path: Path, without_b: float, *, blocks: int = 10, before: int = 0, spread: float = 0.0, then: bool = False
) -> TuneVerdict:
    """The verdict where both axes together take 0.5 s, without a the baseline's 1 s, and without b as many as are given.

    Each is put back in so many `blocks` after the comparison, and in some `before` it; `spread` is that of the runs without b.
    `then` another comparison was planned that made no run.
    """
    question = tune_question(axes={"a": [0, 1], "b": [0, 1]})
    times = {BASELINE.key: 1.0, BOTH.key: 0.5, NO_A.key: 1.0, NO_B.key: without_b}
    pair, back = (BASELINE, BOTH), (BOTH, NO_A, NO_B)
    made = [(REDUCE, back)] * before + [(CONFIRM, pair)] * 10 + [(CONFIRM, back)] * blocks
    order, settings = BalancedOrder(Random(1)), {s.key: s for s in (BASELINE, *back)}
    with Writer(path, question) as writer:
        writer.add_plan(Plan(BOTH.key, (10,), 0.05, {"a": NO_A.key, "b": NO_B.key}, ("a", "b")))
        for block, (phase, arms) in enumerate(made):
            for position, key in enumerate(order.next([s.key for s in arms])):
                setting = settings[key]
                stray = spread * (block % 4 - 1.5) if setting is NO_B else 0.0
                seconds = times[setting.key] * (1 + 0.001 * (block % 5) + stray)
                record = Record(setting.key, phase, block + 1, position, Sample(seconds, seconds, 0.0))
                writer.add(record, setting)
        if then:
            writer.add_plan(Plan(NO_B.key, (10,), 0.02, {}, ("a",)))
    return tune_verdict(read_experiment(path), "decided")


def _of_axes(verdict: TuneVerdict) -> list[str]:
    return [note for note in verdict.notes if note.split()[0].strip(",") in verdict.axes]


@pytest.mark.parametrize(("without_b", "share"), [(0.5, 0.0), (0.8, 0.4)])
def test_an_axis_that_adds_nothing_is_named(tmp_path: Path, without_b: float, share: float) -> None:
    verdict = concluded(tmp_path / "x", without_b)
    assert verdict.verdict == "faster"
    assert verdict.axes["b"] == pytest.approx(share, abs=0.01)
    assert verdict.axes["a"] == pytest.approx(1 - share, abs=0.01)
    said = "b made no difference beyond 0.07%; the line may do without it"
    assert (_of_axes(verdict), verdict.unseparated) == ([] if share else [said], ())


def test_an_axis_whose_interval_holds_one_is_not_told_apart(tmp_path: Path) -> None:
    verdict = concluded(tmp_path / "x", 0.51, spread=0.1)
    # what b may bring is left out of what is known
    assert (verdict.axes["b"], verdict.unseparated) == (0.0, ("b",))
    assert verdict.axes["a"] > 0.9
    (note,) = _of_axes(verdict)
    assert note.startswith("b could not be distinguished: the runs do not say whether it adds to the gain; about ")
    assert int(note.split("about ")[1].split()[0]) > 20


def test_nothing_is_said_of_axes_from_fewer_blocks_than_an_interval_takes(tmp_path: Path) -> None:
    verdict = concluded(tmp_path / "x", 0.5, blocks=6)
    assert (verdict.unseparated, set(verdict.axes.values())) == (("a", "b"), {0.0})
    assert "each of them adds to the gain; about 3 more would" in _of_axes(verdict)[0]
    assert concluded(tmp_path / "y", 0.5, blocks=7).unseparated == ()


def test_an_axis_is_not_credited_with_what_ran_before(tmp_path: Path) -> None:
    # whatever follows the run without a takes 5% longer: always the one without b, in orders that are not balanced
    times = {BASELINE.key: 1.0, BOTH.key: 0.5, NO_A.key: 1.0, NO_B.key: 0.5 * 1.05}
    made = [(BASELINE, BOTH)] * 10 + [(BOTH, NO_A, NO_B)] * 20
    with Writer(tmp_path / "x", tune_question(axes={"a": [0, 1], "b": [0, 1]})) as writer:
        writer.add_plan(Plan(BOTH.key, (10,), 0.05, {"a": NO_A.key, "b": NO_B.key}, ("a", "b")))
        for block, arms in enumerate(made):
            for position, setting in enumerate(arms[::-1] if block % 2 and len(arms) == 2 else arms):
                seconds = times[setting.key] * (1 + 0.001 * (block % 5))
                writer.add(Record(setting.key, CONFIRM, block + 1, position, Sample(seconds, seconds, 0.0)), setting)
    verdict = tune_verdict(read_experiment(tmp_path / "x"), "decided")
    assert (verdict.axes["b"], "b" in verdict.unseparated) == (0.0, True)


def test_axes_are_those_of_the_setting_that_was_compared(tmp_path: Path) -> None:
    verdict = concluded(tmp_path / "x", 0.8, then=True)
    assert verdict.candidate == BOTH.key
    assert verdict.axes == pytest.approx({"a": 0.6, "b": 0.4}, abs=0.01)


def test_blocks_of_before_the_comparison_tell_of_axes_too(tmp_path: Path) -> None:
    assert concluded(tmp_path / "x", 0.8, blocks=4, before=5).unseparated == ()
    assert concluded(tmp_path / "y", 0.8, blocks=3, before=3).unseparated == ("a", "b")


ONE = Setting(
    ("app",), {"threads": 4, "wait": "active"}, {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "active"}, name="one"
)
TWO = Setting(("app",), {"threads": 2}, {"OMP_NUM_THREADS": "2"}, ("KMP_AFFINITY",), places=((0,), (1,)), name="two")
THREE = Setting(("app",), {"threads": 1}, {"OMP_NUM_THREADS": "1"}, name="three")
NO_WAIT = Setting(("app",), {"threads": 4}, {"OMP_NUM_THREADS": "4"}, name="no wait")
AXES = {"threads": [1, 2, 4], "wait": ["default", "active"], "hugepages": ["default"]}
KNOBS = {
    "wait": {
        "title": "OpenMP",
        "exact": True,
        "variable": "OMP_WAIT_POLICY",
        "source": "https://example.org/openmp",
        "why": {"active": "It waits actively."},
        "sources": {"active": "https://example.org/active"},
    }
}
SEARCH = [
    (BASELINE, Runs(1.0), range(1, 9)),
    (ONE, Runs(0.8), range(1, 9)),
    (TWO, Runs(0.9), range(1, 5)),
    (THREE, Runs(1.4), [1]),
    (NO_WAIT, Runs(0.85), [1, 2]),
]


def _fails(last: int) -> Callable[[int], dict[str, Any]]:
    return lambda run: {"error": "exit code 3\nmore"} if run < last else {}


def _confirmed(path: Path, one: Runs, blocks: int = 20, **more: Any) -> Experiment:
    return tuned(path, SEARCH, {BASELINE.key: Runs(1.0), ONE.key: one}, blocks, candidate=ONE.key, axes=AXES, **more)


CASES: dict[str, tuple[Callable[[Path], Experiment], str]] = {
    "gain": (
        lambda path: _confirmed(
            path,
            Runs(0.8),
            ablations={"wait": (NO_WAIT.key, Runs(0.85)), "threads": (TWO.key, Runs(0.97))},
            knobs=KNOBS,
        ),
        "decided",
    ),
    "one axis": (
        lambda path: tuned(
            path,
            SEARCH,
            {BASELINE.key: Runs(1.0), TWO.key: Runs(0.9)},
            candidate=TWO.key,
            axes=AXES,
            machine_is_live=False,
        ),
        "decided",
    ),
    "no difference": (lambda path: _confirmed(path, Runs(1.0, 0.008), 60, plans=2), "budget"),
    "slower": (lambda path: _confirmed(path, Runs(1.2)), "decided"),
    "small": (lambda path: _confirmed(path, Runs(0.988, 0.012), 14), "budget"),
    "noisy": (lambda path: _confirmed(path, Runs(0.9, 0.2), 12), "budget"),
    "too few": (lambda path: _confirmed(path, Runs(0.8), 4), "budget"),
    "busy": (lambda path: _confirmed(path, Runs(0.8, change=lambda run: {"marks": (BUSY,)})), "budget"),
    "partly busy": (
        lambda path: _confirmed(path, Runs(0.8, change=lambda run: {"marks": (BUSY,)} if run % 4 == 1 else {})),
        "decided",
    ),
    "accepted": (
        lambda path: _confirmed(path, Runs(0.8, change=lambda run: {"marks": (BUSY,)}), accept_disturbed=True),
        "decided",
    ),
    "failing candidate": (lambda path: _confirmed(path, Runs(0.8, change=_fails(19))), "budget"),
    "candidate that failed once": (lambda path: _confirmed(path, Runs(0.8, change=_fails(1))), "decided"),
    "failing program": (
        lambda path: tuned(
            path,
            [(BASELINE, Runs(1.0, change=_fails(3)), range(1, 9)), (ONE, Runs(0.8, change=_fails(2)), range(1, 9))],
            axes=AXES,
        ),
        "budget",
    ),
    "search alone": (lambda path: tuned(path, SEARCH, axes=AXES), "interrupted"),
    "one run of each": (lambda path: tuned(path, [(s, r, [1]) for s, r, _ in SEARCH], axes=AXES), "cut off"),
    "baseline alone": (lambda path: tuned(path, SEARCH[:1], axes=AXES), "budget"),
    "cut off": (
        lambda path: tuned(
            path,
            [
                (BASELINE, Runs(1.0), [1, 2]),
                (ONE, Runs(3.0, change=lambda run: {"error": "cut off", "cut_off": True}), [1, 2]),
            ],
        ),
        "budget",
    ),
    "rates": (
        lambda path: tuned(
            path,
            [
                (s, Runs(1.0, change=lambda run, r=r: {"metrics": {"rate": (1 + 0.001 * (run % 5)) / r.seconds}}), b)
                for s, r, b in SEARCH
            ],
            objective={"metric": "rate", "maximise": True},
            axes=AXES,
        ),
        "budget",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_said(name: str, tmp_path: Path) -> None:
    make, stopped = CASES[name]
    verdict = tune_verdict(make(tmp_path / "x"), stopped)
    hold(f"tune {name}", verdict, tmp_path / "x")
    assert verdict.summary(BASELINE.key).runs
    with pytest.raises(KeyError):
        verdict.summary("none")


@pytest.mark.parametrize("also", [False, True])
def test_failures_of_others_that_share_a_value_with_the_line_are_named(tmp_path: Path, also: bool) -> None:
    failing = {NO_B.key, NO_A.key} if also else {NO_B.key}
    with Writer(tmp_path / "x", tune_question(axes={"a": [0, 1], "b": [0, 1]})) as writer:
        for block in range(3):
            for position, setting in enumerate((NO_A, NO_B)):
                error = "exit code 1" if setting.key in failing and block < 2 else None
                sample = Sample(1.0, 1.0, 0.0, error=error)
                writer.add(Record(setting.key, "search", block + 1, position, sample), setting)
        writer.add_plan(Plan(BOTH.key, (10,), 0.05, {}, ()))
        for block in range(10):
            for position, setting in enumerate((BASELINE, BOTH) if block % 2 else (BOTH, BASELINE)):
                seconds = (0.5 if setting is BOTH else 1.0) * (1 + 0.001 * (block % 5))
                writer.add(Record(setting.key, CONFIRM, block + 4, position, Sample(seconds, seconds, 0.0)), setting)
    verdict = tune_verdict(read_experiment(tmp_path / "x"), "decided")
    assert verdict.verdict == "faster"
    named = [note for note in verdict.notes if note.startswith("other settings with")]
    # where settings without the value failed, too, it says nothing
    assert [note.split(",")[0] for note in named] == ([] if also else ["other settings with a=1 failed in 2 of 3 runs"])


def test_no_fewer_than_half_of_the_runs_made_are_said_to_decide_what_they_left_open() -> None:
    near = Verdict(Word.UNDECIDED, Ratio(1.05, 1.0099, 1.09, 20), 0.01)
    pairs = Pairs((1.0,) * 20, (1.0,) * 20, ())
    assert _more_runs(near, pairs, False) == 20


def test_a_program_that_fails_in_most_of_its_runs_is_not_one_that_more_runs_decide(tmp_path: Path) -> None:
    failing = Runs(0.5, change=lambda run: {"error": "exit code 1"} if run > 1 else {})
    search = [(Setting(("app",)), failing, range(1, 8)), (Setting(("app",), {"a": 1}), Runs(0.4), range(1, 8))]
    verdict = tune_verdict(tuned(tmp_path / "x", search), "budget")
    assert verdict.sentence.startswith("undecided: ") and verdict.more_runs is None
    assert (
        verdict.reason == "the program does not run as it is: 5 of 7 runs failed" and verdict.reason in verdict.sentence
    )
    assert going_on(verdict, Budget(60.0)) == GoingOn()
    steady = [(one, Runs(0.5) if one.values == {} else runs, where) for one, runs, where in search]
    assert going_on(tune_verdict(tuned(tmp_path / "y", steady), "budget"), Budget(60.0)).line


def test_a_busy_machine_asks_for_no_more_runs_unless_its_runs_were_accepted() -> None:
    near = Verdict(Word.UNDECIDED, Ratio(1.05, 1.0099, 1.09, 20), 0.01)
    busy = [met_of(n, key, Sample(1.0, 1.0, 0.0, marks=(BUSY,))) for n in range(20) for key in "ab"]
    pairs = Pairs((1.0,) * 20, (1.0,) * 20, tuple(range(20)), met=PhaseMet(busy).of("a", "b"))
    assert pairs.busy
    assert _more_runs(near, pairs, False) is None and _more_runs(near, pairs, True) == 20


def test_the_plan_of_a_setting_is_its_own_and_its_last(tmp_path: Path) -> None:
    settings = [(s, Runs(1.0), [1]) for s in (BASELINE, BOTH, NO_A)]
    made = tuned(tmp_path / "x", settings)
    made.plans.extend(
        Plan(key, (10,), alpha, {}) for key, alpha in ((BOTH.key, 0.05), (BOTH.key, 0.02), (NO_A.key, 0.01))
    )
    assert [(plan.candidate, plan.alpha) for plan in (plan_of(made, BOTH.key), plan_of(made, NO_A.key)) if plan] == [
        (BOTH.key, 0.02),
        (NO_A.key, 0.01),
    ]
    assert plan_of(made, NO_B.key) is None


def test_where_nothing_was_compared_no_block_is_counted(tmp_path: Path) -> None:
    verdict = tune_verdict(tuned(tmp_path / "x", [(BASELINE, Runs(1.0), [1, 2, 3])]), "decided")
    assert (verdict.comparison.blocks if verdict.comparison else 0) == 0
    pairs, found, _ = tune._compare(tuned(tmp_path / "y", [(BASELINE, Runs(1.0), [1, 2, 3])]), BASELINE.key)
    assert found.ratio.pairs == 0 and not pairs.one
