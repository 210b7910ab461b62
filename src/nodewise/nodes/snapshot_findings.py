# SPDX-License-Identifier: BSD-3-Clause
"""What the snapshots themselves show, before any rule: unreadable ones, nodes that are silent or there twice, clocks that are off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nodewise.base.units import format_span
from nodewise.nodes.findings import NodeFinding
from nodewise.nodes.fleet import Fleet
from nodewise.nodes.judge import Known, about_nodes
from nodewise.nodes.node_names import fold
from nodewise.nodes.site import Site
from nodewise.quiet.finding import Severity

#: A clock may be ahead of the one that reads its snapshot by this much.
_AHEAD_S = 5.0


def snapshot_findings(
    fleet: Fleet, site: Site, before: Fleet | None, now: float, known: Known
) -> Iterator[NodeFinding]:
    """Findings of no rule: on the snapshots of a fleet read at `now` (seconds since 1970); `before` holds earlier ones."""
    yield from _unreadable(fleet)
    yield from _silent(fleet, site, known)
    yield from _twice(fleet)
    yield from _unmeasured(fleet, known)
    if fleet.taken:
        yield from _clocks(fleet, site, before, now, known)


def _unreadable(fleet: Fleet) -> Iterator[NodeFinding]:
    if fleet.unreadable:
        shown = [f"{u.origin}: {u.problem}" for u in fleet.unreadable]
        yield about_nodes(
            "unreadable",
            Severity.WRONG,
            [],
            f"{fleet.unreadable_count} of what was given cannot be read as a snapshot",
            "The nodes are not judged.",
            "Take the snapshots again, with this version of nodewise.",
            shown,
        )


def _silent(fleet: Fleet, site: Site, known: Known) -> Iterator[NodeFinding]:
    wanted = {*site.expected, *fleet.silent}
    for missing in _parts("no-answer", sorted(wanted - set(fleet.names)), known):
        yield about_nodes(
            "no-answer",
            Severity.WRONG,
            missing,
            f"{len(missing)} of {len(wanted if site.expected else wanted | set(fleet.names))} nodes gave no answer: {{nodes}}",
            "Nothing is known of them.",
            "Look whether they are up and nodewise is installed there.",
            _each_once(fleet.silent, missing),
        )


def _twice(fleet: Fleet) -> Iterator[NodeFinding]:
    counts = Counter(fleet.names)
    for name in sorted(n for n, c in counts.items() if c > 1):
        where = [o for n, o in zip(fleet.names, fleet.origins, strict=True) if n == name]
        yield about_nodes(
            "twice",
            Severity.WRONG,
            [name],
            f"{name} is there {counts[name]} times",
            "Two nodes of one name, or one that was asked twice: the newest snapshot is used.",
            "Give each node its own name, or leave old snapshots out.",
            where,
        )


def _unmeasured(fleet: Fleet, known: Known) -> Iterator[NodeFinding]:
    everyone = set(fleet.names)
    for test, reasons in sorted(fleet.unmeasured.items()):
        for missing in _parts("not-measured", sorted(reasons), known):
            yield about_nodes(
                "not-measured",
                Severity.NOISY,
                missing,
                f"{test} was not measured on {len(missing)} of {len(everyone)} nodes: {{nodes}}",
                "How fast they are is not known; a slow node may be one of them.",
                "Measure again where nothing else runs; a node that is never measured in that time is slow.",
                _each_once(reasons, missing),
            )


def _clocks(fleet: Fleet, site: Site, before: Fleet | None, now: float, known: Known) -> Iterator[NodeFinding]:
    """Clocks that are ahead of this one's, apart from the others', or behind what they themselves said before."""
    taken = {i: fleet.taken[i] for i in fleet.last_places()}
    ahead = [i for i, t in taken.items() if t > now + _AHEAD_S]
    middle = sorted(taken.values())[len(taken) // 2]
    apart = [i for i, t in taken.items() if abs(t - middle) > site.collected_within_s and i not in set(ahead)]
    then = {} if before is None else {before.names[i]: before.taken[i] for i in before.last_places()}
    back = {i: then[fleet.names[i]] for i, t in taken.items() if then.get(fleet.names[i], t) > t + _AHEAD_S}
    for which, against, words in (
        (ahead, dict.fromkeys(ahead, now), "are ahead of this one's"),
        (
            apart,
            dict.fromkeys(apart, middle),
            f"differ from those of the others by more than {format_span(site.collected_within_s)}, or their snapshots are of another time",
        ),
        (list(back), back, "are behind those of their last good snapshots"),
    ):
        for names in _parts("clock-off", sorted({fleet.names[i] for i in which}), known):
            those = set(names)
            worst = max((fleet.taken[i] - against[i] for i in which if fleet.names[i] in those), key=abs)
            yield about_nodes(
                "clock-off",
                Severity.WRONG,
                names,
                f"the clocks of {{nodes}} {words}, by up to {format_span(abs(worst))}",
                "Credentials, files' dates and logs do not fit, or an old snapshot is judged.",
                "Start chronyd or ntpd, or take the snapshots again.",
            )


def _parts(rule: str, nodes: Iterable[str], known: Known) -> list[list[str]]:
    """Nodes apart by what suppresses a finding of them."""
    found: dict[Any, list[str]] = {}
    for node in nodes:
        found.setdefault(known(rule, node), []).append(node)
    return list(found.values())


def _each_once(reasons: Mapping[str, str], nodes: Iterable[str]) -> list[str]:
    """The reasons of nodes, each once with those that it is of."""
    by_reason: dict[str, list[str]] = {}
    for node in nodes:
        if reason := reasons.get(node):
            by_reason.setdefault(reason, []).append(node)
    return [f"{fold(which)}: {reason}" for reason, which in by_reason.items()]
