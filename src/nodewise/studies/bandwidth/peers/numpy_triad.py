# SPDX-License-Identifier: BSD-3-Clause
"""The triad in NumPy, piece by piece so that the product stays in a cache; it uses one thread."""

import numpy as np

FACTOR, PASSES, BYTES, PIECE = 3.0, 2, 48, 4096
FROM_MEMORY, FROM_CACHE, CACHE = 3.2e9, 8e9, 32 << 20


def available():
    """Say why it cannot run: never, since NumPy comes with nodewise."""


def prepare(inputs, point, threads):
    """The arrays, and the place of the result."""
    return {"b": inputs["b"], "c": inputs["c"], "a": np.empty_like(inputs["b"]), "passes": int(point.get("passes", 1))}


def run(state):
    """As many passes as the native triad makes."""
    a, b, c = state["a"], state["b"], state["c"]
    for _ in range(PASSES * state["passes"]):
        for begin in range(0, a.size, PIECE):
            piece = slice(begin, begin + PIECE)
            np.multiply(c[piece], FACTOR, out=a[piece])
            np.add(a[piece], b[piece], out=a[piece])


def outputs(state):
    """The array that was written."""
    return {"a": state["a"]}
