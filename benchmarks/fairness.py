# SPDX-License-Identifier: BSD-3-Clause
"""How often the interval of a study's ratio to its fastest peer holds the true one, where peers are of like speed: simulated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nodewise.runner.sample import Sample
from nodewise.studies.commands import Contender
from nodewise.verdicts.series import Series, against

#: True times of the peers, ours being 1.
_CASES = {
    "3 equal": (1.0,) * 3,
    "5 equal": (1.0,) * 5,
    "3 within 2 %": (1.0, 1.01, 1.02),
    "5 within 5 %": (1.0, 1.01, 1.02, 1.03, 1.05),
}
_BLOCKS = (8, 12, 25)


def main(*runs: str) -> None:
    """Print the coverage for so many runs of each case (1000)."""
    many = int(runs[0]) if runs else 1000
    for name, peers in _CASES.items():
        for noise in ("normal", "bursts"):
            for blocks in _BLOCKS:
                print(f"{name:<14}{noise:<8}{blocks:>3} blocks  {coverage(peers, noise, blocks, many):.1%}", flush=True)


def coverage(peers: Sequence[float], noise: str, blocks: int, runs: int) -> float:
    """The share of `runs` in which the interval holds the ratio to the fastest of the peers; none counts as held."""
    held = 0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        mine, *others = [_series(f"s{i}", t, noise, blocks, random) for i, t in enumerate((1.0, *peers))]
        pair = against(others, mine, None, 1, accept=True)
        assert pair is not None
        held += pair.low is None or pair.high is None or pair.low <= min(peers) <= pair.high
    return held / runs


def _series(name: str, seconds: float, noise: str, blocks: int, random: np.random.Generator) -> Series:
    """So many runs of a contender: 3 % of noise, or rare runs of twice the time besides."""
    one = Series(Contender(name, "peer", (name,)))
    times = seconds * np.exp(random.normal(0, 0.03, blocks))
    if noise == "bursts":
        times *= np.where(random.random(blocks) < 0.1, 1 + random.random(blocks), 1.0)
    for block, time in enumerate(times.tolist()):
        one.add(block, Sample(time, time, 0.0, metrics={"items": 1.0}))
    return one
