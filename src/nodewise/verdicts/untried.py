# SPDX-License-Identifier: BSD-3-Clause
"""Which values of the axes a tune tried, and which it did not."""

from __future__ import annotations

from typing import Any

from nodewise.records.experiment import Experiment
from nodewise.verdicts.question import question_of

#: Of more values than this only their number is said.
_MOST_NAMED = 8


def untried(experiment: Experiment) -> dict[str, list[Any]]:
    """By axis the values worth a run with which none was started, axes without any left out."""
    question = question_of(experiment)
    # one that was cut off does not say
    left = zip(question.axes.items(), question.untried, strict=False)
    found = {name: [values[i] for i in at if i < len(values)] for (name, values), at in left}
    return {name: values for name, values in found.items() if values}


def untried_notes(experiment: Experiment) -> list[str]:
    """One sentence on the values that no run had, where there are any."""
    left = untried(experiment)
    count = sum(map(len, left.values()))
    question = question_of(experiment)
    if question.sweep and question.unswept:
        return [
            f"the sweep is not whole: of its {question.sweep} settings {question.unswept} had no run; "
            "`--resume` with more runs goes on"
        ]
    if not count:
        return []
    if count <= _MOST_NAMED:
        named = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in left.items())
    else:
        named = ", ".join(f"{len(values)} of {name}" for name, values in left.items())
    return [
        f"no run had {'this value' if count == 1 else f'these {count} values'}, for which the runs did not suffice: {named}"
    ]
