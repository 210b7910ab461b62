# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a comparison, in full, from runs made of numbers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.records.experiment import Experiment
from nodewise.report.exports.comparison import compared_of
from nodewise.verdicts.compare import compare_verdict, comparisons, describe, format_span, looks_of
from nodewise.verdicts.pair import values_of
from nodewise.verdicts.shape import Shape, shape_notes, shape_of
from tests.verdicts.cases import BUSY, Runs, compared, hold, usage

ENERGY = {"energy_j": 12.0, "energy_dram_j": 1.0}


def _failing(first: int) -> Callable[[int], dict[str, Any]]:
    return lambda run: {"error": "exit code 3"} if run >= first else {}


def _marked(runs: set[int], mark: str = BUSY) -> Callable[[int], dict[str, Any]]:
    return lambda run: {"marks": (mark,)} if run in runs else {}


def _clear(path: Path) -> Experiment:
    return compared(
        path,
        {
            "a": Runs(1.0, fields={"metrics": {"flops": 4e9}, "usage": usage(1.0, peak_bytes=2e6)}),
            "b": Runs(0.8, fields={"metrics": {"flops": 2e9, "error": 0.5}, "usage": usage(0.8, peak_bytes=3e6)}),
            "c": Runs(1.3, fields={"usage": usage(1.3, peak_bytes=1e6)}),
        },
    )


CASES: dict[str, tuple[Callable[[Path], Experiment], str, str]] = {
    "three": (_clear, "decided", "b is the best of 3"),
    "noisy": (
        lambda path: compared(path, {"a": Runs(1.0, 0.1), "b": Runs(0.98, 0.1)}, blocks=9),
        *("budget", "undecided: 0.98× (0.78–1.24), b against a"),
    ),
    "few": (lambda path: compared(path, {"a": Runs(1.0), "b": Runs(0.9)}, blocks=3), "runs", ""),
    "equal": (
        lambda path: compared(path, {"a": Runs(1.0, 0.002), "b": Runs(1.0, 0.002)}, blocks=30),
        *("decided", "no difference beyond 1%: 1.000× (0.998–1.002)"),
    ),
    "busy": (
        lambda path: compared(path, {"a": Runs(1.0, change=_marked(set(range(12)))), "b": Runs(0.9)}),
        *("budget", ""),
    ),
    "accepted": (
        lambda path: compared(
            path, {"a": Runs(1.0, change=_marked(set(range(12)))), "b": Runs(0.9)}, accept_disturbed=True
        ),
        *("decided", ""),
    ),
    "partly": (
        lambda path: compared(path, {"a": Runs(1.0), "b": Runs(0.9, change=_marked({1, 2, 5, 9, 11}))}),
        *("decided", ""),
    ),
    "failing": (
        lambda path: compared(
            path, {"a": Runs(1.0), "b": Runs(0.9, change=_failing(14)), "c": Runs(1.1)}, warmed=("a", "b", "c!")
        ),
        *("failed", ""),
    ),
    "failed": (
        lambda path: compared(path, {"a": Runs(1.0), "b": Runs(0.9, change=_failing(10))}, blocks=11),
        *("failed", ""),
    ),
    "shaped": (
        lambda path: compared(
            path,
            {
                "drifting": Runs(1.0, 0.002, change=lambda run: {"seconds": 1.0 + 0.004 * run}),
                "bimodal": Runs(1.0, change=lambda run: {"seconds": (1.0 if run % 5 < 3 else 1.2) + 1e-4 * (run % 7)}),
                "starting": Runs(0.5, 0.001, change=lambda run: {} if run else {"seconds": 0.9}),
                "warmed": Runs(0.4, 0.001),
            },
            blocks=30,
            warmed=("warmed",),
            warmup=1,
        ),
        *("decided", ""),
    ),
    "short": (
        lambda path: compared(
            path,
            {n: Runs(0.003 + 0.0001 * i, 0.05, {"usage": usage(0.0001)}) for i, n in enumerate("abc")},
            contenders=[{"name": n, "text": f"{n} | cat", "shell": "/bin/sh", "steps": {}} for n in "abc"],
        ),
        *("interrupted", ""),
    ),
    "waiting": (
        lambda path: compared(
            path, {n: Runs(0.2 + 0.1 * i, fields={"usage": usage(0.1)}) for i, n in enumerate("abcd")}
        ),
        *("decided", ""),
    ),
    "many": (
        lambda path: compared(
            path, {n: Runs(1 + (0.02 if i % 2 else -0.02) * (i % 4), 0.005) for i, n in enumerate("abcdefgh")}
        ),
        *("runs", ""),
    ),
    "many alike": (
        lambda path: compared(path, {n: Runs(1.0, 0.05) for n in "abcdefgh"}, blocks=12),
        *("runs", "the fastest cannot be distinguished: a, b, c, d, e, f and 2 more"),
    ),
    "energy": (
        lambda path: compared(
            path,
            {
                "a": Runs(0.01, fields={"conditions": ENERGY, "usage": usage(0.01, peak_bytes=1e6)}),
                "b": Runs(
                    0.009, fields={"conditions": {**ENERGY, "energy_j": 14.0}, "usage": usage(0.009, peak_bytes=1e6)}
                ),
                "c": Runs(
                    0.012, fields={"conditions": {**ENERGY, "energy_j": 16.0}, "usage": usage(0.01, peak_bytes=1e6)}
                ),
            },
            shown={"metrics": [{"metric": "energy_j", "maximise": False}], "currency": "EUR"},
        ),
        *("decided", ""),
    ),
    "rates": (
        lambda path: compared(
            path,
            {
                n: Runs(1.0, change=lambda run, i=i: {"metrics": {"rate": (5 + i) * (1 + 0.001 * (run % 9))}})
                for i, n in enumerate("ab")
            },
            objective={"metric": "rate", "maximise": True},
        ),
        *("decided", ""),
    ),
    "hanging": (
        lambda path: compared(
            path,
            {
                "a": Runs(
                    1.0, change=lambda run: {"error": "cut off", "cut_off": True, "wall_s": 1.7} if run == 9 else {}
                ),
                "b": Runs(0.9, missing=frozenset({9})),
            },
            blocks=10,
        ),
        *("budget", ""),
    ),
    "between": (
        # blocks of which one is slower by much, and in which the one of the two does not run
        lambda path: compared(
            path,
            {
                "a": Runs(1.0, 0.001, missing=frozenset(range(0, 20, 2))),
                "b": Runs(0.9, 0.001, change=lambda run: {} if run % 2 else {"seconds": 3.0}),
            },
        ),
        *("decided", ""),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_said(name: str, tmp_path: Path) -> None:
    make, stopped, sentence = CASES[name]
    verdict = compare_verdict(make(tmp_path / "x"), stopped)
    hold(f"compare {name}", verdict, tmp_path / "x")
    assert describe(verdict) == sentence or not sentence


def test_up_to_five_are_held_against_each_other_and_more_against_the_first() -> None:
    assert len(comparisons("abcde")) == 10 and comparisons("abcdef") == [("a", x) for x in "bcdef"]
    assert comparisons("a") == [] and looks_of(0).comparisons == 1 and looks_of(10).comparisons == 10
    assert looks_of(1).alpha == 0.05
    assert format_span(0.98, 1.0312) == "0.980× to 1.031×"


def test_one_that_ran_alone_is_described_by_its_time_and_none_is_bad_input(tmp_path: Path) -> None:
    made = compared(tmp_path / "x", {"a": Runs(2.0), "b": Runs(0.9, change=_failing(0))})
    assert describe(compare_verdict(made, "failed"), {"a": "first"}) == "first: 2 s"
    none = compared(tmp_path / "y", {"a": Runs(1.0, change=_failing(0)), "b": Runs(0.9, change=_failing(0))}, blocks=1)
    with pytest.raises(InputError, match="holds no good run of a") as caught:
        describe(compare_verdict(none, "failed"))
    assert caught.value.hint == "compare again"
    names = {"a": "old", "b": "new"}
    faster = compared(tmp_path / "z", {"a": Runs(1.0), "b": Runs(0.5)})
    assert describe(compare_verdict(faster, "decided"), names).startswith("new is 2.0")
    slower = compared(tmp_path / "s", {"a": Runs(0.5), "b": Runs(1.0)})
    assert " slower than old (" in describe(compare_verdict(slower, "decided"), names)


def test_what_is_maximised_is_shown_as_it_was_printed(tmp_path: Path) -> None:
    # 1 / (1 / 49) is another number
    runs = {name: Runs(1.0, change=lambda run: {"metrics": {"rate": 49.0}}) for name in "ab"}
    made = compared(tmp_path / "x", runs, 7, objective={"metric": "rate", "maximise": True})
    row = compare_verdict(made, "runs").contenders[0]
    assert {row.median, row.low, row.high} == {49.0} and set(values_of(made, "a")) == {49.0}
    assert compared_of(made, "a") == {"rate": [49.0] * 7}


def test_intervals_that_hold_with_others_besides_are_wider(tmp_path: Path) -> None:
    experiment = compared(tmp_path / "x", {"a": Runs(1.0, 0.05), "b": Runs(0.9, 0.05)})
    alone, (beside,) = compare_verdict(experiment, "runs").pairs[0], compare_verdict(experiment, "runs", 9).pairs
    assert None not in (alone.low, beside.low) and beside.low < alone.low < alone.high < beside.high  # type: ignore[operator]


@pytest.mark.parametrize("metric", ["wall_s", "cpu_s"])
def test_work_is_shown_for_every_kind_of_time(tmp_path: Path, metric: str) -> None:
    runs = {n: Runs(1.0, fields={"metrics": {"flops": 4e9}, "usage": usage(1.0)}) for n in "ab"}
    verdict = compare_verdict(
        compared(tmp_path / "x", runs, objective={"metric": metric, "maximise": False}), "decided"
    )
    assert [row.work and row.work.kind for row in verdict.contenders] == ["flops", "flops"]


def test_a_note_that_three_share_is_given_once(tmp_path: Path) -> None:
    runs = {n: Runs(1.0 + 0.1 * i, change=_marked(set(range(5)))) for i, n in enumerate("abc")}
    warnings = compare_verdict(compared(tmp_path / "x", runs), "decided").warnings
    assert [w for w in warnings if "disturbed" in w and w.startswith("all commands were disturbed")]
    assert not [w for w in warnings if w.startswith(("a: disturbed", "b: disturbed", "c: disturbed"))]


@pytest.mark.parametrize("count", [3, 6])
def test_what_failed_is_not_the_best_and_beats_none(tmp_path: Path, count: int) -> None:
    """The fastest of several fails in its last run."""
    runs = {"fast": Runs(0.5, change=lambda run: {"error": "exit code 3"} if run == 19 else {})}
    runs |= {f"c{n}": Runs(1.0 + 0.3 * n) for n in range(count - 1)}
    made = compared(tmp_path / "x", {"c0": runs["c0"], **runs})
    verdict = compare_verdict(made, "decided")
    assert verdict.fastest == ("c0",)
    assert describe(verdict) == f"c0 is the best of {count - 1}"


def test_a_rate_that_falls_is_said_to_fall(tmp_path: Path) -> None:
    def rates(run: int) -> dict[str, Any]:
        return {"metrics": {"rate": (1000.0 - 9 * run) * (1 + 0.001 * (run % 3))}}

    asked = {"objective": {"metric": "rate", "maximise": True}}
    made = compared(tmp_path / "x", {"a": Runs(1.0, change=rates), "b": Runs(1.0, change=rates)}, blocks=20, **asked)
    verdict = compare_verdict(made, "decided")
    drift = verdict.contenders[0].shape.drift
    assert drift is not None and drift == pytest.approx(-0.17, abs=0.02)
    assert any("it fell by 1" in text for text in verdict.warnings)


def test_the_level_shown_is_that_of_the_intervals(tmp_path: Path) -> None:
    """Of thirty blocks ten are disturbed, so twenty decide."""
    made = compared(
        tmp_path / "x", {"a": Runs(1.0, change=lambda run: {"marks": (BUSY,)} if run < 10 else {}), "b": Runs(0.5)}, 30
    )
    verdict = compare_verdict(made, "decided")
    (pair,) = verdict.pairs
    assert pair.pairs < 21 and verdict.level == looks_of(1).level(pair.pairs)


@pytest.mark.parametrize(("counts", "amount"), [((0.0, 0.0, 10.0), 10.0), ((0.5, 0.5, 0.5), 0.5), ((0.0,), None)])
def test_what_was_not_counted_is_no_amount_of_work(
    tmp_path: Path, counts: tuple[float, ...], amount: float | None
) -> None:
    counted = Runs(1.0, change=lambda run: {"metrics": {"items": counts[run % len(counts)]}})
    verdict = compare_verdict(compared(tmp_path / "x", {"a": counted, "b": counted}, 12), "decided")
    work = verdict.contenders[0].work
    assert (work and work.amount) == amount


def test_what_ran_alone_and_costs_something_has_its_currency(tmp_path: Path) -> None:
    verdict = compare_verdict(compared(tmp_path / "x", {"a": Runs(1.0)}, kind="run"), "decided")
    assert describe(replace(verdict, metric="cost", currency="EUR")).endswith(" EUR")


@pytest.mark.parametrize(("drift", "said"), [(0.012, True), (-0.012, True), (0.009, False), (None, False)])
def test_a_drift_of_one_percent_is_worth_a_word(tmp_path: Path, drift: float | None, said: bool) -> None:
    notes = shape_notes(compared(tmp_path / "x", {"a": Runs(1.0), "b": Runs(1.0)}, 6), Shape(drift=drift), 1)
    assert any("grew" in note or "fell" in note for note in notes) is said


def test_times_that_drift_gather_nowhere_and_others_do(tmp_path: Path) -> None:
    def made(name: str, seconds: Callable[[int], float]) -> Shape:
        runs = Runs(1.0, change=lambda run: {"seconds": seconds(run), "wall_s": seconds(run)})
        return shape_of(compared(tmp_path / name, {"a": runs, "b": Runs(1.0)}, 60), "a", "compare")

    drifting = made("x", lambda run: 1 + 0.02 * run + (0.2 if run > 29 else 0.0))
    assert len(drifting.modes) == 1 and drifting.drift is not None
    assert len(made("y", lambda run: 1.0 + 0.001 * (run * 7 % 5) + 0.3 * (run * 13 % 4 > 1)).modes) == 2


@pytest.mark.parametrize(
    ("wall", "cpu", "said"),
    [(0.2, 0.1, True), (0.2, 0.14, False), (0.010, 0.0045, True), (0.010, 0.0055, False), (0.2, 0.0, True)],
)
def test_what_waits_half_of_its_time_and_five_milliseconds_is_said_to_wait(
    tmp_path: Path, wall: float, cpu: float, said: bool
) -> None:
    runs = {n: Runs(wall, 0.001, {"usage": usage(cpu)}) for n in "ab"}
    warnings = compare_verdict(compared(tmp_path / "x", runs), "runs").warnings
    assert any("it waits for something else" in w for w in warnings) is said


@pytest.mark.parametrize(
    ("marked", "blocks", "said"), [(1, 4, "1 of 4 runs was"), (2, 8, "2 of 8 runs were"), (2, 10, "")]
)
def test_more_than_a_fifth_of_disturbed_runs_is_said(tmp_path: Path, marked: int, blocks: int, said: str) -> None:
    runs = {"a": Runs(1.0, change=_marked(set(range(marked)))), "b": Runs(0.5)}
    warnings = compare_verdict(compared(tmp_path / "x", runs, blocks), "runs").warnings
    found = [w for w in warnings if "disturbed; `nodewise quiet` says by what" in w]
    assert found == ([f"a: {said} disturbed; `nodewise quiet` says by what"] if said else [])


def test_why_a_busy_machine_decides_nothing_says_that_runs_were_disturbed(tmp_path: Path) -> None:
    def said(name: str, **more: Any) -> list[str]:
        busy = {
            "a": Runs(1.0, change=_marked(set(range(12)))),
            "b": Runs(0.9),
            "c": Runs(0.5, change=_marked({1, 2, 3, 4, 5})),
        }
        runs = {n: busy[n] for n in name}
        return [
            w[0]
            for w in compare_verdict(compared(tmp_path / f"{name} {len(more)}", runs, **more), "runs").warnings
            if "of 20 runs were" in w
        ]

    assert said("ab") == [] and said("ab", accept_disturbed=True) == ["a"]
    # what was disturbed less, and yet decided, has its own note
    assert said("bc") == ["c"]


def test_one_that_failed_to_warm_up_is_said_to_have_failed_there(tmp_path: Path) -> None:
    runs = {"a": Runs(1.0), "b": Runs(0.9, missing=frozenset(range(20)))}
    experiment = compared(tmp_path / "x", runs, warmed=("a", "b!"))
    assert (
        "b: failed in the warm-up and was left out from then on: exit code 3"
        in compare_verdict(experiment, "runs").warnings
    )


@pytest.mark.parametrize(
    ("text", "name", "needed"),
    [
        ("b", "b", ""),
        ("app --token=tr0ub4dor --password=c0rrecth0rse", "b", "TOKEN, PASSWORD"),
        ("b", "--password=c0rrecth0rse", "PASSWORD"),
    ],
)
def test_variables_that_stand_for_secrets_are_to_be_set(tmp_path: Path, text: str, name: str, needed: str) -> None:
    named = [{"name": n, "text": t, "shell": None, "steps": {}} for n, t in (("a", "a"), (name, text))]
    experiment = compared(tmp_path / "x", {"a": Runs(1.0), name: Runs(0.5)}, contenders=named)
    said = [w for w in compare_verdict(experiment, "decided").warnings if "to be set" in w]
    assert [w.partition(" to be set")[0] for w in said] == (
        [f"what is printed of the commands needs {needed}"] if needed else []
    )
