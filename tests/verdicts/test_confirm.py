# SPDX-License-Identifier: BSD-3-Clause
"""The word for a promise, from the interval promised and the one measured now."""

import math
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import Ratio
from nodewise.statistics.verdict import Word, judge
from nodewise.verdicts.compare import compare_verdict
from nodewise.verdicts.confirm import Held, Promise, confirm_verdict, judge_promise, promise_of
from nodewise.verdicts.pair import PairVerdict
from tests.verdicts.cases import Runs, compared, hold, tuned

BASELINE, BETTER = Setting(("app",)), Setting(("app",), {"a": 1}, name="better")


def promise(ratio: float, low: float, high: float) -> Promise:
    return Promise("e", "then", "baseline", "a=1", ratio, low, high, "a=1 ./app")


def again(ratio: float, low: float, high: float, reason: str = "") -> PairVerdict:
    word = judge(Ratio(ratio, low, high, 20), 0.01, final=True).word
    ends = (low if low > 0 else None, high if math.isfinite(high) else None)
    return PairVerdict("baseline", "a=1", word, ratio, *ends, 20, 20, 0, 0.01, None, False, reason, "", "")


@pytest.mark.parametrize(
    ("now", "word"),
    [
        ((1.60, 1.55, 1.65), Held.HOLDS),
        ((2.60, 2.55, 2.65), Held.HOLDS),
        # within 2% below what was promised at least
        ((1.50, 1.48, 1.52), Held.HOLDS),
        ((1.48, 1.44, 1.52), Held.UNDECIDED),
        ((1.30, 1.28, 1.32), Held.SMALLER),
        ((1.30, 1.10, 1.60), Held.UNDECIDED),
        ((1.00, 0.995, 1.005), Held.GONE),
        ((1.03, 0.95, 1.10), Held.GONE),
        ((0.80, 0.78, 0.82), Held.REVERSED),
        ((1.20, 0.90, 1.60), Held.UNDECIDED),
        ((1.50, 0.0, math.inf), Held.UNDECIDED),
    ],
)
def test_the_word_for_a_gain_of_half(now: tuple[float, float, float], word: Held) -> None:
    assert judge_promise(promise(1.55, 1.51, 1.60), again(*now), None)[0] is word


def test_a_small_promise_is_gone_where_nothing_is_left_of_it() -> None:
    for ratio in (1.015, 1.06):
        small = promise(ratio, ratio - 0.003, ratio + 0.003)
        assert judge_promise(small, again(1.000, 0.998, 1.002), None)[0] is Held.GONE
    # what counts as no difference may still be all that was promised
    assert judge_promise(promise(1.012, 1.009, 1.015), again(1.007, 1.006, 1.008), None)[0] is Held.HOLDS


def test_a_setting_that_fails_keeps_no_promise() -> None:
    word, reason = judge_promise(promise(1.55, 1.51, 1.6), again(1.6, 1.55, 1.65), "exit code 3 in 1 of 9 runs")
    assert (word, "exit code 3 in 1 of 9 runs" in reason) == (Held.GONE, True)


def test_why_nothing_is_decided_is_said() -> None:
    busy = again(1.5, 0.0, math.inf, "the machine was busy (9 of 9 blocks: steal)")
    assert judge_promise(promise(1.55, 1.51, 1.6), busy, None) == (Held.UNDECIDED, busy.reason)
    assert judge_promise(promise(1.55, 1.51, 1.6), None, None)[0] is Held.UNDECIDED
    assert busy.verdict is Word.UNDECIDED


PROMISE = {
    **{
        "experiment": "then",
        "taken_at": "2026-01-01",
        "one": "a",
        "other": "b",
        "ratio": 1.25,
        "low": 1.2,
        "high": 1.3,
    },
    **{
        "launch_line": "b",
        "command": ["./app"],
        "differences": ["kernel: 6.1 then, 6.2 now"],
        "notes": ["another input"],
    },
}


@pytest.mark.parametrize(
    ("name", "seconds", "fails", "word"),
    [
        ("holds", 0.8, 0, Held.HOLDS),
        ("gone", 1.0, 0, Held.GONE),
        ("failing", 0.8, 3, Held.GONE),
        ("dead", 0.8, 20, Held.GONE),
    ],
)
def test_all_that_is_said_of_a_repetition(tmp_path: Path, name: str, seconds: float, fails: int, word: Held) -> None:
    def change(run: int) -> dict[str, object]:
        return {"error": "exit code 3"} if run < fails else {}

    made = compared(
        tmp_path / "x", {"a": Runs(1.0), "b": Runs(seconds, change=change)}, kind="confirm", promise=PROMISE
    )
    verdict = confirm_verdict(made, "decided")
    assert verdict.verdict is word
    hold(f"confirm {name}", verdict, tmp_path / "x")


@pytest.mark.parametrize(
    ("fails", "error", "word"),
    [
        (1, "exit code 3", Held.HOLDS),
        (2, "exit code 3", Held.GONE),
        (1, "wrong result: output differs from the baseline's at line 1", Held.GONE),
    ],
)
def test_what_failed_by_chance_then_may_fail_as_often_now(tmp_path: Path, fails: int, error: str, word: Held) -> None:
    made = compared(
        tmp_path / "x",
        {
            "a": Runs(1.0),
            "b": Runs(0.8, change=lambda run: {"error": error} if run % 3 < fails else {}),
        },
        blocks=20,
        kind="confirm",
        promise={**PROMISE, "flaky": True},
    )
    verdict = confirm_verdict(made, "decided")
    assert verdict.verdict is word
    assert any("only the other runs are reported" in note for note in verdict.notes) == (word is Held.HOLDS)


def test_what_is_promised_is_the_greatest_decided_difference(tmp_path: Path) -> None:
    def promised(name: str, **seconds: float) -> Promise:
        return promise_of(compared(tmp_path / name, {n: Runs(s) for n, s in seconds.items()}))

    found = promised("faster", a=1.0, b=0.8, c=0.5)
    assert (found.one, found.other) == ("a", "c") and found.ratio == pytest.approx(2, rel=0.02)
    assert found.low < found.ratio < found.high and found.launch_line == "c"
    assert found.experiment == str(tmp_path / "faster") and found.taken_at
    turned = promised("slower", a=1.0, b=1.25, c=2.0)
    assert (turned.one, turned.other, turned.launch_line) == ("c", "a", "a")
    assert turned.ratio == pytest.approx(2, rel=0.02) and turned.low < turned.ratio < turned.high
    both = promised("both", a=1.0, b=0.9, c=2.0)
    assert (both.one, both.other) == ("a", "b")


def test_what_promises_nothing_is_bad_input(tmp_path: Path) -> None:
    hint = "name the directory of a tune or compare that found one"
    for name, runs, what in (
        ("equal", {"a": Runs(1.0, 0.002), "b": Runs(1.0, 0.002)}, "promises nothing: no difference"),
        ("alone", {"a": Runs(1.0)}, "promises nothing: nothing was compared"),
        ("dead", {"a": Runs(1.0, change=lambda run: {"error": "no"}), "b": Runs(1.0)}, "holds no good run of the a"),
    ):
        with pytest.raises(InputError, match=what) as caught:
            promise_of(compared(tmp_path / name, runs))
        assert hint in (caught.value.hint or "")
    unsure = tuned(
        tmp_path / "tune",
        [(BASELINE, Runs(1.0), [1]), (BETTER, Runs(0.999), [1])],
        {BASELINE.key: Runs(1.0, 0.1), BETTER.key: Runs(0.99, 0.1)},
        candidate=BETTER.key,
    )
    with pytest.raises(InputError, match=r"promises nothing: undecided: \d") as caught:
        promise_of(unsure)
    assert hint in (caught.value.hint or "")
    with pytest.raises(InputError, match="holds a run, which promises nothing; these do: compare, tune"):
        promise_of(compared(tmp_path / "run", {"a": Runs(1.0)}, kind="run"))


def test_a_promise_is_kept_down_to_two_percent_or_half_of_it_below() -> None:
    assert promise(1.55, 1.53, 1.6).least == pytest.approx(1.5)
    assert promise(1.03, 1.02, 1.04).least == pytest.approx(math.sqrt(1.02))
    assert promise(1.55, 1.51, 1.6).sentence == "1.55× (1.51–1.60) faster"


@pytest.mark.parametrize(
    ("now", "word", "reason"),
    [
        ((1.30, 1.28, 1.32), Held.SMALLER, "it is faster, but less than the 1.51× that were promised at least"),
        ((1.30, 1.10, 1.60), Held.UNDECIDED, "it is faster; whether by the promised 1.51× the noise leaves open"),
        ((0.80, 0.78, 0.82), Held.REVERSED, "the promised setting is slower now"),
        ((1.00, 0.995, 1.005), Held.GONE, "as fast as without it, as far as can be measured"),
        ((1.20, 0.90, 1.60), Held.UNDECIDED, "the noise leaves it open"),
        ((1.50, 0.0, math.inf), Held.UNDECIDED, "there were too few runs"),
    ],
)
def test_each_word_has_its_reason(now: tuple[float, float, float], word: Held, reason: str) -> None:
    assert judge_promise(promise(1.55, 1.51, 1.60), again(*now), None) == (word, reason)
    assert judge_promise(promise(1.55, 1.51, 1.60), None, None)[1] == "there is no run of both"


def test_what_is_promised_of_a_slowdown_is_the_same_seen_from_the_other_side(tmp_path: Path) -> None:
    made = compared(tmp_path / "x", {"a": Runs(1.0), "b": Runs(1.25, 0.05)})
    (pair,) = compare_verdict(made, "decided").pairs
    found = promise_of(made)
    assert pair.low is not None and pair.high is not None
    assert (found.low, found.ratio, found.high) == (1 / pair.high, 1 / pair.ratio, 1 / pair.low)


def test_a_promise_as_small_as_what_counts_as_none_is_left_open() -> None:
    word, reason = judge_promise(promise(1.012, 1.009, 1.015), again(1.001, 0.995, 1.007), None)
    assert (word, reason) == (Held.UNDECIDED, "the promised gain is as small as what counts as none")
