# SPDX-License-Identifier: BSD-3-Clause
"""Principal components: the axes along which rows of data vary most, by two methods."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.studies.contract import Curve, Knob, Limit, Published, Study, Table

from .headings import headings_of

NATIVE = ("plain", "blocked", "simd", "randomized", "read")
# eigenvalues that are closer, relative to the largest, count as one with several axes
SAME = 1e-4


def table(inputs: Mapping[str, Any], columns: int) -> Any:
    """The rows as a matrix, sparse ones with their zeros."""
    if "data" in inputs:
        return inputs["data"].reshape(-1, columns)
    rows = inputs["starts"].size - 1
    whole = np.zeros((rows, columns))
    whole[np.repeat(np.arange(rows), np.diff(inputs["starts"])), inputs["column"]] = inputs["value"]
    return whole


def turned(vectors: Any) -> Any:
    """The axes (rows), each with its component of the largest magnitude positive, the first of equal ones."""
    large = np.abs(vectors)
    lead = np.argmax(large >= large.max(axis=1, keepdims=True) * (1 - 1e-8), axis=1)
    return vectors * np.where(vectors[np.arange(len(vectors)), lead] < 0, -1.0, 1.0)[:, None]


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """By NumPy's eigh or svd; axes of equal eigenvalues are any basis, so the given ones are projected on the right space."""
    columns = int(point["columns"])
    # a mean that is exact for a column that does not vary
    deviations = table(inputs, columns)
    deviations = deviations - deviations[0]
    deviations = deviations - deviations.mean(axis=0)
    count = len(deviations)
    if point["method"] != "covariance":
        scale = np.sqrt((deviations**2).sum(axis=0) / (count - 1))
        deviations = deviations / np.where(scale > 0, scale, 1.0)
    if point["method"] == "svd":
        # all axes, also where there are fewer rows than columns
        _, singular, vectors = np.linalg.svd(deviations, full_matrices=count < columns)
        values = np.zeros(columns)
        values[: singular.size] = singular**2 / (count - 1)
    else:
        values, vectors = np.linalg.eigh(deviations.T @ deviations / (count - 1))
        values, vectors = values[::-1], vectors.T[::-1]
    axes = turned(vectors)
    given = inputs["eigenvectors"].reshape(-1, columns)
    near = np.abs(values[:, None] - values) <= SAME * values[0]
    kept = len(given)
    for k in np.flatnonzero(near[:kept].sum(axis=1) > 1):
        axes[k] = given[k] @ vectors[near[k]].T @ vectors[near[k]]
    values = np.maximum(values, 0.0)
    found = {"eigenvalues": values[:kept], "eigenvectors": axes[:kept].ravel()}
    if "components" in point:
        found["variance"] = values.sum(keepdims=True)
    if "project" in point:
        found["projection"] = (deviations @ given[: int(point["project"])].T).ravel()
    return found


def select(point: Mapping[str, str]) -> tuple[str, ...]:
    """Peers take data that are in memory; only some take sparse ones, and some find the first components alone."""
    first = "components" in point
    native = tuple(name for name in NATIVE if first or name != "randomized")
    if "memory" in point:
        return native
    if point["input"] == "sparse":
        return native if point["method"] == "svd" else (*native, "numpy", "scikit_learn")
    return (*native, "numpy", "scikit_learn", "intelex", *(("scikit_learn_randomized",) if first else ()))


def report(result: Mapping[str, Any]) -> Sequence[str]:
    """The shares of the variance that the first components explain."""
    for row in result["rows"]:
        metrics = row.get("metrics", {})
        shares = [metrics[f"explained_{k}"] for k in range(1, 11) if metrics.get(f"explained_{k}") is not None]
        if shares:
            listed = ", ".join(f"{100 * share:.1f}" for share in shares)
            size = f"{metrics['rows']:.0f} rows, {metrics['columns']:.0f} columns"
            lines = [f"{size}; explained variance of the first {len(shares)} components in %: {listed}"]
            passes = [r["metrics"]["passes"] for r in result["rows"] if r.get("metrics", {}).get("passes")]
            return [*lines, *(f"randomized: {p:.0f} passes over the rows" for p in passes[:1])]
    return []


def result(outputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Table]:
    """Eigenvalues with their shares of the variance, axes as rows, and rows along the first of them."""
    values = outputs["eigenvalues"]
    columns = outputs["eigenvectors"].size // values.size
    variance = outputs["variance"].item() if "variance" in outputs else values.sum()
    shares = values / variance if variance > 0 else np.zeros(values.size)
    numbered = tuple(f"component_{k}" for k in range(1, values.size + 1))
    tables = {
        "eigenvalues": Table(("eigenvalue", "share"), np.column_stack([values, shares])),
        "eigenvectors": Table(headings_of(point, columns), outputs["eigenvectors"].reshape(-1, columns)),
    }
    if "projection" in outputs:
        kept = int(point["project"])
        tables["projection"] = Table(numbered[:kept], outputs["projection"].reshape(-1, kept))
    return tables


STUDY = Study(
    name="pca",
    title="principal components: eigenvalues and axes of a table's correlation matrix, or by singular values",
    knobs=(
        Knob("method", "how", "correlation", ("correlation", "covariance", "svd")),
        Knob("rows", "number of generated rows", "1000000", quick="200000", least=2, unless="file"),
        Knob("columns", "number of generated columns", "64", most=4096, unless="file"),
        Knob("input", "how the data are held: all values, or those that are not 0", "dense", ("dense", "sparse")),
        Knob("density", "how many generated values are not 0 in sparse data, in %", "5", most=40, unless="file"),
        Knob(
            "shape",
            "what is special about the generated data",
            "mixed",
            ("mixed", "constant", "duplicate", "collinear"),
            unless="file",
        ),
        Knob("offset", "how far the generated data are from 0", "", least=0, unless="file"),
        Knob("file", "a CSV file to analyse in place of generated data", "", text=True),
        Knob("memory", "bytes that the process may take: larger data are streamed", "", least=2**20, unit=1),
        Knob("components", "only so many, the first; without it all", "", most=4096),
        Knob("digits", "of the largest eigenvalue, to which the first components must be such", "6", least=1, most=12),
        Knob("project", "in how many components the rows are given, too: a second pass", "", most=4096),
        Knob("block", "rows of a block of streamed data, at most", ""),
    ),
    default_variant="simd",
    plain_variant="plain",
    rate_unit="Mrows/s",
    rate_scale=1e-6,
    test_points=(
        {"rows": "2", "columns": "1"},
        {"rows": "3", "columns": "2"},
        {"rows": "2", "columns": "3", "method": "svd"},
        {"rows": "5", "columns": "17"},
        {"rows": "6", "columns": "17", "method": "svd"},
        {"rows": "1003", "columns": "7", "shape": "constant"},
        {"rows": "1003", "columns": "7", "shape": "constant", "method": "svd"},
        {"rows": "2000", "columns": "65", "offset": "100000000", "project": "2"},
        {"rows": "2000", "columns": "65", "offset": "100000000", "method": "svd"},
        {"rows": "1001", "columns": "17", "shape": "duplicate", "method": "covariance"},
        {"rows": "1001", "columns": "17", "shape": "duplicate", "method": "svd"},
        {"rows": "777", "columns": "8", "shape": "collinear", "method": "svd", "project": "8"},
        {"rows": "3001", "columns": "33", "input": "sparse"},
        {"rows": "3001", "columns": "33", "input": "sparse", "shape": "constant", "method": "covariance"},
        {"rows": "3001", "columns": "33", "input": "sparse", "shape": "constant", "method": "svd", "project": "5"},
        {"rows": "4099", "columns": "3", "method": "svd"},
        {"rows": "40009", "columns": "64"},
        {"rows": "30", "columns": "65", "components": "4", "digits": "12", "project": "4"},
        {"rows": "4003", "columns": "65", "components": "3", "digits": "12", "method": "svd", "project": "2"},
        {
            "rows": "2001",
            "columns": "40",
            "components": "5",
            "digits": "12",
            "method": "covariance",
            "shape": "constant",
        },
        {"rows": "3001", "columns": "33", "components": "2", "digits": "12", "input": "sparse", "project": "1"},
        {"rows": "999", "columns": "7", "components": "7", "digits": "12", "shape": "duplicate"},
        {"rows": "70001", "columns": "31", "method": "covariance", "project": "3"},
    ),
    reference=reference,
    # of rows 10^8 from 0 the means have 8 digits behind the point
    tolerance={
        "eigenvalues": (1e-10, 1e-11),
        "eigenvectors": (0.0, 1e-9),
        "projection": (1e-9, 1e-6),
        "variance": (1e-10, 0.0),
    },
    limits=(Limit("flops", "f64", per="flops"), Limit("bandwidth", "read", per="bytes")),
    published=(
        Published(
            "",
            "two methods",
            "correlation matrix's eigenvectors; singular values of standardised data",
            "no figure, no machine named",
        ),
    ),
    bench=(
        {},
        {"method": "covariance"},
        {"method": "svd", "rows": "200000"},
        {"input": "sparse"},
        {"rows": "100000", "columns": "500", "components": "10"},
    ),
    select=select,
    report=report,
    result=result,
    curve=Curve("explained_", "component", "share of the variance"),
)
