# SPDX-License-Identifier: BSD-3-Clause
"""Comparing an experiment with an earlier one: only where machine and conditions are the same, and never as surely."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.records.experiment import Experiment
from nodewise.records.kind_registry import kind_named
from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.verdict import Word, judge
from nodewise.verdicts.pair import costs_of
from nodewise.verdicts.question import machine_of, question_of


def facts_of(machine: Machine) -> dict[str, Any]:
    """What of a machine, and how it is set, has to be the same where two experiments are held against each other."""
    return {
        "host": machine.hostname,
        "processor": machine.processor.model,
        "cores": len(machine.cores),
        "hardware threads": len(machine.pus),
        "allowed processors": format_processors(machine.allowed),
        "quota": machine.limits.cpu_quota,
        "memory": machine.memory_bytes >> 28,
        "kernel": machine.kernel,
        "governor": machine.processor.governor,
        "transparent huge pages": machine.transparent_huge_pages,
    }


def differences(now: Experiment, then: Experiment) -> list[str]:
    """What differs between the machines and conditions of two experiments, in words; none where they match."""
    new, old = (facts_of(machine_of(e)) for e in (now, then))
    found = [f"{name}: {old[name]} then, {new[name]} now" for name in new if new[name] != old[name]]
    if now.objective != then.objective:
        found.append(f"what is compared: {then.objective.metric} then, {now.objective.metric} now")
    here, there = question_of(now).environment, question_of(then).environment
    changed = sorted(k for k in here.keys() | there.keys() if here.get(k) != there.get(k))
    return found + [f"{k}: {there.get(k, 'not set')} then, {here.get(k, 'not set')} now" for k in changed]


def _phase(experiment: Experiment) -> str:
    return kind_named(question_of(experiment).kind).phase


@dataclass(frozen=True)
class BaselinePair:
    """One contender against the one of its name then; without `comparable` there is no ratio."""

    name: str
    comparable: bool
    verdict: Word | None
    ratio: float | None
    low: float | None
    high: float | None
    sentence: str | None


@dataclass(frozen=True)
class AgainstBaseline:
    """A comparison with an earlier experiment; `differences` name what does not match, and then nothing is comparable."""

    experiment: str
    taken_at: str
    differences: tuple[str, ...]
    pairs: tuple[BaselinePair, ...]


def against_baseline(now: Experiment, then: Experiment) -> AgainstBaseline:
    """Each contender against the one of its name then; the only one of each where no name is the same."""
    found = differences(now, then)
    keys = [k for k in now.settings if costs_of(now, k, _phase(now))]
    old = [k for k in then.settings if costs_of(then, k, _phase(then))]
    pairs = [(k, k) for k in keys if k in old]
    if not pairs and len(keys) == len(old) == 1:
        pairs = [(keys[0], old[0])]
    if not pairs:
        found.append(f"commands: {', '.join(old) or 'none'} then, {', '.join(keys)} now")
    judged = tuple(_pair(now, then, one, other, not found) for one, other in pairs)
    return AgainstBaseline(str(then.path), question_of(then).started_at, tuple(found), judged)


def _pair(now: Experiment, then: Experiment, key: str, old: str, comparable: bool) -> BaselinePair:
    if not comparable:
        return BaselinePair(key, False, None, None, None, None, None)
    ratio = unpaired_interval(costs_of(then, old, _phase(then)), costs_of(now, key, _phase(now)))
    verdict = judge(ratio, question_of(now).within, final=True)
    return BaselinePair(
        key,
        True,
        verdict.word,
        ratio.ratio,
        ratio.low if ratio.low > 0 else None,
        ratio.high if math.isfinite(ratio.high) else None,
        verdict.sentence,
    )
