# SPDX-License-Identifier: BSD-3-Clause
"""From a stored experiment to its verdict: by the samples, and by what its own file alone can say, which is what ended it.

Each raises InputError where the experiment was cut off before there was anything to judge.
"""

from __future__ import annotations

from dataclasses import replace

from nodewise.base.errors import InputError
from nodewise.base.shapes import ShapeError, fit
from nodewise.records.experiment import Experiment
from nodewise.runner.setting import BASELINE
from nodewise.verdicts.baseline import AgainstBaseline
from nodewise.verdicts.compare import COMPARE, CompareVerdict, compare_verdict, reference_of
from nodewise.verdicts.confirm import ConfirmVerdict, confirm_verdict
from nodewise.verdicts.pair import costs_of
from nodewise.verdicts.question import stopped_by
from nodewise.verdicts.tune import TuneVerdict, tune_verdict


def judge_tune(experiment: Experiment) -> TuneVerdict:
    """The verdict of a tune."""
    _check_good_run(experiment, BASELINE)
    return tune_verdict(experiment, stopped_by(experiment))


def judge_comparison(experiment: Experiment) -> CompareVerdict:
    """The verdict of a comparison, or of a single command; what ran in warm-up decides nothing.

    What it was held against is as it was judged then: the earlier experiment may be gone.
    """
    _check_good_run(experiment, reference_of(experiment), COMPARE)
    then = _baseline_of(experiment)
    verdict = compare_verdict(experiment, stopped_by(experiment), 0 if then is None else len(then.pairs))
    return verdict if then is None else replace(verdict, baseline=then)


def _baseline_of(experiment: Experiment) -> AgainstBaseline | None:
    """As it was written with the verdict; None where there is none, or nobody can read it."""
    kept = (experiment.verdict or {}).get("baseline")
    try:
        return None if kept is None else fit(kept, AgainstBaseline)
    except ShapeError:
        return None


def judge_confirm(experiment: Experiment) -> ConfirmVerdict:
    """The verdict of a repetition: a promise is gone where the setting fails already in the warm-up."""
    _check_good_run(experiment, reference_of(experiment))
    return confirm_verdict(experiment, stopped_by(experiment))


def _check_good_run(experiment: Experiment, key: str, phase: str | None = None) -> None:
    if not costs_of(experiment, key, phase):
        raise InputError(f"{experiment.path} holds no good run of the {key}", "go on with --resume")
