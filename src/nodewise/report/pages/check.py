# SPDX-License-Identifier: BSD-3-Clause
"""The page of a check: a map of nodes and of the rules that found something, and the findings. It needs no script to be read."""

from __future__ import annotations

import math

from nodewise.base.frozen import dataclass
from nodewise.nodes.findings import CheckResult, NodeFinding
from nodewise.nodes.node_names import fold
from nodewise.quiet.finding import Severity
from nodewise.report.pages.template import environment
from nodewise.report.text.check import check_line, nodes_judged

_MOST_RULES, _MOST_FINDINGS, _LONGEST = 80, 400, 600
#: From so many nodes on a cell of the map stands for several, so that it stays readable; a row is as wide as a page.
_MOST_COLUMNS = 200
_MOST_TILES = 4000
_WORST = (Severity.WRONG, Severity.NOISY, Severity.NOTE)


@dataclass(frozen=True)
class _Row:
    """One rule: its share of nodes, and by cell of the map how bad it is there."""

    name: str
    severity: str
    count: int
    path: str
    title: str


def check_page(result: CheckResult) -> str:
    """The HTML of it, one file."""
    names = result.node_names
    rows, columns = _rows(result), min(_MOST_COLUMNS, max(1, len(names)))
    tiles, across = _tiles(result)
    return (
        environment()
        .get_template("check.html")
        .render(
            result=result,
            line=check_line(result),
            judged=nodes_judged(result),
            rows=rows,
            columns=columns,
            each=math.ceil(len(names) / columns) if names else 1,
            tiles=tiles,
            across=across,
            down=math.ceil(len(tiles) / across) if tiles else 1,
            tile_nodes=_per_tile(len(names)),
            findings=[_shown(f) for f in result.findings[:_MOST_FINDINGS]],
            left_out=max(0, len(result.findings) - _MOST_FINDINGS),
            suppressed=[_shown(f) for f in result.suppressed[:_MOST_FINDINGS]],
        )
    )


def _shown(one: NodeFinding) -> dict[str, object]:
    nodes = fold(one.nodes)
    return {
        "one": one,
        "finding": one.finding,
        "nodes": nodes if len(nodes) <= _LONGEST else f"{nodes[:_LONGEST]}…",
        "count": len(one.nodes),
    }


def _rows(result: CheckResult) -> list[_Row]:
    """For each rule that found something the cells in which it did, as the path of a drawing of unit squares."""
    place = {name: i for i, name in enumerate(result.node_names)}
    columns = min(_MOST_COLUMNS, max(1, len(place)))
    by_rule: dict[str, list[NodeFinding]] = {}
    for one in result.findings:
        by_rule.setdefault(one.finding.name, []).append(one)
    rows = []
    for name, found in by_rule.items():
        nodes = {n for f in found for n in f.nodes if n in place}
        cells = sorted({place[n] * columns // len(place) for n in nodes})
        severity = min((f.finding.severity for f in found), key=list(Severity).index)
        path = "".join(f"M{c} 0h1v1h-1z" for c in cells)
        rows.append(_Row(name, str(severity), len(nodes), path, f"{name}: {len(nodes)} node{'s' * (len(nodes) != 1)}"))
    return rows[:_MOST_RULES]


def _per_tile(nodes: int) -> int:
    return max(1, math.ceil(nodes / _MOST_TILES))


def _tiles(result: CheckResult) -> tuple[list[tuple[str, str]], int]:
    """Every node, or so many neighbours, as (how bad, what the tile is called), in the order of names; and how many stand side by side."""
    worst: dict[str, int] = {}
    for one in result.findings:
        level = _WORST.index(one.finding.severity) if one.finding.severity in _WORST else 2
        for node in one.nodes:
            worst[node] = min(level, worst.get(node, 9))
    names, each = result.node_names, _per_tile(len(result.node_names))
    tiles = []
    for i in range(0, len(names), each):
        some = names[i : i + each]
        level = min(worst.get(n, 9) for n in some)
        tiles.append(
            (str(_WORST[level]) if level < 9 else "ok", some[0] if len(some) == 1 else f"{some[0]} to {some[-1]}")
        )
    return tiles, max(1, math.ceil(math.sqrt(len(tiles) * 3)))
