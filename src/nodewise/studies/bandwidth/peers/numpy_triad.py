# SPDX-License-Identifier: BSD-3-Clause
"""The triad in NumPy, piece by piece so that the product stays in a cache; it uses one thread."""

import numpy as np

FACTOR, PIECE = 3.0, 4096
# the study's own rule for the number of passes, each of two triads and 48 bytes an element
MAY_SUIT_CACHE, MOVED_IN_CACHE, MOVED_IN_MEMORY, BYTES = 1 << 22, 8e9, 3.2e9, 48


def available():
    """Say why it cannot run: never, since NumPy comes with nodewise."""


def prepare(inputs, point, threads):
    """The arrays, and the place of the result."""
    count = inputs["b"].size
    moved = MOVED_IN_CACHE if count <= MAY_SUIT_CACHE else MOVED_IN_MEMORY
    passes = int(point.get("passes", max(1, int(moved / (BYTES * count) + 0.5))))
    return {"b": inputs["b"], "c": inputs["c"], "a": np.empty_like(inputs["b"]), "triads": 2 * passes}


def run(state):
    """As many passes as the native triad makes."""
    a, b, c = state["a"], state["b"], state["c"]
    for _ in range(state["triads"]):
        for begin in range(0, a.size, PIECE):
            piece = slice(begin, begin + PIECE)
            np.multiply(c[piece], FACTOR, out=a[piece])
            np.add(a[piece], b[piece], out=a[piece])


def outputs(state):
    """The array that was written."""
    return {"a": state["a"]}
