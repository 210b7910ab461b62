# SPDX-License-Identifier: BSD-3-Clause
"""A comparison in lines of text."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len

from nodewise.base.units import format_count, format_percent, format_seconds
from nodewise.report.tables import labels_of
from nodewise.runner.isolation import STARTUP, TEARDOWN
from nodewise.runner.objective import format_metric
from nodewise.runner.setting import BASELINE
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.statistics.verdict import format_factor, format_ratio
from nodewise.verdicts.compare import CompareVerdict, ContenderSummary, describe, describe_pair
from nodewise.verdicts.gate import gate_of
from nodewise.verdicts.pair import PairVerdict
from nodewise.verdicts.secondary import MetricSummary
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.tune import TuneVerdict

#: The columns of every comparison, from the command to the speedup, and what is between any two.
_COUNTED, _APART = 6, "  "
#: How many settings of a front are named in a line.
_NAMED = 4
_ENDED = {
    "budget": "the budget ended first",
    "runs": "as many runs as were asked for",
    "failed": "too few commands were left",
    "interrupted": "interrupted: this is what there is so far",
    "cut off": "cut off before its end: this is what there is so far",
}


def format_work(amount: float, kind: str, per_second: bool = False) -> str:
    """An amount of work, or a rate: `143 Gflops/s`."""
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= limit:
            return f"{amount / limit:.4g} {prefix}{kind}{'/s' * per_second}"
    return f"{amount:.4g} {kind}{'/s' * per_second}"


def table_rows(verdict: CompareVerdict, labels: Mapping[str, str] | None = None) -> tuple[list[str], list[list[str]]]:
    """Heads and cells: each contender with centre, spread, runs, speedup, and where known rate and redundancy.

    `labels` are shorter names of the contenders.
    """
    labels = labels or {}
    metric, currency, shown = verdict.metric, verdict.currency, shown_names(verdict)
    counted = any(r.work for r in verdict.contenders)
    heads = ["command", "median", "MAD", "range", "runs", "speedup"] + ["work", "rate", "redundancy"] * counted
    heads += [head for name in shown for head in (name, "MAD")]
    rows = []
    for r in verdict.contenders:
        if r.median is None or r.mad is None or r.min is None or r.max is None:
            rows.append(
                [labels.get(r.name, r.name), "–", "–", "–", "0", r.error or "no good run"]
                + [""] * (3 * counted + 2 * len(shown))
            )
            continue
        pair = r.against_reference
        low, high = (format_metric(metric, n, currency) for n in (r.min, r.max))
        # of a single run nobody knows how much it varies
        spread = format_metric(metric, r.mad, currency) if r.runs > 1 else "–"
        name = labels.get(r.name, r.name)
        cells = [name, _centre(metric, r, currency), spread, f"{low} … {high}", str(r.runs)]
        cells.append("reference" if pair is None else _span(pair))
        work = r.work
        if counted and work is not None:
            redundancy = "" if work.redundancy is None else f"{work.redundancy:.2f}"
            rate = format_work(work.rate, work.kind, True)
            rate += "" if work.rate_ratio is None or pair is None else f" ({format_factor(work.rate_ratio)})"
            cells += [format_work(work.amount, work.kind), rate, redundancy]
        elif counted:
            cells += ["", "", ""]
        cells += shown_cells(verdict, r.metrics)
        rows.append(cells)
    return heads, rows


def _centre(metric: str, row: ContenderSummary, currency: str) -> str:
    """The median; of multimodal runs each mode with its share, never one number for all."""
    if len(row.shape.modes) < 2:
        return format_metric(metric, row.median or 0.0, currency)
    return " | ".join(
        f"{format_metric(metric, value, currency)} ({format_percent(share)})" for value, share in row.shape.modes
    )


def shown_names(verdict: CompareVerdict | TuneVerdict) -> tuple[str, ...]:
    """The metrics that have a column: those that were asked for, and of a comparison what isolation costs."""
    if not isinstance(verdict, CompareVerdict):
        return verdict.shown
    around = (n for n in (STARTUP, TEARDOWN) if any(n in r.metrics for r in verdict.contenders))
    return tuple(dict.fromkeys((*verdict.shown, *around)))


def shown_cells(verdict: CompareVerdict | TuneVerdict, metrics: Mapping[str, MetricSummary]) -> list[str]:
    """Median and MAD of each metric that was asked for, for one setting; a dash where it reports none."""
    cells = []
    for name in shown_names(verdict):
        one = metrics.get(name)
        numbers = (None, None) if one is None else (one.median, one.mad)
        cells += ["–" if n is None else format_metric(name, n, verdict.currency) for n in numbers]
    return cells


def shown_lines(verdict: TuneVerdict, labels: Mapping[str, str]) -> list[str]:
    """For each metric that was asked for what the baseline and the best setting of a tune report, and which are on its front."""
    best = verdict.best.key
    lines = []
    for i, name in enumerate(verdict.shown):
        keys = dict.fromkeys((BASELINE, best))
        cells = {key: shown_cells(verdict, verdict.summary(key).metrics)[2 * i : 2 * i + 2] for key in keys}
        medians = [f"{key if key == BASELINE else 'best'} {m} (MAD {s})" for key, (m, s) in cells.items()]
        lines.append(f"shown     {name}: {', '.join(medians)}")
        front = [labels[k] for k in verdict.pareto.get(name, ())]
        if len(front) > 1:
            more = f"; {len(front) - _NAMED} more" if len(front) > _NAMED else ""
            lines.append(f"          no other beats in both: {'; '.join(front[:_NAMED])}{more}")
    return lines


def _span(pair: PairVerdict) -> str:
    if pair.low is None:
        busy = pair.busy and pair.blocks >= FEWEST_BLOCKS
        return f"{format_factor(pair.ratio)} ({'disturbed' if busy else 'too few runs'})"
    return format_ratio(pair.interval)


def comparison_text(stored: Stored[CompareVerdict], width: int) -> str:
    """The table, in parts where it is wider than so many columns, the answer, and what to know of it."""
    verdict, labels = stored.verdict, labels_of(stored.experiment)
    threshold = stored.experiment.question.get("threshold")
    heads, rows = table_rows(verdict, labels)
    lines = _table_lines([heads, *([" ".join(cell.split("\n")) for cell in row] for row in rows)], width)
    ended = _ENDED.get(verdict.stopped)
    spent = f"{format_count(verdict.blocks, 'block')}, {format_seconds(verdict.seconds_spent)}" + (
        f"; {ended}" if ended else ""
    )
    lines.append(f"answer    {describe(verdict, labels)}")
    together = "; all intervals together hold at 95%" if any(p.low is not None for p in verdict.pairs) else ""
    lines.append(f"after     {spent}{together}")
    if verdict.metric != "seconds":
        lines.append(f"compared  {verdict.metric}, {'more' if verdict.maximise else 'less'} is better")
    lines += [f"pair      {describe_pair(p, labels)}" for p in _other_pairs(verdict)]
    lines += _baseline_lines(verdict)
    lines += _gate_lines(verdict, threshold)
    lines += [f"note      {text}" for text in verdict.warnings]
    return "\n".join(lines)


def _table_lines(rows: list[list[str]], width: int) -> list[str]:
    """The rows, the heads among them, with a blank line behind; one table where it fits, else several that begin with the command each."""
    heads = rows[0]
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(heads))]
    parts = [list(range(1, len(heads)))]
    if sum(widths) + len(_APART) * len(parts[0]) > width:
        parts = _parts(heads, widths, width)

    def line(cells: list[str], columns: list[int]) -> str:
        blanks = [" " * (w - cell_len(c)) for c, w in zip(cells, widths, strict=True)]
        return _APART.join([cells[0] + blanks[0], *(blanks[i] + cells[i] for i in columns)]).rstrip()

    return [text for columns in parts for text in (*(line(row, columns) for row in rows), "")]


def _parts(heads: list[str], widths: list[int], width: int) -> list[list[int]]:
    """The columns besides the command, in parts that fit beside it; who looks at one table wants the range least."""

    def fits(columns: list[int]) -> bool:
        return widths[0] + sum(len(_APART) + widths[i] for i in columns) <= width

    every, range_at = list(range(1, _COUNTED)), heads.index("range")
    begun = every if fits(every) else []
    order = [] if begun else [*(i for i in every if i != range_at), range_at]
    order += range(_COUNTED, len(heads))
    # a spread belongs to the median before it
    groups: list[list[int]] = []
    for i in order:
        if heads[i] == "MAD":
            groups[-1].append(i)
        else:
            groups.append([i])
    parts: list[list[int]] = [begun, []] if begun else [[]]
    for group in groups:
        if parts[-1] and not fits([*parts[-1], *group]):
            parts.append([])
        parts[-1] += group
    return parts


def _other_pairs(verdict: CompareVerdict) -> list[PairVerdict]:
    """The pairs besides those with the reference, where the reader cannot see them from the table."""
    reference = verdict.contenders[0].name
    return [p for p in verdict.pairs if p.one != reference]


def _baseline_lines(verdict: CompareVerdict) -> list[str]:
    base = verdict.baseline
    if base is None:
        return []
    unlike = [*base.asked, *base.differences]
    if not any(p.comparable for p in base.pairs):
        why = "what was asked is not the same" if base.asked else "the machine or its conditions are not the same"
        hint = [] if base.asked else ["          --any-machine compares it all the same"]
        return [
            f"baseline  {base.experiment} cannot be compared: {why}",
            *(f"          {text}" for text in unlike),
            *hint,
        ]
    lines = [
        f"baseline  {p.name}{f' (then {p.name_then})' * (p.name_then != p.name)} against {base.taken_at}: {p.sentence}"
        for p in base.pairs
    ]
    lines += [f"          {text}" for text in base.commands]
    if unlike:
        lines.append("          --any-machine: this is no longer the program alone, as these differ, too")
        lines += [f"          {text}" for text in unlike]
    return [
        *lines,
        "          (not interleaved: what changed on the machine since then cannot be distinguished from the program's change)",
    ]


def _gate_lines(verdict: CompareVerdict, threshold: float | None) -> list[str]:
    if threshold is None:
        return []
    gate, limit = gate_of(verdict, threshold), format_percent(threshold)
    if gate.slower:
        return [f"failed    slower by more than {limit}: {', '.join(gate.slower)}"]
    if gate.failed:
        return [f"failed    there is no verdict on what fails: {', '.join(gate.failed)}"]
    if gate.incomparable:
        return [
            f"failed    nothing of the baseline can be compared, so that nobody knows whether it is slower by {limit}"
        ]
    if gate.undecided:
        return [
            f"undecided not shown to be slower by more than {limit}, nor that it is not: {', '.join(gate.undecided)}"
        ]
    return [f"passed    nothing is slower by more than {limit}"]


def metric_line(verdict: CompareVerdict, row: ContenderSummary) -> str:
    """`threads=2: 1.21 s, MAD 8 ms`: a contender in a line."""
    if row.median is None or row.mad is None:
        return f"{row.name}: {row.error or 'no good run'}"
    median, spread = (format_metric(verdict.metric, value, verdict.currency) for value in (row.median, row.mad))
    return f"{row.name}: {median}, MAD {spread}"
