# SPDX-License-Identifier: BSD-3-Clause
"""The registry of axes: those of `tuning/axes`, a file each, and those that installed packages bring.

A package brings one by an entry point of the group `nodewise.axes` that leads to a `KnownAxis`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nodewise.base.registry import Registry
from nodewise.machine.model import Machine
from nodewise.tuning.known import KnownAxis

#: What is made of the program's libraries, or of how it is built; `knobs` stands for all that is worth trying.
OF_LIBRARIES = ("schedule", "wait", "allocator", "knobs")
_NO_FILE = (*OF_LIBRARIES, "flags")


def _wrong(axis: KnownAxis, registered: Mapping[str, KnownAxis]) -> str | None:
    """What is wrong with an axis, given those that are registered; None where nothing is."""
    del registered
    if not re.fullmatch(r"[a-z][a-z0-9-]*", axis.name):
        return "its name has other characters than small letters, digits and -"
    return f"{axis.name} is an axis already" if axis.name in _NO_FILE else None


AXES = Registry(KnownAxis, "axis", "nodewise.tuning.axes", "AXIS", "nodewise.axes", "docs/adding-an-axis.md", _wrong)


def known_axes() -> Mapping[str, KnownAxis]:
    """The axes that have a file, in their order. Raises InputError for one that an installed package brings and that cannot be had."""
    return {axis.name: axis for axis in sorted(AXES.all().values(), key=lambda axis: (axis.order, axis.name))}


def axis_names() -> tuple[str, ...]:
    """What `--axes` takes on every machine. Raises what `known_axes` does."""
    return (*known_axes(), *_NO_FILE)


def default_axes(machine: Machine, rank_counts: bool) -> list[str]:
    """Those that a tune on a machine tries where none is named, less the knobs. `rank_counts` is as in `KnownAxis`."""
    known = known_axes()
    return [name for name in tried_by_default() if known[name].worth_trying(machine, rank_counts)]


def tried_by_default() -> list[str]:
    """Those that are tried where none is named, if they are worth it there."""
    return [axis.name for axis in known_axes().values() if axis.by_default]


def axes_in_words() -> str:
    """A list of them for help, with their hints, less the knobs."""
    named = [f"{axis.name} ({axis.hint})" if axis.hint else axis.name for axis in known_axes().values()]
    return ", ".join([*named, *(name for name in _NO_FILE if name != "knobs")])
