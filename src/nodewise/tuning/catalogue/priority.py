# SPDX-License-Identifier: BSD-3-Clause
"""Priority: which knobs are worth a search's time, by what the program spends its own time in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from mmap import PAGESIZE
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed
from nodewise.base.units import format_percent
from nodewise.runner.loaded import Loaded
from nodewise.runner.profile import KERNEL, Profile
from nodewise.tuning.catalogue.knob import (
    ALLOCATION,
    FAULTS,
    FAULTS_AGAIN,
    PLACES,
    SYSTEM,
    WAITING,
    WITHIN,
    Knob,
    Library,
)

#: Knobs of less worth are tried only where they are asked for.
LEAST_WORTH = 30
#: The share of a run's time that what a knob bears on must take; less cannot become a gain that anyone would notice.
LEAST_SHARE = 0.05
#: Where it is not known how much of the time a knob bears on, it counts as if it were this share.
_UNKNOWN = 0.5
#: What somebody has set comes as early as what is worth so much: it may be meant for another program or machine.
_SET_WORTH = 80
#: About how long a page fault takes, with the clearing of its page, and putting a thread to sleep and waking it.
_FAULT_S, _SWITCH_S = 5e-7, 1e-5
#: How many runs a search spends on a value before it knows whether it is any good.
RUNS_A_VALUE = 4


@dataclass(frozen=True)
class Prioritized:
    """A knob with the share of a run's time that it bears on (None where that is not known), and whether it is tried.

    `knob` holds the values that are tried, `dropped` are those for which there are too few runs. `reason` says in words why it
    is tried or not.
    """

    knob: Knob
    share: float | None
    tried: bool
    reason: str
    dropped: tuple[str, ...] = ()

    @property
    def promise(self) -> float:
        """How much is to be expected of it in this program, 0 to 100."""
        worth = max(self.knob.worth, _SET_WORTH) if self.knob.set_by_user else self.knob.worth
        return worth * (_UNKNOWN if self.share is None else self.share)


def prioritize_knobs(
    knobs: Iterable[Knob],
    catalogue: Sequence[Library],
    loaded: Loaded | None = None,
    usage: Mapping[str, float] | None = None,
    runs: int | None = None,
) -> tuple[Prioritized, ...]:
    """The knobs, those of most promise first, and which of them a search tries unless it is told otherwise.

    `loaded` has the profile of a run of the program and `usage` its counts (`Sample.usage`): a knob is left out where what
    it bears on takes less than 5% of the time. No more values are tried than `runs` runs can distinguish.
    """
    spent = Spent(loaded or Loaded(), usage or {}, catalogue)
    found = [_judged(knob, spent.share(knob.time, knob.library), spent) for knob in knobs]
    # what is as promising stays in the order of its worth
    found.sort(key=lambda w: (-w.promise, -w.knob.worth))
    return tuple(found if runs is None else _affordable(found, runs))


def _judged(knob: Knob, share: float | None, spent: Spent) -> Prioritized:
    if share is not None and share < LEAST_SHARE and knob.set_by_user and WAITING in knob.time:
        # with too small a pool threads do not come to wait for each other: what is set now hides what it costs
        share = None
    what = spent.words(knob)
    known = (
        f"{what}: nobody knows how much of the time"
        if share is None
        else f"{what}: {format_percent(share)} of the time"
    )
    if share is not None and share < LEAST_SHARE:
        return Prioritized(knob, share, False, f"{known}, which is below {format_percent(LEAST_SHARE)}")
    if knob.worth < LEAST_WORTH:
        return Prioritized(knob, share, False, f"{known}; rarely worth it: name it with --axes {knob.name} to try it")
    return Prioritized(knob, share, True, known)


def _affordable(found: Sequence[Prioritized], runs: int) -> list[Prioritized]:
    """The same with as many values as the runs can distinguish, dealt out one by one: each further one of a knob promises less.

    A knob that promises as much as one of least worth for the whole run has one value however few there are.
    """
    given = [0] * len(found)
    promising = any(w.tried and w.promise >= LEAST_WORTH for w in found)
    for _ in range(max(runs // RUNS_A_VALUE, int(promising))):
        wanting = [i for i, w in enumerate(found) if w.tried and given[i] < len(w.knob.values) - 1]
        if not wanting:
            break
        given[max(wanting, key=lambda i: found[i].promise / (1 + given[i]))] += 1
    return [_with_values(w, n) if w.tried else w for w, n in zip(found, given, strict=True)]


def _with_values(prioritized: Prioritized, count: int) -> Prioritized:
    """The same with that many values in addition to the default, the first that it has."""
    knob = prioritized.knob
    others = [v for v in knob.values if v != knob.default]
    if count == len(others):
        return prioritized
    if not count:
        reason = f"{prioritized.reason}; too few runs for it: give a larger budget, or name it with --axes {knob.name}"
        return replace(prioritized, tried=False, reason=reason)
    kept = {knob.default, *others[:count]}
    fewer = replace(knob, choices=tuple(c for c in knob.choices if c.name in kept))
    dropped = tuple(v for v in others if v not in fewer.values)
    reason = f"{prioritized.reason}; {count} of {len(others)} values, since there are few runs"
    return replace(prioritized, knob=fewer, reason=reason, dropped=dropped)


@dataclass(frozen=True)
class Spent:
    """What a run spent its time in: by its profile and its counts, as far as there are any."""

    loaded: Loaded
    usage: Mapping[str, float]
    catalogue: Sequence[Library]

    @property
    def _busy_s(self) -> float:
        return self.usage.get("user_s", 0.0) + self.usage.get("system_s", 0.0)

    @property
    def _profile(self) -> Profile | None:
        profile = self.loaded.profile
        return profile if profile is not None and profile.enough else None

    def share(self, time: Sequence[str], library: str) -> float | None:
        """The share of a run's processor time that is spent in what `time` names, 0 to 1; None where that is not known.

        `library` is the name of the one of the catalogue that `[process]` means.
        """
        parts = [self._place(p, library) for p in time if p in PLACES]
        patterns = [p for p in time if p not in PLACES]
        if patterns:
            parts.append(self._files(patterns))
        known = [p for p in parts if p is not None]
        if not known:
            return None
        # what is known may be enough to say yes, but not to say no
        return min(1.0, sum(known)) if len(known) == len(parts) or sum(known) >= LEAST_SHARE else None

    def words(self, knob: Knob) -> str:
        """What a knob bears on, in words."""
        words = {
            ALLOCATION: "giving out memory",
            FAULTS: "page faults",
            FAULTS_AGAIN: "page faults for memory given back before",
            WAITING: "threads that wait",
            SYSTEM: "the kernel",
            WITHIN: f"programs with {knob.title}",
        }
        named = [words[p] for p in knob.time if p in PLACES]
        return listed([*([knob.title] if len(named) < len(knob.time) else []), *named])

    def _in_files(self, patterns: Sequence[str]) -> float | None:
        profile = self._profile
        if profile is None:
            return None
        return self._scale(sum(s for path, s in profile.files.items() if matches(path, patterns)))

    def _scale(self, share: float) -> float:
        """A share of the time in user mode, where nothing else was seen, as one of all time."""
        if self._profile is None or self._profile.kernel or not self._busy_s:
            return share
        return share * self.usage.get("user_s", 0.0) / self._busy_s

    def _files(self, patterns: Sequence[str]) -> float | None:
        if not any(matches(path, patterns) for path in self.loaded.mapped):
            # it is known by a text in a program's own file, and its time is a part of the program's
            return None
        return self._in_files(patterns)

    def _place(self, place: str, library: str) -> float | None:
        if place == WITHIN:
            return self._processes(library)
        if place == ALLOCATION:
            return self._allocation()
        if place == SYSTEM:
            return self._system()
        if not self._busy_s:
            return None
        if place == WAITING:
            return min(1.0, self.usage.get("context_switches", 0.0) * _SWITCH_S / self._busy_s)
        faults = self.usage.get("minor_faults", 0.0)
        if place == FAULTS_AGAIN:
            faults -= self.usage.get("peak_bytes", 0.0) / PAGESIZE
        system = self.usage.get("system_s", 0.0)
        return min(max(0.0, faults) * _FAULT_S, system) / self._busy_s

    def _system(self) -> float | None:
        profile = self._profile
        if profile is not None and profile.kernel:
            return profile.files.get(KERNEL, 0.0)
        return self.usage.get("system_s", 0.0) / self._busy_s if self._busy_s else None

    def _processes(self, name: str) -> float | None:
        profile = self._profile
        if profile is None:
            return None
        files = [file for library in self.catalogue if library.name == name for file in library.files]
        shares = [s for path, s in profile.within.items() if matches(path, files)]
        # of what is known by other than files all may be the program's
        return max(shares) if shares else 1.0

    def _allocation(self) -> float | None:
        profile = self._profile
        if profile is None or self.loaded.linkage == "static":
            return None
        others = [file for library in self.catalogue if library.preloads for file in library.files]
        return self._scale(profile.allocation) + (self._in_files(others) or 0.0)


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a file is meant: by its name as in a shell, or by its path where a pattern holds a slash."""
    name = Path(path).name
    return any(fnmatchcase(path if "/" in pattern else name, pattern) for pattern in patterns)


def set_by_command(knob: Knob, command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether the command, or a variable in addition to the knob's own, says already what the knob would say."""
    if not knob.arguments:
        return any(environment.get(v) for v in knob.also)
    words = [*command, *(word for v in knob.also for word in environment.get(v, "").split())]
    return any(re.fullmatch(knob.arguments, word) for word in words)
