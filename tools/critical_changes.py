# SPDX-License-Identifier: BSD-3-Clause
"""Simulates the critical values of `statistics/changes.py` and prints them as its table; with --power what its marks are worth."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from nodewise.statistics.changes import FEWEST, RATE, find_changes, largest

Array = NDArray[np.float64]
#: Numbers of values; between two of them the larger critical values hold.
SIZES = (FEWEST, 14, 16, 20, 25, 32, 40, 50, 64, 90, 128, 180, 256)
#: The autocorrelation of neighbours under which the rate is kept.
AUTOCORRELATION = 0.5
_BATCH = 500


def correlated(shape: tuple[int, int], autocorrelation: float, seed: int) -> Array:
    """Normal noise of standard deviation 1, each row a series in which a value depends on the one before it."""
    noise = np.random.default_rng(seed).normal(size=shape)
    for i in range(1, shape[1]):
        noise[:, i] = autocorrelation * noise[:, i - 1] + np.sqrt(1 - autocorrelation**2) * noise[:, i]
    return noise


def statistics_of(n: int, count: int, autocorrelation: float) -> Array:
    """The largest statistics of `count` series of n values that do not change: a row for each number of changes taken away."""
    found = []
    for batch in range(-(-count // _BATCH)):
        noise = correlated((_BATCH, n), autocorrelation, 1000 * n + batch)
        found.append(largest(noise.argsort(axis=1).argsort(axis=1) - (n - 1) / 2)[0])
    return np.concatenate(found, axis=1)


#: Noise of different kinds, in units of its spread, that a series without a change is made of.
NOISE: Mapping[str, Callable[[int, int], Array]] = {
    "normal": lambda n, seed: correlated((1, n), 0.0, seed)[0],
    "heavy tails (t, 2 degrees)": lambda n, seed: np.random.default_rng(seed).standard_t(2, n),
    "skewed (log-normal)": lambda n, seed: np.random.default_rng(seed).lognormal(0, 1, n),
    "two modes": lambda n, seed: (
        np.random.default_rng(seed).normal(0, 0.2, n) + (np.random.default_rng(seed + 9).random(n) < 0.3)
    ),
    "rounded": lambda n, seed: np.round(correlated((1, n), 0.0, seed)[0]),
    "bursts": lambda n, seed: correlated((1, n), 0.0, seed)[0] + 8 * (np.random.default_rng(seed + 9).random(n) < 0.05),
    "autocorrelation 0.3": lambda n, seed: correlated((1, n), 0.3, seed)[0],
    "autocorrelation 0.5": lambda n, seed: correlated((1, n), 0.5, seed)[0],
    "autocorrelation 0.7": lambda n, seed: correlated((1, n), 0.7, seed)[0],
}


def marked(
    n: int, noise: Callable[[int, int], Array], count: int, levels: Callable[[Array], Array] | None = None
) -> float:
    """The share of series with a mark; `levels` of the positions is added to the noise, in its units."""
    level = np.zeros(n) if levels is None else levels(np.arange(n))
    return float(np.mean([bool(find_changes(_above_zero(noise(n, seed) + level))) for seed in range(count)]))


def _above_zero(values: Array) -> Array:
    """As times are; ranks are the same."""
    return np.exp(0.01 * np.clip(values, -1e4, 1e4))


def print_power(count: int) -> None:
    """False marks by kind of noise, and how often changes are seen."""
    sizes = (14, 30, 60, 150)
    print(f"{'share of series with a mark':36}" + "".join(f"{n:>7}" for n in sizes))
    for name, noise in NOISE.items():
        print(f"{name:36}" + "".join(f"{marked(n, noise, count):7.1%}" for n in sizes), flush=True)
    shapes: dict[str, Callable[[float], Callable[[int], Callable[[Array], Array]]]] = {
        "in the middle": lambda by: lambda n: lambda at: by * (at >= n // 2),
        "6 values ago": lambda by: lambda n: lambda at: by * (at >= n - 6),
        "there and back, a quarter": lambda by: lambda n: lambda at: by * ((at >= n // 2) & (at < n // 2 + n // 4)),
    }
    for by in (1.0, 2.0, 4.0):
        for name, shape in shapes.items():
            row = [marked(n, NOISE["normal"], count, shape(by)(n)) for n in sizes]
            print(f"{f'a change by {by:g} deviations {name}':44}"[:44] + "".join(f"{x:7.0%}" for x in row), flush=True)


def main() -> None:
    """Print the table, or with --power what it is worth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=10000)
    parser.add_argument("--power", action="store_true")
    asked = parser.parse_args()
    if asked.power:
        print_power(asked.series)
        return
    for n in SIZES:
        one, several = np.quantile(statistics_of(n, asked.series, AUTOCORRELATION), 1 - RATE / 2, axis=1)
        print(f"    ({n}, {one:.3f}, {several:.3f}),", flush=True)


if __name__ == "__main__":
    main()
