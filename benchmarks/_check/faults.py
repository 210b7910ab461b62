# SPDX-License-Identifier: BSD-3-Clause
"""Faults for every rule, planted into a sound fleet: one on a node, and known."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks._check.fleets import Node
from nodewise.nodes.facts import kinds_of
from nodewise.nodes.rule import Rule
from nodewise.statistics.summary import median

#: How far out numeric faults are planted, in robust deviations of the node's class; from 8 on all must be found.
DISTANCES = (3, 4, 5, 6, 7, 8.05, 9, 12, 20)
EACH = 3
#: Three nodes of another processor, product or device are a class of their own.
_OF_CLASSES, _FEW = ("processor.name", "firmware.product", "accelerators.*.device"), 2
_PORT = {
    "adapter": "x",
    "firmware": "1",
    "layer": "x",
    "state": "ACTIVE",
    "physical": "LinkUp",
    "rate": "100",
    "errors": None,
    "numa_node": 0,
}
#: What breaks rules that take a function, or relate facts: path and value.
_BROKEN: dict[str, tuple[str, Any]] = {
    "tickless-without-callbacks": ("kernel.no_callbacks", "2-5"),
    "tickless-isolated": ("kernel.isolated", "3-7"),
    "one-governor": ("clocks.governors", {"performance": "1-71", "powersave": "0"}),
    "one-microcode": ("processor.microcode", {"0xd000375": "1-71", "0xd000300": "0"}),
    "clock-offset": ("time.offset_s", -0.7),
    "network-errors": ("network.*.errors", 10**6),
    "fabric-errors": ("fabric.*.errors.symbol_error", 10**6),
    "one-fabric-adapter": ("fabric", {f"hfi1_{n}/1": _PORT for n in range(2)}),
    "memory-corrected": ("errors.corrected", 10**6),
    "memory-allowed": ("limits.memory", 1 << 30),
    "processor-quota": ("limits.cpu_quota", 1.5),
    "throttled": ("clocks.throttled", 10**6),
    "pci-corrected": ("errors.pci_corrected", 10**6),
    "unreached": ("speed.*.unreached", "n00007"),
    "speed-disturbed": ("speed.*.disturbed", 12),
    "processors-offline": ("processor.offline", "7"),
    "fabric-state": ("fabric.*.state", "DOWN"),
    "mount-answers": ("mounts.*.answers", False),
    "mount-space": ("mounts.*.free", 0.01),
    "mount-inodes": ("mounts.*.free_inodes", 0.001),
    "accelerator-link": ("accelerators.*.link", "x8 16.0 GT/s PCIe"),
    "clock-synchronised": ("time.synchronised", False),
}


@dataclass
class Planted:
    """What was planted: by node the rule and path, and of numeric ones how far out."""

    faults: dict[str, tuple[str, str]] = field(default_factory=dict)
    distances: dict[str, float] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    twice: set[str] = field(default_factory=set)
    ahead: set[str] = field(default_factory=set)


def _find(node: Node, path: str, rng: random.Random) -> tuple[Any, str, str] | None:
    """The object that holds the fact, its name there, and the path with the star as a name; None where the node has no such fact."""
    at: Any = node
    names: list[str] = []
    before, star, after = path.partition("*")
    parts = [*[p for p in before.split(".") if p], *(["*"] if star else []), *[p for p in after.split(".") if p]]
    for i, one in enumerate(parts):
        part = one
        if not isinstance(at, dict):
            return None
        if part == "*":
            usable = [k for k, v in at.items() if v is not None]
            if not usable:
                return None
            part = rng.choice(sorted(usable))
        names.append(part)
        if i == len(parts) - 1:
            return at, part, ".".join(names)
        at = at.get(part)
    return None


#: Of a fact that the fleets lack, by its kind.
_OF_KIND: dict[type, Any] = {str: "there", bool: True, int: 1, float: 1.0}


def _other(value: Any, path: str) -> Any:
    """Another value of a fact of the same kind. Raises ValueError for one that is a list or a table, and null in the fleets."""
    if value is None:
        kind = next((k for k in _OF_KIND if k in kinds_of(path)), None)
        if kind is None:
            raise ValueError(f"{path} is null in the fleets of benchmarks/_check: add it there, or a value to _BROKEN")
        return _OF_KIND[kind]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}9"
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, list) and len(value) == 2 and not isinstance(value[0], str):
        # a pair stays one: a limit, or distances
        return [1, 1]
    if isinstance(value, list):
        return value[:-1] if len(value) > 1 else [*value, "sync" if isinstance(value[0], str) else 5]
    if isinstance(value, dict):
        return (
            dict(list(value.items())[:-1])
            if len(value) > 1
            else {k: _other(v, f"{path}.{k}") for k, v in value.items()}
        )
    raise ValueError(f"a value of a kind that is not known: {value!r}")


def plant(nodes: list[Node], rules: Mapping[str, Rule], class_of: Mapping[str, str], seed: int) -> Planted:
    """Break nodes in place: `EACH` for each rule of kinds other than outlier and change, and of each distance for an outlier.

    The numeric ones' distances are then measured again, as faults move the middle of small classes.
    """
    rng = random.Random(seed)
    planted = Planted()
    free = list(range(len(nodes)))
    rng.shuffle(free)
    for rule in rules.values():
        if rule.kind == "outlier":
            _plant_outliers(nodes, rule, class_of, free, planted, rng)
        elif rule.kind in ("uniform", "value", "relation"):
            _plant_categorical(nodes, rule, free, planted, rng)
    _measure(nodes, rules, class_of, planted)
    # and what is wrong with snapshots themselves
    planted.missing = {nodes[i]["node"] for i in (free.pop() for _ in range(EACH))}
    planted.twice = {nodes[i]["node"] for i in (free.pop() for _ in range(EACH))}
    for i in (free.pop() for _ in range(EACH)):
        nodes[i]["taken"] += 90_000
        planted.ahead.add(nodes[i]["node"])
    return planted


def can_plant(nodes: list[Node], rule: Rule) -> bool:
    """Whether any of the nodes has the fact that a rule is about."""
    return any(_find(node, _BROKEN.get(rule.id, (rule.path, None))[0], random.Random(0)) for node in nodes)


def _middle(values: list[float], step: float) -> tuple[float, tuple[float, float]]:
    """The centre and the robust deviations below and above it, as docs/check.md defines them."""
    centre = median(values)
    both = max(1.4826 * median([abs(v - centre) for v in values]), step)
    found = []
    for sign in (-1, 1):
        out = sorted(sign * (v - centre) for v in values)
        one = 1.4826 * median([d for d in out if d >= 0])
        if len(out) >= 50:
            one = max(one, out[len(out) - 1 - round((len(out) - 1) / 10)] / 1.2816)
        found.append(one if both < one <= 2 * both else both)
    return centre, (found[0], found[1])


def _measure(nodes: list[Node], rules: Mapping[str, Rule], class_of: Mapping[str, str], planted: Planted) -> None:
    """How far out each numeric fault really lies, among all that was planted."""
    by_name = {n["node"]: n for n in nodes}
    bulks: dict[tuple[str, str], tuple[float, tuple[float, float]]] = {}
    for name in planted.distances:
        rule_id, path = planted.faults[name]
        rule = rules[rule_id]
        log, key = rule.condition.get("scale") == "log", (class_of[name], path)
        if key not in bulks:
            values = [x for n in nodes if class_of[n["node"]] == key[0] and (x := _scaled(n, path, log)) is not None]
            bulks[key] = _middle(values, rule.condition["step"])
        centre, spreads = bulks[key]
        off = (_scaled(by_name[name], path, log) or 0) - centre
        planted.distances[name] = abs(off) / spreads[off > 0]


def _plant_categorical(nodes: list[Node], rule: Rule, free: list[int], planted: Planted, rng: random.Random) -> None:
    done, tried = 0, 0
    while done < (_FEW if rule.path in _OF_CLASSES else EACH) and tried < 2000 and free:
        tried += 1
        node = nodes[free[-1]]
        path, value = _BROKEN.get(rule.id, (rule.path, None))
        found = _find(node, path, rng)
        if rule.kind == "value" and not rule.condition:
            return
        if found is None or (found[2].startswith("quiet.") and rule.id != "noisy-settings"):
            free.insert(0, free.pop())
            continue
        holder, name, full = found
        if rule.id in _BROKEN:
            holder[name] = value
        elif "most" in rule.condition:
            holder[name] = rule.condition["most"] + 1
        elif rng.random() < 0.3 and "*" in rule.path and rule.path.endswith("*"):
            del holder[name]
        else:
            # half is beyond what passes for the same
            half = "within" in rule.condition and isinstance(holder.get(name), int)
            holder[name] = 10 if name == "speed" else holder[name] // 2 if half else _other(holder.get(name), full)
        planted.faults[node["node"]] = (rule.id, full)
        free.pop()
        done += 1


def _scaled(node: Node, path: str, log: bool) -> float | None:
    at: Any = node
    for part in path.split("."):
        at = at.get(part) if isinstance(at, dict) else None
    if not isinstance(at, int | float) or (log and at <= 0):
        return None
    return math.log(at) if log else float(at)


def _plant_outliers(
    nodes: list[Node], rule: Rule, class_of: Mapping[str, str], free: list[int], planted: Planted, rng: random.Random
) -> None:
    log, side, step = rule.condition.get("scale") == "log", rule.condition.get("side", "both"), rule.condition["step"]
    bulks: dict[tuple[str, str], tuple[float, tuple[float, float], int]] = {}
    for distance in DISTANCES:
        for _ in range(EACH):
            found = None
            for _ in range(500):
                node = nodes[free[-1]]
                found = _find(node, rule.path, rng)
                if found is not None and isinstance(found[0].get(found[1]), int | float):
                    break
                free.insert(0, free.pop())
                found = None
            if found is None:
                return
            holder, name, full = found
            key = (class_of[node["node"]], full)
            if key not in bulks:
                values = [
                    x for n in nodes if class_of[n["node"]] == key[0] and (x := _scaled(n, full, log)) is not None
                ]
                bulks[key] = *_middle(values, step), len(values)
            centre, spreads, size = bulks[key]
            if size < 20:
                free.insert(0, free.pop())
                continue
            sign = {"high": 1, "low": -1}.get(side) or rng.choice((1, -1))
            value, before = centre + sign * distance * spreads[sign > 0], holder[name]
            holder[name] = math.exp(value) if log else value
            if isinstance(before, int):
                holder[name] = round(holder[name])
            planted.faults[node["node"]] = (rule.id, full)
            planted.distances[node["node"]] = distance
            free.pop()


def explained(rule: Rule, fact: str, path: str) -> bool:
    """Whether a fault at a path is what a finding about a fact of a rule comes from."""
    reads = (fact, *rule.reads)
    return any(_meet(r, path) for r in reads if r)


def _meet(one: str, other: str) -> bool:
    a, b = one.split("*", maxsplit=1)[0].rstrip("."), other
    return b == a or b.startswith(f"{a}.") or a.startswith(f"{b}.")


def outliers_of(rules: Iterable[Rule]) -> list[str]:
    """The ids of numeric rules."""
    return [r.id for r in rules if r.kind == "outlier"]
