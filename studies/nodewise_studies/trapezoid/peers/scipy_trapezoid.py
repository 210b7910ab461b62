# SPDX-License-Identifier: BSD-3-Clause
"""SciPy's trapezoid over an array of f's values; it uses one thread."""

from importlib.util import find_spec

import numpy as np


def available():
    """Say why it cannot run."""
    return None if find_spec("scipy") else "SciPy is not installed: pip install scipy"


def prepare(inputs, point, threads):
    """The bounds as they are; the points belong to the work."""
    from scipy.integrate import trapezoid

    bounds = list(zip(inputs["from"], inputs["to"], strict=True))
    return {"rule": trapezoid, "bounds": bounds, "intervals": int(point["intervals"]), "integral": None}


def run(state):
    """Each integral from the values at all of its points."""
    values = []
    for a, b in state["bounds"]:
        x = np.linspace(a, b, state["intervals"] + 1)
        values.append(state["rule"](4 / (1 + x * x), dx=(b - a) / state["intervals"]))
    state["integral"] = np.array(values)


def outputs(state):
    """The integrals."""
    return {"integral": state["integral"]}
