# SPDX-License-Identifier: BSD-3-Clause
"""What a site wants of its nodes: its file names nodes and groups, values that are desired, rules of its own, and what is not to be reported."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import parse_processors
from nodewise.nodes.facts import is_known, known_paths
from nodewise.nodes.node_names import expand, fold
from nodewise.nodes.places import Document, nearest, read_toml
from nodewise.nodes.rule import CONDITION_KINDS, CONDITIONS, SEVERITIES, Rule, check_kinds, check_value, rules_of
from nodewise.quiet.finding import Severity

_TABLES = ("nodes", "groups", "desired", "suppress", "severity", "rule", "speed")
#: Findings that are about the snapshots themselves.
BUILT_IN = ("no-answer", "twice", "unreadable", "clock-off", "not-measured", "suppression-ended")
#: Those of no single node.
_OF_NO_NODE = ("unreadable",)
_NO_MAJORITY = "that there is no majority is a note of the rule itself: name that"


@dataclass(frozen=True)
class Suppression:
    """Findings of a rule that are known: of these nodes (None: of all), why, and until which day, included."""

    rule: str
    nodes: frozenset[str] | None
    reason: str
    until: datetime.date


@dataclass(frozen=True)
class SpeedSite:
    """How tests of speed run at a site: on so many threads, on these processors, and where `disk` writes (None: not said)."""

    threads: int | None = None
    allow: str | None = None
    folder: str | None = None


@dataclass(frozen=True)
class Site:
    """A site's file. `wanted` are rules made of desired values, with the group that each is for (None: all)."""

    expected: tuple[str, ...] = ()
    collected_within_s: float = 3600.0
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    wanted: tuple[tuple[Rule, str | None], ...] = ()
    rules: tuple[Rule, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    speed: SpeedSite = SpeedSite()
    #: What it holds in vain, with line and column.
    notes: tuple[str, ...] = ()


def read_site(path: Path, rules: Iterable[Rule]) -> Site:
    """The site's file; `rules` are those that there are besides its own. Raises InputError, with line and column."""
    document = read_toml(path)
    for name in document.values:
        if name not in _TABLES:
            raise document.wrong(
                f"not known: {name}",
                name if (name, 0, "") in document.places else "",
                0,
                name,
                nearest(name, _TABLES) or f"tables are {', '.join(_TABLES)}",
            )
    own = rules_of(document)
    by_path = {r.path: r for r in (*rules, *own) if r.kind == "value"}
    groups = {
        name: frozenset(_nodes(document, value, "groups", 0, name))
        for name, value in _table(document, "groups").items()
    }
    of: dict[str, str] = {}
    for name, members in groups.items():
        if twice := sorted(of.keys() & members):
            raise document.wrong(
                f"{twice[0]} is in two groups: {of[twice[0]]} and {name}",
                "groups",
                0,
                name,
                "each node is compared within one group; [[desired]] may name several groups",
            )
        of |= dict.fromkeys(members, name)
    wanted = tuple(_wanted(document, i, t, groups, by_path) for i, t in enumerate(_tables(document, "desired")))
    ids = {r.id for r in (*rules, *own, *(w for w, _ in wanted))} | set(BUILT_IN)
    nodes = _table(document, "nodes")
    for key in nodes:
        if key not in ("expected", "collected_within_s"):
            raise document.wrong(
                f"[nodes] has no key {key}", "nodes", 0, key, nearest(key, ("expected", "collected_within_s"))
            )
    within = nodes.get("collected_within_s", 3600.0)
    if isinstance(within, bool) or not isinstance(within, int | float) or not 0 < within < 1e9:
        raise document.wrong("collected_within_s: a number of seconds is needed", "nodes", 0, "collected_within_s")
    expected = tuple(_nodes(document, nodes["expected"], "nodes", 0, "expected")) if "expected" in nodes else ()
    suppressions = tuple(_suppression(document, i, t, ids) for i, t in enumerate(_tables(document, "suppress")))
    return Site(
        expected=expected,
        collected_within_s=float(within),
        groups=groups,
        wanted=wanted,
        rules=tuple(own),
        suppressions=suppressions,
        severities={
            rule: _severity(document, rule, value, ids) for rule, value in _table(document, "severity").items()
        },
        speed=_speed(document),
        notes=tuple(_in_vain(document, suppressions, expected)),
    )


def _in_vain(document: Document, suppressions: Sequence[Suppression], expected: Sequence[str]) -> Iterator[str]:
    """Suppressions of nodes that nobody expects: perhaps another was meant, perhaps they are gone."""
    known = set(expected)
    for number, one in enumerate(suppressions):
        if known and one.nodes and (gone := one.nodes - known):
            yield document.wrong(
                f"not among the nodes that are expected: {fold(gone)}", "suppress", number, "nodes"
            ).what


def _speed(document: Document) -> SpeedSite:
    table = _table(document, "speed")
    kinds = {"threads": int, "allow": str, "folder": str}
    for key, value in table.items():
        if key not in kinds:
            raise document.wrong(f"[speed] has no key {key}", "speed", 0, key, nearest(key, tuple(kinds)))
        if (
            not isinstance(value, kinds[key])
            or isinstance(value, bool)
            or value in (0, "")
            or str(value).startswith("-")
        ):
            wanted = "a number of threads" if key == "threads" else "a text"
            raise document.wrong(f"{key}: {wanted} is needed", "speed", 0, key)
    if "allow" in table:
        try:
            parse_processors(table["allow"])
        except InputError as problem:
            raise document.wrong(problem.what, "speed", 0, "allow", problem.hint) from problem
    return SpeedSite(**table)


def _table(document: Document, name: str) -> dict[str, Any]:
    found = document.values.get(name, {})
    if not isinstance(found, dict):
        raise document.wrong(
            f"{name} is written as [{name}]", name, 0, "" if (name, 0, "") in document.places else name
        )
    return found


def _tables(document: Document, name: str) -> list[dict[str, Any]]:
    found = document.values.get(name, [])
    if not isinstance(found, list) or not all(isinstance(t, dict) for t in found):
        raise document.wrong(f"{name} is written as [[{name}]]", name)
    return found


def _nodes(document: Document, value: Any, table: str, number: int, key: str) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
        raise document.wrong(
            f'{key}: names of nodes are needed, such as "n[001-128]"', table, number, key, _quoted(value)
        )
    try:
        return list(dict.fromkeys(name for text in listed for name in expand(text)))
    except InputError as problem:
        raise document.wrong(problem.what, table, number, key, problem.hint) from problem


def _quoted(value: Any) -> str | None:
    # TOML makes a table of what is before a point
    return "a name with points is written in quotes" if isinstance(value, dict) else None


def _text(document: Document, table: dict[str, Any], name: str, number: int, key: str) -> str:
    if key not in table:
        raise document.wrong(f"{name} has no {key}", name, number)
    if not isinstance(table[key], str) or not table[key].strip():
        raise document.wrong(f"{key}: a text is needed", name, number, key)
    return str(table[key])


def _wanted(
    document: Document, number: int, table: dict[str, Any], groups: Mapping[str, Any], by_path: Mapping[str, Rule]
) -> tuple[Rule, str | None]:
    def wrong(what: str, key: str = "", hint: str | None = None) -> InputError:
        return document.wrong(what, "desired", number, key, hint)

    path = _text(document, table, "desired", number, "fact")
    known = frozenset(known_paths())
    if not is_known(path, known):
        raise wrong(f"fact: no such fact: {path[:80]!r}", "fact", nearest(path, known))
    for key in table:
        if key not in ("fact", "group", "severity", "reason", *CONDITIONS):
            raise wrong(
                f"[[desired]] has no key {key}", key, nearest(key, ("fact", "group", "severity", "reason", *CONDITIONS))
            )
    condition = {k: v for k, v in table.items() if k in CONDITIONS}
    if not condition:
        raise wrong("desired says no value", hint=f"one of {', '.join(CONDITIONS)}")
    for key, value in condition.items():
        check_value(value, CONDITION_KINDS[key], key, wrong)
    check_kinds(path, condition, wrong)
    if not isinstance(table.get("reason", ""), str):
        raise wrong("reason: a text is needed", "reason")
    group = table.get("group")
    if group is not None and (not isinstance(group, str) or group not in groups):
        raise wrong(
            f"group: not known: {group!r}", "group", nearest(str(group), groups) or "groups are named in [groups]"
        )
    severity = table.get("severity", "wrong")
    if not isinstance(severity, str) or severity not in SEVERITIES:
        raise wrong(f"severity: not known: {severity!r}", "severity", f"one of {', '.join(SEVERITIES)}")
    like = by_path.get(path)
    reason = table.get("reason") or (like.reason if like else "The site wants it otherwise.")
    rule = Rule(
        f"desired:{path}",
        "value",
        (path,),
        SEVERITIES[severity],
        str(reason),
        like.remedy if like else "Set it as the site's file says.",
        str(document.path),
        condition,
    )
    return rule, group


def _suppression(document: Document, number: int, table: dict[str, Any], ids: set[str]) -> Suppression:
    for key in table:
        if key not in ("rule", "nodes", "reason", "until"):
            raise document.wrong(
                f"[[suppress]] has no key {key}",
                "suppress",
                number,
                key,
                nearest(key, ("rule", "nodes", "reason", "until")),
            )
    rule = _text(document, table, "suppress", number, "rule")
    if rule not in ids:
        raise document.wrong(f"rule: not known: {rule!r}", "suppress", number, "rule", _meant(rule, ids))
    if "nodes" in table and rule in _OF_NO_NODE:
        raise document.wrong(f"nodes: {rule} is of no node", "suppress", number, "nodes", "leave nodes out")
    reason = _text(document, table, "suppress", number, "reason")
    until = table.get("until")
    if isinstance(until, datetime.datetime):
        until = until.date()
    if not isinstance(until, datetime.date):
        raise document.wrong(
            "suppress needs a day on which it ends", "suppress", number, "until", "such as until = 2027-01-31"
        )
    nodes = frozenset(_nodes(document, table["nodes"], "suppress", number, "nodes")) if "nodes" in table else None
    return Suppression(rule, nodes, reason, until)


def _meant(rule: str, ids: set[str]) -> str | None:
    return _NO_MAJORITY if rule == "no-majority" else nearest(rule, ids)


def _severity(document: Document, rule: str, value: Any, ids: set[str]) -> Severity:
    if rule not in ids:
        raise document.wrong(f"no such rule: {rule!r}", "severity", 0, rule, _quoted(value) or _meant(rule, ids))
    if not isinstance(value, str) or value not in SEVERITIES:
        raise document.wrong(
            f"{rule}: not a severity: {str(value)[:40]!r}",
            "severity",
            0,
            rule,
            f"one of {', '.join(SEVERITIES)}; what is not to be reported is suppressed with a reason",
        )
    return SEVERITIES[value]
