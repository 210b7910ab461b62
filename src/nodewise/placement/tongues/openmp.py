# SPDX-License-Identifier: BSD-3-Clause
"""OMP_PLACES and OMP_PROC_BIND, as OpenMP 5.2 has them (section 21.1.6)."""

from __future__ import annotations

from nodewise.placement.placement import Placement


def openmp_environment(placement: Placement) -> dict[str, str]:
    """Say it to any OpenMP runtime: an explicit OMP_PLACES list that threads take in order."""
    places = ",".join("{" + ",".join(map(str, place)) + "}" for place in placement.places)
    return {"OMP_NUM_THREADS": str(placement.threads), "OMP_PLACES": places, "OMP_PROC_BIND": "close"}
