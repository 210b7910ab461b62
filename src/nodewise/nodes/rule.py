# SPDX-License-Identifier: BSD-3-Clause
"""Rule: what is to hold of the facts of one node, or of those of a group of nodes; read from tables of TOML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from inspect import signature
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.nodes.facts import is_known, kinds_of, known_paths
from nodewise.nodes.places import Document, nearest, read_toml
from nodewise.nodes.relations import FUNCTIONS, OF_FUNCTIONS, PARTS
from nodewise.quiet.finding import Severity

OWN_FOLDER = Path(__file__).parent / "rules"
KINDS = ("value", "relation", "uniform", "outlier", "change")
SEVERITIES = {s.value: s for s in (Severity.WRONG, Severity.NOISY, Severity.NOTE)}
#: The keys that say what is wanted of a value.
CONDITIONS = ("is", "one_of", "least", "most")
_COMMON: dict[str, type] = {"id": str, "kind": str, "severity": str, "reason": str, "remedy": str}
_OF_KIND: dict[str, dict[str, type | tuple[type, ...]]] = {
    "value": {"is": (str, int, float, bool), "one_of": list, "least": (int, float), "most": (int, float)},
    "relation": {"subset_of": bool, "equal": bool, "function": str, "where_set": bool},
    "uniform": {"except": list, "unless": str, "part": str, "present": bool, "within": (int, float)},
    "outlier": {"side": str, "scale": str, "step": (int, float), "coarse": (int, float)},
    "change": {"step": (int, float), "except": list, "unless": str},
}
#: What the values of a condition may be.
CONDITION_KINDS = _OF_KIND["value"]
_NUMBERS = frozenset([int, float])
_WORDS: dict[Any, str] = {str: "a text", bool: "true or false", list: "a list", (int, float): "a number"}


@dataclass(frozen=True)
class Rule:
    """A rule: `reads` are paths of facts, `condition` the keys of its kind as they were written."""

    id: str
    kind: str
    reads: tuple[str, ...]
    severity: Severity
    reason: str
    remedy: str
    source: str = ""
    condition: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The one fact that it reads, or the first of several."""
        return self.reads[0]

    @property
    def unless(self) -> str | None:
        """The fact beside the one that it reads that says of a name that it is not judged; None where the rule has none."""
        beside = self.condition.get("unless")
        return f"{self.path.partition('*')[0]}*.{beside}" if beside else None

    @property
    def needs(self) -> tuple[str, ...]:
        """All facts that a node's judgement takes."""
        return (*self.reads, *([self.unless] if self.unless else []))


def read_rules(path: Path) -> list[Rule]:
    """The rules of a file, or of all files `*.toml` of a folder. Raises InputError."""
    if not path.is_dir():
        return rules_of(read_toml(path), only_rules=True)
    files = sorted(path.glob("*.toml"))
    if not files:
        raise InputError(f"{path}: no rules in it", "rules are files NAME.toml")
    return [rule for file in files for rule in rules_of(read_toml(file), only_rules=True)]


def own_rules() -> list[Rule]:
    """Those that come with nodewise."""
    return read_rules(OWN_FOLDER)


def joined(*several: Iterable[Rule]) -> dict[str, Rule]:
    """Rules by their id; a later one takes the place of an earlier one."""
    return {rule.id: rule for rules in several for rule in rules}


def rules_of(document: Document, only_rules: bool = False) -> list[Rule]:
    """The rules in a file. Raises InputError, with line and column, for one that cannot be."""
    if only_rules and (others := [k for k in document.values if k != "rule"]):
        raise document.wrong(f"not known: {others[0]}", others[0], 0, hint="a file of rules holds tables [[rule]]")
    tables = document.values.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise document.wrong("rules are written as [[rule]]", "rule")
    known = frozenset(known_paths())
    made: dict[str, Rule] = {}
    for number, table in enumerate(tables):
        rule = _rule(document, number, table, known)
        if rule.id in made:
            raise document.wrong(f"there are two rules {rule.id}", "rule", number, "id")
        made[rule.id] = rule
    return list(made.values())


def _rule(document: Document, number: int, table: dict[str, Any], known: frozenset[str]) -> Rule:
    def wrong(what: str, key: str = "", hint: str | None = None) -> InputError:
        return document.wrong(what, "rule", number, key, hint)

    for key in _COMMON:
        if key not in table:
            raise wrong(f"the rule has no {key}", hint=f"what every rule has: {', '.join(_COMMON)}, reads")
        if not isinstance(table[key], str) or not table[key].strip():
            raise wrong(f"{key}: a text is needed", key)
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,60}", table["id"]):
        raise wrong(f"id: not a name: {table['id']!r}", "id", "small letters, digits and dashes")
    if table["kind"] not in KINDS:
        raise wrong(
            f"kind: not known: {table['kind']!r}", "kind", nearest(table["kind"], KINDS) or f"one of {', '.join(KINDS)}"
        )
    if table["severity"] not in SEVERITIES:
        raise wrong(f"severity: not known: {table['severity']!r}", "severity", f"one of {', '.join(SEVERITIES)}")
    own = _OF_KIND[table["kind"]]
    for key, value in table.items():
        if key in own:
            check_value(value, own[key], key, wrong)
        elif key not in (*_COMMON, "reads", "source"):
            raise wrong(
                f"a rule of kind {table['kind']} has no key {key}",
                key,
                nearest(key, [*own, *_COMMON, "reads", "source"]),
            )
    if not isinstance(table.get("source", ""), str):
        raise wrong("source: a text is needed", "source")
    rule = Rule(
        table["id"],
        table["kind"],
        _reads(table, wrong, known),
        SEVERITIES[table["severity"]],
        table["reason"],
        table["remedy"],
        table.get("source", ""),
        {k: v for k, v in table.items() if k in own},
    )
    _check_condition(rule, wrong)
    return rule


def check_value(value: Any, kinds: Any, key: str, wrong: Any) -> None:
    """Raises what `wrong` makes where a value of a condition is not of its kinds, or no finite number."""
    boolean = isinstance(value, bool) and kinds is not bool and not (isinstance(kinds, tuple) and bool in kinds)
    if not isinstance(value, kinds) or boolean:
        raise wrong(f"{key}: {_WORDS.get(kinds, 'a text, a number, or true or false')} is needed", key)
    if any(isinstance(v, float) and not math.isfinite(v) for v in (value if isinstance(value, list) else [value])):
        raise wrong(f"{key}: a finite number is needed", key)
    if isinstance(value, list) and not all(isinstance(v, str | int | float | bool) for v in value):
        raise wrong(f"{key}: a list of texts and numbers is needed", key)


def _reads(table: dict[str, Any], wrong: Any, known: frozenset[str]) -> tuple[str, ...]:
    reads = table.get("reads")
    listed = [reads] if isinstance(reads, str) else reads
    if not isinstance(listed, list) or not listed or not all(isinstance(p, str) for p in listed):
        raise wrong("reads: the path of a fact is needed, such as memory.total", "reads")
    if table["kind"] != "relation" and len(listed) > 1:
        raise wrong(f"reads: a rule of kind {table['kind']} reads one fact", "reads")
    for path in listed:
        if not is_known(path, known):
            raise wrong(f"reads: no such fact: {path[:80]!r}", "reads", nearest(path, known))
    return tuple(listed)


def check_kinds(path: str, condition: Mapping[str, Any], wrong: Any) -> None:
    """Raises what `wrong` makes where a condition is for numbers and the fact is none, or where no number can meet it."""
    kinds = kinds_of(path)
    for key in ("least", "most"):
        if key in condition and kinds and not kinds & _NUMBERS:
            raise wrong(f"{key}: {path} is no number", key)
    if "least" in condition and "most" in condition and condition["least"] > condition["most"]:
        raise wrong("least is above most: no number is both", "least")


def _check_function(rule: Rule, wrong: Any) -> None:
    """Whether a relation's function takes as many facts as its rule reads, of kinds that it knows."""
    function = FUNCTIONS[rule.condition["function"]]
    wanted = signature(function).parameters
    if len(wanted) != len(rule.reads):
        raise wrong(f"reads: {function.__name__} takes {len(wanted)} facts: {', '.join(wanted)}", "reads")
    for path, needed in zip(rule.reads, OF_FUNCTIONS[function.__name__], strict=True):
        kinds = kinds_of(path)
        if kinds and not kinds & needed:
            raise wrong(f"reads: {function.__name__} does not fit {path}", "reads")


def _check_condition(rule: Rule, wrong: Any) -> None:
    c = rule.condition
    check_kinds(rule.path, c, wrong)
    if rule.kind == "relation":
        _check_relation(rule, wrong)
    elif rule.kind == "outlier":
        _check_outlier(rule, wrong)
    _check_names(rule, wrong)
    for share in ("within", "coarse"):
        if share in c and not 0 < c[share] < 1:
            raise wrong(f"{share}: a share between 0 and 1 is needed, such as 0.05", share)
    if "part" in c and c["part"] not in PARTS:
        raise wrong(f"part: not known: {c['part']!r}", "part", nearest(c["part"], PARTS))


def _check_names(rule: Rule, wrong: Any) -> None:
    """What is said of the names that a star stands for."""
    c = rule.condition
    if not all(isinstance(v, str) for v in c.get("except", ())):
        raise wrong("except: a list of patterns of names is needed", "except")
    if rule.unless and ("*" not in rule.path or not is_known(rule.unless, frozenset(known_paths()))):
        raise wrong(f"unless: no such fact: {rule.unless!r}", "unless")
    if c.get("present") and "*" not in rule.path:
        raise wrong("present: it is of the names that a * stands for", "present")


def _check_relation(rule: Rule, wrong: Any) -> None:
    c = rule.condition
    if any("*" in path for path in rule.reads):
        raise wrong("reads: a relation is between facts of one name each, without a *", "reads")
    ways = [w for w in ("subset_of", "equal", "function") if c.get(w)]
    if len(ways) != 1:
        raise wrong("a relation has one of subset_of, equal, function", "kind")
    if "function" in c:
        if c["function"] not in FUNCTIONS:
            raise wrong(f"function: not known: {c['function']!r}", "function", nearest(c["function"], FUNCTIONS))
        _check_function(rule, wrong)
    elif len(rule.reads) != 2:
        raise wrong(f"reads: {ways[0]} needs two facts", "reads")


def _check_outlier(rule: Rule, wrong: Any) -> None:
    c = rule.condition
    if (kinds := kinds_of(rule.path)) and not kinds & _NUMBERS:
        raise wrong(f"reads: an outlier is among numbers, and {rule.path} is none", "reads")
    if c.get("side", "both") not in ("high", "low", "both"):
        raise wrong(f"side: not known: {c['side']!r}", "side", "one of high, low, both")
    if c.get("scale", "linear") not in ("linear", "log"):
        raise wrong(f"scale: not known: {c['scale']!r}", "scale", "one of linear, log")
    if not c.get("step", 0) > 0:
        raise wrong("an outlier's step is a number above zero", "step" if "step" in c else "")
