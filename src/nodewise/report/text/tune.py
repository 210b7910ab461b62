# SPDX-License-Identifier: BSD-3-Clause
"""What a tune found, in lines of text."""

from __future__ import annotations

from nodewise.base.units import format_count, format_percent, format_seconds
from nodewise.records.earlier import led_by
from nodewise.report.tables import label
from nodewise.report.text.comparison import shown_lines
from nodewise.report.text.going_on import going_on, last_budget
from nodewise.report.text.ranks import titled_rank_lines
from nodewise.runner.objective import format_metric
from nodewise.statistics.verdict import Word, format_factor
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.tune import TuneVerdict

#: From so large a ratio of the medians on it is worth to be told, though nothing is decided.
_MUCH = 1.1


def looked(verdict: TuneVerdict) -> str:
    """How the candidate, which is not the answer, looked against the baseline, as the end of a sentence."""
    base, found = verdict.summary(verdict.baseline.key).median, verdict.summary(verdict.candidate).median
    if verdict.verdict is Word.SLOWER:
        return "is slower"
    if verdict.verdict is Word.UNDECIDED and found is not None and base is not None:
        plain = found / base if verdict.maximise else base / found
        gain = pair.ratio if (pair := verdict.comparison) is not None and pair.blocks else plain
        if gain < 1:
            return "looked no better in these runs"
        if gain > _MUCH:
            return f"looked {format_factor(gain)} as fast in these runs, and is not confirmed"
    return "may be no better"


def tune_text(stored: Stored[TuneVerdict], width: int) -> str:
    """The closing lines, which are what one came for."""
    del width
    verdict = stored.verdict

    def shown(value: float | None) -> str:
        return "–" if value is None else format_metric(verdict.metric, value, verdict.currency)

    base = verdict.summary(verdict.baseline.key)
    spread = f", MAD {shown(base.mad)}" if base.mad is not None and base.runs > 1 else ""
    lines = [f"axes      {', '.join(verdict.axes)}", f"baseline  {shown(base.median)}{spread}, started as now"]
    if verdict.verdict is Word.FASTER:
        lines.append(f"best      {verdict.best.key}: {shown(verdict.summary(verdict.best.key).median)}")
    else:
        none = "no setting was shown to be faster" if verdict.comparison is not None else verdict.reason
        lines.append(f"best      as it is: {none}")
        if verdict.candidate != verdict.baseline.key:
            centre = shown(verdict.summary(verdict.candidate).median)
            lines.append(f"next      {verdict.candidate}: {centre}, which {looked(verdict)}")
    lines += shown_lines(verdict, {s.key: label(s.values) for s in verdict.settings})
    interval = "" if verdict.low is None else "95% interval; "
    spent = f"{interval}{format_count(verdict.runs, 'run')}, {format_seconds(verdict.seconds_spent)}"
    ratio = verdict.sentence if verdict.comparison is not None else "none: there was nothing to compare it with"
    lines += [f"ratio     {ratio} ({spent})", f"gain from {_gain_from(verdict)}"]
    lines += [f"why       {text}" for text in verdict.why]
    lines += [f"history   {words}" for words in led_by(verdict.history)[1:]]
    if verdict.stopped == "interrupted":
        lines.append("note      interrupted: this is the best so far")
    lines += [f"note      {note}" for note in verdict.notes]
    more = going_on(verdict, last_budget(stored.experiment.question))
    lines += [f"undecided {more.advice}"] if more.advice else []
    lines += [f"go on     {more.line}"] if more.line else []
    lines += titled_rank_lines(stored.experiment, verdict.best.key)
    lines += [f"build     {verdict.best.build}"] if verdict.best.build else []
    return "\n".join([*lines, f"launch    {verdict.best.launch_line}"])


def _gain_from(verdict: TuneVerdict) -> str:
    if verdict.verdict is not Word.FASTER:
        return "none of the axes, as far as could be shown"
    shares = sorted(((name, share) for name, share in verdict.axes.items() if share), key=lambda item: -item[1])
    if not shares:
        return "several axes together: there were too few runs to distinguish them"
    known = ", ".join(f"{name} {format_percent(share)}{' of it' * (i == 0)}" for i, (name, share) in enumerate(shares))
    return f"{known}; not distinguished: {', '.join(verdict.unseparated)}" if verdict.unseparated else known
