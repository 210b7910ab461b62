# SPDX-License-Identifier: BSD-3-Clause
"""The order of settings that a model has judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nodewise.search.surrogate import Array

#: A setting is ranked by its expected log time plus so many of its deviations.
_DOUBT = 0.5
#: The chance that a run fails is taken to be no more than this.
_MOST_FAILING = 0.95
#: Of two settings whose difference is less than this, or less than so many of its deviations, the simpler one leads.
TIE, TIE_DEVIATIONS = 0.005, 1.5


def ranked(mean: Array, covariance: Array, failing: Array, ended: Array, oddity: Sequence[float]) -> list[int]:
    """Settings by their expected log times, the best first; of those that cannot be distinguished from it the least odd leads.

    `covariance` is that of what the model holds possible, `failing` the chance that a run fails: a good run takes as many
    tries. One that never `ended` by itself is known by a bound: it is no answer, and left out.
    """
    variance = np.diag(covariance)
    score = mean + _DOUBT * np.sqrt(np.maximum(variance, 0)) - np.log1p(-np.minimum(failing, _MOST_FAILING))
    score = np.where(ended, score, np.inf)
    best = int(np.argmin(score))
    apart = np.sqrt(np.maximum(variance + variance[best] - 2 * covariance[best], 0))
    near = (score - score[best] < np.minimum(TIE, TIE_DEVIATIONS * apart)) | (np.arange(len(score)) == best)
    tied = [int(i) for i in np.flatnonzero(near)]
    tied.sort(key=lambda i: (oddity[i], score[i]))
    rest = [int(i) for i in np.argsort(score, kind="stable") if int(i) != tied[0]]
    return [i for i in [tied[0], *rest] if ended[i]]
