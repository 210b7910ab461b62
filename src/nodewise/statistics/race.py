# SPDX-License-Identifier: BSD-3-Clause
"""Which of many settings are surely worse than the leader, after the same few blocks of each.

Times are compared as logarithms, after the block's own effect is taken off. The noise of a run is pooled over all
settings, from differences between neighbouring blocks, since a few blocks of one setting say little of it.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from nodewise.statistics.summary import median

Arm = TypeVar("Arm")

#: Deviations that a setting must lie behind to be dropped: with 1000 settings looked at 10 times, one wrong drop in two races.
_DROP_AT = 4.0
#: The standard error of a median of normal samples, over that of their mean.
_MEDIAN_COST = math.sqrt(math.pi / 2)
#: No run is trusted to less than this, however still the first blocks were.
_LEAST_NOISE = 0.001


class Race(Generic[Arm]):
    """A race between settings that all ran in the same blocks. `noise` is the standard deviation of one run's log time."""

    def __init__(self, times: Mapping[Arm, Sequence[float]], noise: float | None = None):
        """`times`: seconds of each arm, one a block, equally many. Raises ValueError where they differ or there are none."""
        lengths = {len(t) for t in times.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise ValueError("every arm of a race runs in every block")
        self.blocks = lengths.pop()
        logs = {arm: [math.log(t) for t in values] for arm, values in times.items()}
        # of centred arms, else the effect of a block would be the noise of whichever arm lies in the middle
        centres = {arm: median(values) for arm, values in logs.items()}
        effects = [median([values[i] - centres[arm] for arm, values in logs.items()]) for i in range(self.blocks)]
        self._residuals = {arm: [v - e for v, e in zip(values, effects, strict=True)] for arm, values in logs.items()}
        self.scores = {arm: median(values) for arm, values in self._residuals.items()}
        # with one block there is nothing to tell noise from, and nothing may be dropped
        pooled = noise if noise is not None else pool_noise(self.steps())
        self.noise = max(_LEAST_NOISE, pooled if pooled is not None else math.inf)

    def steps(self) -> list[float]:
        """Absolute log differences between neighbouring blocks, for pooling the noise over several races."""
        return [abs(b - a) for v in self._residuals.values() for a, b in itertools.pairwise(v)]

    @property
    def leader(self) -> Arm:
        """The arm with the lowest median."""
        return min(self.scores, key=lambda arm: self.scores[arm])

    def behind(self, arm: Arm, other: Arm) -> float:
        """By how many standard errors `arm` is slower than `other`; negative where it is faster.

        Of one or two blocks the difference nearest to none counts, since an outlier in one says nothing of the arm.
        """
        differences = [a - b for a, b in zip(self._residuals[arm], self._residuals[other], strict=True)]
        if self.blocks > 2:
            gap = median(differences)
        else:
            gap = 0.0 if min(differences) <= 0 <= max(differences) else min(differences, key=abs)
        error = math.sqrt(2 / self.blocks) * self.noise * (_MEDIAN_COST if self.blocks > 2 else 1.0)
        return gap / error

    def surely_worse(self) -> list[Arm]:
        """Arms that can be dropped. Never the leader."""
        leader = self.leader
        return [arm for arm in self.scores if arm != leader and self.behind(arm, leader) > _DROP_AT]


def pool_noise(steps: Sequence[float]) -> float | None:
    """The standard deviation of one run's log time from the steps of several races; None from no steps."""
    return 1.4826 * median(steps) / math.sqrt(2) if steps else None
