# SPDX-License-Identifier: BSD-3-Clause
"""Why a knob's value helped: the catalogue's words with the facts of the machine and of the library that was loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed
from nodewise.machine.model import Machine
from nodewise.tuning.catalogue.choose import Answers
from nodewise.tuning.catalogue.knob import UNSET, Knob


@dataclass(frozen=True)
class Facts:
    """What reasons are made of: the processor's name and flags, and versions of libraries by the catalogue's names."""

    processor: str = ""
    flags: frozenset[str] = frozenset()
    versions: Mapping[str, str] = field(default_factory=dict)


def facts_of(machine: Machine, answers: Answers) -> Facts:
    """The facts of a machine, and of libraries as they answered (`choose.query_libraries`)."""
    return Facts(machine.processor.model, frozenset(machine.processor.flags), answers.versions)


def why(knob: Knob, value: str, facts: Facts) -> str:
    """Sentences that say why a value of a knob may have helped here, and what it costs; empty for the knob's default."""
    if value == knob.default:
        return ""
    title = f"{knob.title} {facts.versions.get(knob.library, '')}".strip()
    choice, before = knob.choice(value), knob.choice(knob.default)
    sentences = []
    if knob.set_by_user:
        sentences.append(f"{knob.setter.variable} is set to {knob.default} in your environment")
        if knob.own:
            sentences.append(f"left to itself, {title} takes {knob.own} here")
        elif value == UNSET:
            sentences.append(f"left to itself, {title}: {knob.usual}")
    elif knob.own:
        sentences.append(f"{title} takes {knob.own} here by itself")
        before = next((c for c in knob.choices if c.name.lower() == knob.own.lower()), None)
    else:
        sentences.append(f"unless told otherwise, {title}: {knob.usual}")
    if choice is not None:
        more = [n for n in choice.needs if n in facts.flags and (before is None or n not in before.needs)]
        if more:
            processor = f"this processor ({facts.processor})" if facts.processor else "this processor"
            without = f" and {before.name} does not" if before is not None else ""
            sentences.append(f"{processor} has {listed(more)}, which {value} uses{without}")
        if choice.meaning:
            sentences.append(f"{value}: {choice.meaning}")
    sentences.append(knob.helps_by(value))
    if risk := knob.risk_of(value):
        sentences.append(f"caution: {risk}")
    return " ".join(f"{s if s.startswith(value) else s[:1].upper() + s[1:]}." for s in sentences)
