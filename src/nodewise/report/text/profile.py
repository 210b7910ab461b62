# SPDX-License-Identifier: BSD-3-Clause
"""A profile in lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from nodewise.base.escaping import visible
from nodewise.base.units import format_percent, format_seconds
from nodewise.profile.changes import Change, Since
from nodewise.profile.openmp import OpenMPShare, TeamThread
from nodewise.profile.result import ProfileResult, object_name, samples_text

_LONGEST = 40


def profile_text(result: ProfileResult, top: int = 15, width: int = 80, since: Since | None = None) -> str:
    """Tables of functions, lines, threads and waiting, of each the `top` first, in `width` columns; what changed `since` another profile."""
    head = f"{samples_text(result.samples)} of {result.event}, {result.rate} a second; callers by {result.chains}: {result.chains_why}"
    lines = [*_wrapped(head, width), ""]
    lines += _table(
        ("self", "95% interval", "with callees", "function", "in"),
        [
            (
                format_percent(f.share),
                _span(f.low, f.high),
                format_percent(f.total),
                visible(f.function),
                object_name(f.object),
            )
            for f in result.working[:top]
        ],
        width,
    )
    if calling := calling_sentence(result):
        lines += _wrapped(calling, width)
    if since is not None:
        lines += ["", *_wrapped(f"{since_sentence(since)}.", width), *_changes(since, width)]
    if result.lines:
        lines += [
            "",
            *_table(
                ("self", "95% interval", "line", "in"),
                [
                    (format_percent(x.share), _span(x.low, x.high), f"{visible(x.file)}:{x.line}", visible(x.function))
                    for x in result.lines[:top]
                ],
                width,
            ),
        ]
    ranked = any(t.rank is not None for t in result.threads)
    lines += [
        "",
        *_table(
            (*(("rank",) if ranked else ()), "work", "observed", "waited", "preempted", "thread"),
            [
                (
                    *((str(t.rank),) if ranked else ()),
                    *(
                        format_percent(t.share),
                        format_seconds(t.seconds),
                        format_seconds(t.waited_s),
                        format_seconds(t.preempted_s),
                    ),
                    f"{visible(t.name)} ({t.tid})",
                )
                for t in result.threads[:top]
            ],
            width,
        ),
    ]
    if result.waiting:
        lines += [
            "",
            *_table(
                ("waited", "share", "in", "called by"),
                [
                    (format_seconds(w.seconds), format_percent(w.share), visible(w.function), visible(w.caller))
                    for w in result.waiting[:top]
                ],
                width,
            ),
        ]
    for share in result.openmp:
        lines += ["", *_openmp(share, width)]
    lines += ["", *(line for note in result.notes for line in _wrapped(f"note      {note}", width, " " * 10))]
    return "\n".join(lines).rstrip()


def calling_sentence(result: ProfileResult) -> str:
    """How many functions the table leaves out since they do nothing themselves; empty for none."""
    count = result.only_calling
    return (
        f"{count} function{'s' * (count != 1)} that only call{'s' * (count == 1)} others {'are' if count != 1 else 'is'} left out"
        if count
        else ""
    )


def since_sentence(since: Since) -> str:
    """How many functions changed, in a line."""
    if not since.changes:
        return f"Against the profile of {since.taken_at} nothing can be held: one of the two has no samples"
    count = len(since.sure)
    if not count:
        return f"Since the profile of {since.taken_at} no function's share changed by more than chance: of each the intervals overlap"
    which = f"{count} function{'s' * (count != 1)}"
    return f"Since the profile of {since.taken_at} the share of {which} changed by more than chance: the intervals do not overlap"


def change_row(change: Change) -> tuple[str, ...]:
    """Its share before and now, each with the interval, and its name."""
    parts = (change.before, change.after)
    return (*(cell for p in parts for cell in (format_percent(p.share), _span(p.low, p.high))), change.function)


def _changes(since: Since, width: int) -> list[str]:
    rows = [change_row(change) for change in since.told]
    return _table(("before", "95% interval", "now", "95% interval", "function"), rows, width)


def openmp_sentence(share: OpenMPShare) -> str:
    """What OpenMP cost a process, in a line."""
    where = "" if share.rank is None else f" (rank {share.rank})"
    return (
        f"OpenMP{where}: {format_percent(share.serial_share)} of {format_seconds(share.seconds)} in one thread alone, "
        f"{format_seconds(share.barrier_s)} at barriers over {len(share.threads)} thread{'s' * (len(share.threads) != 1)} of {share.runtime}'s runtime, "
        f"work unequal by {format_percent(share.imbalance)}: {share.how}"
    )


#: The columns of a team's threads: those between the first and the last add up to the first.
OPENMP_HEADS = ("observed", "serial", "parallel", "barriers", "idle", "other", "thread")


def openmp_row(thread: TeamThread) -> tuple[str, ...]:
    """A thread in these columns."""
    times = (thread.seen_s, thread.alone_s, thread.work_s, thread.barrier_s, thread.idle_s, thread.other_s)
    return (*map(format_seconds, times), str(thread.tid))


def _openmp(share: OpenMPShare, width: int) -> list[str]:
    rows = [openmp_row(t) for t in share.threads]
    return [*_wrapped(openmp_sentence(share), width), *_table(OPENMP_HEADS, rows, width)]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _span(low: float, high: float) -> str:
    return f"{low * 100:.1f}–{high * 100:.1f}%"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Columns of equal width, numbers to the right; names, which come last, are cut in the middle where there is no room."""
    if not rows:
        return []
    names = 2 if heads[-1] in ("in", "called by") else 1
    numbers = len(heads) - names
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    room = max(20, width - sum(w + 2 for w in widths[:numbers]))
    last = min(widths[-1], room // 2 if names == 2 else room)
    first = min(widths[numbers], room - last - 2) if names == 2 else last

    def line(row: Sequence[str]) -> str:
        left = [cell.rjust(w) for cell, w in zip(row[:numbers], widths, strict=False)]
        right = [_cut(row[numbers], first).ljust(first), _cut(row[-1], last)] if names == 2 else [_cut(row[-1], last)]
        return "  ".join([*left, *right]).rstrip()

    return [line(row) for row in (heads, *rows)]


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    half = (width - 1) // 2
    return f"{text[: width - 1 - half]}…{text[len(text) - half :]}"
