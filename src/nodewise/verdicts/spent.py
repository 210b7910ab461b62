# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment spent of its budget."""

from __future__ import annotations

import numpy as np

from nodewise.records.experiment import Experiment


def seconds_spent(experiment: Experiment) -> float:
    """What was spent of the budget; of records that do not say so, from the first run's begin to the last one's end."""
    if not len(experiment.records):
        return 0.0
    if experiment.records.spent_s > 0:
        return experiment.records.spent_s
    begin = experiment.records.plain("started_at")
    last = int(np.argmax(begin))
    return float(begin[last] + experiment.records.plain("wall_s")[last] - begin.min())
