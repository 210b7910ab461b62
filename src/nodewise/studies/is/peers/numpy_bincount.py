# SPDX-License-Identifier: BSD-3-Clause
"""NumPy's bincount and cumsum, as one would write it in Python; they use one thread."""

from nodewise.studies.peers import absent

ITERATIONS = 10


def available():
    """Say why it cannot run: never, since NumPy comes with nodewise."""
    return absent("numpy")


def prepare(inputs, point, threads):
    """The study's own keys; the number of their values is that of the ranks."""
    import numpy as np

    keys = inputs["keys"]
    sizes = {"S": 11, "W": 16, "A": 19, "B": 21, "C": 23, "D": 27}
    max_key = int(point.get("max_key") or 1 << sizes[point["class"]])
    return {"np": np, "keys": keys, "max_key": max_key, "first": keys[: 2 * ITERATIONS + 1].copy()}


def run(state):
    """Ten iterations as the benchmark defines them."""
    np, keys, max_key = state["np"], state["keys"], state["max_key"]
    keys[: state["first"].size] = state["first"]
    for i in range(1, ITERATIONS + 1):
        if i < keys.size:
            keys[i] = min(i, max_key - 1)
        if i + ITERATIONS < keys.size:
            keys[i + ITERATIONS] = max(max_key - i, 0)
        state["ranks"] = np.cumsum(np.bincount(keys, minlength=max_key))


def outputs(state):
    """The ranks after the last iteration."""
    return {"ranks": state["ranks"].astype("int32")}
