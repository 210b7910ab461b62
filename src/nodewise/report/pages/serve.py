# SPDX-License-Identifier: BSD-3-Clause
"""The pages of `nodewise serve`: all experiments, and one that runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from nodewise.base.units import format_count, format_seconds
from nodewise.history.store import Experimented
from nodewise.history.trend import Trends
from nodewise.report.pages.bars import bars_of
from nodewise.report.pages.history import trends_shown
from nodewise.report.pages.template import environment, render
from nodewise.report.tables import label
from nodewise.runner.launch import quoted_line
from nodewise.runner.objective import format_metric
from nodewise.statistics.compare import Ratio
from nodewise.statistics.verdict import format_factor, format_ratio
from nodewise.verdicts.live import Live, Look

#: What `nodewise governors` compares.
_GOVERNOR = "nodewise-governor"
#: Named experiments, each with whether it runs here.
Named = tuple[str, bool, Live]


def overview_page(
    watched: Sequence[Named], listed: Sequence[Experimented], trends: Trends | None, missing: str = ""
) -> str:
    """The HTML of the front page; `missing` says why nothing is in the history."""
    empty = {
        "headline": "",
        "question": {"kind": "serve", "started_at": ""},
        "asked_for": "",
        "trends": (),
        "limits": (),
    }
    charts, values = trends_shown(trends) if trends is not None else ({}, empty)
    own = {
        "place": trends.history if trends is not None else "no history",
        "watched": [_watched(*one) for one in watched],
        "listed": [_listed(one) for one in listed],
        "missing": missing or "nothing is in the history yet",
        "reports": "report/",
    }
    return render("serve.html", charts, {**values, **own})


def live_page(name: str, running: bool, live: Live) -> str:
    """The HTML of the page of one experiment, as it is now."""
    page: str = environment().get_template("live.html").render(**_values(name, running, live))
    return page


def live_state(name: str, running: bool, live: Live) -> dict[str, Any]:
    """What that page asks for while it is open: the title, whether it runs, and the part that changes, as HTML."""
    values = _values(name, running, live)
    body = environment().get_template("live_state.html").render(**values)
    return {"running": running, "title": f"{values['state']}: {values['command']}", "body": body}


def _watched(name: str, running: bool, live: Live) -> dict[str, str]:
    values = _values(name, running, live)
    return {
        "name": name,
        "kind": live.kind,
        "command": values["command"],
        "state": values["state"],
        "runs": _of(str(live.runs), live.budget_runs),
        "time": _time(live),
        "leader": values["headline"] if live.leaders else "",
    }


def _listed(one: Experimented) -> dict[str, Any]:
    own = one.tool == "nodewise"
    name, kind = one.name, one.kind if own else one.tool
    if own and PurePath(one.name.split(" ", 1)[0]).name == _GOVERNOR:
        # its command is nodewise's own, and says nothing to who asked
        name, kind = "nodewise governors", "governors"
    return {
        "number": one.number,
        "began": datetime.fromtimestamp(one.began, UTC).strftime("%Y-%m-%d %H:%M"),
        "kind": kind,
        "name": name,
        "host": one.host,
        "sentence": one.sentence,
        "link": own,
    }


def _of(spent: str, limit: object) -> str:
    return spent if limit is None else f"{spent} of {limit}"


def _time(live: Live) -> str:
    limit = live.budget_seconds
    return _of(format_seconds(live.seconds), None if limit is None else format_seconds(limit))


def _values(name: str, running: bool, live: Live) -> dict[str, Any]:
    state = "ended" if live.ended else live.phase if running else "not running"
    shares = [
        spent / limit for spent, limit in ((live.seconds, live.budget_seconds), (live.runs, live.budget_runs)) if limit
    ]
    numbers = [
        ("runs", _of(str(live.runs), live.budget_runs)),
        ("time", _time(live)),
        *([("left, at most", format_seconds(live.left_seconds))] if running and live.left_seconds else []),
        *([("failed", str(live.failed))] if live.failed else []),
    ]
    bars, even = bars_of([(look.ratio, look.low, look.high, look.verdict) for look in live.looks])
    drawn = [
        {"blocks": look.blocks, "bar": bar, "said": _said(look)} for look, bar in zip(live.looks, bars, strict=True)
    ]
    first = f"{live.blocks} of them" if live.candidate else ""
    return {
        "name": name,
        "running": running,
        "ended": live.ended,
        "kind": live.kind,
        "command": quoted_line(live.command),
        "started_at": live.started_at,
        "state": state,
        "headline": _headline(live),
        "sentence": _sentence(live, running, state),
        "share": round(100 * min(1.0, max(shares))) if shares else None,
        "numbers": numbers,
        "candidate": live.candidate,
        "level": "95%",
        "looks": drawn,
        "even": even,
        "first_look": first,
        "metric": live.metric,
        "leaders": _leaders(live),
    }


def _leaders(live: Live) -> list[dict[str, Any]]:
    """A row for each that differs in more than what is the default anyway, the faster one of those that do not."""
    rows: dict[str, dict[str, Any]] = {}
    for one in live.leaders:
        factor = format_factor(Ratio(one.ratio, 0.0, math.inf, 0)) if rows else ""
        row = {"label": label(one.values), "runs": one.runs, "ratio": factor}
        rows.setdefault(label(one.values), {**row, "median": format_metric(live.metric, one.median)})
    return list(rows.values())


def _headline(live: Live) -> str:
    if live.looks:
        return _said(live.looks[-1])
    if live.candidate:
        return "Being compared"
    best = live.leaders[1] if len(live.leaders) > 1 else None
    if best is None:
        return format_count(live.runs, "run")
    return (
        f"{format_factor(Ratio(best.ratio, 0.0, math.inf, 0))} so far, a guess"
        if best.ratio > 1
        else "None faster so far"
    )


def _sentence(live: Live, running: bool, state: str) -> str:
    where = live.host or "a machine without a name"
    if live.ended:
        return f"It has ended; on {where}."
    if not running:
        when = datetime.fromtimestamp(live.written_at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        return f"Nobody on this machine is writing it; the last run was written down at {when} (UTC), on {where}."
    more = f" {live.blocks} of at most {live.most_blocks} blocks." if live.candidate and live.most_blocks else ""
    return f"Now: {state}, on {where}.{more}"


def _said(look: Look) -> str:
    if look.low is None or look.high is None:
        return f"{format_factor(Ratio(look.ratio, 0.0, math.inf, 0))}, no interval yet"
    return f"{format_ratio(Ratio(look.ratio, look.low, look.high, look.blocks))} {look.verdict.value}"
