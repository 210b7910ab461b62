# SPDX-License-Identifier: BSD-3-Clause
"""The grid of a point, and what is written down of it in double precision: for the reference and for peers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_LINE = 16
_TAKEN = 0.1


@dataclass(frozen=True)
class Grid:
    """Points along z, y and x, and how a rank's planes lie in its arrays, with zeros around the grid."""

    nz: int
    ny: int
    nx: int
    radius: int

    @property
    def row(self) -> int:
        """Numbers from a row to the next: whole lines of 16, an odd number of them."""
        return _LINE * ((1 + -(-self.nx // _LINE)) | 1)

    @property
    def rows(self) -> int:
        """Rows from a plane to the next."""
        return (self.ny + 2 * self.radius) | 1

    def planes(self, array: Any) -> Any:
        """An array of whole planes, as z, y, x, zeros included."""
        return np.ravel(array)[:-_LINE].reshape(-1, self.rows, self.row)

    def inside(self, array: Any) -> Any:
        """The values on the grid."""
        r = self.radius
        return self.planes(array)[r : r + self.nz, r : r + self.ny, _LINE : _LINE + self.nx]

    def padded(self, values: Any) -> Any:
        """What `inside` was taken from."""
        r = self.radius
        whole = np.zeros((self.nz + 2 * r) * self.rows * self.row + _LINE, values.dtype)
        self.inside(whole)[...] = values
        return whole


def grid_of(point: Mapping[str, str]) -> Grid:
    """The grid that a point's knobs mean."""
    n = point["n"]
    return Grid(*(int(point.get(name, n)) for name in ("nz", "ny", "nx")), int(point["order"]) // 2)


def derivative_weights(radius: int) -> list[float]:
    """Weights of the second derivative: of the point, then of its neighbours, which solve the conditions of its order."""
    k = np.arange(1, radius + 1, dtype=float)
    powers = np.array([2 * k ** (2 * m) for m in range(1, radius + 1)])
    due = np.zeros(radius)
    due[0] = 2.0
    beside = np.linalg.solve(powers, due)
    return [float(-2 * beside.sum()), *map(float, beside)]


def kept(point: Mapping[str, str], n: int) -> Any:
    """What the sponge leaves of a difference in time along a direction."""
    width = int(point["sponge"])
    inside = np.minimum(np.arange(n), np.arange(n)[::-1])
    depth = np.maximum(width - inside, 0) / width if width else np.zeros(n)
    return 1 - _TAKEN * depth**2


def wavelet(steps: int) -> Any:
    """Ricker's."""
    turns = math.pi * 0.05 * (np.arange(steps) - 24)
    return (1 - 2 * turns**2) * np.exp(-(turns**2))


def start(point: Mapping[str, str], grid: Grid) -> tuple[Any, Any]:
    """The field at the beginning, and a step before it."""
    z, y, x = (np.arange(n, dtype=float) for n in (grid.nz, grid.ny, grid.nx))
    if point["start"] == "rest":
        return (np.zeros((grid.nz, grid.ny, grid.nx)),) * 2
    if point["start"] == "field":
        along = [0.6 + 0.4 * np.sin(0.37 * at + i) for i, at in enumerate((z, y, x))]
        field = along[0][:, None, None] * along[1][:, None] * along[2]
        return field, 0.97 * field
    middle = [(n - 1) / 2 for n in (grid.nz, grid.ny, grid.nx)]
    r = np.sqrt(((z - middle[0]) ** 2)[:, None, None] + ((y - middle[1]) ** 2)[:, None] + (x - middle[2]) ** 2)
    return spreading(r, 0.0, (grid.nx + 1) / 16), spreading(r, float(point["courant"]), (grid.nx + 1) / 16)


def spreading(r: Any, far: float, width: float) -> Any:
    """A Gaussian that was at rest when it began, `far` later, in a uniform medium without end, by d'Alembert."""

    def gauss(at: Any) -> Any:
        return np.exp(-(at**2) / (2 * width**2))

    apart = np.where(r > 0, r, 1.0)
    some = ((r - far) * gauss(r - far) + (r + far) * gauss(r + far)) / (2 * apart)
    return np.where(r > 0, some, (1 - far**2 / width**2) * gauss(far))


def places(point: Mapping[str, str], grid: Grid) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """Where the source is (z, y, x), and the row of receivers (z, y)."""
    source = (
        int(point.get("source_z", grid.nz // 2)),
        int(point.get("source_y", grid.ny // 2)),
        int(point.get("source_x", grid.nx // 2)),
    )
    return source, (int(point.get("receiver_z", grid.nz // 4)), int(point.get("receiver_y", grid.ny // 2)))
