# SPDX-License-Identifier: BSD-3-Clause
"""NumPy's functions with `where=`, one thread, over a copy of what is kept, or over zeros."""

import numpy as np

NAMES = {"acosh": "arccosh"}


def available():
    """Say why it cannot run: never, since NumPy comes with nodewise."""


def prepare(inputs, point, threads):
    """The function, the mask as NumPy wants it, and an array for the result."""
    name = point["function"]
    return {
        "function": getattr(np, NAMES.get(name, name)),
        "repeat": int(point["repeat"]),
        "x": inputs["x"],
        "kept": 0.0 if point.get("others") == "zero" else inputs["kept"],
        "mask": inputs["mask"] != 0,
        "y": np.zeros(inputs["x"].size),
    }


def run(state):
    """So often as the knob says."""
    with np.errstate(all="ignore"):
        for _ in range(state["repeat"]):
            np.copyto(state["y"], state["kept"])
            state["function"](state["x"], out=state["y"], where=state["mask"])


def outputs(state):
    """By the study's name."""
    return {"y": state["y"]}
