# SPDX-License-Identifier: BSD-3-Clause
"""What a check found, for a terminal: groups, then findings, the worst first, each with its nodes and what to do."""

from __future__ import annotations

import re
import textwrap

from nodewise.base.escaping import painted, visible
from nodewise.nodes.findings import CheckResult, NodeFinding
from nodewise.nodes.node_names import fold
from nodewise.quiet.finding import Severity
from nodewise.report.text.severity import CODES

_LABEL, _INDENT = 8, 10
_MOST_NODES = 300


def check_text(result: CheckResult, width: int = 100, colour: bool = False, everything: bool = False) -> str:
    """All of it; reasons and remedies of wrong and noisy ones, with `everything` of notes and suppressed ones, too."""
    lines = [f"{nodes_judged(result)}, {result.rules} rules"]
    lines += [_wrapped(f"{g.name}: {g.nodes} × {g.about}", width, "  ") for g in result.groups[:12]]
    if len(result.groups) > 12:
        lines.append(f"  and {len(result.groups) - 12} groups more")
    for one in result.findings:
        lines += ["", *_finding(one, max(60, width), colour, everything or one.finding.severity is not Severity.NOTE)]
    if everything:
        for one in result.suppressed:
            lines += ["", *_finding(one, max(60, width), False, False)]
    lines += ["", *map(visible, result.notes), check_line(result)]
    return "\n".join(lines)


def nodes_judged(result: CheckResult) -> str:
    """How many nodes were judged, and of how many where some gave no answer."""
    everyone = len(result.node_names)
    several = f"node{'s' * (everyone != 1)}"
    return f"{everyone} {several}" if everyone == result.nodes else f"{result.nodes} of {everyone} {several} judged"


def check_line(result: CheckResult) -> str:
    """One line: how many findings of which severity, on how many nodes."""
    counts = {
        s: sum(f.finding.severity is s for f in result.findings)
        for s in (Severity.WRONG, Severity.NOISY, Severity.NOTE)
    }
    said = (
        ", ".join(f"{n} {s}{'s' * (s is Severity.NOTE and n != 1)}" for s, n in counts.items() if n) or "nothing found"
    )
    touched = len({n for f in result.findings for n in f.nodes})
    on = f" on {touched} of {len(result.node_names)} nodes" if touched and len(result.node_names) > 1 else ""
    known = f"; {len(result.suppressed)} suppressed" if result.suppressed else ""
    return f"{said}{on}{known}"


def prologue_line(result: CheckResult) -> str:
    """One line for a batch system's log: the worst finding, and how many there are."""
    notes = "".join(f"; {note}" for note in result.notes)
    if not result.findings:
        return visible(check_line(result) + notes)
    worst = result.findings[0].finding
    return visible(f"{worst.severity}: {worst.name}: {worst.summary} ({check_line(result)}){notes}")


def _names(text: str, name: str) -> bool:
    """Whether a name stands in a text, and not as a part of another word."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text) is not None


def _wrapped(text: str, width: int, indent: str) -> str:
    return textwrap.fill(
        visible(text), width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )


def _finding(one: NodeFinding, width: int, colour: bool, full: bool) -> list[str]:
    f = one.finding
    label = f"{'known' if one.suppressed else f.severity!s:<{_LABEL}}"
    shown = painted(label, CODES[f.severity]) if colour else label
    lines = [f"{shown}  {f.name}" + (f" ({visible(one.group)})" if one.group else "")]
    rows = [("", f.summary)]
    # what is said of snapshots names their nodes
    if one.nodes and not (one.kind == "snapshot" and len(one.nodes) == 1 and _names(f.summary, one.nodes[0])):
        nodes = fold(one.nodes)
        rows.append(
            (
                f"{len(one.nodes)} node{'s' * (len(one.nodes) != 1)}",
                nodes if len(nodes) <= _MOST_NODES else f"{nodes[:_MOST_NODES]}…",
            )
        )
    if full:
        more = len(one.nodes) - len(f.evidence)
        cut = bool(f.evidence) and more > 0 and one.kind in ("value", "outlier")
        rows += [*(("", e) for e in f.evidence), *([("", f"… and {more} more")] if cut else [])]
    rows += (
        [("why", f.effect), ("do", f.do), ("known", one.suppressed or "")]
        if full
        else [("known", one.suppressed or "")]
    )
    for name, text in rows:
        if text:
            lines.append(_wrapped(f"{name}: {text}" if name else text, width, " " * _INDENT))
    return lines
