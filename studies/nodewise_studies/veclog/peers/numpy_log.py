# SPDX-License-Identifier: BSD-3-Clause
"""NumPy's log, one thread: two logarithms into arrays that are there already, then the product."""

import numpy as np


def available():
    """Say why it cannot run: never, since NumPy comes with nodewise."""


def prepare(inputs, point, threads):
    """Arrays for the result and for one factor."""
    size = inputs["a"].size
    return {"a": inputs["a"], "b": inputs["b"], "c": np.zeros(size), "other": np.zeros(size)}


def run(state):
    """c = log(a) log(b)."""
    with np.errstate(all="ignore"):
        np.log(state["a"], out=state["c"])
        np.log(state["b"], out=state["other"])
        np.multiply(state["c"], state["other"], out=state["c"])


def outputs(state):
    """By the study's name."""
    return {"c": state["c"]}
