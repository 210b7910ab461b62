# SPDX-License-Identifier: BSD-3-Clause
"""Why a knob's value helped: the catalogue's words with the facts of the machine and of the library that was loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nodewise.machine.model import Machine
from nodewise.runner.loaded import Loaded, version_of
from nodewise.search.catalogue.choose import file_of
from nodewise.search.catalogue.knob import Choice, Knob, Library


@dataclass(frozen=True)
class Facts:
    """What reasons are made of: the processor's name and flags, versions of libraries, and what these chose by themselves.

    `versions` go by the catalogue's names of libraries, `chosen` by knobs (`choose.ask_libraries`), `knobs` hold all that
    the catalogue has, whose values tell what the one that was chosen needs.
    """

    processor: str
    flags: frozenset[str] = frozenset()
    versions: Mapping[str, str] = field(default_factory=dict)
    chosen: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)


def facts_of(
    machine: Machine, loaded: Loaded, libraries: Iterable[Library], chosen: Mapping[str, str] | None = None
) -> Facts:
    """The facts of a program on a machine; `libraries` are those loaded (`choose.libraries_loaded`)."""
    known = tuple(libraries)
    names = {library.name: file_of(library, loaded) or "" for library in known}
    return Facts(
        processor=machine.processor.model,
        flags=frozenset(machine.processor.flags),
        versions={library: version for library, name in names.items() if (version := version_of(name))},
        chosen=dict(chosen or {}),
        choices={knob.name: knob.choices for library in known for knob in library.knobs},
    )


def why(knob: Knob, value: str, facts: Facts) -> str:
    """Sentences that say why a value of a knob may have helped here, and what it costs; empty for the knob's default."""
    choice = knob.choice(value)
    if choice is None or value == knob.default:
        return ""
    title = f"{knob.title} {facts.versions.get(knob.library, '')}".strip()
    sentences = []
    own = facts.chosen.get(knob.name)
    if own is not None:
        sentences.append(f"{title} chose {own} by itself")
        before = next((c for c in facts.choices.get(knob.name, ()) if c.name.lower() == own.lower()), None)
        more = [n for n in choice.needs if n in facts.flags and (before is None or n not in before.needs)]
        if more:
            processor = f"this processor ({facts.processor})" if facts.processor else "this processor"
            sentences[-1] += f"; {processor} also has {_listed(more)}, which {value} uses"
    else:
        sentences.append(f"unless told otherwise, {title}: {knob.usual}")
    if choice.meaning:
        sentences.append(f"{value}: {choice.meaning}")
    sentences.append(knob.helps)
    if knob.risk:
        sentences.append(f"mind: {knob.risk}")
    return (
        ". ".join(s[:1].upper() + s[1:] if i and not s.startswith(value) else s for i, s in enumerate(sentences)) + "."
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
