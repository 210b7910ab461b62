# SPDX-License-Identifier: BSD-3-Clause
"""The axis placement: by which policy threads and ranks sit on processors."""

from __future__ import annotations

from nodewise.search.space import Axis
from nodewise.tuning.known import KnownAxis, Surroundings
from nodewise.tuning.option import Option, held


def _make(around: Surroundings) -> Option:
    del around
    names = ("os", "compact", "scatter", "balanced")
    return held(Axis("placement", names, ("balanced", "os", "scatter", "compact"), "os", crossed=True))


AXIS = KnownAxis("placement", _make, order=30, by_default=True, of_libraries=True)
