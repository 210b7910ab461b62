# SPDX-License-Identifier: BSD-3-Clause
"""The check: snapshots of nodes held against the rules, against each other, and against what the site wants."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from nodewise.base.units import format_span
from nodewise.nodes.classes import ALIKE_PATHS, CLASS_PATHS, MEMORY, Group, hardware_classes
from nodewise.nodes.findings import CheckResult, GroupSummary, NodeFinding
from nodewise.nodes.fleet import Fleet, without_collector
from nodewise.nodes.judge import (
    FEWEST,
    Known,
    about_nodes,
    change_findings,
    outlier_findings,
    relation_findings,
    shortened,
    tests_of,
    uniform_findings,
    value_findings,
)
from nodewise.nodes.node_names import fold
from nodewise.nodes.rule import Rule
from nodewise.nodes.site import Site
from nodewise.nodes.snapshot_findings import snapshot_findings
from nodewise.quiet.finding import Severity

#: Snapshots that are older than this are said to be.
_OLD_S = 7 * 86400.0
_SHOWN_KINDS = 3


def new_fleet(rules: Iterable[Rule], site: Site) -> Fleet:
    """An empty fleet that keeps what the rules read."""
    paths = {p for r in (*rules, *(w for w, _ in site.wanted)) for p in r.needs}
    return Fleet(tuple(sorted({*paths, *CLASS_PATHS, *ALIKE_PATHS, MEMORY})))


def check(
    rules: Mapping[str, Rule], site: Site, sources: Iterable[Path | BinaryIO], history: Path | None = None
) -> CheckResult:
    """Read all snapshots and judge them. Raises InputError for sources that cannot be read."""
    fleet = new_fleet(rules.values(), site)
    fleet.read(sources)
    before = None
    if history is not None:
        before = new_fleet([r for r in rules.values() if r.kind == "change"], Site())
        before.read([history])
    return judge(fleet, rules, site, before, datetime.date.today(), time.time())


@without_collector()
def judge(
    fleet: Fleet, rules: Mapping[str, Rule], site: Site, before: Fleet | None, today: datetime.date, now: float
) -> CheckResult:
    """What is wrong with the nodes of a fleet; `before` holds their last good snapshots."""
    known = _suppressing(site, today)
    found = [_with_severity(f, site) for f in snapshot_findings(fleet, site, before, now, known)]
    # what is said of missing agreement is a note of its own, whatever the site thinks of the rule
    rules = {name: replace(r, severity=site.severities.get(name, r.severity)) for name, r in rules.items()}
    groups = groups_of(fleet, site)
    used = [r for r in rules.values() if r.kind != "change" or before is not None]
    outliers = [r for r in used if r.kind == "outlier"]
    tests = sum(tests_of(r, fleet, groups) for r in outliers)
    everyone = fleet.last_places()
    kinds: list[str] = []
    for rule in used:
        if rule.kind == "uniform":
            for group in groups:
                found += uniform_findings(rule, fleet, group)
        elif rule.kind == "outlier":
            for group in groups:
                found += outlier_findings(rule, fleet, group, tests, known, kinds.append)
        elif rule.kind == "value":
            found += value_findings(rule, fleet, everyone, known=known)
        elif rule.kind == "relation":
            found += relation_findings(rule, fleet, everyone)
        elif before is not None:
            found += change_findings(rule, fleet, everyone, before)
    for rule, name in site.wanted:
        members = everyone if name is None else [i for i in everyone if fleet.names[i] in site.groups[name]]
        severity = site.severities.get(rule.id, rule.severity)
        found += value_findings(replace(rule, severity=severity), fleet, members, name or "", known)
    open_ones, covered = _suppressed(found, site, today)
    notes = list(site.notes)
    notes += _of_kinds(kinds)
    if before is not None and before.unreadable:
        first = before.unreadable[0]
        notes.append(
            f"{before.unreadable_count} of what the history holds cannot be read as a snapshot: {first.origin}: {first.problem}"
        )
    notes += _of_whom_is_there(fleet, site, now)
    alone = sum(len(g.members) for g in groups if len(g.members) < FEWEST and g.name not in site.groups)
    if len(everyone) >= FEWEST and alone:
        have, their = ("has", "its") if alone == 1 else ("have", "their")
        notes.append(
            f"{alone} of {len(everyone)} nodes {have} fewer than two others of {their} class to be compared with"
        )
    notes += [
        f"{g.name} ({len(g.members)} nodes) is {g.lesser_than} with less, and held against itself alone: {g.about}"
        for g in groups
        if g.lesser_than and len(g.members) >= FEWEST
    ]
    if before is not None and (missing := sorted(set(fleet.names) - set(before.names))):
        have = "has" if len(missing) == 1 else "have"
        notes.append(f"{len(missing)} of {len(set(fleet.names))} nodes {have} no earlier snapshot in the history")
    return CheckResult(
        nodes=len(set(fleet.names)),
        rules=len(used) + len(site.wanted),
        groups=tuple(GroupSummary(g.name, g.about, len(g.members)) for g in groups),
        findings=tuple(_worst_first(open_ones)),
        suppressed=tuple(_worst_first(covered)),
        node_names=tuple(sorted({*fleet.names, *fleet.silent, *site.expected})),
        notes=tuple(notes),
    )


def groups_of(fleet: Fleet, site: Site) -> list[Group]:
    """The site's groups, and hardware classes of all other nodes. Of a node that is there twice the newest snapshot counts."""
    last = {fleet.names[i]: i for i in fleet.last_places()}
    named: list[Group] = []
    taken: set[int] = set()
    for name, nodes in site.groups.items():
        members = tuple(sorted(i for n, i in last.items() if n in nodes and i not in taken))
        taken |= set(members)
        if members:
            named.append(Group(name, "named by the site", members))
    return named + hardware_classes(fleet.columns, [i for i in sorted(last.values()) if i not in taken])


def _of_whom_is_there(fleet: Fleet, site: Site, now: float) -> Iterator[str]:
    """Notes on nodes that a site's file names and nobody knows, or does not name, and on snapshots that are old."""
    there = {*fleet.names, *fleet.silent}
    if site.expected and (more := sorted(there - set(site.expected))):
        yield f"not among the nodes that are expected: {shortened(fold(more))}"
    for name, nodes in site.groups.items():
        if gone := sorted(nodes - there - set(site.expected)):
            yield f"group {name} names nodes that are not there: {shortened(fold(gone))}"
    if fleet.taken and now - max(fleet.taken) > _OLD_S:
        yield f"the newest of these snapshots was taken {format_span(now - max(fleet.taken))} ago"


def _of_kinds(kinds: Sequence[str]) -> Iterator[str]:
    """A note on those that lie apart from their group, and are too many to be exceptions."""
    if kinds:
        more = f", and {len(kinds) - _SHOWN_KINDS} more" if len(kinds) > _SHOWN_KINDS else ""
        shown = "; ".join(kinds[:_SHOWN_KINDS])
        yield f"too many lie apart to be exceptions, and only what is beyond them is named: {shown}{more}"


def _suppressing(site: Site, today: datetime.date) -> Known:
    """Which of the site's suppressions, the first that holds, covers a finding of a rule on a node."""
    by_rule: dict[str, list[tuple[int, frozenset[str] | None]]] = {}
    for number, one in enumerate(site.suppressions):
        if one.until >= today:
            by_rule.setdefault(one.rule, []).append((number, None if one.nodes is None else frozenset(one.nodes)))

    def known(rule: str, node: str) -> int | None:
        return next((n for n, nodes in by_rule.get(rule, ()) if nodes is None or node in nodes), None)

    return known


def _with_severity(found: NodeFinding, site: Site) -> NodeFinding:
    wanted = site.severities.get(found.finding.name)
    return found if wanted is None else replace(found, finding=replace(found.finding, severity=wanted))


def _suppressed(
    found: Sequence[NodeFinding], site: Site, today: datetime.date
) -> tuple[list[NodeFinding], list[NodeFinding]]:
    """What is open and what the site knows of; a finding on several nodes is split. A suppression that has ended is said once."""
    ended = [
        about_nodes(
            "suppression-ended",
            site.severities.get("suppression-ended", Severity.NOTE),
            sorted(s.nodes or ()),
            f"the suppression of {s.rule} ended on {s.until}",
            s.reason,
            "Remove it from the site's file, or give it another day.",
        )
        for s in site.suppressions
        if s.until < today
    ]
    left, known = [*found, *ended], []
    for s in site.suppressions:
        if s.until < today:
            continue
        again = []
        for one in left:
            its = [n for n in one.nodes if s.nodes is None or n in s.nodes]
            if one.finding.name != s.rule or (one.nodes and not its):
                again.append(one)
                continue
            known.append(replace(one, nodes=tuple(its), suppressed=f"{s.reason} (until {s.until})"))
            rest = tuple(n for n in one.nodes if n not in set(its))
            if rest:
                again.append(replace(one, nodes=rest))
        left = again
    return left, known


def _worst_first(found: Iterable[NodeFinding]) -> list[NodeFinding]:
    order = list(Severity)
    return sorted(
        (replace(f, nodes=tuple(sorted(f.nodes))) for f in found),
        key=lambda f: (order.index(f.finding.severity), f.kind != "snapshot", -len(f.nodes), f.finding.name, f.fact),
    )
