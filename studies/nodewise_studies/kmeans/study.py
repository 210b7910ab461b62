# SPDX-License-Identifier: BSD-3-Clause
"""k-means: each point to its nearest centre, then each centre to the mean of its points, ten times."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Limit, Published, Study


def _nearest(points: Any, centres: Any) -> Any:
    """The plain loop's labels: squares in float, added dimension by dimension; the first of several least."""
    labels = np.empty(len(points), np.int32)
    step = max(1, 2**22 // len(centres))
    for begin in range(0, len(points), step):
        part = points[begin : begin + step]
        distances = np.zeros((len(part), len(centres)), np.float32)
        with np.errstate(over="ignore", under="ignore"):
            for dim in range(points.shape[1]):
                distances += np.square(part[:, None, dim] - centres[None, :, dim])
        labels[begin : begin + step] = distances.argmin(axis=1)
    return labels


def _means(points: Any, labels: Any, centres: Any) -> Any:
    """Means of coordinates rounded so that their sums are exact; a centre without points stays."""
    most = max(float(np.abs(points).max()), 1e-30) * len(points)
    step = 2.0 ** (np.frexp(most)[1] - 50)
    rounded = np.rint(points.astype(np.float64) / step) * step
    counts = np.bincount(labels, minlength=len(centres))
    moved = centres.copy()
    for dim in range(points.shape[1]):
        sums = np.bincount(labels, rounded[:, dim], minlength=len(centres))
        np.divide(sums, counts, out=moved[:, dim], where=counts > 0, casting="unsafe")
    return moved


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The last assignment, the centres that it used, and their means."""
    dims = int(point["dims"])
    points = inputs["points"].reshape(-1, dims)
    centres = inputs["initial"].reshape(-1, dims)
    for _ in range(int(point["iterations"])):
        used = centres
        labels = _nearest(points, used)
        centres = _means(points, labels, used)
    return {"labels": labels, "used": used.ravel(), "centres": centres.ravel()}


def _test_point(points: int, clusters: int, dims: int = 3, iterations: int = 3, kind: str = "rgb") -> dict[str, str]:
    values = {"points": points, "clusters": clusters, "dims": dims, "iterations": iterations, "input": kind}
    return {name: str(value) for name, value in values.items()}


STUDY = Study(
    name="kmeans",
    title="k-means: colours to their nearest of many centres, centres to their means",
    knobs=(
        Knob("points", "number of points", "1000000", quick="100000", most=2**31 - 1),
        Knob("clusters", "number of clusters", "1000", most=2**20),
        Knob("dims", "coordinates of a point", "3", most=1024),
        Knob("iterations", "assignments, each followed by new means", "10", most=10000),
        Knob(
            "input",
            "colours of 8 bits in a mixture; uniform in [0, 1); few values and many ties; all the same; wide, sizes so far "
            "apart that squares overflow",
            "rgb",
            ("rgb", "uniform", "ties", "same", "wide"),
        ),
    ),
    default_variant="boxes",
    plain_variant="loop",
    rate_unit="Gdistances/s",
    rate_scale=1e-9,
    test_points=(
        _test_point(1, 1, iterations=1),
        _test_point(1, 5),
        _test_point(17, 40),
        _test_point(3000, 1),
        _test_point(1023, 15, dims=1),
        _test_point(1025, 17, dims=2, kind="uniform"),
        _test_point(5001, 33, dims=5),
        _test_point(2049, 129, dims=30, kind="uniform"),
        _test_point(4099, 300, kind="ties"),
        _test_point(999, 16, kind="same"),
        _test_point(3001, 65, kind="wide"),
        _test_point(10007, 700, kind="uniform"),
        # more boxes at the top than one
        _test_point(20011, 257),
    ),
    reference=reference,
    limits=(Limit("flops", "f32", per="flops"),),
    published=(
        Published("loop", "1 000 000 points, 1 000 clusters, 10 iterations", "111.50 s", "as published"),
        Published("split", "the same with the loops split", "20.48 s, 5.5 times as fast", "as published"),
    ),
)
