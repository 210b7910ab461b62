# SPDX-License-Identifier: BSD-3-Clause
"""An axis that nodewise knows by name: what it is called, when it is tried, and what makes it for one tune."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.runner.loaded import Loaded
from nodewise.tuning.holding import Holding
from nodewise.tuning.option import Option
from nodewise.tuning.wanted import Wanted


@dataclass(frozen=True)
class Surroundings:
    """What an axis of one tune is made from: the machine, what holds the command's threads and ranks, what the user wants.

    `loaded` is what a run of the command was seen to load, None where nobody looked. `other_malloc` gives the allocator
    that is preloaded at a point in the place of the program's own, None where none is.
    """

    machine: Machine
    holding: Holding
    wanted: Wanted
    loaded: Loaded | None
    other_malloc: Callable[[Mapping[str, Any]], str | None]


@dataclass(frozen=True)
class KnownAxis:
    """An axis by its name, with what makes its `Option`, which raises InputError where it cannot be.

    `order` is its place among the others wherever they are listed; `hint` stands behind its name in the help of `--axes`.
    One `by_default` is tried where no axes are named, if it is `worth_trying`, which is given the machine, and whether another
    number of ranks is sure to be seen where it does less work. `of_libraries` is true where what the program loads decides
    what it does; a tune of such axes looks at that first.
    """

    name: str
    make: Callable[[Surroundings], Option]
    order: int = 100
    hint: str = ""
    by_default: bool = False
    worth_trying: Callable[[Machine, bool], bool] = lambda _, __: True
    of_libraries: bool = False
