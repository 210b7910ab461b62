# SPDX-License-Identifier: BSD-3-Clause
"""Same work: whether a program does with another number of ranks what it does with its own.

A program may divide its work by its ranks, or give each rank the same work: then fewer ranks are done sooner since they
have done less. The time says which only together with the work that is counted, or with an output that is the same.
"""

from __future__ import annotations

from dataclasses import replace

from nodewise.base.late import late
from nodewise.records.answers import AnswerJudge
from nodewise.runner.ranks import WORK
from nodewise.runner.same_output import Kind, repeatable
from nodewise.runner.sample import Sample
from nodewise.runner.setting import BASELINE, Setting

#: A run that counted less than this share of the baseline's work did something else.
_LEAST = 0.99
#: A number that may be a result: five digits or more, and a point. A size or a version is none.
_RESULT = late(r"(?<![\w.])(?=(?:\d\.?){5})\d*\.\d+(?![.\w]*\.)")


class SameWork:
    """Judges the runs of settings that have another number of ranks than the baseline, as they come.

    `ranks` is the baseline's number (0: it starts none), `answers` what compares outputs (None: nothing does).
    """

    def __init__(self, ranks: int, answers: AnswerJudge | None):
        self._ranks = ranks
        self._answers = answers
        self._work: dict[str, float] = {}

    @property
    def proven(self) -> bool:
        """Whether a setting with other ranks that does less would be seen to do less, as far as the baseline has shown."""
        if not self._ranks:
            return False
        return bool(self._work) or (self._answers is not None and self._answers.in_force and self._has_result)

    @property
    def may_repeat(self) -> bool:
        """Whether another run of the baseline may prove it: by an output that is the same."""
        return self._ranks > 0 and not self.proven and self._has_result

    @property
    def _has_result(self) -> bool:
        """Whether what is compared is an answer: what is asked to be the same is; of any output a number has to look like one."""
        if self._answers is None:
            return False
        text = self._answers.reference
        return self._answers.kind is not Kind.AUTO or bool(text and _RESULT.search(repeatable(text)))

    def judged(self, setting: Setting, sample: Sample) -> Sample:
        """The sample, with an error where it counted less work than the baseline's first."""
        if not self._ranks or not sample.ok:
            return sample
        counted = {name: sample.metrics[name] for name in WORK if sample.metrics.get(name, 0.0) > 0}
        if setting.key == BASELINE:
            self._work = self._work or counted
        elif setting.ranks != self._ranks:
            for name, whole in self._work.items():
                if (mine := counted.get(name, 0.0)) < _LEAST * whole:
                    less = f"{mine:.4g} {name} were counted, {whole:.4g} of the program as it is"
                    return replace(sample, error=f"not the same work: {less}")
        return sample
