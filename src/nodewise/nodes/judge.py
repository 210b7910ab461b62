# SPDX-License-Identifier: BSD-3-Clause
"""Judging the facts of nodes by one rule of each kind; what agrees is passed over, and equal findings are made one of many nodes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from nodewise.base.units import format_bytes
from nodewise.nodes.classes import Group
from nodewise.nodes.facts import MISSING, Value
from nodewise.nodes.findings import NodeFinding
from nodewise.nodes.fleet import Fleet
from nodewise.nodes.node_names import fold
from nodewise.nodes.relations import FUNCTIONS, PARTS, subset
from nodewise.nodes.rule import Rule
from nodewise.quiet.finding import Finding, Severity
from nodewise.statistics.outlying import bulk
from nodewise.statistics.summary import median

#: A majority is more than this share of at least so many nodes.
MAJORITY, FEWEST = 0.6, 3
_LONGEST = 120
_SHOWN = 4
#: How a sentence begins that says what is wanted of a value.
_WANTED = {"is": "", "one_of": "one of ", "least": "at least ", "most": "at most "}
_SIZES = ("bytes", "total", "available", "swap", "swap_used", "memory")


class _Flag(Enum):
    """A fact that is true or false, as another value than the numbers that it equals."""

    YES = "true"
    NO = "false"


def shown_value(value: Value, path: str = "") -> str:
    """A value in a sentence."""
    if isinstance(value, _Flag):
        return value.value
    if value is None:
        # of a module that is loaded the version is the fact
        return "no version" if path.startswith("kernel.modules.") else "null"
    if isinstance(value, tuple) and len(value) == 2 and path.startswith("limits.ulimits"):
        soft, hard = ("unlimited" if v is None else str(v) for v in value)
        return soft if soft == hard else f"{soft}, hard limit {hard}"
    if value is MISSING:
        return "not there"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        pairs = all(isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str) for v in value)
        text = ", ".join(f"{v[0]}: {shown_value(v[1])}" if pairs else shown_value(v) for v in value) or "none"
    elif isinstance(value, int | float) and path.rpartition(".")[2] in _SIZES:
        text = format_bytes(value)
    elif isinstance(value, float):
        text = f"{value:.6g}"
    else:
        text = str(value) or "empty"
    return shortened(text)


def shortened(text: str) -> str:
    """A text that has room in a sentence."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


#: Which suppression covers a finding of a rule on a node, whatever names it; None for none. Of those that one covers a finding of its own is
#: made, so that what is left says what is true of the nodes that are left.
Known = Callable[[str, str], Any]
#: Stands for any of several numbers, of which the range is said.
_ANY = object()


def made(rule: Rule, nodes: Sequence[str], summary: str, evidence: Sequence[str] = (), **more: Any) -> NodeFinding:
    """A finding of a rule."""
    severity = more.pop("severity", rule.severity)
    finding = Finding(rule.id, severity, summary, tuple(evidence), rule.reason, rule.remedy, source=rule.source)
    return NodeFinding(finding, rule.kind, tuple(nodes), **more)


def _keys(fleet: Fleet, members: Sequence[int], rule: Rule) -> list[str | None]:
    """The names that the rule's star stands for in a group; one None where it has no star."""
    if "*" not in rule.path:
        return [None]
    column = fleet.columns[rule.path]
    # many nodes share one dictionary
    several = {id(column[i]): column[i] for i in members if column[i]}
    found = sorted({k for one in several.values() for k in one} - _passing(rule, fleet, members))
    return [k for k in found if not _is_left_out(rule, k)]


def _is_left_out(rule: Rule, key: str) -> bool:
    return any(fnmatchcase(key, str(pattern)) for pattern in rule.condition.get("except", ()))


def _passing(rule: Rule, fleet: Fleet, members: Iterable[int]) -> set[str]:
    """The names of which a fact beside the rule's says, on any of the nodes, that they are not judged."""
    if rule.unless is None:
        return set()
    column = fleet.columns[rule.unless]
    several = {id(column[i]): column[i] for i in members if column[i]}
    return {k for one in several.values() for k, v in one.items() if v is True}


def _at(column: Sequence[Value], i: int, key: str | None) -> Value:
    value = column[i]
    return value if key is None or value is None else value.get(key, MISSING)


def _path(rule: Rule, key: str | None) -> str:
    return rule.path if key is None else rule.path.replace("*", key)


def uniform_findings(rule: Rule, fleet: Fleet, group: Group) -> Iterator[NodeFinding]:
    """Those that differ from the majority of their group; a note where there is none."""
    if len(group.members) < 2:
        return
    column, peers = fleet.columns[rule.path], group.members
    if lacking := _lacking(rule, column, peers):
        yield _not_read(rule, fleet, group, lacking)
        peers = tuple(i for i in peers if column[i] is not None)
    for key in _keys(fleet, peers, rule):
        members, values = _compared(rule, column, peers, key)
        yield from _off_majority(rule, fleet, group, _path(rule, key), members, values)


def _lacking(rule: Rule, column: Sequence[Value], peers: Sequence[int]) -> list[int]:
    """Those of enough nodes of which others report what a rule with a star reads, and they do not."""
    if "*" not in rule.path or rule.condition.get("present") or len(peers) < FEWEST:
        return []
    lacking = [i for i in peers if column[i] is None]
    return lacking if len(lacking) < len(peers) else []


def _not_read(rule: Rule, fleet: Fleet, group: Group, lacking: Sequence[int]) -> NodeFinding:
    """What could not be read is one finding, not one for each name in it."""
    everyone = len(group.members)
    having = everyone - len(lacking)
    path = rule.path.partition(".*")[0]
    return made(
        rule,
        [fleet.names[i] for i in lacking],
        f"{path}: null, where {having} of {everyone} nodes report it",
        severity=rule.severity if having > MAJORITY * everyone else Severity.NOTE,
        group=group.name,
        fact=path,
    )


def _compared(
    rule: Rule, column: Sequence[Value], peers: Sequence[int], key: str | None
) -> tuple[Sequence[int], list[Value]]:
    """Which of the nodes are compared, and each one's value as it is compared."""
    members: Sequence[int] = peers
    values = [_at(column, i, key) for i in members]
    if rule.condition.get("present"):
        members = [i for i, v in zip(members, values, strict=True) if v is not MISSING]
        values = [v for v in values if v is not MISSING]
    if part := PARTS.get(rule.condition.get("part", "")):
        values = [part(v) for v in values]
    if rule.path.startswith("own."):
        # what a site adds may be of any kind, and true equals one
        values = [_Flag(str(v).lower()) if isinstance(v, bool) else v for v in values]
    if share := rule.condition.get("within"):
        values = _alike(values, share)
    return members, values


def _off_majority(
    rule: Rule, fleet: Fleet, group: Group, path: str, members: Sequence[int], values: Sequence[Value]
) -> Iterator[NodeFinding]:
    """Those with another value than the majority, a finding for each value; where there is no majority a note says so."""
    counts = Counter(values)
    if len(counts) < 2:
        return
    # of equal counts the order in which nodes were read says nothing
    ranked = sorted(counts.items(), key=lambda item: (-item[1], shown_value(item[0], path)))
    common, count = ranked[0]
    if len(members) < FEWEST or count <= MAJORITY * len(members):
        shares = ", ".join(f"{n} × {shown_value(v, path)}" for v, n in ranked[:_SHOWN])
        yield made(
            rule,
            [fleet.names[i] for i in members],
            f"{path}: no majority among {len(members)} nodes: {shares}" + (" …" if len(counts) > _SHOWN else ""),
            severity=Severity.NOTE,
            group=group.name,
            fact=path,
        )
        return
    wanted = "do not have it" if common is MISSING else f"have {shown_value(common, path)}"
    apart: dict[Value, list[int]] = {}
    for i, value in zip(members, values, strict=True):
        if value != common:
            apart.setdefault(value, []).append(i)
    for value, which in apart.items():
        yield made(
            rule,
            [fleet.names[i] for i in which],
            f"{path}: {shown_value(value, path)}, where {count} of {len(members)} nodes {wanted}",
            group=group.name,
            fact=path,
        )


def _alike(values: Sequence[Value], share: float) -> list[Value]:
    """The values, with each number (or list of numbers) that is within `share` of a more frequent one given as that."""
    taken: list[Value] = []
    given: dict[Value, Value] = {}
    for value, _ in Counter(values).most_common():
        given[value] = next((one for one in taken if _is_near(value, one, share)), value)
        if given[value] is value:
            taken.append(value)
    return [given[value] for value in values]


def _is_near(one: Value, other: Value, share: float) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(a == b or _is_near(a, b, share) for a, b in zip(one, other, strict=True))
    return _is_number(one) and _is_number(other) and abs(one - other) <= share * abs(other)


def value_findings(
    rule: Rule, fleet: Fleet, members: Sequence[int], group: str = "", known: Known = lambda *_: None
) -> Iterator[NodeFinding]:
    """Those whose value is not what is wanted. What a node does not report is not judged, but for a value that the site wants."""
    column, c = fleet.columns[rule.path], rule.condition
    if not c:
        return
    holds = _condition(c)
    by_site = rule.id.startswith("desired:")
    wanted = ", ".join(
        f"{_WANTED[k]}{shown_value(tuple(v) if isinstance(v, list) else v, rule.path)}" for k, v in c.items()
    )
    for key in _keys(fleet, members, rule):
        path = _path(rule, key)
        wrong: dict[tuple[Value, Any], list[int]] = {}
        for i in members:
            value = _at(column, i, key)
            # a name that a star stands for may be missing; who wants it everywhere names it
            if value is MISSING or (value is None and not by_site) or holds(value):
                continue
            same = _ANY if isinstance(value, float) else value
            wrong.setdefault((same, known(rule.id, fleet.names[i])), []).append(i)
        for (value, _), which in wrong.items():
            # the furthest from what is wanted first
            which.sort(key=lambda i: _at(column, i, key) if value is _ANY else 0, reverse="least" not in c)
            worst = [_at(column, i, key) for i in which]
            least, most = (min(worst), max(worst)) if value is _ANY else (value, value)
            said = shown_value(least, path) + (f" to {shown_value(most, path)}" if least != most else "")
            yield made(
                rule,
                [fleet.names[i] for i in which],
                f"{path}: {said}, wanted: {wanted}",
                # where all have the same the summary says it
                [f"{fleet.names[i]}: {shown_value(w, path)}" for i, w in zip(which[:_SHOWN], worst, strict=False)]
                if least != most
                else [],
                group=group,
                fact=path,
            )


def _condition(c: Mapping[str, Any]) -> Callable[[Value], bool]:
    def holds(value: Value) -> bool:
        if "is" in c and (value != c["is"] or isinstance(value, bool) != isinstance(c["is"], bool)):
            return False
        if "one_of" in c and value not in c["one_of"]:
            return False
        if ("least" in c or "most" in c) and (isinstance(value, bool) or not isinstance(value, int | float)):
            return False
        return not ("least" in c and value < c["least"]) and not ("most" in c and value > c["most"])

    return holds


def relation_findings(rule: Rule, fleet: Fleet, members: Sequence[int]) -> Iterator[NodeFinding]:
    """Those on which a relation of facts does not hold."""
    columns = [fleet.columns[p] for p in rule.reads]
    known: dict[tuple[Value, ...], str | None] = {}
    wrong: dict[str, list[str]] = {}
    for i in members:
        facts = tuple(c[i] for c in columns)
        if facts not in known:
            known[facts] = _broken(rule, facts)
        problem = known[facts]
        if problem:
            wrong.setdefault(problem, []).append(fleet.names[i])
    for problem, nodes in wrong.items():
        yield made(rule, nodes, f"{' and '.join(rule.reads)}: {problem}", fact=rule.path)


def _broken(rule: Rule, facts: tuple[Value, ...]) -> str | None:
    c = rule.condition
    if "function" in c:
        return FUNCTIONS[c["function"]](*facts)
    if c.get("subset_of"):
        return subset(facts[0], facts[1], bool(c.get("where_set")))
    if None in facts or facts[0] == facts[1]:
        return None
    return f"{shown_value(facts[0], rule.reads[0])} is not {shown_value(facts[1], rule.reads[1])}"


def tests_of(rule: Rule, fleet: Fleet, groups: Sequence[Group]) -> int:
    """How many values an outlier rule looks at."""
    column = fleet.columns[rule.path]
    if "*" not in rule.path:
        return sum(v is not None for v in column)
    return sum(len(column[i] or ()) for group in groups for i in group.members)


def outlier_findings(
    rule: Rule,
    fleet: Fleet,
    group: Group,
    tests: int,
    known: Known = lambda *_: None,
    kinds: Callable[[str], object] = lambda _: None,
) -> Iterator[NodeFinding]:
    """Those that lie apart from their group, and those that lack a number that most have; `tests` are those of all groups and rules.

    Besides, those that are off by the rule's `coarse`, a share: in groups too small to show how much sound nodes differ, and where several that
    are off hide each other. `kinds` is told of those that lie apart and are too many to be exceptions.
    """
    column, c = fleet.columns[rule.path], rule.condition
    log, side = c.get("scale") == "log", c.get("side", "both")
    for key in _keys(fleet, group.members, rule):
        path = _path(rule, key)
        found = [(i, v) for i in group.members if _is_number(v := _at(column, i, key)) and (v > 0 or not log)]
        yield from _lacking_findings(rule, fleet, group, key, found)
        scaled = [math.log(v) if log else float(v) for _, v in found]
        # of what is off by much no number of nodes makes a kind of its own
        most = bulk(scaled, float(c["step"]), tests, kinds="coarse" not in c)
        if most is None:
            yield from _coarse_findings(rule, fleet, group, path, found)
            continue
        named = {i for x, (i, _) in zip(scaled, found, strict=True) if most.lies_apart(x, side)}
        others = [v for x, (_, v) in zip(scaled, found, strict=True) if most.is_another_kind(x, side)]
        if others:
            kinds(
                f"{path} of {len(others)} of the {len(found)} nodes in {group.name} ({shown_value(max(others), path)})"
            )
        yield from _coarse_findings(rule, fleet, group, path, found, named)
        apart = [(most.deviation(x), i, v) for x, (i, v) in zip(scaled, found, strict=True) if most.lies_apart(x, side)]
        centre = math.exp(most.centre) if log else most.centre
        for sign, word in ((1, "above"), (-1, "below")):
            parts: dict[Any, list[tuple[float, int, float]]] = {}
            for one in sorted((t for t in apart if t[0] * sign > 0), key=lambda t: -abs(t[0])):
                parts.setdefault(known(rule.id, fleet.names[one[1]]), []).append(one)
            for those in parts.values():
                furthest, _, value = those[0]
                share = f"{100 * abs(value / centre - 1):.3g}% or " if log else ""
                yield made(
                    rule,
                    [fleet.names[i] for _, i, _ in those],
                    f"{path}: {shown_value(value, path)}, {share}{abs(furthest):.1f} robust deviations {word} the median {shown_value(centre, path)} of {len(found)} nodes",
                    [
                        f"{fleet.names[i]}: {shown_value(v, path)}, {abs(d):.1f} deviations"
                        for d, i, v in those[:_SHOWN]
                    ],
                    group=group.name,
                    fact=path,
                    deviations=abs(furthest),
                )


def _lacking_findings(
    rule: Rule, fleet: Fleet, group: Group, key: str | None, found: Sequence[tuple[int, float]]
) -> Iterator[NodeFinding]:
    """Those without a number, where most of their group have one."""
    if len(group.members) < FEWEST or len(found) <= MAJORITY * len(group.members):
        return
    path, there = _path(rule, key), {i for i, _ in found}
    lacking: dict[tuple[str, bool], list[str]] = {}
    for i in group.members:
        if i not in there:
            value = _at(fleet.columns[rule.path], i, key)
            # on a logarithmic scale nothing is the lowest that there is
            nothing = _is_number(value) and rule.condition.get("side", "both") != "high"
            lacking.setdefault((shown_value(value, path), nothing), []).append(fleet.names[i])
    for (word, nothing), nodes in lacking.items():
        have = f"{'has' if len(found) == 1 else 'have'} {'more' if nothing else 'a number'}"
        yield made(
            rule,
            nodes,
            f"{path}: {word}, where {len(found)} of {len(group.members)} nodes {have}",
            severity=rule.severity if nothing else Severity.NOTE,
            group=group.name,
            fact=path,
        )


def _coarse_findings(
    rule: Rule,
    fleet: Fleet,
    group: Group,
    path: str,
    found: Sequence[tuple[int, float]],
    named: Container[int] = (),
) -> Iterator[NodeFinding]:
    """Those that differ by a share that nobody takes for chance, where most are alike, and that are not named yet; a note where there is no majority."""
    share, side = rule.condition.get("coarse"), rule.condition.get("side", "both")
    if share is None or len(found) < FEWEST:
        return
    centre = median([v for _, v in found])
    apart: dict[Value, list[int]] = {}
    for i, v in found:
        if abs(v - centre) > share * abs(centre) and side != ("low" if v > centre else "high"):
            apart.setdefault(v, []).append(i)
    like = len(found) - sum(map(len, apart.values()))
    if like <= MAJORITY * len(found):
        yield made(
            rule,
            [fleet.names[i] for i, _ in found],
            f"{path}: no majority among {len(found)} nodes: {like} have about {shown_value(centre, path)}",
            severity=Severity.NOTE,
            group=group.name,
            fact=path,
        )
        return
    for value, those in apart.items():
        which = [i for i in those if i not in named]
        if not which:
            continue
        yield made(
            rule,
            [fleet.names[i] for i in which],
            f"{path}: {shown_value(value, path)}, where {like} of {len(found)} nodes have about {shown_value(centre, path)}",
            group=group.name,
            fact=path,
        )


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def change_findings(rule: Rule, fleet: Fleet, members: Sequence[int], before: Fleet) -> Iterator[NodeFinding]:
    """Those whose fact is another one than in their last good snapshot; of numbers, by more than the rule's `step`, a share."""
    then = {before.names[i]: i for i in before.last_places()}
    now_column, then_column = fleet.columns[rule.path], before.columns[rule.path]
    step = rule.condition.get("step", 0)
    wrong: dict[tuple[str, str, str], list[str]] = {}
    for i in members:
        name = fleet.names[i]
        j = then.get(name)
        if j is None or now_column[i] is then_column[j]:
            continue
        passing = _passing(rule, fleet, [i]) | _passing(rule, before, [j])
        for key in sorted({*(now_column[i] or ()), *(then_column[j] or ())} - passing) if "*" in rule.path else [None]:
            if key is not None and _is_left_out(rule, key):
                continue
            old, new = _at(then_column, j, key), _at(now_column, i, key)
            near = _is_number(old) and _is_number(new) and abs(new - old) <= step * abs(old)
            if old != new and not near:
                path = _path(rule, key)
                wrong.setdefault((path, shown_value(old, path), shown_value(new, path)), []).append(name)
    for (path, old_text, new_text), nodes in wrong.items():
        yield made(rule, nodes, f"{path}: {new_text}, was {old_text} when last found well", fact=path)


def about_nodes(
    rule_id: str,
    severity: Severity,
    nodes: Sequence[str],
    summary: str,
    reason: str,
    remedy: str,
    evidence: Sequence[str] = (),
) -> NodeFinding:
    """A finding about the snapshots themselves."""
    shown = fold(nodes)
    text = summary.replace("{nodes}", shortened(shown))
    return NodeFinding(
        Finding(rule_id, severity, text, tuple(evidence[:_SHOWN]), reason, remedy), "snapshot", tuple(nodes)
    )
