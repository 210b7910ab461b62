# SPDX-License-Identifier: BSD-3-Clause
"""What launchers share: their words for kinds of objects, and what stands in for objects that a machine lacks."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.objects import objects

#: Words of Open MPI 4 for kinds of objects, in lower case.
WORDS = {
    "hwthread": "pu",
    "core": "core",
    **{f"l{i}cache": f"l{i}cache" for i in (1, 2, 3)},
    "numa": "numa",
    "socket": "package",
}


def objects_or_larger(machine: Machine, kind: str) -> list[tuple[int, ...]]:
    """The objects of a kind; where the machine has none, those that stand in for it."""
    return objects(machine, kind) or objects(machine, "package") or [machine.allowed]


def word(launcher: str, option: str, text: str, words: Mapping[str, str]) -> str:
    """The kind that a launcher's word means; raises InputError where it means none."""
    kind = words.get(text.lower())
    if kind is None:
        raise InputError(f"{launcher}: {option} {text!r} is not known", f"known are: {', '.join(words)}")
    return kind
