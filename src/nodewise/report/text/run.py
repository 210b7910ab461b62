# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise run` measured, in lines of text."""

from __future__ import annotations

from nodewise.base.units import format_bytes, format_count, format_seconds
from nodewise.report.text.ranks import titled_rank_lines
from nodewise.runner.launch import quoted_line
from nodewise.runner.marks import UNREAD
from nodewise.runner.objective import format_metric
from nodewise.verdicts.compare import CompareVerdict
from nodewise.verdicts.run import RunSummary, run_summary
from nodewise.verdicts.stored import Stored

#: What stands where a stored sample lacks a number.
_NONE = "–"


def run_text(stored: Stored[CompareVerdict], width: int) -> str:
    """What is kept of a command that was run by itself."""
    del width
    ranks = titled_rank_lines(stored.experiment, next(iter(stored.experiment.settings)))
    lines = summary_lines(run_summary(stored.experiment, stored.verdict), stored.verdict.currency)
    return "\n".join([*lines, *ranks])


def summary_lines(summary: RunSummary, currency: str, asked: int | None = None) -> list[str]:
    """Time and spread first; `asked` is how many runs were asked for, where it is known."""
    usage = summary.usage
    source = "as the program says" if summary.source == "program" else "wall time"
    centre, spread = format_seconds(summary.median_s), format_seconds(summary.mad_s)
    least, most = format_seconds(summary.min_s), format_seconds(summary.max_s)
    span = "too few runs for an interval"
    if summary.low_s is not None and summary.high_s is not None:
        span = f"95% interval {format_seconds(summary.low_s)} – {format_seconds(summary.high_s)}"
    left_out = (
        f"; {summary.left_out} more {'was' if summary.left_out == 1 else 'were'} disturbed and {'does' if summary.left_out == 1 else 'do'} not count"
        if summary.left_out
        else ""
    )
    count = {name: f"{value:.0f}" for name, value in usage.items()}
    switches = (
        f"{count.get('context_switches', _NONE)} voluntary, {count.get('involuntary_switches', _NONE)} involuntary"
    )
    faults = f"{count.get('minor_faults', _NONE)} minor, {count.get('major_faults', _NONE)} major page faults"
    user, system = (format_seconds(usage[n]) if n in usage else _NONE for n in ("user_s", "system_s"))
    peak = format_bytes(usage["peak_bytes"]) if "peak_bytes" in usage else _NONE
    counted = any(name.endswith(("_faults", "_switches")) for name in usage)
    lines = [
        f"time      {centre} ({span}), {source}",
        f"spread    MAD {spread}, from {least} to {most}, {summary.runs} run{'s' * (summary.runs != 1)}{left_out}",
        f"processor {user} user, {system} system",
        f"memory    {peak} at most" + (f"; {faults}" if counted else ""),
    ]
    if counted:
        lines.append(f"switches  {switches}" + (f"; {count['migrations']} migrations" if "migrations" in count else ""))
    own = {name: value for name, value in summary.metrics.items() if name not in summary.shown}
    lines += [f"{name:<9} {format_metric(name, value, currency)}" for name, value in own.items()]
    for name, found in summary.shown.items():
        centre, spread = (format_metric(name, value, currency) for value in (found.median, found.mad))
        whose = " (the whole machine's while a run lasted)" if name.startswith("energy_") else ""
        lines.append(f"{name.removesuffix('_j'):<9} {centre}, MAD {spread}{whose}")
    if summary.energy:
        lines.append(f"energy    not known: {summary.energy}")
    if "cycles" in usage:
        lines.append(f"counters  {usage['cycles']:.4g} cycles, {usage.get('instructions', 0):.4g} instructions")
    elif summary.counters:
        lines.append(f"counters  no hardware counters: {summary.counters}")
    return lines + [f"note      {text}" for text in _notes(summary, asked)]


def _notes(summary: RunSummary, asked: int | None) -> list[str]:
    samples = summary.samples
    # what the notes say of all runs together is not said here
    marked = {mark.partition(":")[0]: mark for s in samples for mark in s.marks if not mark.startswith(UNREAD)}
    notes = []
    for kind, mark in marked.items():
        count = sum(any(m.startswith(kind) for m in s.marks) for s in samples)
        notes.append(f"{mark} ({count} of {len(samples)} runs)")
    notes += summary.notes
    again = f"nodewise run --resume {quoted_line([summary.experiment])}"
    made = format_count(summary.made, "run") if asked is None else f"{summary.made} of {asked} runs"
    if summary.stopped == "budget":
        notes.append(f"the budget ended it after {made}; {again} --budget … goes on")
    if summary.stopped == "interrupted":
        notes.append(f"interrupted after {made}; {again} goes on")
    return notes
