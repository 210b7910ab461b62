# SPDX-License-Identifier: BSD-3-Clause
"""Extra-P's answers, asked of a Python that has it: `python _extrap_predict.py < programs.json > answers.json`.

In: a list of `{"counts": [...], "runs": [[...], ...], "target": n}`. Out: for each the predicted time, of medians and with
the exponents that Extra-P offers for strong scaling, which is the better of its two choices here; null where it has no model.
"""

import json
import sys
import warnings

from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measure, Measurement
from extrap.modelers.single_parameter.basic import SingleParameterModeler

warnings.simplefilter("ignore")


def predicted(asked: dict[str, list[list[float]]], negative: bool) -> float | None:
    """The time that Extra-P expects at the target."""
    modeler = SingleParameterModeler()
    modeler.use_measure = Measure.MEDIAN
    modeler.allow_negative_exponents = negative
    points = [
        Measurement(Coordinate(float(n)), None, None, list(times))
        for n, times in zip(asked["counts"], zip(*asked["runs"], strict=True), strict=True)
    ]
    found = modeler.create_model(points).hypothesis.function.evaluate(float(asked["target"]))
    return float(found)


if __name__ == "__main__":
    programs = json.load(sys.stdin)
    json.dump([[predicted(p, negative) for negative in (False, True)] for p in programs], sys.stdout)
