# SPDX-License-Identifier: BSD-3-Clause
"""The machine that a caller means: this one, one that is described, or one that is at hand."""

from __future__ import annotations

import os
from collections.abc import Iterable

from nodewise.base.arguments import checked
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine, restrict


@checked
def machine(
    machine: Machine | str | os.PathLike[str] | None = None, *, allow: str | Iterable[int] | None = None
) -> Machine:
    """What a machine is: sockets, caches, cores, hardware threads and memory, and what of it may be used.

    `machine` is None for this one, a file that hwloc or `nodewise machine --save` wrote (.xml, .json), or hwloc's
    `"synthetic:TEXT"`; `allow` narrows the processors that may be used, as numbers or as text such as `"0-3,8"`.

    >>> import nodewise
    >>> there = nodewise.machine("synthetic:package:2 core:14 pu:2", allow=range(28))
    >>> len(there.cores), len(there.pus), len(there.allowed)
    (28, 56, 28)

    Raises InputError where either cannot be used, UnavailableError where the native part is missing.
    """
    text = allow if allow is None or isinstance(allow, str) else format_processors(allow)
    if isinstance(machine, Machine):
        return machine if text is None else restrict(machine, text)
    return load_machine(None if machine is None else os.fspath(machine), text)
