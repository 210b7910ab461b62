# SPDX-License-Identifier: BSD-3-Clause
"""What the machine is: topology, limits, state. The package can be called: `nodewise.machine()` is this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodewise.machine.model import Machine


class _Called(ModuleType):
    if TYPE_CHECKING:

        def __call__(
            self, machine: Machine | str | os.PathLike[str] | None = None, *, allow: str | Iterable[int] | None = None
        ) -> Machine:
            """See `nodewise.machine.given.machine`."""

    else:

        def __call__(self, /, *args, **kwargs):
            """See `nodewise.machine.given.machine`, which says what is wrong with an argument."""
            from nodewise.machine import given

            return given.machine(*args, **kwargs)


# the function of the public API and the package of its types have one name
sys.modules[__name__].__class__ = _Called
