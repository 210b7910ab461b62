# SPDX-License-Identifier: BSD-3-Clause
"""The acoustic wave equation on a regular grid, by finite differences of orders 2 to 16 in space."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Published, Study

from .grid import derivative_weights, grid_of, kept, places, start, wavelet


def _laplacian(field: Any, weight: Sequence[float]) -> Any:
    """Of a field that is 0 beyond its ends."""
    radius = len(weight) - 1
    wide = np.pad(field, radius)
    middle = tuple(slice(radius, radius + n) for n in field.shape)
    total = 3 * weight[0] * field
    for k in range(1, radius + 1):
        for axis in range(3):
            for shift in (-k, k):
                there = list(middle)
                there[axis] = slice(radius + shift, radius + shift + field.shape[axis])
                total = total + weight[k] * wide[tuple(there)]
    return total


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The same equations in double precision, a whole field at a time."""
    grid, steps = grid_of(point), int(point["steps"])
    c = grid.inside(inputs["c"]).astype(float)
    weight = derivative_weights(grid.radius)
    sponge = kept(point, grid.nz)[:, None, None] * kept(point, grid.ny)[:, None] * kept(point, grid.nx)
    source, receivers = places(point, grid)
    now, before = start(point, grid)
    traces = np.zeros((steps, grid.nx))
    for step, amplitude in enumerate(wavelet(steps)):
        after = now + sponge * (now - before) + c * _laplacian(now, weight)
        after[source] += c[source] * amplitude
        traces[step] = after[receivers]
        now, before = after, now
    even, odd = (now, before) if steps % 2 == 0 else (before, now)
    return {"even": grid.padded(even), "odd": grid.padded(odd), "traces": traces.ravel()}


def joined(parts: Sequence[Mapping[str, Any]], point: Mapping[str, str]) -> dict[str, Any]:
    """Each rank has its planes between those of its neighbours, and all that the receivers recorded."""
    grid = grid_of(point)
    active = [part for part in parts if part["c"].size]
    if len(active) == 1:
        return dict(active[0])
    whole = {}
    for name in ("c", "even", "odd"):
        held = [grid.planes(part[name]) for part in active]
        # of the neighbours' planes as many as all have more than their own
        ghost = (sum(len(planes) for planes in held) - grid.nz) // (2 * len(held))
        own = np.concatenate([planes[ghost : len(planes) - ghost] for planes in held])
        inside = own[:, grid.radius : grid.radius + grid.ny, 16 : 16 + grid.nx]
        whole[name] = grid.padded(inside)
    return {**whole, "traces": parts[0]["traces"]}


STUDY = Study(
    name="wave",
    title="acoustic waves on a regular grid: finite differences in space, leapfrog in time, in place",
    knobs=(
        Knob("n", "points along each edge of the grid", "320", quick="128"),
        Knob("nz", "points along the slowest edge, over all ranks", ""),
        Knob("ny", "points along the middle edge", ""),
        Knob("nx", "points along the fastest edge", ""),
        Knob("steps", "in time", "16", quick="8", most=100_000),
        Knob("order", "of the differences in space", "8", ("2", "4", "6", "8", "10", "12", "14", "16")),
        Knob(
            "tile_y", "rows of a tile of `blocked`; 0: by the cache", "0", least=0, tries=("0", "8", "16", "32", "64")
        ),
        Knob("tile_z", "planes of a tile of `blocked`; 0: a thread's", "0", least=0, tries=("0", "8", "32")),
        Knob(
            "levels",
            "steps of half a diamond of `temporal`; 0: by the cache",
            "0",
            least=0,
            most=1000,
            tries=("0", "1", "2", "3", "4", "6", "8", "12"),
        ),
        Knob("between", "steps of `temporal` between exchanges of ranks", "4", most=1000),
        Knob("sponge", "points at each face that absorb; 0: none", "20", least=0),
        Knob(
            "model",
            "of the medium: faster layers below that vary from point to point, or none",
            "layers",
            ("layers", "uniform"),
        ),
        Knob(
            "start",
            "the field at the beginning: everywhere something, nothing, a Gaussian",
            "field",
            ("field", "rest", "pulse"),
        ),
        Knob("courant", "dt times the largest speed, in points", "0.35", real=True),
        Knob("source_z", "where the source is, along z (default: the middle)", "", least=0),
        Knob("source_y", "along y", "", least=0),
        Knob("source_x", "along x", "", least=0),
        Knob("receiver_z", "where the row of receivers is, along z (default: a quarter)", "", least=0),
        Knob("receiver_y", "along y (default: the middle)", "", least=0),
    ),
    default_variant="temporal",
    plain_variant="plain",
    rate_unit="Mpoints/s",
    rate_scale=1e-6,
    test_points=(
        {"n": "1", "steps": "1", "order": "2", "sponge": "1"},
        {"nz": "7", "ny": "3", "nx": "5", "n": "7", "steps": "3", "order": "2", "sponge": "2"},
        {"nz": "13", "ny": "33", "nx": "17", "steps": "9", "order": "6", "sponge": "0", "levels": "1", "tile_y": "5"},
        {"nz": "31", "ny": "37", "nx": "33", "steps": "10", "order": "8", "sponge": "5", "start": "rest"},
        {"nz": "23", "ny": "41", "nx": "15", "steps": "12", "order": "10", "levels": "3", "tile_z": "4", "sponge": "4"},
        {
            "nz": "29",
            "ny": "21",
            "nx": "31",
            "steps": "5",
            "order": "12",
            "model": "uniform",
            "start": "pulse",
            "sponge": "0",
        },
        {"nz": "37", "ny": "27", "nx": "47", "steps": "8", "order": "14", "sponge": "6", "between": "2"},
        {
            "nz": "53",
            "ny": "45",
            "nx": "65",
            "steps": "11",
            "order": "16",
            "sponge": "8",
            "levels": "2",
            "tile_y": "16",
        },
        # a peer that makes its code by the order is asked at the last, and takes seconds more for a high one
        {"nz": "17", "ny": "19", "nx": "13", "steps": "7", "order": "4", "sponge": "3", "levels": "2"},
    ),
    reference=reference,
    joined=joined,
    # up to 12 steps of float
    tolerance={"even": (1e-5, 1e-5), "odd": (1e-5, 1e-5), "traces": (1e-5, 1e-5)},
    published=(
        Published("", "memory of the arrays", "high-bandwidth memory through memkind", "no figure, no machine named"),
    ),
    bench=({}, {"order": "4"}, {"order": "16"}),
)
