# SPDX-License-Identifier: BSD-3-Clause
"""A third generator of sound fleets, of shapes that the other two do not have.

Two generations of a few classes each, whose speeds are long-tailed (exponential beside Gaussian noise) or few distinct values, as tools print them to
three digits; temperatures of two loads with extremes by Gumbel's law, in half degrees; fans in steps of 120 a minute; power in whole watts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from benchmarks._check.fleets import GB, Node, drawn, node_of

_SHARES = (0.42, 0.27, 0.16, 0.08, 0.04, 0.02, 0.01)


def _gumbel(rng: random.Random) -> float:
    return -math.log(-math.log(rng.random()))


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def stepped(count: int, seed: int) -> Iterator[Node]:
    """Seven classes; which shapes a class has is drawn with it."""
    rng = random.Random(seed ^ 0x57E9)
    kinds = [c for c, share in enumerate(_SHARES) for _ in range(round(share * count))][:count]
    kinds += [0] * (count - len(kinds))
    rng.shuffle(kinds)
    ports = {"mlx5_0/1": "100 Gb/sec (2X HDR)"}
    classes = [
        node_of(f"Maker {c % 2} {64 + c}", 24 + 8 * c, 2, (192 << c % 3) * GB, f"Blade {c}", 4 * (c == 3), ports)
        for c in range(len(_SHARES))
    ]
    tails = [rng.uniform(0.002, 0.006) for _ in classes]
    for i, kind in enumerate(kinds):
        hot = rng.random() < 0.5

        def warm() -> float:
            return math.exp(0.02 * _gumbel(rng) + 0.01 * rng.gauss(0, 1))

        def speed(kind: int = kind) -> float:
            lost = rng.expovariate(1 / tails[kind]) + rng.gauss(0, 0.004)
            return _digits(1 - lost) if kind % 2 else 1 - lost

        heat = round(2 * (48 + kind + 4 * hot + 0.8 * _gumbel(rng))) / 2
        made = drawn(classes[kind], f"c{kind}-{i:05d}", rng, heat, warm, speed)
        made["sensors"]["fans"] = {"nct6775 0": 120 * round(45 * math.exp(rng.gauss(0, 0.05)))}
        made["sensors"]["watts"] = {"coretemp 0": float(round(made["sensors"]["watts"]["coretemp 0"]))}
        yield made
