# SPDX-License-Identifier: BSD-3-Clause
"""Pretend programs of known scaling: how long a run takes with so many threads, and runs with noise.

`CLASSIC` and `MORE` follow a law that nodewise fits, `OTHERS` do not: their laws are of what programs meet. That of `bandwidth` bends where memory is
full, often beyond what is measured, which nothing measured can tell. `border` and `late` were added when all else was done.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from statistics import median

Time = Callable[[float], float]
COUNTS = ((1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32), (1, 2, 3, 4, 6, 8), (1, 2, 4, 6, 8, 12, 16), (2, 4, 8, 16, 32, 64))


def _share(rng: random.Random, least: float, most: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(rng.uniform(math.log(least), math.log(most)))


def _amdahl(rng: random.Random) -> Time:
    serial = _share(rng, 1e-3, 0.2)
    return lambda n: serial + (1 - serial) / n


def _gustafson(rng: random.Random) -> Time:
    serial = rng.uniform(0, 0.5)
    return lambda n: 1 / (serial + (1 - serial) * n)


def _usl(rng: random.Random) -> Time:
    serial, talk = _share(rng, 1e-3, 0.2), _share(rng, 1e-5, 3e-3)
    return lambda n: serial + (1 - serial) / n + talk * (n - 1)


def _power(rng: random.Random) -> Time:
    power = rng.uniform(0.7, 1)
    return lambda n: float(n**-power)


def _tree(rng: random.Random) -> Time:
    serial, step = _share(rng, 1e-3, 0.1), _share(rng, 1e-4, 1e-2)
    return lambda n: serial + (1 - serial) / n + step * math.log2(n)


def _bandwidth(rng: random.Random) -> Time:
    full, share = rng.uniform(4, 40), rng.uniform(0.2, 0.8)
    return lambda n: (1 - share) / n + share / min(n, full)


def _surface(rng: random.Random) -> Time:
    serial, halo = _share(rng, 1e-4, 3e-2), _share(rng, 3e-3, 0.2)
    return lambda n: float(serial + (1 - halo) / n + halo * n ** (-2 / 3))


def _imbalance(rng: random.Random) -> Time:
    serial, uneven = _share(rng, 1e-3, 0.1), rng.uniform(0.02, 0.2)
    return lambda n: serial + (1 - serial) / n * (1 + uneven * math.log2(n))


def _root(rng: random.Random) -> Time:
    serial, talk = _share(rng, 1e-3, 0.1), _share(rng, 1e-4, 1e-2)
    return lambda n: serial + (1 - serial) / n + talk * math.sqrt(n)


def _border(rng: random.Random) -> Time:
    serial, halo = _share(rng, 1e-4, 3e-2), _share(rng, 3e-3, 0.2)
    return lambda n: float(serial + (1 - halo) / n + halo * n**-0.5)


def _late(rng: random.Random) -> Time:
    serial, talk = _share(rng, 1e-3, 0.1), _share(rng, 1e-5, 1e-3)
    return lambda n: serial + (1 - serial) / n + talk * math.log2(n) ** 2


CLASSIC = {"amdahl": _amdahl, "gustafson": _gustafson, "usl": _usl}
#: Three more that nodewise fits.
MORE = {"tree": _tree, "power": _power, "surface": _surface}
OTHERS = {"bandwidth": _bandwidth, "imbalance": _imbalance, "root": _root, "border": _border, "late": _late}


def _normal(rng: random.Random, block: float) -> float:
    del block
    return math.exp(rng.gauss(0, 0.05))


def _one_sided(rng: random.Random, block: float) -> float:
    del block
    return 1 + rng.expovariate(1 / 0.05)


def _heavy(rng: random.Random, block: float) -> float:
    del block
    slow = 1 + rng.expovariate(1 / 0.5) if rng.random() < 0.05 else 1.0
    return math.exp(rng.gauss(0, 0.045)) * slow


def _shared(rng: random.Random, block: float) -> float:
    return math.exp(0.035 * block + rng.gauss(0, 0.035))


#: Noise of 5 %, by its shape: of a run, given what its block had (a standard normal).
NOISES: dict[str, Callable[[random.Random, float], float]] = {
    "normal": _normal,
    "one-sided": _one_sided,
    "outliers": _heavy,
    "of blocks": _shared,
}


@dataclass(frozen=True)
class Program:
    """A pretend program: `runs` are seconds by block and count; `truth` is the median time at `target`, four times the largest count."""

    law: str
    noise: str
    seed: int
    counts: tuple[int, ...]
    runs: tuple[tuple[float, ...], ...]
    target: int
    truth: float

    @property
    def digest(self) -> str:
        """What a peer's answer depends on."""
        return sha256(json.dumps([self.counts, self.runs, self.target]).encode()).hexdigest()[:10]


def program(law: str, noise: str, seed: int, blocks: int = 10) -> Program:
    """The program of a law, a noise and a seed, with so many blocks of runs."""
    rng = random.Random(f"{law}/{noise}/{seed}")
    scale = _share(rng, 1, 1000)
    time = {**CLASSIC, **MORE, **OTHERS}[law](rng)
    counts = rng.choice(COUNTS)
    make = NOISES[noise]
    runs = []
    for _ in range(blocks):
        block = rng.gauss(0, 1)
        runs.append(tuple(round(scale * time(n) * make(rng, block), 9) for n in counts))
    usual = random.Random(0)
    centre = median(make(usual, usual.gauss(0, 1)) for _ in range(20001))
    target = 4 * counts[-1]
    return Program(law, noise, seed, counts, tuple(runs), target, scale * time(target) * centre)
