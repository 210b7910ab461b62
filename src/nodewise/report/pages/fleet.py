# SPDX-License-Identifier: BSD-3-Clause
"""The page of nodes side by side."""

from __future__ import annotations

import math
from typing import Any

from nodewise.base.units import format_percent
from nodewise.history.fleet import Fleet, FleetTable
from nodewise.report.pages.bars import bars_of
from nodewise.report.pages.template import environment
from nodewise.report.text.fleet import fleet_headline, said_row
from nodewise.runner.objective import format_metric


def fleet_page(fleet: Fleet) -> str:
    """The page's HTML."""
    found = {row.node for table in fleet.tables for row in table.rows}
    page: str = (
        environment()
        .get_template("fleet.html")
        .render(
            headline=fleet_headline(fleet),
            sentence=f"{len(found)} nodes, each held against the one in the middle",
            nodes=len(fleet.nodes),
            tables=[_shown(table) for table in fleet.tables],
            limits=limits_of(fleet),
        )
    )
    return page


def limits_of(fleet: Fleet) -> list[str]:
    """What is to be known of the intervals."""
    return [
        f"all intervals hold together at 95%, each at {100 * fleet.level:.{_digits(fleet.level)}f}%, as if every pair of nodes were "
        f"printed; a difference up to {format_percent(fleet.within)} counts as none",
        "runs of different nodes were not interleaved: what a node, its room and its other users did at that time is part of the ratio; all good "
        "runs count, those that other load disturbed among them",
        "of fewer than six runs of a node, or more where many nodes share the errors, there is no interval and no verdict",
        *fleet.left_out,
    ]


def _digits(level: float) -> int:
    return max(0, math.ceil(-math.log10(1 - level)) - 1)


def _shown(table: FleetTable) -> dict[str, Any]:
    bars, even = bars_of([(row.ratio, row.low, row.high, row.verdict) for row in table.rows])
    return {
        "name": table.name,
        "role": table.role,
        "middle": table.middle,
        "even": even,
        "rows": [
            {
                "node": row.node,
                "runs": f"{row.runs}, {row.failed} failed" if row.failed else row.runs,
                "median": format_metric(table.metric, row.median),
                "said": said_row(row),
                "bar": bar,
                "verdict": row.verdict.value if row.verdict is not None else "",
                "differs": "; ".join(row.differs),
            }
            for row, bar in zip(table.rows, bars, strict=True)
        ],
    }
