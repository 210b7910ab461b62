# SPDX-License-Identifier: BSD-3-Clause
"""Setting: one way to run a program, complete enough to start it and to write it down."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, field, replace
from functools import lru_cache
from typing import Any

from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import Scalar, ShapeError, fit
from nodewise.placement.memory import MODES, MemoryPolicy
from nodewise.runner.isolation import Isolation, check_isolation

#: The key of the setting that changes nothing: the program as its user starts it.
BASELINE = "baseline"


@dataclass(frozen=True)
class Setting:
    """How to run `command`: variables to set and to clear, and the processors it is held to (None: as inherited).

    `values` says what each axis chose, for people and reports: `{"threads": 183, "placement": "balanced"}`; it is empty
    for the baseline, the program as its user starts it. `places` are those of the threads, None where nothing is bound.
    `memory` is the policy that its pages follow (None: as inherited); `no_huge_pages` forbids transparent huge pages;
    `isolation` is the container or virtual machine that it runs in (None: a plain process).
    Where a launcher starts it, `ranks` is of how many (0: none does), `ranks_per_node` how many on each node (0: as the
    launcher deals them), `launcher` the kind of launcher, empty where that is not known, and `command[program_at:]` what
    each rank runs; `places` are then those of the threads of a full node's ranks in turn.
    `name` is what its user calls it, where it is not one of a space; `broken` says why it cannot be started at all, and
    `build` is the shell command that made its program.
    """

    command: tuple[str, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    mask: tuple[int, ...] | None = None
    places: tuple[tuple[int, ...], ...] | None = None
    memory: MemoryPolicy | None = None
    no_huge_pages: bool = False
    isolation: Isolation | None = None
    ranks: int = 0
    ranks_per_node: int = 0
    launcher: str = ""
    program_at: int = 0
    name: str = ""
    broken: str = ""
    build: str = ""

    @property
    def key(self) -> str:
        """A stable name: its own, or `threads=183 placement=balanced`, or `baseline`."""
        return one_line(self.name or " ".join(f"{k}={v}" for k, v in self.values.items())) or BASELINE

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The environment that the program gets."""
        kept = {k: v for k, v in inherited.items() if k not in self.unset}
        return {**kept, **self.env}

    def start(self, inherited: Mapping[str, str], processors: Iterable[int]) -> Hashable:
        """All that makes a difference when it is started, where that much is `inherited` and `processors` are allowed.

        Equal for two settings that start alike, whatever their values are called.
        """
        changed = {k: v for k, v in self.env.items() if inherited.get(k) != v}
        cleared = {v: None for v in self.unset if v in inherited and v not in self.env}
        everywhere = self.mask is not None and set(self.mask) == set(processors)
        environment = frozenset({**changed, **cleared}.items())
        mask = None if everywhere else self.mask
        return (self.command, environment, mask, self.memory, self.no_huge_pages, self.isolation, self.broken)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values."""
        return {
            "key": self.key,
            "values": dict(self.values),
            "command": list(self.command),
            "env": dict(self.env),
            "unset": list(self.unset),
            "mask": None if self.mask is None else list(self.mask),
            "places": None if self.places is None else [list(p) for p in self.places],
            "memory": None if self.memory is None else asdict(self.memory),
            "no_huge_pages": self.no_huge_pages,
            **({"isolation": asdict(self.isolation)} if self.isolation is not None else {}),
            **(
                {
                    "ranks": self.ranks,
                    "ranks_per_node": self.ranks_per_node,
                    "launcher": self.launcher,
                    "program_at": self.program_at,
                }
                if self.ranks
                else {}
            ),
            **({"name": self.name} if self.name else {}),
            **({"broken": self.broken} if self.broken else {}),
            **({"build": self.build} if self.build else {}),
        }


def setting_from_json(data: Any) -> Setting:
    """Rebuild a Setting from `Setting.to_json`; raises ShapeError where it is no such record."""
    setting: Setting = fit(data, Setting)
    fit(data.get("values", {}), Mapping[str, Scalar], "values")
    if not setting.command:
        raise ShapeError("command", "it is empty")
    if setting.memory is not None and setting.memory.mode not in MODES:
        raise ShapeError("memory.mode", f"there is no mode {setting.memory.mode!r}")
    if setting.ranks < 0 or not 0 <= setting.program_at < len(setting.command):
        raise ShapeError("program_at", "there is no such word in the command")
    check_isolation(setting.isolation)
    places = setting.places
    return replace(
        setting,
        mask=None if setting.mask is None else _shared(setting.mask),
        places=None if places is None else _shared(tuple(map(_shared, places))),
    )


@lru_cache(maxsize=1 << 14)
def _shared(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same object for equal values: a thousand settings sit on the same few hundred processors."""
    return value
