# SPDX-License-Identifier: BSD-3-Clause
"""Where threads and ranks would sit, as `nodewise place --json` prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from nodewise.base.arguments import checked
from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.huge_pages import huge_page_environment
from nodewise.placement.memory import MemoryPolicy, to_numactl
from nodewise.placement.placement import Placement
from nodewise.placement.render import launch_rendering, render
from nodewise.placement.rendering import Rendering


@dataclass(frozen=True)
class PlaceOutput:
    """Places of threads, rank by rank, and what sets them.

    `places` are each thread's processors (None: left to the system), `ranks` how many threads each rank of a node has,
    `size` the ranks of all `nodes`, dealt to these in that `order`; `zones` are the processors of each rank of a node.
    `levels` is how many threads an OpenMP team of each level has, where teams are within teams: `places` are then those of
    the innermost teams. `mask` is what a program is held to, `env` what binds its threads and asks for huge pages, `memory` the memory policy; empty or None: nothing.
    """

    policy: str
    threads: int
    places: tuple[tuple[int, ...], ...] | None
    ranks: tuple[int, ...]
    nodes: int
    order: str
    size: int
    zones: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...]
    traps: tuple[str, ...]
    env: Mapping[str, str]
    mask: tuple[int, ...] | None
    memory: str | None
    levels: tuple[int, ...]
    #: What it is made of, and no part of its JSON.
    machine: Machine = field(repr=False)
    placement: Placement = field(repr=False)
    pages: tuple[MemoryPolicy | None, str] = field(repr=False, default=(None, "default"))
    #: Whether a program is told how many threads there are where they are not bound: not where only memory was asked for.
    counted: bool = field(repr=False, default=False)
    runtime: str = field(repr=False, default="")

    @property
    def bound(self) -> bool:
        """Whether anything is held to less than all that may be used."""
        return is_bound(self.machine, self.placement)

    @checked
    def render(self, dialect: str, hosts: Sequence[str] = ()) -> Rendering:
        """It written in a dialect: variables, words before the program, files; `hosts` name the nodes, for rank files.

        Raises InputError where the dialect is not known or cannot express it.
        """
        return self._with_memory(render(dialect, self.machine, self.placement, hosts, self.runtime))

    def launch(self) -> Rendering | None:
        """What starts a program so, where there is one for all and it differs from none."""
        policy, pages = self.pages
        held = self.machine.held_to
        if len(self.placement.by_rank) > 1 or not (self.counted or policy is not None or pages != "default" or held):
            return None
        if self.bound:
            return self._with_memory(launch_rendering(self.machine, self.placement, self.runtime))
        levels = self.levels or (self.threads,)
        count = {"OMP_NUM_THREADS": ",".join(map(str, levels))}
        if len(levels) > 1:
            count["OMP_MAX_ACTIVE_LEVELS"] = str(len(levels))
        words = () if held is None else ("taskset", "-c", format_processors(held))
        return self._with_memory(Rendering(count if self.counted else {}, words))

    def _with_memory(self, rendering: Rendering) -> Rendering:
        """The same with a memory policy, by numactl just before the program, and the allocators' variables for huge pages."""
        policy, pages = self.pages
        words = rendering.words
        if policy is not None:
            options = to_numactl(policy)
            words += options[1:] if words[:1] == ("numactl",) else options
        return replace(rendering, words=words, env={**rendering.env, **huge_page_environment(pages, {})})


def is_bound(machine: Machine, placement: Placement) -> bool:
    """Whether anything is held to less than all that may be used."""
    everything = set(machine.allowed)
    return any(set(place) != everything for place in placement.places)
