# SPDX-License-Identifier: BSD-3-Clause
"""What earlier tunes saw, as a prior for a search: their settings as points of the space here, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nodewise.base.shapes import Scalar
from nodewise.machine.model import Machine
from nodewise.records.earlier import SAME_LIBRARIES, SAME_PROGRAM, Earlier, Width, width_of
from nodewise.runner.loaded import Loaded
from nodewise.search.prior import Prior, Seen
from nodewise.search.space import AS_STARTED, Axis, Point, Space

#: The share of an earlier tune's effects that is expected, before anything ran here, by what it is of, here and on another machine.
_LIKENESS = {
    (SAME_PROGRAM, True): 0.9,
    (SAME_PROGRAM, False): 0.75,
    (SAME_LIBRARIES, True): 0.5,
    (SAME_LIBRARIES, False): 0.4,
}
#: The axes whose values count threads or ranks: they are a share of a machine.
COUNTED = ("threads", "ranks")
#: A setting that failed is taken to be so much slower (in log time) than the program as it was started.
_FAILED, _FAILED_DEVIATION = 1.0, 0.3


#: Gives the earlier tunes that may help one whose program loads this (None: it was not looked at).
Recall = Callable[[Loaded | None], Sequence[Earlier]]


def nothing_recalled(loaded: Loaded | None) -> Sequence[Earlier]:
    """No earlier tunes, whatever is loaded."""
    del loaded
    return ()


def as_here(count: int, there: Width, here: Width) -> int | None:
    """As many threads as are here what so many were there: the same share of the cores, beyond these of the further hardware
    threads. None where there are none of these here.
    """
    if count <= there.cores:
        return max(1, round(count * here.cores / there.cores))
    if there == here:
        return count
    further, own = there.threads - there.cores, here.threads - here.cores
    if further <= 0 or own <= 0:
        return None
    return round(here.cores + (count - there.cores) * own / further)


def _value_here(axis: Axis, value: Scalar, there: Width, here: Width) -> Any:
    """A value of then as one of the axis here; None where there is none."""
    if axis.name in COUNTED and isinstance(value, int) and not isinstance(value, bool):
        wanted = as_here(value, there, here)
        if wanted is None:
            return None
        return min(axis.values, key=lambda v: abs(v - wanted), default=None)
    return next((v for v in axis.values if v == value and type(v) is type(value)), None)


def prior_of(earlier: Earlier, space: Space, machine: Machine, apart: bool) -> Prior | None:
    """What an earlier tune says of points of this space; None where it says nothing.

    `apart`: the program as it is started is another setting than the default point. A setting with a value that is not here, or that changed an
    axis which is none here, is left out.
    """
    here = width_of(machine)
    axes = {a.name: a for a in space.open}
    shared = frozenset(n for n in axes if n in earlier.defaults)
    seen: dict[Point, Seen] = {}
    for one in earlier.settings:
        point = space.default
        if not one.values and apart:
            point = Point({**space.default, AS_STARTED: True})
        mapped: dict[str, Any] = {}
        for name, value in (one.values and {**earlier.defaults, **one.values}).items():
            if name in axes:
                mapped[name] = _value_here(axes[name], value, earlier.width, here)
                if mapped[name] is None and name not in one.values:
                    mapped[name] = axes[name].default
            elif value != earlier.defaults.get(name):
                mapped[name] = None
        if None in mapped.values():
            continue
        point = point.having(**mapped) if mapped else point
        if AS_STARTED not in point and not space.allowed(point):
            continue
        log, deviation = (_FAILED, _FAILED_DEVIATION) if one.log is None else (one.log, one.deviation)
        # of settings that are one here the first counts, and the ones seen most come first
        seen.setdefault(point, Seen(point, log, deviation))
    if len(seen) < 2 or not shared:
        return None
    return Prior(tuple(seen.values()), shared, _LIKENESS[earlier.relation, earlier.here])


def priors_of(earlier: Sequence[Earlier], space: Space, machine: Machine, apart: bool) -> list[tuple[Earlier, Prior]]:
    """Those earlier tunes that say something of this space, each with what that is."""
    found = [(one, prior_of(one, space, machine, apart)) for one in earlier]
    return [(one, prior) for one, prior in found if prior is not None]
