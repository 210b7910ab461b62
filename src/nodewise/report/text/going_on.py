# SPDX-License-Identifier: BSD-3-Clause
"""What would decide a tune that is not decided, and the line that continues it."""

from __future__ import annotations

import math
import shlex

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_seconds, whole_duration
from nodewise.records.budget import Budget
from nodewise.runner.setting import BASELINE
from nodewise.statistics.verdict import Word
from nodewise.verdicts.pair import WHEN_BUSY
from nodewise.verdicts.tune import TuneVerdict

#: The proposed budget, as a multiple of what a single look would need: a further comparison has a smaller error rate.
_SPARE = 2.5
#: More runs than so many times those made are hardly worth it.
_TOO_MANY = 8


@dataclass(frozen=True)
class GoingOn:
    """`advice`: what would probably decide it, empty where nothing is known; `line`: as it has to be typed, empty where it is decided."""

    advice: str = ""
    line: str = ""


def going_on(verdict: TuneVerdict, budget: Budget) -> GoingOn:
    """For an answer that is not decided, or was interrupted before that; `budget` is the one that it had."""
    if verdict.verdict is not Word.UNDECIDED or not verdict.runs:
        return GoingOn()
    again = f"nodewise tune --resume {shlex.quote(verdict.experiment)}"
    if verdict.stopped in ("interrupted", "cut off"):
        return GoingOn(line=again)
    if verdict.stopped == "nothing left" and verdict.comparison is None:
        # all that could be tried was
        return GoingOn()
    as_it_is = verdict.summary(BASELINE)
    if 2 * as_it_is.failed > as_it_is.runs:
        # more runs of what fails would fail
        return GoingOn()
    busy = verdict.comparison is not None and verdict.comparison.busy
    each_s = verdict.seconds_spent / verdict.runs
    # where nothing is known of how many there should be: as many again, on a quieter machine or with more settings tried
    more = verdict.runs if verdict.more_runs is None else verdict.more_runs
    advice = WHEN_BUSY if busy else f"about {more} more runs would probably decide it ({format_seconds(more * each_s)})"
    if not busy and more > _TOO_MANY * verdict.runs:
        advice += f", {more / verdict.runs:.0f} times as many as were made: at this noise the difference, if there is one, is small"
    if budget.seconds is not None:
        seconds = max(budget.seconds, verdict.seconds_spent) + more * each_s * _SPARE
        again += f" --budget {whole_duration(seconds)}"
    if budget.runs is not None:
        again += f" --max-runs {max(budget.runs, verdict.runs) + math.ceil(more * _SPARE)}"
    if not busy and (budget.seconds is not None or budget.runs is not None):
        advice += f"; the line to go on allows {_SPARE:g} times that, as a further comparison is judged more strictly"
    known = busy or verdict.more_runs is not None
    return GoingOn(advice if known else "", again)


def last_budget(question: dict[str, object]) -> Budget:
    """The budget that held last, by what `question.json` keeps."""
    later = question.get("extended")
    held = later[-1]["budget"] if isinstance(later, list) and later else question["budget"]
    assert isinstance(held, dict)
    return Budget(**held)
