# SPDX-License-Identifier: BSD-3-Clause
"""Mathematical functions applied only where a mask holds."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Library, Limit, Point, Study

FUNCTIONS = {"exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "acosh": np.arccosh}


def reference(inputs: Mapping[str, Any], point: Point) -> dict[str, Any]:
    """The function in extended precision where NumPy has it; masked-off arguments are not looked at."""
    chosen = inputs["mask"] != 0
    y = inputs["kept"].copy()
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[point["function"]](inputs["x"][chosen].astype(np.longdouble))
        y[chosen] = exact.astype(np.float64)
    return {"y": y}


def select(point: Point) -> Collection[str]:
    """The contenders that have the function, for these arguments, with that accuracy or a better one."""
    function, edges = point["function"], point.get("input") == "edge"
    names = ["branch", "blend", "native", "compress", "best", "move", "svml-ha", "numpy_where"]
    # SLEEF's exp and acosh leave out the uppermost arguments
    if not (edges and function in ("exp", "acosh")):
        names.append("sleef-u10")
    if point.get("accuracy", "1") == "1":
        return names
    names.append("svml")
    if function in ("log", "sin", "cos", "sqrt"):
        names.append("sleef-u35")
    if function != "sqrt":
        names.append("libmvec")
    return names


def report(result: Mapping[str, Any]) -> list[str]:
    """What our own variants chose on this processor, and why."""
    lines = []
    measured = [row["metrics"] for row in result["rows"]]
    for found in measured:
        own, steps = (found.get(name) for name in ("sqrt_own_ns", "sqrt_by_steps_ns"))
        if own and steps:
            chosen = "steps from an estimate" if steps < own else "the processor's own instruction"
            lines.append(
                f"square root: by {chosen}, which is quicker here: {own:.2f} ns a vector by its own, {steps:.2f} ns by steps"
            )
            break
    for found in measured:
        if "most_together_percent" in found:
            places, together = found["most_one_by_one_percent"], found["most_together_percent"]
            lines.append(f"best: {_ways(min(places, together), together)}: where the times of trials crossed here")
            break
    return lines


def _ways(one_by_one: float, together: float) -> str:
    """By what way elements are computed, by the share of them that is chosen, in percent."""
    ways = [("one by one", one_by_one)] if one_by_one > 0 else []
    ways += [("together", together)] if together > one_by_one else []
    said = [
        f"{way}{' where' if i == 0 else ''} up to {most:.0f}%{' are chosen' if i == 0 else ''}"
        for i, (way, most) in enumerate(ways)
    ]
    return ", ".join([*said, f"{'above that ' if said else ''}all are computed"])


STUDY = Study(
    name="maskmath",
    title="exp, log, sin, cos, sqrt, acosh where a mask holds: branches, blends, native masks",
    knobs=(
        Knob("function", "what is computed", "exp", tuple(FUNCTIONS)),
        Knob(
            "accuracy", "largest error in ulp that is accepted, of peers too: 1 or 4, which is quicker", "1", ("1", "4")
        ),
        Knob("n", "elements", "16384"),
        Knob("repeat", "how often the same elements are done in one run", "1000", quick="100"),
        Knob(
            "mask",
            "where it holds: at random, in blocks of 64, nowhere, everywhere",
            "random",
            ("random", "blocks", "none", "all"),
        ),
        Knob(
            "others",
            "what becomes of elements that the mask leaves out: what was there, or 0 (`if (mask) f(x); else 0.0`)",
            "keep",
            ("keep", "zero"),
        ),
        Knob("percent", "how many of 100 elements the mask chooses", "50", least=0, most=100),
        Knob("input", "arguments: usual ones, or also edges of the function's range", "usual", ("usual", "edge")),
    ),
    default_variant="best",
    plain_variant="branch",
    rate_unit="M/s",
    rate_scale=1e-6,
    test_points=(
        *({"function": f, "n": "1003", "repeat": "2"} for f in FUNCTIONS),
        *({"function": f, "n": "20001", "repeat": "1", "input": "edge", "percent": "80"} for f in FUNCTIONS),
        *({"function": f, "n": "1003", "repeat": "2", "accuracy": "4"} for f in FUNCTIONS),
        *(
            {"function": f, "n": "20001", "repeat": "1", "input": "edge", "percent": "80", "accuracy": "4"}
            for f in ("log", "sin", "cos", "acosh")
        ),
        {"function": "log", "n": "1", "repeat": "1", "mask": "all"},
        {"function": "sin", "n": "7", "repeat": "3"},
        {"function": "cos", "n": "513", "repeat": "1", "mask": "all"},
        {"function": "acosh", "n": "1001", "repeat": "1", "mask": "none"},
        {"function": "exp", "n": "30001", "repeat": "1", "mask": "blocks", "percent": "20"},
        *({"function": f, "n": "3003", "repeat": "2", "others": "zero"} for f in FUNCTIONS),
        {"function": "exp", "n": "3003", "repeat": "1", "others": "zero", "percent": "5"},
        # past the caches
        {"function": "log", "n": "2000003", "repeat": "1", "percent": "3", "others": "zero"},
        {"function": "sqrt", "n": "2000003", "repeat": "1", "percent": "90"},
    ),
    reference=reference,
    # 4 ulp, the widest promise of a contender; subnormal results have fewer digits
    tolerance={"y": (10 * 2.0**-52, 5 * 2.0**-1074)},
    select=select,
    report=report,
    limits=(Limit("bandwidth", "triad", per="bytes"),),
    libraries={
        "svml": Library(
            files=("libsvml.so",),
            install="pip install intel-cmplr-lib-rt",
            wheels=("lib/libsvml.so*",),
        ),
        "sleef": Library(files=("libsleef.so.3", "libsleef.so"), install="apt-get install libsleef3"),
    },
    bench=(
        *({"function": f, "mask": "all", "accuracy": a} for f in FUNCTIONS for a in ("1", "4")),
        *({"function": f, "percent": "25"} for f in FUNCTIONS),
        {"percent": "25", "others": "zero"},
        *({"function": f, "n": "16777216", "repeat": "1"} for f in ("exp", "acosh")),
    ),
)
