# SPDX-License-Identifier: BSD-3-Clause
"""NumPy's bincount and cumsum, as one would write it in Python; they use one thread."""

import numpy as np

SIZES = {"S": (16, 11), "W": (20, 16), "A": (23, 19), "B": (25, 21), "C": (27, 23), "D": (31, 27)}
ITERATIONS = 10
MULTIPLIER, SEED, MASK = 5**13, 314159265, (1 << 46) - 1


def available():
    """Say why it cannot run: never, since NumPy comes with nodewise."""


def prepare(point):
    """The benchmark's keys, exactly: the generator in vectors of 2^16, each started by jumping ahead."""
    log_keys, log_max = SIZES[point.get("class", "B")]
    count = int(point.get("keys", 1 << log_keys))
    max_key = int(point.get("max_key", 1 << log_max))
    vector = min(4 * count, 1 << 16)
    first = np.empty(vector, np.uint64)
    x = SEED
    for i in range(vector):
        x = x * MULTIPLIER & MASK
        first[i] = x
    step = np.uint64(pow(MULTIPLIER, vector, 1 << 46))
    uniform = np.empty(-(-4 * count // vector) * vector)
    with np.errstate(over="ignore"):
        for begin in range(0, uniform.size, vector):
            uniform[begin : begin + vector] = first * 2.0**-46
            first = first * step & np.uint64(MASK)
    sums = uniform[: 4 * count].reshape(count, 4).sum(axis=1)
    keys = (max_key / 4 * sums).astype(np.int32)
    return {"keys": keys, "max_key": max_key, "ranks": None, "first": keys[: 2 * ITERATIONS + 1].copy()}


def run(state):
    """Ten iterations as the benchmark defines them."""
    keys, max_key = state["keys"], state["max_key"]
    keys[: state["first"].size] = state["first"]
    for i in range(1, ITERATIONS + 1):
        if i < keys.size:
            keys[i] = min(i, max_key - 1)
        if i + ITERATIONS < keys.size:
            keys[i + ITERATIONS] = max(max_key - i, 0)
        state["ranks"] = np.cumsum(np.bincount(keys, minlength=max_key))


def check(state):
    """Ranks rise to the number of keys, and some are counted again by comparing every key."""
    keys, ranks = state["keys"], state["ranks"]
    if (np.diff(ranks) < 0).any() or ranks[-1] != keys.size:
        return "ranks do not rise to the number of keys"
    for k in np.linspace(0, state["max_key"] - 1, 12).astype(int):
        if np.count_nonzero(keys <= k) != ranks[k]:
            return f"rank of key {k} is wrong"
    return None


def items(state):
    """Keys ranked."""
    return float(state["keys"].size * ITERATIONS)
