# SPDX-License-Identifier: BSD-3-Clause
"""Laws of scaling: how the time of a unit of work goes with the number of threads, ranks or nodes that share it.

With strong scaling the work of a run is one unit, with weak scaling as many as there are threads, so each law holds for both:

- amdahl: a + b / n (G. Amdahl, AFIPS Spring Joint Computer Conference 1967). One part is shared, the rest is not.
- gustafson: 1 / (a + b n) (J. Gustafson, Communications of the ACM 31(5), 1988): the speedup is a line, s + (1 - s) n.
- usl, the universal scalability law: a + b / n + c (n - 1) (N. Gunther, "A general theory of computational scalability based on
  rational functions", arXiv:0808.1431, 2008). Each has to tell each other something, so there is a best number.
- tree: a + b / n + c log2 n, a collective operation in steps (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
  communication operations in MPICH", IJHPCA 19(1), 2005).
- halo: a + b / n + c n^(-2/3), borders of a divided box (I. Foster, "Designing and Building Parallel Programs", 1995, chapter 2).
- power: e^a n^-b, where nothing else is known of it.
- exchange: a + b / n + c n (n - 1). Each has something for each other one, n (n - 1) messages, and they go one after the other.
- bend: a + b / n + c / min(n, k) + d max(0, n - k). From k on a part gains nothing more, such as the transfers where the bandwidth of memory is
  used up (G. Hager, G. Wellein, "Introduction to High Performance Computing for Scientists and Engineers", 2010, chapter 1), or costs more.
- slower cores: 1 / (a min(n, k) + b max(0, n - k)). Those beyond k add less, as the second threads of cores do.
- rounds: a + b ceil(k / n), k equal pieces of work that cannot be divided and are dealt out in rounds.

What k is is not known. Where it bends each number measured but the ends may be it, and the middle between two (by ratio); of pieces there may be
any number. With a free k much can be fitted, so that these three lead only where they predict clearly better than all others. A term that grows with the
square of n is taken for real only where 95 of 100 draws of the blocks have it.

Coefficients but those of a power are 0 or more, and minimise the squares of relative errors, as noise grows with time.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nodewise.base.frozen import dataclass

Numbers = NDArray[np.float64]

#: Fewer counts than this say nothing of a law, and nothing is said beyond so many times the largest one.
FEWEST_COUNTS, FARTHEST = 5, 4.0
#: What share of cases an interval of a prediction holds.
LEVEL = 0.90
#: How many times blocks are drawn.
_DRAWS = 400
#: A law whose left-out error is up to so many times the least one may be the right one, too.
_AS_GOOD = 3.0
#: A law with a bend leads where its left-out error is so many times less than that of all without.
_CLEARLY = 2.0
#: That of rounds is chosen of so many numbers of pieces that it takes more, and all others have to miss by so much.
_BEYOND_CHANCE, _LEAST_MISSED = 2.5, 0.01
#: No law fits where even the best misses by this share, and by so many times what noise explains.
_MISFIT, _BEYOND_NOISE = 0.03, 2.0
_TINY, _TRACE = 1e-300, 1e-9
#: Added to the squares of columns of length 1, so that of equal ones each has half.
_RIDGE = 1e-10


@dataclass(frozen=True)
class Law:
    """A law: `columns` of counts, (m,) to (m, k), that coefficients add up to a time, its inverse (`rate`) or its logarithm (`log`)."""

    name: str
    formula: str
    columns: Callable[[Numbers], Numbers]
    of: str = "time"

    def times(self, coefficients: Numbers, counts: Numbers) -> Numbers:
        """Times of a unit of work, (b, m), for rows of coefficients (b, k) at counts (m,)."""
        added = coefficients @ self.columns(counts).T
        if self.of == "log":
            return np.asarray(np.exp(added))
        return np.asarray(1 / np.maximum(added, _TINY) if self.of == "rate" else added)

    def fit(self, counts: Numbers, times: Numbers) -> Numbers:
        """The coefficients, (b, k), that fit rows of times (b, m) at counts (m,)."""
        columns = self.columns(counts)
        if self.of == "log":
            return np.asarray(np.log(times) @ np.linalg.pinv(columns).T)
        return _non_negative(columns[None, :, :] / (1 / times if self.of == "rate" else times)[:, :, None])

    def fit_without_each(self, counts: Numbers, times: Numbers) -> Numbers:
        """The coefficients, (m, b, k), that fit rows of times (b, m) at all counts (m,) but one, for each that is left out."""
        others = ~np.eye(len(counts), dtype=bool)
        if self.of == "log":
            return np.stack([self.fit(counts[seen], times[:, seen]) for seen in others])
        every = self.columns(counts)[None, :, :] / (1 / times if self.of == "rate" else times)[:, :, None]
        # all at once is several times as fast; where there is no column nothing is asked of the coefficients
        found = _non_negative((every[None, :, :, :] * others[:, None, :, None]).reshape(-1, *every.shape[1:]))
        return found.reshape(len(counts), len(times), -1)


def _non_negative(every: Numbers) -> Numbers:
    """The coefficients >= 0, (b, k), with which columns (b, m, k) add up nearest to 1: the best over all sets of those above 0.

    A row of m where all columns are 0 counts for nothing.
    """
    # what is added up runs along the last axis, which is the longest
    part = np.ascontiguousarray(every.transpose(2, 1, 0))
    size, _, many = part.shape
    scale = np.sqrt((part**2).sum(1))
    part /= scale[:, None]
    gram = np.einsum("imb,jmb->ijb", part, part)
    right = part.sum(1)
    best = np.zeros((size, many))
    least = np.full(many, np.inf)
    wanted = part.any(0).astype(float)
    for kept in [list(c) for k in range(1, size + 1) for c in combinations(range(size), k)]:
        found = _solved(gram[np.ix_(kept, kept)], right[kept])
        # not from the sums above, whose rounding would decide between sets that fit alike: the better conditioned one is to
        missed = sum(part[k] * x for k, x in zip(kept, found, strict=True)) - wanted
        error = (missed**2).sum(0)
        better = (found >= 0).all(0) & (error < least - 1e-15)
        least[better] = error[better]
        best[:, better] = 0
        best[np.ix_(kept, better)] = found[:, better]
    return np.asarray((best / scale).T)


def _solved(matrix: Numbers, right: Numbers) -> Numbers:
    """x, (k, b), of matrix (k, k, b) times x = right (k, b), by elimination: positive definite, made so where columns are alike."""
    size = len(right)
    rest, x = matrix + _RIDGE * np.eye(size)[:, :, None], right.copy()
    for i in range(size):
        for j in range(i + 1, size):
            factor = rest[j, i] / rest[i, i]
            rest[j, i + 1 :] -= factor * rest[i, i + 1 :]
            x[j] -= factor * x[i]
    for i in reversed(range(size)):
        x[i] = (x[i] - (rest[i, i + 1 :] * x[i + 1 :]).sum(0)) / rest[i, i]
    return x


LAWS = (
    Law("amdahl", "a + b / n", lambda n: np.stack([np.ones_like(n), 1 / n], -1)),
    Law("gustafson", "1 / (a + b n)", lambda n: np.stack([np.ones_like(n), n], -1), "rate"),
    Law("usl", "a + b / n + c (n - 1)", lambda n: np.stack([np.ones_like(n), 1 / n, n - 1], -1)),
    Law("tree", "a + b / n + c log2 n", lambda n: np.stack([np.ones_like(n), 1 / n, np.log2(n)], -1)),
    Law("halo", "a + b / n + c n^(-2/3)", lambda n: np.stack([np.ones_like(n), 1 / n, n ** (-2 / 3)], -1)),
    Law("power", "e^a n^-b", lambda n: np.stack([np.ones_like(n), -np.log(n)], -1), "log"),
)


#: Fitted only where noise alone would hardly make its last term, which would make all of an answer at four times as many.
EXCHANGE = Law("exchange", "a + b / n + c n (n - 1)", lambda n: np.stack([np.ones_like(n), 1 / n, n * (n - 1)], -1))

#: Laws with a number of their own, from which on all is different, or which is divided.
BENT = ("bend", "slower cores", "rounds")


def bent_laws(counts: Numbers) -> tuple[Law, ...]:
    """The laws with a bend, for each place that counts (m,) leave open."""
    inner = counts[1:-1]
    places = sorted({*inner.tolist(), *np.sqrt(inner[1:] * inner[:-1]).tolist()})
    return tuple(law for k in places for law in (_bend(k), _slower_cores(k)))


def _bend(k: float) -> Law:
    def columns(n: Numbers) -> Numbers:
        # what is left out below k has no column of zeros there, which no fit could weigh
        beyond = np.maximum(0.0, n - k) + _TRACE * n
        return np.stack([np.ones_like(n), 1 / n, 1 / np.minimum(n, k), beyond], -1)

    return Law(BENT[0], f"a + b / n + c / min(n, {k:.3g}) + d max(0, n - {k:.3g})", columns)


def _slower_cores(k: float) -> Law:
    def columns(n: Numbers) -> Numbers:
        return np.stack([np.minimum(n, k), np.maximum(0.0, n - k) + _TRACE * n], -1)

    return Law(BENT[1], f"1 / (a min(n, {k:.3g}) + b max(0, n - {k:.3g}))", columns, "rate")


def law_of_rounds(counts: Numbers, times: Numbers) -> tuple[Law, float]:
    """The law of so many pieces that predicts times (m,) at counts (m,) best, and its left-out error; ties go to the fewest."""
    pieces = np.arange(int(counts[0]) + 1, int(FARTHEST * counts[-1]) + 1, dtype=float)
    rounds = np.ceil(pieces[:, None] / counts)
    columns = np.stack([np.ones_like(rounds), rounds], -1)
    errors = []
    for i in range(len(counts)):
        others = np.arange(len(counts)) != i
        found = _non_negative(columns[:, others] / times[others, None])
        errors.append((columns[:, i] * found).sum(1) / times[i] - 1)
    missed = np.sqrt(np.mean(np.square(errors), 0))
    best = int(missed.argmin())
    return _rounds(pieces[best]), float(missed[best])


def _rounds(k: float) -> Law:
    return Law(BENT[2], f"a + b ceil({k:.0f} / n)", lambda n: np.stack([np.ones_like(n), np.ceil(k / n)], -1))


def left_out_error(law: Law, counts: Numbers, times: Numbers) -> Numbers:
    """The root mean square, (b,), of the relative errors in rows of times (b, m), each predicted by the law from the others."""
    found = law.fit_without_each(counts, times)
    predicted = [law.times(f, counts[i : i + 1])[:, 0] for i, f in enumerate(found)]
    return np.asarray(np.sqrt(np.mean(np.square(np.stack(predicted) / times.T - 1), 0)))


@dataclass(frozen=True)
class Expected:
    """What is expected of a number: its centre, and the interval that holds it in `LEVEL` of cases."""

    value: float
    low: float
    high: float


class Fits:
    """All laws, fitted to the medians of blocks and of blocks drawn from these with replacement.

    `counts` are m ascending numbers, `blocks` the times of a unit of work in seconds, (b, m): whole blocks only. The best law
    has the least left-out error (see `best`). A prediction is the median of what the best law of each draw says; its interval is as wide as
    those of all laws that may be the right one. Raises ValueError with fewer than `FEWEST_COUNTS` counts.
    """

    def __init__(self, counts: Numbers, blocks: Numbers, seed: int = 0):
        if len(counts) < FEWEST_COUNTS:
            raise ValueError(f"{len(counts)} counts are too few for a law")
        self.counts = np.asarray(counts, float)
        drawn = np.random.default_rng(seed).integers(0, len(blocks), (_DRAWS, len(blocks)))
        rows = np.vstack([np.median(blocks, 0)[None, :], np.median(np.asarray(blocks)[drawn], 1)])
        laws = (*LAWS, *bent_laws(self.counts))
        if np.quantile(EXCHANGE.fit(self.counts, rows[1:])[:, 2], _TAILS[0]) > _TRACE * rows[0].min():
            laws = (*laws, EXCHANGE)
        errors = [left_out_error(law, self.counts, rows) for law in laws]
        rounds, missed = law_of_rounds(self.counts, rows[0])
        if max(_BEYOND_CHANCE * missed, _LEAST_MISSED) < min(float(error[0]) for error in errors):
            laws, errors = (*laws, rounds), [*errors, left_out_error(rounds, self.counts, rows)]
        #: `LAWS`, those with a bend, and those of exchange and of rounds where what was measured shows them.
        self.laws = laws
        self._coefficients = [law.fit(self.counts, rows) for law in laws]
        self._errors = np.stack(errors)
        #: The error of each law with each point predicted from the others, relative, in the order of `laws`.
        self.errors = tuple(float(e) for e in self._errors[:, 0])
        judged = self._errors * np.array([_CLEARLY if law.name in BENT else 1.0 for law in self.laws])[:, None]
        self._best = judged.argmin(0)
        self._as_good = np.flatnonzero(judged[:, 0] <= _AS_GOOD * judged[:, 0].min())
        fitted = self.laws[self.best].times(self._coefficients[self.best][:1], self.counts)[0]
        #: How far the best law misses the medians, and how far noise alone would move them, relative, as root mean squares.
        self.misfit = float(np.sqrt(np.mean((fitted / rows[0] - 1) ** 2)))
        self.noise = float(np.sqrt(np.mean((rows[1:].std(0) / rows[0]) ** 2)))

    @property
    def best(self) -> int:
        """The position in `laws` of the law with the least left-out error, of one with a bend by a margin."""
        return int(self._best[0])

    @property
    def fits(self) -> bool:
        """Whether the best law describes what was measured."""
        return self.misfit <= max(_MISFIT, _BEYOND_NOISE * self.noise)

    def times(self, law: int, counts: Numbers) -> Numbers:
        """Times of a unit of work by a law, (m,)."""
        return np.asarray(self.laws[law].times(self._coefficients[law][:1], np.asarray(counts, float))[0])

    def coefficients(self, law: int) -> tuple[Expected, ...]:
        """The coefficients of a law, each with its interval."""
        found = self._coefficients[law]
        low, high = np.quantile(found[1:], _TAILS, axis=0)
        return tuple(Expected(float(v), float(a), float(b)) for v, a, b in zip(found[0], low, high, strict=True))

    def time(self, count: float) -> Expected:
        """The time of a unit of work that is expected at a count, in seconds. Raises ValueError beyond `FARTHEST` times the largest one."""
        if not self.counts[0] <= count <= FARTHEST * self.counts[-1]:
            raise ValueError(f"{count:g} is too far from what was measured")
        at = np.array([count], float)
        every = np.stack([law.times(c, at)[:, 0] for law, c in zip(self.laws, self._coefficients, strict=True)])
        value = float(np.median(every[self._best[1:], np.arange(1, every.shape[1])]))
        low, high = np.quantile(every[self._as_good, 1:], _TAILS, axis=1)
        return Expected(value, min(float(low.min()), value), max(float(high.max()), value))


_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
