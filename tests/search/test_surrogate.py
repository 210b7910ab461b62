# SPDX-License-Identifier: BSD-3-Clause
"""The model of log times, against functions that are known and derivatives that can be counted out."""

import numpy as np
import pytest

from nodewise.search.surrogate import Runs, Surrogate


def _runs(truth: np.ndarray, blocks: int, noise: float, seed: int, drift: float = 0.0) -> Runs:
    random = np.random.default_rng(seed)
    which = np.tile(np.arange(len(truth)), blocks)
    block = np.repeat(np.arange(blocks), len(truth))
    shift = drift * random.standard_normal(blocks)
    logs = truth[which] + shift[block] + noise * random.standard_normal(len(which))
    return Runs(which, block, logs, np.zeros(len(which), dtype=bool))


X = np.linspace(0, 6, 13)[:, None]
TRUTH = 0.1 * (X[:, 0] - 4) ** 2


def test_a_smooth_curve_is_foretold_where_nothing_ran() -> None:
    model = Surrogate([0])
    model.fit(X, _runs(TRUTH, 3, 0.005, 1))
    mean, _ = model.guess(X[6:9] + 0.25, np.full(3, -1))
    told = 0.1 * (X[6:9, 0] + 0.25 - 4) ** 2
    assert mean - mean[2] == pytest.approx(told - told[2], abs=0.02)


def test_the_noise_is_found() -> None:
    model = Surrogate([0])
    model.fit(X, _runs(TRUTH, 8, 0.03, 2))
    assert 0.02 < model.noise < 0.04


def test_a_single_run_that_went_astray_is_not_believed() -> None:
    model = Surrogate([0])
    runs = _runs(TRUTH, 1, 0.003, 3)
    runs.logs[8] += 0.4
    model.fit(X, runs)
    mean, _ = model.guess(X, np.arange(len(X)))
    assert mean[8] - mean[7] < 0.1


def test_what_a_whole_block_suffered_is_no_setting_s_fault() -> None:
    model = Surrogate([0])
    clean = _runs(TRUTH, 4, 0.003, 4)
    # half of the settings ran in a slow block too
    slow = Runs(np.arange(0, 13, 2), np.full(7, 4), TRUTH[::2] + 0.03, np.zeros(7, dtype=bool))
    model.fit(X, Runs(*(np.concatenate(pair) for pair in zip(vars(clean).values(), vars(slow).values(), strict=True))))
    mean, _ = model.guess(X, np.arange(13))
    assert np.abs((mean - mean[8]) - (TRUTH - TRUTH[8]))[5:11].max() < 0.01


def test_the_gradient_is_that_of_the_likelihood() -> None:
    random = np.random.default_rng(5)
    x = random.standard_normal((9, 3))
    model = Surrogate([0, 1, 1])
    logs = 0.1 * random.standard_normal(9)
    model.fit(x, Runs(np.arange(9), np.zeros(9, dtype=int), logs, np.zeros(9, dtype=bool)))
    theta = model._prior[:, 0] + 0.1 * random.standard_normal(5)

    def posterior(at: np.ndarray) -> float:
        lengths = np.exp(at[:-3])[model._groups]
        p = x / lengths
        gap = np.sqrt(((p[:, None] - p[None]) ** 2).sum(2))
        matern = (1 + 5**0.5 * gap + 5 / 3 * gap**2) * np.exp(-(5**0.5) * gap)
        trend, deviation, own = np.exp(2 * at[-3:])
        total = 1 + trend * p @ p.T + deviation * matern + np.diag(own + model._noise_of)
        y = model._y - model._middle
        value = -0.5 * y @ np.linalg.solve(total, y) - 0.5 * np.linalg.slogdet(total)[1]
        return float(value - 0.5 * (((at - model._prior[:, 0]) / model._prior[:, 1]) ** 2).sum())

    slope = model._slope(theta, x)
    for i in range(5):
        step = np.eye(5)[i] * 1e-5
        assert slope[i] == pytest.approx((posterior(theta + step) - posterior(theta - step)) / 2e-5, rel=1e-3, abs=1e-4)


def test_the_evidence_is_the_density_of_the_runs_under_the_model() -> None:
    model = Surrogate([0])
    model.fit(X, _runs(TRUTH, 3, 0.005, 1))
    apart = model._y - model._expected
    apart = apart - np.median(apart)
    total = model._total(model._noise_of)
    away = (model._theta - model._prior[:, 0]) / model._prior[:, 1]
    density = -0.5 * (apart @ np.linalg.inv(total) @ apart) - 0.5 * np.log(np.linalg.det(total)) - 0.5 * (away**2).sum()
    assert model.evidence(model) == pytest.approx(float(density), rel=1e-6)


def test_the_variance_of_a_mean_is_that_of_a_run_over_their_number() -> None:
    model = Surrogate([0])
    model.fit(X, _runs(TRUTH, 4, 0.01, 7))
    assert np.median(model._noise_of) == pytest.approx(model.noise**2 / 4, rel=0.4)


def test_a_run_that_was_cut_off_counts_as_longer_than_it_ran() -> None:
    runs = _runs(TRUTH, 3, 0.003, 8)
    cut = runs.which == 2
    told = Runs(runs.which, runs.block, np.where(cut, runs.logs - 0.3, runs.logs), cut)
    model, plain = Surrogate([0]), Surrogate([0])
    model.fit(X, told)
    plain.fit(X, Runs(told.which, told.block, told.logs, np.zeros(len(cut), dtype=bool)))
    (longer, *_), (shorter, *_) = (m.guess(X, np.arange(13))[0][2:3] for m in (model, plain))
    assert longer > shorter + 0.01
