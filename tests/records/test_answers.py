# SPDX-License-Identifier: BSD-3-Clause
"""Which runs are wrong by what they answer: as they come, when they are read again, and when a tune goes on."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.records.answers import answer_notes, in_force
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, read_experiment
from nodewise.records.recorder import Recorder
from nodewise.runner.same_output import Kind, SameOutput
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.questions import tune_question

WRONG = "wrong result: output differs from the baseline's at line 1: 2.5 against 1.5"


class _Launcher:
    """Says one answer after the other, each perhaps with an exit code: `1.5#3`."""

    def __init__(self, answers: Sequence[str | None]):
        self._answers = list(answers)

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        answer = self._answers.pop(0)
        if answer is None:
            return Sample(1.0, 1.0, 0.0, error="exit code 1")
        text, _, code = answer.partition("#")
        usage = {"exit_code": float(code)} if code else {}
        return Sample(1.0, 1.0, 0.0, usage=usage, answer=f"digest of {text}", answer_text=text)

    def close(self) -> None:
        """Nothing is kept running."""


def play(
    path: Path, runs: Sequence[tuple[str, str | None]], rule: SameOutput | None = None, resumed: int | None = None
) -> list[str | None]:
    """Record runs of settings by name with these answers; the errors as whoever measures sees them.

    With `resumed` that many come from an earlier process.
    """
    question = tune_question(same_output=(rule or SameOutput()).to_json("baseline"))
    errors = []
    for go_on in (False, True) if resumed is not None else (False,):
        end = resumed if resumed is not None and not go_on else len(runs)
        new = runs[resumed:] if go_on else runs[:end]
        with Writer(path, None if go_on else question) as writer:
            launcher = _Launcher([answer for _, answer in new])
            recorder = Recorder(writer, launcher, Meter(Budget()), writer.earlier)
            errors = [
                recorder.sample(Setting(("app",), name=name if name != "baseline" else ""), "search", n, 0, None)[
                    0
                ].error
                for n, (name, _) in enumerate(runs[:end])
            ]
    return errors


def stored(path: Path) -> list[str | None]:
    return [record.sample.error for record in read_experiment(path).records]


AUTO = [
    ("repeats", [("baseline", "1.5"), ("a", "2.5"), ("baseline", "1.5"), ("a", "2.5"), ("b", "1.50000000001")], [1, 3]),
    ("strays at once", [("baseline", "1.5"), ("a", "2.5"), ("baseline", "1.50000000001"), ("a", "2.5")], []),
    ("strays later", [("baseline", "1.5"), ("baseline", "1.5"), ("a", "2.5"), ("baseline", "1.6"), ("a", "2.5")], []),
    ("once only", [("baseline", "1.5"), ("a", "2.5")], []),
    ("fails once", [("baseline", "1.5"), ("baseline", None), ("a", "2.5"), ("baseline", "1.5")], [2]),
]


@pytest.mark.parametrize(("runs", "wrong"), [c[1:] for c in AUTO], ids=[c[0] for c in AUTO])
def test_the_automatic_rule_holds_while_the_baseline_repeats(
    tmp_path: Path, runs: list[tuple[str, str | None]], wrong: list[int]
) -> None:
    seen = play(tmp_path / "e", runs)
    reported = stored(tmp_path / "e")
    assert [i for i, e in enumerate(reported) if e == WRONG] == wrong
    assert all(reported[i] == seen[i] for i in range(len(runs)) if seen[i] != WRONG and i not in wrong)


def test_an_exit_code_that_the_baseline_never_has_is_wrong_whatever_is_printed(tmp_path: Path) -> None:
    runs = [("baseline", "1.5#3"), ("baseline", "1.5"), ("a", "1.5#5"), ("b", "2.5#3"), ("c", "1.5#3"), ("d", "1.5")]
    seen = play(tmp_path / "e", runs)
    # codes that come and go are no output that does
    assert [e is not None for e in seen] == [False, False, True, True, False, False]
    assert seen[2] == "wrong result: its exit code is 5, the baseline's 0 or 3" and seen[3] == WRONG
    assert stored(tmp_path / "e") == seen
    (said,) = [text for text in read_experiment(tmp_path / "e").remarks if "exit codes" in text]
    assert said == "exit codes that were accepted: 3 in 1 of 2 good runs of baseline, 3 in 1 of 1 good run of c"
    # an output that differs from run to run excuses no code
    strays = play(tmp_path / "s", [("baseline", "1.5"), ("baseline", "2.5"), ("a", "1.5#5"), ("b", "7.5")])
    assert [e is not None for e in strays] == [False, False, True, False]
    assert stored(tmp_path / "s") == strays


def test_whoever_measures_hears_of_it_as_soon_as_the_baseline_has_repeated(tmp_path: Path) -> None:
    seen = play(tmp_path / "e", AUTO[0][1])
    assert seen == [None, None, None, WRONG, None]
    assert read_experiment(tmp_path / "e").records[1].sample.output == "2.5"


@pytest.mark.some(3)
@pytest.mark.parametrize("name", [c[0] for c in AUTO])
def test_going_on_judges_as_without_a_break(tmp_path: Path, name: str) -> None:
    runs = next(c[1] for c in AUTO if c[0] == name)
    whole = play(tmp_path / "whole", runs)
    for cut in range(1, len(runs) + 1):
        assert play(tmp_path / f"e{cut}", runs, resumed=cut) == whole
        assert stored(tmp_path / f"e{cut}") == stored(tmp_path / "whole")


BEFORE = [("a", "2.5"), ("b", "1.5"), ("baseline", "1.5")]


def test_what_ran_before_the_reference_is_judged_by_it(tmp_path: Path) -> None:
    rule = SameOutput(Kind.OUTPUT)
    seen = play(tmp_path / "e", [*BEFORE, ("baseline", "1.5"), ("a", "2.5")], rule)
    assert seen == [None, None, None, None, WRONG]
    assert stored(tmp_path / "e") == [WRONG, None, None, None, WRONG]
    # one run of the reference is enough, if there is no other
    play(tmp_path / "f", BEFORE, rule)
    assert stored(tmp_path / "f") == [WRONG, None, None]


def test_what_was_asked_to_be_the_same_has_to_repeat_in_the_baseline(tmp_path: Path) -> None:
    rule = SameOutput(Kind.PATTERN, "x(.*)")
    with pytest.raises(InputError, match=r"differs from run to run .* match 1: 1\.6 against 1\.5") as reported:
        play(tmp_path / "e", [("baseline", "1.5"), ("a", "1.5"), ("baseline", "1.6")], rule)
    assert "--tolerance" in (reported.value.hint or "")


def test_a_baseline_that_strays_once_is_a_failure_of_that_run(tmp_path: Path) -> None:
    rule = SameOutput(Kind.OUTPUT)
    runs = [("baseline", "1.5"), ("baseline", "1.5"), ("baseline", "2.5"), ("baseline", "1.5")]
    assert play(tmp_path / "e", runs, rule) == stored(tmp_path / "e") == [None, None, WRONG, None]


def test_the_tolerance_is_the_rules(tmp_path: Path) -> None:
    runs: list[tuple[str, str | None]] = [("baseline", "1.5"), ("baseline", "1.5"), ("a", "1.5001")]
    assert play(tmp_path / "e", runs, SameOutput(tolerance=1e-3))[2] is None
    assert play(tmp_path / "f", runs)[2] is not None


def test_with_any_output_nothing_is_judged(tmp_path: Path) -> None:
    assert play(tmp_path / "e", AUTO[0][1], SameOutput(Kind.OFF)) == [None] * 5
    assert answer_notes(read_experiment(tmp_path / "e")) == []


def test_answers_too_long_for_text_are_compared_whole(tmp_path: Path) -> None:
    class _Long(_Launcher):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            return Sample(1.0, 1.0, 0.0, answer=str(self._answers.pop(0)))

    question = tune_question(same_output=SameOutput().to_json("baseline"))
    with Writer(tmp_path / "e", question) as writer:
        recorder = Recorder(writer, _Long(["x", "x", "y", "x"]), Meter(Budget()))
        keys = ("", "", "a", "a")
        errors = [recorder.sample(Setting(("app",), name=k), "s", n, 0, None)[0].error for n, k in enumerate(keys)]
    assert [bool(e) for e in errors] == [False, False, True, False]
    assert "byte for byte" in (errors[2] or "")


def test_a_verdict_knows_what_became_of_the_comparison(tmp_path: Path) -> None:
    for name, runs, _ in AUTO:
        play(tmp_path / name, runs)
    notes = {name: answer_notes(read_experiment(tmp_path / name)) for name, *_ in AUTO}
    assert ["--any-output" in n for n in notes["repeats"]] == [True]
    assert notes["strays later"] == ["the output differs from run to run; --same-output REGEX compares a part of it"]
    assert notes["once only"] == []
    assert in_force(read_experiment(tmp_path / "once only")) is None
    assert in_force(read_experiment(tmp_path / "strays later")) is False


def test_a_program_may_name_what_its_setting_sets(tmp_path: Path) -> None:
    """`run with 4` is the same answer as `run with 2` where that many threads were set, and 5 is another."""
    question = tune_question(same_output=SameOutput().to_json("baseline"))
    answers = ["sum 7 with 2", "sum 7 with 2", "sum 7 with 4", "sum 7 with 5"]
    with Writer(tmp_path / "e", question) as writer:
        recorder = Recorder(writer, _Launcher(answers), Meter(Budget()), None)
        settings = [Setting(("app",)), *(Setting(("app",), {"threads": 4}, name=n) for n in ("a", "b"))]
        errors = [recorder.sample(settings[i], "search", n, 0, None)[0].error for n, i in enumerate((0, 0, 1, 2))]
    assert errors[:3] == [None] * 3 and "4 against" not in str(errors[2])
    assert errors[3] is not None and "wrong result" in errors[3]


def test_without_a_rule_nothing_is_in_force(tmp_path: Path) -> None:
    question = tune_question()
    question.pop("same_output", None)
    with Writer(tmp_path / "e", question):
        pass
    experiment = read_experiment(tmp_path / "e")
    assert in_force(experiment) is None and answer_notes(experiment) == []


def test_what_is_no_text_differs_at_a_byte(tmp_path: Path) -> None:
    runs = [("baseline", "\0head\udcff\n1.5"), ("a", "\0head\udcfe\n1.5"), ("baseline", "\0head\udcff\n1.5")]
    errors = play(tmp_path / "x", runs)
    assert errors[1] is None or "byte 6 of what is no text" in errors[1]
    assert "byte 6 of what is no text" in str(read_experiment(tmp_path / "x").records[1].sample.error)


@pytest.mark.parametrize(("codes", "said"), [(4, "of s4"), (6, "of s4, and 2 more")])
def test_of_many_exit_codes_the_most_frequent_are_named(tmp_path: Path, codes: int, said: str) -> None:
    runs = [(f"s{n}", f"1.5#{n}") for n in range(1, codes + 1) for _ in range(codes + 1 - n)]
    play(tmp_path / "e", [("baseline", "1.5"), *runs])
    (note,) = [text for text in read_experiment(tmp_path / "e").remarks if "exit codes" in text]
    assert note.count(" good run") == 4 and note.endswith(said)
