# SPDX-License-Identifier: BSD-3-Clause
"""Answers: whether what a setting's run left is what the reference leaves; one that differs is wrong, not fast.

Each sample keeps the digest of its answer and where it differs from the reference's first one. Whether that is an error is
decided over all samples: the automatic rule holds only while the reference itself repeats, which may end late.
So the file says what was seen, and whoever reads it judges it by the same rule as whoever measured.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nodewise.base.errors import InputError
from nodewise.base.units import format_count
from nodewise.runner.same_output import (
    Difference,
    Kind,
    SameOutput,
    around,
    first_byte,
    first_difference,
    own_words,
    repeatable_line,
    same_output_from_json,
)
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting

if TYPE_CHECKING:
    from nodewise.records.experiment import Experiment

QUESTION = "same_output"
_WRONG = "wrong result"
_ITS_CODE = "its exit code"
_MOST_KNOWN = 1000
#: Of so many settings the exit codes are named.
_MOST_CODES = 4


def wrong(rule: SameOutput, differs: str) -> str:
    """The error of a run whose answer differs."""
    if differs.startswith(_ITS_CODE):
        return f"{_WRONG}: {differs}"
    return f"{_WRONG}: {rule.named} differs from the baseline's at {differs}"


def _exit_code(sample: Sample) -> int:
    return int(sample.usage.get("exit_code", 0))


def is_wrong(sample: Sample) -> bool:
    """Whether a run failed because its answer differs."""
    return (sample.error or "").startswith(f"{_WRONG}: ")


class AnswerJudge:
    """Judges samples as they come. `reference` is the first answer's text where it was kept by an earlier process."""

    def __init__(self, rule: SameOutput, reference_key: str, reference: str | None = None):
        self._rule = rule
        self._key = reference_key
        self._text = reference
        self._digest = ""
        self._exit_codes: set[int] = set()
        self._repeats = 0
        self._strays = False
        self._count = 0
        self._waiting: list[tuple[int, Setting, Sample]] = []
        self._known: dict[tuple[str, str], Difference | None] = {}

    @property
    def in_force(self) -> bool:
        """Whether a run that differs is wrong, as far as is known now."""
        # before the reference has repeated it may as well be the one that differs from run to run
        return self._repeats >= 2 and not (self._strays and self._rule.kind is Kind.AUTO)

    @property
    def kind(self) -> Kind:
        """What of a run is compared."""
        return self._rule.kind

    @property
    def reference(self) -> str | None:
        """The text that others are compared with, once there is one."""
        return self._text

    def replayed(self, setting: Setting, sample: Sample) -> Sample:
        """The sample of an earlier process, with an error where it is wrong."""
        self._count += 1
        self._note(setting, sample)
        return self._judged(sample)

    def compared(self, setting: Setting, sample: Sample) -> tuple[Sample, list[tuple[int, str]]]:
        """A new sample, to be written down, with where it differs; and the same of earlier ones, by their number, where
        they came before the reference.

        Raises InputError where the reference was asked to repeat and does not.
        """
        self._count += 1
        if not sample.ok or not sample.answer:
            return sample, []
        if not self._digest and setting.key != self._key:
            self._waiting.append((self._count - 1, setting, sample))
            return sample, []
        if setting.key == self._key and sample.answer == (self._digest or sample.answer) and self._text is None:
            self._text = sample.answer_text
        late = []
        self._note(setting, sample)
        for number, other, earlier in self._waiting:
            difference = self._difference(other, earlier)
            if difference is not None:
                late.append((number, difference.text))
        self._waiting = []
        difference = self._difference(setting, sample)
        if difference is not None:
            kept = around(sample.answer_text or "", difference.line)
            sample = dataclasses.replace(sample, differs=difference.text, output=kept)
            self._check_reference(setting, sample)
        return sample, late

    def judged(self, sample: Sample) -> Sample:
        """The sample with an error where it is wrong; its text is let go."""
        return dataclasses.replace(self._judged(sample), answer_text=None) if sample.answer else sample

    def _judged(self, sample: Sample) -> Sample:
        # what is printed may differ from run to run, and codes not
        in_force = self._repeats >= 2 if sample.differs.startswith(_ITS_CODE) else self.in_force
        if not (sample.ok and sample.differs and in_force):
            return sample
        return dataclasses.replace(sample, error=wrong(self._rule, sample.differs))

    def _note(self, setting: Setting, sample: Sample) -> None:
        """Whether the reference repeats."""
        if setting.key != self._key or not sample.ok or not sample.answer:
            return
        self._digest = self._digest or sample.answer
        self._exit_codes.add(_exit_code(sample))
        self._repeats += 1
        self._strays |= sample.answer != self._digest

    def _difference(self, setting: Setting, sample: Sample) -> Difference | None:
        if self._exit_codes and (code := _exit_code(sample)) not in self._exit_codes:
            return Difference(1, f"{_ITS_CODE} is {code}, the baseline's {code_words(self._exit_codes)}")
        if sample.answer == self._digest or (self._rule.kind is Kind.AUTO and self._strays):
            return None
        # most settings answer the same each time, and a long text takes a second to compare
        place = (setting.key, sample.answer)
        if place not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[place] = self._compare(setting, sample)
        return self._known[place]

    def _compare(self, setting: Setting, sample: Sample) -> Difference | None:
        if self._text is None or sample.answer_text is None:
            return Difference(1, "some place: they are too long to be compared but byte for byte")
        texts = self._text, sample.answer_text
        if self._rule.kind is Kind.AUTO:
            found = first_difference(*texts, self._rule.tolerance, own_words(setting), repeatable_line)
        else:
            found = first_difference(*texts, self._rule.tolerance)
        if found is None:
            return None
        if "\0" in self._text:
            return Difference(found.line, f"byte {first_byte(*texts)} of what is no text")
        unit = "match" if self._rule.kind is Kind.PATTERN else "line"
        return Difference(found.line, f"{unit} {found.line}: {found.text}")

    def _check_reference(self, setting: Setting, sample: Sample) -> None:
        """What was asked to be the same has to be so of the program as it is, else nothing follows from it."""
        if setting.key != self._key or self._rule.kind is Kind.AUTO or self._repeats != 2:
            return
        raise InputError(
            f"--same-output: {self._rule.named} differs from run to run of the program as it is, at {sample.differs}",
            "give a larger --tolerance, or a REGEX for a part of it that repeats",
        )


def judge_of(question: Mapping[str, Any], reference: str | None) -> AnswerJudge | None:
    """The judge that a question asks for; None where it asks for none."""
    asked = question.get(QUESTION)
    if not asked:
        return None
    rule = same_output_from_json(asked)
    return None if rule.kind is Kind.OFF else AnswerJudge(rule, str(asked["reference"]), reference)


def judge_records(experiment: Experiment) -> None:
    """Make errors of the records that are wrong, over all that were read."""
    asked = experiment.question.get(QUESTION)
    if not asked or (outputs := in_force(experiment)) is None:
        return
    rule = same_output_from_json(asked)
    for at, differs in list(experiment.records.differing()):
        if outputs or differs.startswith(_ITS_CODE):
            experiment.records.fail(at, wrong(rule, differs))


def in_force(experiment: Experiment) -> bool | None:
    """Whether answers that differ are wrong; None where nothing was compared."""
    asked = experiment.question.get(QUESTION)
    records = experiment.records
    if not asked or asked["kind"] == Kind.OFF:
        return None
    own = records.of(str(asked["reference"]))
    answers = records.answer_codes[own]
    answers = answers[answers >= 0]
    if asked["kind"] != Kind.AUTO:
        return bool(answers.size) or None
    return None if answers.size < 2 else np.unique(answers).size == 1


def answer_notes(experiment: Experiment) -> list[str]:
    """What is to be said with a verdict: that outputs could not be compared, or what to do where one is wrong."""
    asked = experiment.question.get(QUESTION)
    if not asked or asked["kind"] != Kind.AUTO:
        return []
    held = in_force(experiment)
    if held is False:
        return ["the output differs from run to run; --same-output REGEX compares a part of it"]
    if held and any(True for _ in experiment.records.differing()):
        return [
            "the output of the program as it is repeats, so one that differs counts as wrong: --any-output turns that "
            "off, --same-output REGEX compares a part of it, --tolerance 1e-6 allows more"
        ]
    return []


def exit_codes_of(experiment: Experiment, key: str, phase: str) -> set[int]:
    """With which codes a setting's good runs of a phase ended."""
    records = experiment.records
    at = records.of(key, phase)
    at = at[records.ok[at]]
    if ("usage", "exit_code") not in records.named:
        return {0} if at.size else set()
    return set(np.nan_to_num(records.column("usage", "exit_code")[at]).astype(int).tolist())


def code_words(codes: set[int]) -> str:
    """`0 or 3`."""
    return " or ".join(map(str, sorted(codes)))


def exit_code_notes(experiment: Experiment) -> list[str]:
    """How many of the good runs of which setting ended with which exit code but 0, the warm-ups left out."""
    records = experiment.records
    if ("usage", "exit_code") not in records.named:
        return []
    good = records.ok & ~records.in_phase("warm-up")
    codes, keys = np.nan_to_num(records.column("usage", "exit_code")[good]).astype(int), records.codes[good]
    runs, ended = Counter(keys.tolist()), Counter(zip(keys.tolist(), codes.tolist(), strict=True))
    found = [
        f"{code} in {count} of {format_count(runs[key], 'good run')}" + f" of {records.keys[key]}" * (len(runs) > 1)
        for (key, code), count in ended.most_common()
        if code
    ]
    more = [f"and {len(found) - _MOST_CODES} more"] if len(found) > _MOST_CODES else []
    return [f"exit codes that were accepted: {', '.join([*found[:_MOST_CODES], *more])}"] if found else []
