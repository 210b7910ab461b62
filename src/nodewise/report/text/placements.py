# SPDX-License-Identifier: BSD-3-Clause
"""What differs between two placements on one machine, as rows and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nodewise.machine.model import Machine
from nodewise.placement.facts import LEVELS, Facts, placement_facts
from nodewise.placement.placement import Placement
from nodewise.report.drawings.seating import number_ranges

_NAMES = {"core": "core", "cache": "last-level cache", "numa": "NUMA node", "package": "socket"}


def moved_threads(a: Placement, b: Placement) -> frozenset[int]:
    """The threads whose places differ, and those that only one of the two has."""
    both = min(a.threads, b.threads)
    differ = {t for t in range(both) if set(a.places[t]) != set(b.places[t])}
    return frozenset(differ | set(range(both, max(a.threads, b.threads))))


def compare_rows(machine: Machine, a: Placement, b: Placement) -> list[tuple[str, str, str]]:
    """What differs and what does not, a row each: what, and how it is in either."""
    one, two = placement_facts(machine, a), placement_facts(machine, b)
    moved = len(moved_threads(a, b))

    def row(name: str, shown: Callable[[Facts], str]) -> tuple[str, str, str]:
        return (name, shown(one), shown(two))

    levels = [k for k in (*LEVELS, "far") if one.neighbours.get(k) or two.neighbours.get(k)]
    return [
        row("threads that sit elsewhere", lambda f: f"{moved} of {f.threads}"),
        row("cores used", lambda f: f"{f.cores}, {f.idle_cores} idle"),
        row("hardware threads used", lambda f: str(f.processors)),
        *(
            row(f"threads on each {_NAMES[kind]}", lambda f, kind=kind: _counts(f.by_kind[kind]))  # type: ignore[misc]
            for kind in ("package", "numa", "cache")
            if len(one.by_kind[kind]) > 1
        ),
        row("most threads on a core", lambda f: str(max(f.by_kind["core"], default=0))),
        row("most bound to one processor", lambda f: str(f.most_on_a_processor or "–")),
        *(
            row(f"neighbouring threads {_met(level)}", lambda f, level=level: _share(f, level))  # type: ignore[misc]
            for level in levels
        ),
        row("bound to", lambda f: ", ".join(f"{n} to {_bound(k)}" for k, n in f.bound.items())),
    ]


def _met(level: str) -> str:
    return f"in one {_NAMES[level]}" if level in _NAMES else "on two sockets"


def _bound(kind: str) -> str:
    return {"processor": "a processor", "core": "a core", "wider": "more than a core"}[kind]


def _counts(counts: Sequence[int]) -> str:
    if len(set(counts)) == 1 and len(counts) > 2:
        return f"{counts[0]} on all {len(counts)}"
    text = ", ".join(map(str, counts[:12]))
    return text if len(counts) <= 12 else f"{text}, …"


def _share(facts: Facts, level: str) -> str:
    pairs = sum(facts.neighbours.values())
    return f"{facts.sharing.get(level, 0)} of {pairs}"


def compare_text(machine: Machine, a: Placement, b: Placement, titles: tuple[str, str]) -> str:
    """The table for a terminal, and which threads sit elsewhere."""
    rows = [("", *titles), *compare_rows(machine, a, b)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    moved = sorted(moved_threads(a, b))
    return "\n".join([*lines, f"elsewhere: threads {number_ranges(moved)}" if moved else "no thread sits elsewhere"])
