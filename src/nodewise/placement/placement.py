# SPDX-License-Identifier: BSD-3-Clause
"""Placement: for each thread, the set of processors that it may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Placement:
    """Places of the threads 0, 1, …: operating-system indexes each. `policy` names the rule that made it."""

    policy: str
    places: tuple[tuple[int, ...], ...]

    @property
    def threads(self) -> int:
        """How many threads are placed."""
        return len(self.places)

    @property
    def mask(self) -> tuple[int, ...]:
        """All processors of all places, sorted: the affinity mask of the process."""
        return tuple(sorted({p for place in self.places for p in place}))

    def openmp(self) -> dict[str, str]:
        """Say it to any OpenMP runtime: an explicit OMP_PLACES list that threads take in order (OpenMP 5.2, 21.1.6)."""
        places = ",".join("{" + ",".join(map(str, place)) + "}" for place in self.places)
        return {"OMP_NUM_THREADS": str(self.threads), "OMP_PLACES": places, "OMP_PROC_BIND": "close"}

    def to_json(self) -> dict[str, Any]:
        """`{"policy", "threads", "places": [[processor, …], …]}`."""
        return {"policy": self.policy, "threads": self.threads, "places": [list(p) for p in self.places]}
