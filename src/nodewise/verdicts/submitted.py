# SPDX-License-Identifier: BSD-3-Clause
"""An experiment that waits for its turn elsewhere."""

from __future__ import annotations

from nodewise.base.frozen import dataclass


@dataclass(frozen=True)
class Submitted:
    """The number of the one job that measures an experiment, the experiment's folder, and the file that the job prints into."""

    kind: str
    job: int
    experiment: str
    log: str
