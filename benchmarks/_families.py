# SPDX-License-Identifier: BSD-3-Clause
"""Families of surfaces: members of one are alike, as a program with another input or on another machine is.

Each makes a member of a number: what is tuned, and the earlier tunes that it may start from, are members of other numbers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks._cases import Case
from benchmarks._surfaces import Surface, sockets
from nodewise.runner.setting import Setting

_BOTH = ("threads", "placement")
#: Variables, and by how much values of some of them change the time, in log time.
_NAMES = {f"K{i}": ("a", "b", "c", "d") for i in range(8)}
_EFFECTS = {("K1", "b"): -0.16, ("K3", "d"): -0.10, ("K6", "c"): -0.06, ("K1", "c"): 0.2, ("K5", "a"): 0.1}
_FLIPPED = {**_EFFECTS, ("K1", "b"): 0.16, ("K1", "d"): -0.16}


@dataclass(frozen=True)
class Family:
    """`member(k)` is its k-th member; of one that `misleads` earlier tunes are of `other(k)`: there the best is another one."""

    name: str
    runs: int
    member: Callable[[int], Case]
    other: Callable[[int], Case] | None = None

    @property
    def misleads(self) -> bool:
        """Whether earlier tunes expect the wrong thing."""
        return self.other is not None

    def earlier(self, k: int) -> Case:
        """What an earlier tune was of."""
        return (self.other or self.member)(k)


def _draw(name: str, k: int) -> random.Random:
    return random.Random(f"{name} {k}")


def _bound(name: str, machine: Callable[[random.Random], dict[str, Any]], **text: Any) -> Callable[[int], Case]:
    """Programs bound by memory: threads up to what fills the bandwidth, which each member has of its own."""

    def member(k: int) -> Case:
        r = _draw(name, k)
        own = {
            "seconds": r.uniform(20, 200),
            "serial": 10 ** r.uniform(-3.5, -2.5),
            "smt": [1.0, r.uniform(0.85, 1.15)],
            "bytes_share": r.uniform(0.4, 0.6),
            "remote_loss": r.uniform(0.2, 0.4),
            "floating_loss": r.uniform(0.03, 0.09),
            "thread_cost": 10 ** r.uniform(-3.6, -3.2),
            "noise": {"sigma": 0.05},
            **text,
        }
        title = f"{name} {k}"
        return Case(title, Surface(title, {**own, "machine": machine(r)}), 0, _BOTH)

    return member


def _knobs(name: str, effects: Mapping[tuple[str, str], float], sigma: float = 0.03) -> Callable[[int], Case]:
    """Programs with eight variables, three of which matter: in each by half to twice as much as in others."""

    def member(k: int) -> Case:
        r = _draw(name, k)
        own = {key: effect * 2 ** r.uniform(-1, 1) for key, effect in effects.items()}

        def effect(setting: Setting) -> float:
            return math.exp(sum(own.get(one, 0.0) for one in setting.env.items()))

        best = math.exp(sum(min(0.0, *(own.get((axis, v), 0.0) for v in values)) for axis, values in _NAMES.items()))
        title = f"{name} {k}"
        text = {
            "seconds": r.uniform(1, 50),
            "serial": 1.0,
            "smt": [1.0],
            "noise": {"sigma": sigma},
            "machine": sockets(1, 4, 1),
        }
        return Case(title, Surface(title, text), 0, tuple(_NAMES), effect, variables=_NAMES, best_factor=best)

    return member


def _uneven(name: str, sigma: Callable[[random.Random], float]) -> Callable[[int], Case]:
    """Programs whose work is uneven: threads, placement and the schedule with its chunk count."""

    def member(k: int) -> Case:
        r = _draw(name, k)
        own = {
            "seconds": r.uniform(20, 200),
            "serial": 10 ** r.uniform(-3.5, -2.5),
            "smt": [1.0, r.uniform(0.8, 1.3)],
            "imbalance": r.uniform(0.3, 0.9),
            "chunk_cost": r.uniform(0.3, 1.0),
            "tail": r.uniform(100, 600),
            "iterations": 100000,
            "floating_loss": r.uniform(0.03, 0.09),
            "thread_cost": 10 ** r.uniform(-2.8, -2.2),
            "noise": {"sigma": sigma(r)},
            "machine": sockets(2, 12, 2),
        }
        title = f"{name} {k}"
        return Case(title, Surface(title, own), 0, (*_BOTH, "schedule"))

    return member


def _wide(r: random.Random) -> dict[str, Any]:
    return sockets(2, 24, 2, bandwidth=r.uniform(9, 22))


def _any_size(r: random.Random) -> dict[str, Any]:
    each = r.choice((8, 12, 16, 24, 32))
    return sockets(2, each, 2, bandwidth=each * r.uniform(0.5, 0.75))


def _flat(name: str) -> Callable[[int], Case]:
    return _knobs(name, {})


def families() -> list[Family]:
    """All of them; those that mislead come last."""
    starved = _bound("starved", lambda r: sockets(2, 24, 2, bandwidth=r.uniform(2, 4)), smt=[1.0, 0.7])
    plenty = _bound("plenty", lambda r: sockets(2, 24, 2, bandwidth=90.0), smt=[1.0, 1.5], thread_cost=0.0)
    return [
        Family("threads shift", 120, _bound("threads shift", _wide)),
        Family("effects stretch", 120, _knobs("effects stretch", _EFFECTS)),
        Family("another machine", 120, _bound("another machine", _any_size)),
        Family("schedules shift", 120, _uneven("schedules shift", lambda _: 0.05)),
        Family("noise of the input", 120, _uneven("noisy", lambda r: r.uniform(0.01, 0.1))),
        Family("one value flips", 120, _knobs("flipped", _FLIPPED), _knobs("not flipped", _EFFECTS)),
        Family(
            "all signs flip", 120, _knobs("signs", _EFFECTS), _knobs("turned", {k: -v for k, v in _EFFECTS.items()})
        ),
        Family("other threads", 120, plenty, starved),
    ]


def flat_family() -> Family:
    """Nothing matters here, and earlier tunes say that it does."""
    return Family("nothing matters", 80, _flat("nothing"), _knobs("something", _EFFECTS))
