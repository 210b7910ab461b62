# SPDX-License-Identifier: BSD-3-Clause
"""Prior: what earlier searches of similar surfaces saw, as an expectation of this one that its own runs confirm or refute.

Each earlier search has a process fitted to it, whose mean is what it expects of a point here. A linear combination of these
expectations, with coefficients that the runs here learn, is the mean of a process that has less left to explain (stacked
processes: D. Golovin et al., Google Vizier, KDD 2017, section 3.3; here with the coefficients' own uncertainty). Beside it
stands the process that knows nothing of earlier searches. Whichever holds the runs here for more likely is used, from block to
block (R. E. Kass, A. E. Raftery, Bayes factors, JASA 90, 1995): a prior that misleads is dropped, and comes back where it was right after all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nodewise.base.frozen import dataclass
from nodewise.search.space import AS_STARTED, Point
from nodewise.search.surrogate import Array, Given, Runs, Surrogate
from nodewise.search.tried import Tried

#: The deviation of what an earlier tune saw of a setting, in log time, beside the noise of its runs.
_OF_ANOTHER = 0.01
#: How far the coefficient of an earlier search may be from what is expected of it: the deviation.
_COEFFICIENT = 0.35
#: What is left to explain, as a share of what there is without a prior: at least this.
_LEAST_LEFT = 0.3
#: The logarithm of the odds for a prior before anything ran; the odds against it from which on it is said to be refuted, and those
#: from which on it is not looked at again.
_ODDS, _REFUTED, _GONE = 1.0, 3.0, 12.0
#: More points than this of an earlier search are not fitted; those that took the least time are.
_MOST_SEEN = 100


@dataclass(frozen=True)
class Seen:
    """What an earlier search saw of a point of this space: the log of its time over that of the program as it was started,
    and the standard error of that.
    """

    point: Point
    log: float
    deviation: float


@dataclass(frozen=True)
class Prior:
    """An earlier search. `axes` are those of this space that it had, too; `likeness`, from 0 to 1, is the share of its effects
    that is expected here before anything ran.
    """

    seen: tuple[Seen, ...]
    axes: frozenset[str]
    likeness: float


class Expectations:
    """What earlier searches lead to expect of the points of a search."""

    def __init__(self, priors: Sequence[Prior], tried: Tried, default: Point):
        self._tried, self._default = tried, default
        self._priors = [p for p in priors if len(p.seen) > 1]
        self._models = [self._fitted(p) for p in self._priors]
        self._known: dict[int, Array] = {}
        total = sum(p.likeness for p in self._priors)
        #: The coefficients that are expected, and their deviations.
        self.given = Given(
            np.array([p.likeness**2 / total for p in self._priors]),
            np.full(len(self._priors), _COEFFICIENT / math.sqrt(max(1, len(self._priors)))),
            max(_LEAST_LEFT, 1 - max((p.likeness for p in self._priors), default=0.0)),
        )

    def __bool__(self) -> bool:
        return bool(self._models)

    def _fitted(self, prior: Prior) -> Surrogate:
        seen = sorted(prior.seen, key=lambda s: s.log)[:_MOST_SEEN]
        rows = np.stack([self._tried.features(s.point) for s in seen])
        model = Surrogate(self._tried.groups)
        variances = np.array([s.deviation**2 + _OF_ANOTHER**2 for s in seen])
        model.fit_means(rows, np.array([s.log for s in seen]), variances)
        return model

    def of(self, point: Point) -> Array:
        """What each earlier search expects of a point: the log of its time over that of its best, compressed."""
        key = self._tried.key(point)
        if key not in self._known:
            found = []
            for prior, model in zip(self._priors, self._models, strict=True):
                # of axes that it did not have it says nothing
                other = {n: v for n, v in self._default.items() if n not in prior.axes}
                row = self._tried.features(point if AS_STARTED in point else point.having(**other))
                found.append(float(model.guess(row[None, :], np.array([-1]))[0][0]))
            self._known[key] = np.array(found)
        return self._known[key]

    def best(self, points: Sequence[Point], most: int) -> list[Point]:
        """The points of which all of them together expect the most, the best first."""
        if not points:
            return []
        expected = np.stack([self.of(p) for p in points]) @ self.given.coefficients
        return [points[int(i)] for i in np.argsort(expected, kind="stable")[:most]]

    @property
    def favourites(self) -> list[Point]:
        """The best point that each of them saw, and the second best, all of the first before."""
        ranked = [[s.point for s in sorted(p.seen, key=lambda s: s.log + s.deviation)[:2]] for p in self._priors]
        return [one[k] for k in range(2) for one in ranked]


class Beliefs:
    """A process with what is given and one without: the one that holds the runs for more likely says what is expected.

    Rows of features end with one column for each earlier search.
    """

    def __init__(self, groups: Sequence[int], given: Given):
        self._columns = len(given.coefficients)
        self._with: Surrogate = Surrogate(groups, given)
        self._without = Surrogate(groups)
        self._odds = _ODDS
        self._turned = self._dropped = False

    @property
    def trusted(self) -> bool:
        """Whether the runs so far do not refute what was given, nor say the opposite of it."""
        return not self._dropped and not self._turned and self._odds > 0

    @property
    def refuted(self) -> bool:
        """Whether the runs so far speak clearly against what was given: it is more than not needed."""
        return self._turned or self._odds < -_REFUTED

    @property
    def _used(self) -> Surrogate:
        return self._with if self.trusted else self._without

    @property
    def noise(self) -> float:
        """The standard deviation of one run's log time."""
        return self._used.noise

    def fit(self, features: Array, runs: Runs) -> None:
        """As `Surrogate.fit`."""
        self._without.fit(features[:, : -self._columns], runs)
        if self._dropped:
            return
        self._with.fit(features, runs)
        self._odds = _ODDS + self._with.evidence(self._without) - self._without.evidence(self._without)
        self._turned = float(self._with.coefficients.sum()) < 0
        self._dropped = self._odds < -_GONE

    def predict(self, features: Array, known: NDArray[np.int64]) -> tuple[Array, Array]:
        """As `Surrogate.predict`."""
        return self._used.predict(self._own(features), known)

    def guess(self, features: Array, known: NDArray[np.int64]) -> tuple[Array, Array]:
        """As `Surrogate.guess`."""
        return self._used.guess(self._own(features), known)

    def _own(self, features: Array) -> Array:
        return features if self.trusted else features[:, : -self._columns]
