# SPDX-License-Identifier: BSD-3-Clause
"""Holding: how many ranks and threads a point asks for, where they sit, and the fewest settings that achieve it."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from nodewise.machine.model import Machine
from nodewise.placement.job import Job
from nodewise.placement.near import near_zones
from nodewise.placement.openmp.places import openmp_environment
from nodewise.placement.placement import Placement
from nodewise.placement.registry import binding_variables
from nodewise.runner.binding import Binding, binding_seen
from nodewise.runner.loaded import Loaded
from nodewise.runner.over_nodes import processors_of_job
from nodewise.search.space import Point
from nodewise.tuning.catalogue.choose import follow
from nodewise.tuning.catalogue.knob import Follower
from nodewise.tuning.option import Draft
from nodewise.tuning.ranks import Ranked, place_near, place_ranks, rank_wrapper, read_ranked, unbound

#: So many placements are kept: on a large machine each is large.
_PLACED = 256


def inherited_processors() -> frozenset[int]:
    """The processors that a program started from here may use where nobody says anything."""
    return frozenset(os.sched_getaffinity(0))


class Holding:
    """Ranks and threads of one command on one machine.

    OpenMP's variables are set only for a program that has an OpenMP runtime, or of which that cannot be determined. Any other is
    held by a mask, and given its number of threads only where it would not count the mask's processors by itself. On a
    machine that is not live nothing is bound, and what a program for it loads cannot be seen.
    """

    def __init__(
        self,
        machine: Machine,
        command: Sequence[str],
        environment: Mapping[str, str],
        followers: Sequence[Follower] = (),
        loaded: Loaded | None = None,
        folder: Path | None = None,
    ):
        """`loaded` is what a run of the command was seen to load; `folder` is for scripts that place ranks."""
        self._machine = machine
        self._environment = environment
        self._followers = tuple(followers)
        self._folder = folder or Path()
        # many points differ in what has nothing to do with places
        self._placed = lru_cache(maxsize=_PLACED)(self._place)
        self.ranked: Ranked | None = read_ranked(command)
        program = self.ranked.program if self.ranked is not None else command
        self.binding = (
            binding_seen(program, environment, loaded)
            if machine.live
            else Binding("openmp", "what a program for another machine loads cannot be seen here")
        )
        held = machine.held_to
        self._everything = (
            frozenset(held) if held is not None else inherited_processors() if machine.live else frozenset()
        )
        #: The number of threads where a point does not name one; None: what the machine runs at once, shared by ranks.
        self.threads: int | None = None

    @property
    def openmp(self) -> bool:
        """Whether OpenMP's variables are read."""
        return self.binding.name == "openmp"

    @property
    def counted(self) -> bool:
        """Whether anything reads a number of threads."""
        return self.openmp or any(f.follows == "threads" for f in self._followers)

    @property
    def threads_now(self) -> int | None:
        """How many threads the user's own variables give the program; None where they give nothing that it reads."""
        if self.openmp:
            texts = [(self._environment.get("OMP_NUM_THREADS", ""), "{n}")]
        else:
            followers = [f for f in self._followers if f.follows == "threads"]
            own = [(f.setter.read(self._environment) or "", f.template) for f in followers]
            texts = [*own, *((self._environment.get(f.reads, ""), "{n}") for f in followers if f.reads)]
        for text, template in texts:
            if found := re.fullmatch(re.escape(template).replace(r"\{n\}", r"([1-9]\d{0,6})"), text):
                return int(found[1])
        return None

    def shape(self, point: Mapping[str, object]) -> tuple[int, int]:
        """Ranks, and threads of each."""
        ranks = int(str(point.get("ranks", self.ranked.ranks if self.ranked is not None else 1)))
        threads = point.get("threads", self.threads)
        each = self.on_node(ranks)
        return ranks, max(1, self.parallelism // each) if threads is None else int(str(threads))

    @property
    def processors(self) -> int:
        """How many processors of a node there are for its ranks, or for the program: a job of Slurm may have fewer than the node."""
        here = len(self._machine.allowed)
        of_job = processors_of_job(self._environment) if self.ranked is not None and self._machine.live else None
        return min(here, of_job or here)

    @property
    def parallelism(self) -> int:
        """How many of them run at once."""
        return min(self._machine.parallelism, self.processors)

    def on_node(self, ranks: int) -> int:
        """How many of so many ranks the fullest node gets."""
        return ranks if self.ranked is None else self.ranked.on_node(ranks, self._environment)

    def placement(self, point: Mapping[str, object]) -> Placement | None:
        """Where the point's threads sit, over nodes those of each; None where the operating system decides."""
        ranks, threads = self.shape(point)
        ranks = self.on_node(ranks)
        near = self._near(point)
        return self._placed(str(point.get("placement", "os")), None if near is None else tuple(near), ranks, threads)

    def _place(self, policy: str, near: tuple[str, ...] | None, ranks: int, threads: int) -> Placement | None:
        if near is not None:
            return place_near(self._machine, policy, near, Job(threads, ranks))
        return place_ranks(self._machine, policy, ranks, threads)

    @staticmethod
    def _near(point: Mapping[str, object]) -> list[str] | None:
        """The devices that the point keeps near to; None where it keeps to none."""
        text = str(point.get("near", "any"))
        return None if text == "any" else text.split(",")

    def fits(self, point: Mapping[str, object]) -> bool:
        """Whether each rank has as many processors near its device as threads."""
        if (near := self._near(point)) is None:
            return True
        ranks, threads = self.shape(point)
        return all(threads <= len(zone) for zone in near_zones(self._machine, near, self.on_node(ranks)))

    def identity(self, point: Point) -> Hashable:
        """Equal for points whose ranks and threads are started and held alike."""
        ranks, threads = self.shape(point)
        placement = self.placement(point)
        if self.openmp:
            return (ranks, threads, "os" if placement is None else placement.places)
        if self.ranked is not None:
            masks = None if placement is None else placement.used
            return (ranks, tuple(self._set_by(threads, self._environment, masks[0] if masks else None).items()), masks)
        mask = self._mask(placement)
        chosen = self._set_by(threads, self._environment, mask) if "threads" in point else {}
        return (mask, tuple(chosen.items()))

    def hold(self, draft: Draft, point: Point) -> None:
        """Write into a draft, in which all else is set, what starts and holds the point's ranks and threads."""
        placement = self.placement(point)
        ranks, threads = self.shape(point)
        ranked = read_ranked(draft.command) if self.ranked is not None else None
        mask = self._mask(placement) if ranked is None else placement.used[0] if placement is not None else None
        if "threads" in point:
            draft.env |= self._set_by(threads, draft.environment, mask)
        if ranked is not None:
            self._hold_ranks(draft, ranked, placement, ranks, threads)
        else:
            if self.openmp and placement is not None:
                draft.env |= openmp_environment(placement.places)
            elif self.openmp and "threads" in point and not self._taken_anyway(threads, draft.environment):
                draft.env["OMP_NUM_THREADS"] = str(threads)
            draft.mask = mask
        if self.openmp and ("placement" in point or self._near(point) is not None):
            draft.unset += [v for v in binding_variables() if v not in draft.env]
        held = self.openmp or ranked is not None or mask is not None
        draft.places = placement.places if placement is not None and held else None

    def _hold_ranks(self, draft: Draft, ranked: Ranked, placement: Placement | None, ranks: int, threads: int) -> None:
        """The launcher starts that many ranks, and each takes its own places; the launcher itself is bound to nothing."""
        wrapper: list[str] = []
        if self.openmp:
            draft.env["OMP_NUM_THREADS"] = str(threads)
        if placement is not None:
            wrapper = rank_wrapper(self._machine, placement, self._folder, openmp=self.openmp)
            draft.env |= unbound(ranked, draft.environment)
        draft.command = ranked.spread(ranks, wrapper, self._environment)

    def _mask(self, placement: Placement | None) -> tuple[int, ...] | None:
        """The processors that the whole program is held to; None where they are all that it may use anyway."""
        if placement is None or not self._machine.live or self._everything == frozenset(placement.mask):
            return self._machine.held_to
        return placement.mask

    def _taken_anyway(self, threads: int, environment: Mapping[str, str]) -> bool:
        """Whether an OpenMP runtime that is given nothing takes just that many threads: one for each processor."""
        return "OMP_NUM_THREADS" not in environment and threads == len(self._everything)

    def _set_by(self, threads: int, environment: Mapping[str, str], mask: tuple[int, ...] | None) -> dict[str, str]:
        """The variables of the program's libraries that set the number of threads, where it has to be set."""
        if threads == self.threads_now:
            return {}
        counted = len(self._everything if mask is None else mask)
        chosen: list[Follower] = []
        named: set[str] = set()
        for follower in self._followers:
            by_user = follower.setter.read(environment) is not None
            alone = bool(follower.reads) and not self.openmp
            # nobody sets what it would read; further names of the same are older ones
            older = alone and follower.library in named
            named |= {follower.library} if alone else set()
            if by_user and threads == self.threads:
                # as many as now: what the user has set stays, also where another runtime has another number
                continue
            itself = follower.counts_mask and follower.reads not in environment and counted == threads
            if by_user or not (older or itself):
                chosen.append(replace(follower, reads="") if alone else follower)
        return follow(chosen, "threads", threads, environment)
