# SPDX-License-Identifier: BSD-3-Clause
"""Where threads ran, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.lists import listed
from nodewise.base.processors import format_processors
from nodewise.base.units import format_bytes, format_seconds
from nodewise.placement.registry import binding_variables
from nodewise.runner.agreement import Agreement
from nodewise.runner.observe import Observation, SeenProcess, SeenThread

_HEADINGS = ("thread", "tid", "name", "may use", "ran on", "time", "moves", "")
#: A process with more threads than this is shown by groups of like threads.
_MANY = 40
#: Of fewer samples the threads that were asked for may have been missed.
_FEW = 3
#: Of fewer samples a large part of a thread's time may be missing.
_SHORT = 10


def where_table(seen: Observation, agreed: Agreement) -> str:
    """Each working process with a line for each of its threads, memory by node, and what came out."""
    lines: list[str] = []
    for process in seen.working:
        verdict = agreed.verdicts.get(process.pid)
        lines += [_heading(process), *_threads(process, verdict.words if verdict else {}), *_memory(process), ""]
    idle = len(seen.processes) - len(seen.working)
    if idle:
        lines.append(f"{idle} process{'es' * (idle != 1)} of the tree did nothing that a sample saw.")
    lines += [f"finding: {text}" for text in agreed.findings]
    lines.append(_verdict(seen, agreed))
    if seen.working and seen.samples < _SHORT:
        lines.append("Times are those up to the last sample: threads that end between two have more.")
    return "\n".join(lines)


def _heading(process: SeenProcess) -> str:
    rank = f"rank {process.rank}, " if process.rank is not None else ""
    runtime = f" ({process.runtime})" if process.runtime else ""
    command = process.command if len(process.command) <= 80 else process.command[:79] + "…"
    return f"{rank}process {process.pid}: {command}{runtime}"


def _ran(thread: SeenThread) -> str:
    """Processors with their share of the samples; many are folded."""
    total = sum(thread.ran.values())
    if not total:
        return "–"
    if len(thread.ran) == 1:
        return str(next(iter(thread.ran)))
    if len(thread.ran) > 4:
        return f"{format_processors(thread.ran)} (most on {thread.ran.most_common(1)[0][0]})"
    return " ".join(f"{p}:{100 * n // total}%" for p, n in thread.ran.most_common())


def _row(number: str, thread: SeenThread, word: str, name: str | None = None) -> tuple[str, ...]:
    return (
        number,
        str(thread.tid),
        name or thread.name,
        format_processors(thread.allowed),
        _ran(thread),
        format_seconds(thread.cpu_s),
        str(thread.migrations),
        word,
    )


def _threads(process: SeenProcess, words: dict[int, str]) -> list[str]:
    ordered = process.in_order
    rows = [_row(str(i), t, words.get(t.tid, "")) for i, t in enumerate(ordered)]
    if len(ordered) > _MANY:
        rows = _grouped(ordered, words)
    table = [_HEADINGS, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(_HEADINGS))]
    return ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]


def _grouped(ordered: Sequence[SeenThread], words: dict[int, str]) -> list[tuple[str, ...]]:
    """Runs of threads of one name and one verdict as one line each."""
    rows: list[tuple[str, ...]] = []
    at = 0
    while at < len(ordered):
        first = ordered[at]
        end = at
        while end < len(ordered) and (ordered[end].name, words.get(ordered[end].tid)) == (
            first.name,
            words.get(first.tid),
        ):
            end += 1
        part = ordered[at:end]
        tids = f"{first.tid}…" if len(part) > 1 else str(first.tid)
        rows.append(
            (
                str(at) if len(part) == 1 else f"{at}-{end - 1}",
                tids,
                first.name,
                format_processors({p for t in part for p in t.allowed}),
                format_processors({p for t in part for p in t.ran}) or "–",
                format_seconds(sum(t.cpu_s for t in part)),
                str(sum(t.migrations for t in part)),
                words.get(first.tid, ""),
            )
        )
        at = end
    return rows


def _memory(process: SeenProcess) -> list[str]:
    if process.memory:
        return ["  memory at most: " + ", ".join(f"node {n} {format_bytes(b)}" for n, b in process.memory.items())]
    return [f"  memory by node is not known: {process.memory_missing or 'no sample saw it'}"]


def _asks(process: SeenProcess) -> bool:
    """Whether a variable says where its threads are to be, and not only how many."""
    return any(name in process.environment for name in binding_variables())


def _verdict(seen: Observation, agreed: Agreement) -> str:
    taken = f"{seen.samples} sample{'s' * (seen.samples != 1)} in {format_seconds(seen.seconds)}"
    if not seen.working:
        return f"Nothing ran long enough to be seen ({taken})."
    if agreed.agrees is None and seen.samples < _FEW and any(map(_asks, seen.working)):
        return f"What was asked for could not be compared with so few samples ({taken})."
    if agreed.agrees is None:
        return f"Nothing was asked for that the threads could be compared with ({taken})."
    sources = sorted({v.asked_by for v in agreed.verdicts.values() if v.asked_by})
    by = f" by {listed(sources)}" if sources else ""
    return f"Threads were {'where' if agreed.agrees else 'NOT where'} they were asked to be{by} ({taken})."
