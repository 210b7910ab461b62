# SPDX-License-Identifier: BSD-3-Clause
"""Option: an axis with what it takes to set it; and the draft of a Setting that options write into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.placement.memory import MemoryPolicy
from nodewise.runner.isolation import Isolation
from nodewise.runner.setting import Setting
from nodewise.search.space import Axis
from nodewise.tuning.ranks import with_ranks


@dataclass
class Draft:
    """A Setting in the making; `environment` is what the program would inherit, with all that is set so far."""

    command: list[str]
    inherited: Mapping[str, str]
    env: dict[str, str] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)
    mask: tuple[int, ...] | None = None
    places: tuple[tuple[int, ...], ...] | None = None
    memory: MemoryPolicy | None = None
    no_huge_pages: bool = False
    isolation: Isolation | None = None
    broken: str = ""
    build: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """What the program gets so far."""
        return {**{k: v for k, v in self.inherited.items() if k not in self.unset}, **self.env}

    def setting(self, values: Mapping[str, Any]) -> Setting:
        """The Setting, for a point's values; what it sets and clears is what differs from the inherited environment."""
        setting = Setting(
            command=tuple(self.command),
            values=dict(values),
            env={k: v for k, v in self.env.items() if self.inherited.get(k) != v},
            unset=tuple(dict.fromkeys(v for v in self.unset if v not in self.env and v in self.inherited)),
            mask=self.mask,
            places=self.places,
            memory=self.memory,
            no_huge_pages=self.no_huge_pages,
            isolation=self.isolation,
            broken=self.broken,
            build=self.build,
        )
        return with_ranks(setting, self.inherited)


#: Writes an axis's value, at a whole point, into a draft.
Apply = Callable[[Draft, Any, Mapping[str, Any]], None]


@dataclass(frozen=True)
class Option:
    """An axis, and what sets a value of it. `about` says in a sentence what a value does, for reports.

    `allows` says whether the value at a whole point does anything there, given the others; a point where it does not is left
    out. What is `last` is set after all others. Where `held`, `Holding.hold` sets it together with the others that are.
    """

    axis: Axis
    apply: Apply
    about: Callable[[Any], str] = lambda _: ""
    allows: Callable[[Mapping[str, Any]], bool] = lambda _: True
    last: bool = False
    held: bool = False


def held(axis: Axis) -> Option:
    """The option of an axis that decides where ranks and threads sit: these are set together, by `Holding.hold`."""
    return Option(axis, _set_by_holding, held=True)


def _set_by_holding(draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
    """Sets nothing by itself."""
