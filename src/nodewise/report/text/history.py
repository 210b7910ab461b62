# SPDX-License-Identifier: BSD-3-Clause
"""History in lines for a terminal: trends, the difference of two experiments, and what was put in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodewise.base.units import format_percent
from nodewise.history.trend import Mark, Trend, TrendPoint, Trends, Word
from nodewise.records.commit import short_hash
from nodewise.runner.objective import format_metric, named_metric
from nodewise.statistics.compare import Ratio
from nodewise.statistics.verdict import format_ratio

if TYPE_CHECKING:
    from nodewise.history.difference import Difference, PairDifference, Side
    from nodewise.history.fill import Filled

#: How many experiments of a trend are listed, the latest ones.
MOST_ROWS = 20
#: How many that were left out are named.
_MOST_NAMED = 5


def trends_text(trends: Trends, width: int = 80, everything: bool = False) -> str:
    """The trends: a line for each where no program was asked for, else a table for each."""
    if trends.program is None:
        lines = _overview(trends.trends, width)
    else:
        lines = [line for trend in trends.trends for line in (*_table(trend, width, everything), "")]
    if trends.left_out:
        lines.append(f"and {trends.left_out} more: --all shows them, nodewise history PROGRAM those of one")
    if trends.program is not None or any(t.marks for t in trends.trends):
        lines += _wrapped(_of_marks(trends), width)
    return "\n".join(lines).rstrip()


def _of_marks(trends: Trends) -> str:
    return (
        f"Marked are changes of more than {format_percent(trends.within)}: by chance alone at most "
        f"{format_percent(trends.rate)} of trends get one. What changed, the program or its machine, a mark does not say."
    )


def said_mark(mark: Mark) -> str:
    """A change in words: `1.12× slower since a1b2c3d4`."""
    far = mark.ratio if mark.word is Word.IMPROVEMENT else 1 / mark.ratio
    where = f"{short_hash(mark.commit)} of " if mark.commit else ""
    return f"{_short_ratio(far)} {'faster' if mark.word is Word.IMPROVEMENT else 'slower'} since {where}{mark.at[:10]}"


def _short_ratio(ratio: float) -> str:
    return f"{ratio:.3f}×" if ratio < 1.095 else f"{ratio:.2f}×" if ratio < 100 else f"{ratio:.0f}×"


def _overview(trends: Sequence[Trend], width: int) -> list[str]:
    several = len({t.machine for t in trends}) > 1
    heads = ["command", *(["machine"] if several else []), "last", "median", "n", "last change"]
    rows = []
    for t in trends:
        mark = said_mark(t.marks[-1]) if t.marks else ""
        last = t.points[-1]
        name = t.name + (f" ({t.about})" if t.about else "")
        middle = [last.at[:10], format_metric(t.metric, last.median), str(len(t.points))]
        rows.append([_line(name), *([t.machine] if several else []), *middle, mark])
    return _aligned(heads, rows, width, right=("median", "n"), flexible=("command", "machine", "last change"))


def _table(trend: Trend, width: int, everything: bool) -> list[str]:
    title = _line(trend.name) + (f" ({trend.about})" if trend.about else "")
    where = f"on {trend.machine}" + (f", {trend.processor}" if trend.host and trend.processor else "")
    project = f", in {trend.project}" if trend.project else ""
    lines = [*_wrapped(title, width), *_wrapped(f"  {where}{project}", width)]
    shown = trend.points if everything else trend.points[-MOST_ROWS:]
    if hidden := len(trend.points) - len(shown):
        lines.append(f"  {hidden} earlier ones are not shown: --all shows them")
    heads = ["", "#", "began (UTC)", "commit", "kind", "median", "95% interval", "runs"]
    marked = {m.experiment: m for m in trend.marks}
    rows = [_row(p, trend.metric, marked.get(p.experiment)) for p in shown]
    lines += _aligned(heads, rows, width, right=("#", "median", "runs"), flexible=("kind",))
    lines += [f"{_sign(m)} {said_mark(m)}: {m.word}, at #{m.experiment}" for m in trend.marks]
    return lines


def _sign(mark: Mark | None) -> str:
    return "" if mark is None else "+" if mark.word is Word.IMPROVEMENT else "!"


def _row(point: TrendPoint, metric: str, mark: Mark | None) -> list[str]:
    interval = ""
    if point.low is not None and point.high is not None:
        interval = f"{format_metric(metric, point.low)} – {format_metric(metric, point.high)}"
    commit = short_hash(point.commit or "") + ("+" if point.changed else "")
    kind = point.kind if point.tool == "nodewise" else point.tool
    centre = format_metric(metric, point.median)
    runs = str(point.runs) + (f" ({point.failed} failed)" if point.failed else "")
    return [_sign(mark), str(point.experiment), point.at[:16].replace("T", " "), commit, kind, centre, interval, runs]


def difference_text(found: Difference, width: int = 80) -> str:
    """Both experiments, what differs between them, and how far what they measured is apart."""
    lines = [f"then  {_side(found.one)}", f"now   {_side(found.other)}"]
    for one in found.differences:
        lines += _wrapped(f"differs  {one}", width, 9)
    for pair in found.pairs:
        lines += ["", *_wrapped(_line(pair.name) + (f" ({pair.role})" if pair.role else ""), width)]
        before, after = (named_metric(pair.metric, value) for value in (pair.before, pair.after))
        lines.append(f"  {before} of {pair.runs[0]} runs then, {after} of {pair.runs[1]} now")
        lines += _wrapped(f"  {said_pair(pair)}", width, 2)
    lines.append("")
    for side, names in (("then", found.only_one), ("now", found.only_other)):
        lines += [line for name in names for line in _wrapped(f"only {side}: {_line(name)}", width, 2)]
    lines += _wrapped(_of_intervals(found), width)
    return "\n".join(lines)


def _of_intervals(found: Difference) -> str:
    together = f" (each at {found.level:.2%})" if len(found.pairs) > 1 else ""
    return (
        f"Intervals hold together at 95%{together} for independent runs. The two were not interleaved: what another day or another "
        "load did to all runs of one of them no interval shows. nodewise compare does without that."
    )


def said_pair(pair: PairDifference) -> str:
    """What is said of a pair: its verdict, or where it is not comparable the ratio with what it is of."""
    if pair.sentence is not None:
        return pair.sentence
    ratio = Ratio(pair.ratio, pair.low or 0.0, float("inf") if pair.high is None else pair.high, min(pair.runs))
    return f"{format_ratio(ratio)} as fast, by the program and what differs together"


def _side(side: Side) -> str:
    commit = f", commit {short_hash(side.commit)}{' and changes' if side.changed else ''}" if side.commit else ""
    tool = "" if side.tool == "nodewise" else f" by {side.tool}"
    return f"{side.asked}  {side.kind}{tool} of {side.at[:16].replace('T', ' ')} on {side.host or 'an unknown machine'}{commit}"


def filled_text(filled: Filled, width: int = 80) -> str:
    """What was put in, and what was not."""
    again = f", {filled.replaced} of them in the place of the same" if filled.replaced else ""
    if filled.replaced == filled.experiments == 1:
        again = ", in the place of the same"
    lines = _wrapped(
        f"{filled.experiments} experiment{'s' * (filled.experiments != 1)} put into {filled.place}{again}", width
    )
    lines += [line for why in filled.left_out[:_MOST_NAMED] for line in _wrapped(f"left out: {why}", width, 2)]
    if (more := len(filled.left_out) - _MOST_NAMED) > 0:
        lines.append(f"left out: {more} more")
    if filled.gone:
        lines += _wrapped(f"{filled.gone} that it had before are no more in it: their folders were not found", width)
    if filled.kept_as is not None:
        lines += _wrapped(f"what was there before is kept as {filled.kept_as}", width)
    return "\n".join(lines)


def _line(text: str) -> str:
    """A text in one line, of which a terminal carries nothing out."""
    return "".join(c if c.isprintable() else " " for c in text)


def _wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    from textwrap import wrap

    lead = text[: len(text) - len(text.lstrip())]
    further = " " * (indent or len(lead))
    # a command is shown in it, whose options begin by hyphens
    return wrap(text.strip(), width, initial_indent=lead, subsequent_indent=further, break_on_hyphens=False) or [""]


def _aligned(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    right: Sequence[str],
    flexible: Sequence[str],
) -> list[str]:
    """Columns side by side, none of which wraps: `flexible` ones are cut, the widest first, until they fit."""
    columns = [max(len(head), *(len(row[i]) for row in rows)) for i, head in enumerate(heads)]
    used = [i for i, size in enumerate(columns) if size]
    loose = [i for i in used if heads[i] in flexible]
    while sum(columns[i] for i in used) + 2 * (len(used) - 1) > width:
        widest = max(loose, key=lambda i: columns[i], default=None)
        if widest is None or columns[widest] <= 4:
            break
        columns[widest] -= 1

    def cell(text: str, i: int) -> str:
        text = text if len(text) <= columns[i] else f"{text[: columns[i] - 1]}…"
        return text.rjust(columns[i]) if heads[i] in right else text.ljust(columns[i])

    return ["  ".join(cell(row[i], i) for i in used).rstrip() for row in (heads, *rows)]
