# SPDX-License-Identifier: BSD-3-Clause
"""Whether a promise holds, in lines of text."""

from __future__ import annotations

from nodewise.base.units import format_count, format_seconds
from nodewise.report.text.comparison import metric_line
from nodewise.verdicts.confirm import ConfirmVerdict
from nodewise.verdicts.stored import Stored


def confirm_text(stored: Stored[ConfirmVerdict], width: int) -> str:
    """What was promised, what was measured now, the verdict, and what differs."""
    del width
    verdict = stored.verdict
    lines = [f"promised  {verdict.promise.sentence} ({verdict.promise.taken_at})"]
    for name, row in zip(("baseline", "setting"), verdict.comparison.contenders, strict=True):
        if row.runs or row.error:
            lines.append(f"{name:<9} {metric_line(verdict.comparison, row).removeprefix(f'{name}: ')}")
    if verdict.again is not None:
        level = "" if verdict.again.low is None else " (95% interval)"
        lines.append(f"now       {verdict.again.sentence}{level}")
    lines.append(f"verdict   {verdict.verdict.value}" + (f": {verdict.reason}" if verdict.reason else ""))
    lines.append(f"after     {format_count(verdict.runs, 'run')}, {format_seconds(verdict.seconds_spent)}")
    lines += [f"differs   {text}" for text in verdict.differences]
    lines += [f"note      {text}" for text in verdict.notes]
    return "\n".join([*lines, f"launch    {verdict.comparison.contenders[1].command}"])
