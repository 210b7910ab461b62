# SPDX-License-Identifier: BSD-3-Clause
"""Surrogate: what a handful of noisy runs say of all settings, run or not. A Gaussian process on log times.

The kernel is a linear trend plus a Matérn-5/2 deviation over the same scaled features, plus an effect of each setting's
own (C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, chapters 2, 4 and 5). Scales are
those of the largest marginal likelihood under broad priors. What a whole block suffered is taken off first, and a run
far from what it should be counts less, as under Student's t with few degrees of freedom (K. L. Lange, R. J. A. Little,
J. M. G. Taylor, JASA 84, 1989).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.base.blas import use_one_thread
from nodewise.base.frozen import dataclass
from nodewise.statistics.summary import MAD_TO_SIGMA

Array = NDArray[np.float64]

_DEGREES = 3.0
#: The spread of one run's log time that is expected before there are any, and how many runs that guess is worth.
GUESSED_NOISE, _GUESS_WEIGHT = 0.01, 4.0
_LEAST_NOISE = 0.0005
#: Slower than the best by more than this (in log time) is compressed: how slow a bad setting is says little of a good one.
_KNEE = 0.4
_ROUNDS = 3
_ROOT5 = math.sqrt(5.0)
#: Medians and spreads of the broad priors of log scales: feature lengths, trend, deviation, own effect.
_LENGTH, _TREND, _DEVIATION, _OWN = (
    (math.log(2.0), 0.8),
    (math.log(0.5), 1.0),
    (math.log(0.15), 0.8),
    (math.log(0.005), 0.7),
)


@dataclass(frozen=True)
class Runs:
    """What was measured: run i is of setting `which[i]` (a row of the features) in block `block[i]`, `logs[i]` its log
    seconds, or where it was `cut[i]` off a bound below them.
    """

    which: NDArray[np.int64]
    block: NDArray[np.int64]
    logs: Array
    cut: NDArray[np.bool_]


@dataclass(frozen=True)
class Given:
    """What is expected of settings besides what runs say: the last columns of features, as many as there are `coefficients`,
    added up with these (k), which are known with these `deviations` (k). `left` is the share of the usual scales that is left to explain.
    """

    coefficients: Array
    deviations: Array
    left: float


#: With more runs than this the scales are learned in smaller steps.
_MANY = 300


class Surrogate:
    """Fitted to runs, it gives the mean and the covariance of log times anywhere."""

    def __init__(self, groups: Sequence[int], given: Given | None = None):
        """`groups[c]` is the group of feature column c; columns of one group share a length scale. What is `given` has columns behind these."""
        use_one_thread()
        self._plain = len(groups)
        none = np.zeros(0)
        self._given = Given(none, none, 1.0) if given is None else given
        self._groups = np.asarray(groups, dtype=np.int64)
        count = int(self._groups.max()) + 1 if len(groups) else 0
        less = math.log(self._given.left)
        scales = [(middle + less, spread) for middle, spread in (_TREND, _DEVIATION)]
        self._prior = np.array([*[_LENGTH] * count, *scales, _OWN])
        self._theta: Array = self._prior[:, 0].copy()
        self._speed: Array = np.full(len(self._theta), 0.1)
        self._learned = 0
        self.noise = GUESSED_NOISE
        self.drift = 0.003

    def fit(self, features: Array, runs: Runs) -> None:
        """`features`: one row a setting that ran, n × d; every row has a run at least."""
        self._settle(features)
        n = len(features)
        logs = runs.logs
        blocks = int(runs.block.max()) + 1
        weight = np.ones(len(logs))
        effect = np.zeros(blocks)
        lift = np.zeros(len(logs))
        learned = self._theta
        for round_ in range(_ROUNDS):
            level = logs - effect[runs.block] + lift
            mass = np.bincount(runs.which, weight, n)
            centre = np.bincount(runs.which, weight * level, n) / mass
            if round_ == 0:
                centre = _medians(runs.which, level, n)
            best = float(centre.min())
            self._noise_of: Array = self.noise**2 / mass
            self._y: Array = _compress(centre - best)
            self._middle: float = float(np.median(self._y - self._expected))
            if round_ == 0:
                # under the scales expected, not those learned: scales that once took a stray run for a dip would keep it
                learned, self._theta = self._theta, self._prior[:, 0].copy()
            elif round_ == 1:
                self._theta = learned
                # of many runs a few more move the scales little
                self._learn(25 if not self._learned else 8 if len(logs) <= _MANY else 3)
            self._solve()
            if round_ == _ROUNDS - 1:
                break
            inverse = np.diag(self._inverse)
            loo_mean = self._y - self._alpha / inverse
            loo_var = np.maximum(1 / inverse - self._noise_of, 1e-8)
            # a run's own say taken out of what it is held against
            squeezed = _compress(level - best)
            others = mass[runs.which] - weight
            rest = np.where(others > 1e-9, (mass * self._y)[runs.which] - weight * squeezed, 0.0)
            precision = 1 / loo_var[runs.which] + others / self.noise**2
            expected = (loo_mean[runs.which] / loo_var[runs.which] + rest / self.noise**2) / precision
            # a run that was cut off would have taken what is expected of it, and more than it had (J. Tobin, Econometrica
            # 26, 1958; here by its mean alone)
            lift = np.where(runs.cut, np.maximum(lift + expected - squeezed, 0.0), 0.0)
            gap = np.where(runs.cut, 0.0, squeezed - expected)
            weight = (_DEGREES + 1) / (_DEGREES + gap**2 / (self.noise**2 + 1 / precision))
            # nothing makes a run faster than it can be; a surprise of that kind is worth running again
            weight = np.where(gap < 0, 1.0, np.minimum(weight, 1.0))
            fitted = (self._y - self._noise_of * self._alpha)[runs.which]
            self._gauge(runs, level, n)
            effect = effect + self._of_blocks(runs, squeezed - fitted, weight, blocks)

    def fit_means(self, features: Array, means: Array, variances: Array) -> None:
        """As `fit`, where of each row a mean of log times (n) and its variance (n) are known, and nothing of single runs."""
        self._settle(features)
        self._y = _compress(means - means.min())
        self._noise_of = variances
        self._middle = float(np.median(self._y - self._expected))
        self._theta = self._prior[:, 0].copy()
        self._learn(25)
        self._solve()

    def evidence(self, runs: Surrogate) -> float:
        """The log of the posterior density, up to a constant, of the scales and of the runs that another one was fitted to, of the same
        settings: what two of them hold of the same runs can be compared.
        """
        apart = runs._y - self._expected
        apart -= np.median(apart)
        total = self._total(runs._noise_of)
        _, size = np.linalg.slogdet(total)
        away = (self._theta - self._prior[:, 0]) / self._prior[:, 1]
        return float(-(apart @ np.linalg.solve(total, apart) + size + away @ away) / 2)

    @property
    def coefficients(self) -> Array:
        """What the runs make of those given (k)."""
        return self._given.coefficients + self._given.deviations * (self._told.T @ self._alpha)

    def _settle(self, features: Array) -> None:
        """Take the settings' rows of features."""
        self._centre: Array = features[:, : self._plain].mean(0)
        self._x, self._told, self._expected = self._apart(features)

    def _gauge(self, runs: Runs, level: Array, n: int) -> None:
        """The noise of one run, from how runs of one setting differ among each other."""
        count = np.bincount(runs.which[~runs.cut], minlength=n)
        again = (count[runs.which] > 1) & ~runs.cut
        if not again.any():
            return
        own = _medians(runs.which, level, n)
        free = float((count[count > 1] - 1).sum())
        factor = math.sqrt(float(again.sum()) / free)
        spread = MAD_TO_SIGMA * float(np.median(np.abs(level - own[runs.which])[again])) * factor
        share = free / (free + _GUESS_WEIGHT)
        if spread > GUESSED_NOISE:
            # more noise than expected is believed sooner than less: what looks like a gain may be nothing else
            self.noise = math.sqrt(share * spread**2 + (1 - share) * GUESSED_NOISE**2)
        else:
            log_noise = share * math.log(max(spread, 1e-6)) + (1 - share) * math.log(GUESSED_NOISE)
            self.noise = max(_LEAST_NOISE, math.exp(log_noise))

    def _of_blocks(self, runs: Runs, residual: Array, weight: Array, blocks: int) -> Array:
        mass = np.bincount(runs.block, weight, blocks)
        total = np.bincount(runs.block, weight * residual, blocks)
        effect: Array = total / (mass + (self.noise / self.drift) ** 2)
        effect -= effect.mean()
        return effect

    # --- the process itself

    def _parts(self, theta: Array, a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
        lengths = np.exp(theta[:-3])[self._groups]
        p, q = a / lengths, b / lengths
        dots = p @ q.T
        squares = np.maximum((p * p).sum(1)[:, None] + (q * q).sum(1)[None, :] - 2 * dots, 0.0)
        root = _ROOT5 * np.sqrt(squares)
        decay = np.exp(-root)
        matern = (1 + root + 5 / 3 * squares) * decay
        return dots, squares, root, matern

    def _covariance(self, a: Array, b: Array) -> Array:
        dots, _, _, matern = self._parts(self._theta, a, b)
        trend, deviation = np.exp(2 * self._theta[-3:-1])
        centred: Array = 1.0 + trend * dots + deviation * matern
        return centred

    def _apart(self, features: Array) -> tuple[Array, Array, Array]:
        """Features as the process has them, what is given in units of its deviations, and what that leads to expect."""
        own, told = features[:, : self._plain], features[:, self._plain :]
        return own - self._centre, told * self._given.deviations, told @ self._given.coefficients

    def _learn(self, steps: int) -> None:
        """Climb the posterior of the scales by resilient propagation (M. Riedmiller, H. Braun, ICNN 1993)."""
        self._learned = len(self._x)
        x = self._x
        theta, speed = self._theta, np.maximum(self._speed, 0.05)
        before = np.zeros_like(theta)
        for _ in range(steps):
            slope = self._slope(theta, x)
            turned = slope * before
            speed = np.clip(np.where(turned > 0, speed * 1.3, np.where(turned < 0, speed * 0.5, speed)), 1e-3, 0.6)
            slope[turned < 0] = 0
            theta = theta + np.sign(slope) * speed
            before = slope
        self._theta, self._speed = theta, speed

    def _slope(self, theta: Array, x: Array) -> Array:
        """The gradient of the log posterior of the scales, by their logarithms."""
        n = len(x)
        dots, _, root, matern = self._parts(theta, x, x)
        lengths = np.exp(theta[:-3])[self._groups]
        p = x / lengths
        trend, deviation, own = np.exp(2 * theta[-3:])
        total = 1.0 + trend * dots + deviation * matern + self._told @ self._told.T
        total[np.diag_indices(n)] += own + self._noise_of
        inverse = np.linalg.inv(total)
        alpha = inverse @ (self._y - self._expected - self._middle)
        outer = (np.outer(alpha, alpha) - inverse) / 2
        slope = np.empty_like(theta)
        slope[-3] = 2 * trend * (outer * dots).sum()
        slope[-2] = 2 * deviation * (outer * matern).sum()
        slope[-1] = 2 * own * np.trace(outer)
        # d matern / d log length_g = 5/3 (1 + root) exp(-root) * squares_g; d dots / d log length_g = -2 dots_g
        inner = outer * (deviation * 5 / 3 * (1 + root) * np.exp(-root))
        rows, both = inner.sum(1), inner @ p
        spread = 2 * ((p * p) * rows[:, None]).sum(0) - 2 * (p * both).sum(0)
        tilt = -2 * trend * (p * (outer @ p)).sum(0)
        slope[:-3] = np.bincount(self._groups, spread + tilt, len(theta) - 3)
        slope -= (theta - self._prior[:, 0]) / self._prior[:, 1] ** 2
        return slope

    def _total(self, noise_of: Array) -> Array:
        """The covariance of what was measured, with variances of the means by noise."""
        total = self._covariance(self._x, self._x) + self._told @ self._told.T
        total[np.diag_indices(len(total))] += math.exp(2 * float(self._theta[-1])) + noise_of
        return total

    def _solve(self) -> None:
        self._inverse = np.linalg.inv(self._total(self._noise_of))
        self._alpha = self._inverse @ (self._y - self._expected - self._middle)

    def predict(self, features: Array, known: NDArray[np.int64]) -> tuple[Array, Array]:
        """Mean (m) and covariance (m × m) of the log times of settings; `known[i]` is the row fitted of one that ran, or -1."""
        cross, mean = self._reach(features, known)
        x, told, _ = self._apart(features)
        prior = self._covariance(x, x) + told @ told.T
        prior[np.diag_indices(len(x))] += math.exp(2 * float(self._theta[-1]))
        return mean, prior - cross @ self._inverse @ cross.T

    def _reach(self, features: Array, known: NDArray[np.int64]) -> tuple[Array, Array]:
        x, told, expected = self._apart(features)
        cross = self._covariance(x, self._x) + told @ self._told.T
        ran = np.flatnonzero(known >= 0)
        cross[ran, known[ran]] += math.exp(2 * float(self._theta[-1]))
        return cross, self._middle + expected + cross @ self._alpha

    def guess(self, features: Array, known: NDArray[np.int64]) -> tuple[Array, Array]:
        """Mean and standard deviation (m each) of the log times, without their covariance."""
        cross, mean = self._reach(features, known)
        own, told, _ = self._apart(features)
        x = own / np.exp(self._theta[:-3])[self._groups]
        trend, deviation, alone = np.exp(2 * self._theta[-3:])
        prior = 1.0 + trend * (x * x).sum(1) + deviation + alone + (told * told).sum(1)
        left = prior - ((cross @ self._inverse) * cross).sum(1)
        return mean, np.sqrt(np.maximum(left, 1e-12))


def drawn(mean: Array, covariance: Array, count: int, generator: np.random.Generator) -> Array:
    """`count` surfaces that a model of this mean (m) and covariance (m × m) holds possible, a row each."""
    lift = 1e-9
    while True:
        try:
            root = np.linalg.cholesky(covariance + lift * np.eye(len(mean)))
            break
        except np.linalg.LinAlgError:
            lift *= 100
    surfaces: Array = mean + generator.standard_normal((count, len(mean))) @ root.T
    return surfaces


def _compress(gap: Array) -> Array:
    """The gap itself up to the knee, then ever less of it."""
    over = np.maximum(gap - _KNEE, 0.0)
    return np.asarray(np.where(gap > _KNEE, _KNEE + _KNEE * np.log1p(over / _KNEE), gap))


def _medians(which: NDArray[np.int64], values: Array, n: int) -> Array:
    """The median of the values of each of n settings."""
    order = np.lexsort((values, which))
    sorted_ = values[order]
    count = np.bincount(which, minlength=n)
    start = np.cumsum(count) - count
    middle: Any = (sorted_[start + (count - 1) // 2] + sorted_[start + count // 2]) / 2
    return np.asarray(middle, dtype=float)
