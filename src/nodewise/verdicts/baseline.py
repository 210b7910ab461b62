# SPDX-License-Identifier: BSD-3-Clause
"""Comparing an experiment with an earlier one: where machine and conditions are the same, or that is not asked for, and never as surely."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.records.answers import code_words, exit_codes_of
from nodewise.records.experiment import Experiment
from nodewise.records.kind_registry import kind_named
from nodewise.runner.objective import Objective
from nodewise.statistics.disturbance import mostly
from nodewise.statistics.sequential import ALPHA, OpenLooks
from nodewise.statistics.summary import median
from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.verdict import Verdict, Word, judge
from nodewise.verdicts.disturbed import phase_met
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
        # in quarters of a GiB: what the firmware and the kernel keep differs from one start to the next
        "memory": machine.memory_bytes >> 28,
        "kernel": machine.kernel,
        "governor": machine.processor.governor,
        "transparent huge pages": machine.transparent_huge_pages,
    }


def differences(machine: Machine, environment: Mapping[str, str], then: Experiment) -> list[str]:
    """What is another machine or condition now than it was then, in words; none where they match."""
    new, old = facts_of(machine), facts_of(machine_of(then))
    found = [
        f"{name}: {_in_words(name, old[name])} then, {_in_words(name, new[name])} now"
        for name in new
        if new[name] != old[name]
    ]
    there = question_of(then).environment
    changed = sorted(k for k in environment.keys() | there.keys() if environment.get(k) != there.get(k))
    return found + [f"{k}: {there.get(k, 'not set')} then, {environment.get(k, 'not set')} now" for k in changed]


def _in_words(name: str, fact: Any) -> str:
    return f"{fact / 4:g} GiB" if name == "memory" else "none" if fact is None else str(fact)


def unlike(now: Experiment, then: Experiment) -> list[str]:
    """All that is not the same now as it was then, but for the commands."""
    here = question_of(now).environment
    return [*differences(machine_of(now), here, then), *asked_otherwise(now.objective, then)]


def matches(contenders: Sequence[tuple[str, str]], then: Experiment) -> list[tuple[str, str]]:
    """The pairs of names, now and then, of contenders that are given by name and command.

    Those of one name are one; else those of one command, else the only one of each. What failed then has none.
    """
    texts = {c.name: c.text for c in question_of(then).contenders}
    old = [k for k in then.settings if costs_of(then, k, phase_of(then))]
    by_name = [(name, name) for name, _ in contenders if name in old]
    if by_name:
        return by_name
    by_text = [(name, k) for name, text in contenders for k in old if texts.get(k) == text]
    if by_text:
        return by_text
    return [(contenders[0][0], old[0])] if len(contenders) == len(old) == 1 else []


def phase_of(experiment: Experiment) -> str:
    """The phase of the runs that decide."""
    return kind_named(question_of(experiment).kind).phase


def judge_unpaired(
    then: Sequence[float], now: Sequence[float], looks: OpenLooks, within: float, *, final: bool
) -> Verdict:
    """How many times faster it is now, from costs then and now.

    The level is that of a look after as many blocks: of unpaired runs the information grows no faster than their number, so that
    two looks are more alike than `looks` takes them to be, and all intervals still hold together.
    """
    return judge(unpaired_interval(then, now, looks.level(len(now))), within, final=final)


@dataclass(frozen=True)
class BaselinePair:
    """One contender against the one that it was then, whose `name_then` and `command_then` these are; without `comparable` there is no ratio."""

    name: str
    name_then: str
    command_then: str
    comparable: bool
    verdict: Word | None
    ratio: float | None
    low: float | None
    high: float | None
    sentence: str | None


@dataclass(frozen=True)
class AgainstBaseline:
    """A comparison with an earlier experiment.

    `differences` are those of the machine and its conditions, `asked` what was asked otherwise: other commands, another
    metric. Where there are any nothing is comparable, but that `any_machine` asks for it across the first. `commands` names
    the commands that are not what they were, which is what a baseline is mostly for.
    """

    experiment: str
    taken_at: str
    differences: tuple[str, ...]
    asked: tuple[str, ...]
    any_machine: bool
    commands: tuple[str, ...]
    pairs: tuple[BaselinePair, ...]


def against_baseline(
    now: Experiment, then: Experiment, any_machine: bool = False, looks: OpenLooks | None = None
) -> AgainstBaseline:
    """Each contender against the one that it was then; see `matches`. `looks` are those of all comparisons (None: of these alone)."""
    here = question_of(now)
    found = differences(machine_of(now), here.environment, then)
    texts = {c.name: c.text for c in here.contenders}
    names = [*texts, *(k for k in now.settings if k not in texts)]
    ran = [(k, texts.get(k, k)) for k in names if costs_of(now, k, phase_of(now))]
    pairs = matches(ran, then)
    asked = asked_otherwise(now.objective, then)
    if not pairs:
        old = ", ".join(k for k in then.settings if costs_of(then, k, phase_of(then)))
        asked.append(f"commands: {old or 'none'} then, {', '.join(k for k, _ in ran)} now")
    looks = looks or OpenLooks(ALPHA, max(1, len(pairs)))
    texts_then = {c.name: c.text for c in question_of(then).contenders}
    comparable = not asked and (any_machine or not found)
    judged = tuple(_pair(now, then, one, other, comparable, looks) for one, other in pairs)
    changed = [
        f"{one}: {texts_then[other]} then, {texts[one]} now"
        for one, other in pairs
        if one in texts and other in texts_then and texts_then[other] != texts[one]
    ]
    return AgainstBaseline(
        str(then.path), question_of(then).started_at, tuple(found), tuple(asked), any_machine, tuple(changed), judged
    )


def asked_otherwise(objective: Objective, then: Experiment) -> list[str]:
    """What was asked otherwise then than now, but for the commands."""
    if objective == then.objective:
        return []
    return [f"what is compared: {then.objective.metric} then, {objective.metric} now"]


def _deciding(experiment: Experiment, key: str, accept_disturbed: bool) -> tuple[list[float], str]:
    """A contender's costs that decide, and why they cannot where more than half of its runs were disturbed; then all of them.

    As in a comparison (`pair.judge_pairs`): the undisturbed ones, or all where that is accepted.
    """
    phase, records = phase_of(experiment), experiment.records
    good = [int(i) for i in records.of(key, phase) if not math.isnan(experiment.costs[i])]
    every = [float(experiment.costs[i]) for i in good]
    if accept_disturbed:
        return every, ""
    met = phase_met(experiment, phase).of(key)
    quiet = [float(experiment.costs[i]) for i in good if int(records.blocks[i]) not in met.which]
    return (every, met.reason) if mostly(len(every) - len(quiet), len(every)) else (quiet, "")


def _pair(now: Experiment, then: Experiment, key: str, old: str, comparable: bool, looks: OpenLooks) -> BaselinePair:
    command = next((c.text for c in question_of(then).contenders if c.name == old), old)
    if not comparable:
        return BaselinePair(key, old, command, False, None, None, None, None, None)
    accepted = question_of(now).accept_disturbed
    costs_then, busy_then = _deciding(then, old, accepted)
    costs_now, busy_now = _deciding(now, key, accepted)
    if busy_now or busy_then:
        sentence = f"undecided: {busy_now}" if busy_now else f"undecided: then {busy_then}"
        guess = median(costs_then) / median(costs_now)
        return BaselinePair(key, old, command, True, Word.UNDECIDED, guess, None, None, sentence)
    verdict = judge_unpaired(costs_then, costs_now, looks, question_of(now).within, final=True)
    ratio, codes = verdict.ratio, [exit_codes_of(one, k, phase_of(one)) for one, k in ((now, key), (then, old))]
    ended = "" if codes[0] == codes[1] else f"; exit code {code_words(codes[0])} now, {code_words(codes[1])} then"
    return BaselinePair(
        key,
        old,
        command,
        True,
        verdict.word,
        ratio.ratio,
        ratio.low if ratio.low > 0 else None,
        ratio.high if math.isfinite(ratio.high) else None,
        verdict.sentence + ended,
    )
