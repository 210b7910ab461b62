# SPDX-License-Identifier: BSD-3-Clause
"""Laws of scaling: what they make of exact times, of noise, and of times that follow none of them."""

from collections.abc import Callable

import numpy as np
import pytest

from nodewise.statistics import scaling
from nodewise.statistics.scaling import BENT, FARTHEST, LAWS, Expected, Fits, Law, Numbers, bent_laws, left_out_error

COUNTS = np.array([1.0, 2, 4, 8, 16])


@pytest.fixture(autouse=True)
def _fewer_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interval of a hundred draws is as wide, and costs a quarter."""
    if "long" not in request.keywords:
        monkeypatch.setattr(scaling, "_DRAWS", 100)


BY_NAME = {law.name: law for law in LAWS}
EXACT = {
    "amdahl": ([0.5, 9.5], lambda n: 0.5 + 9.5 / n),
    "gustafson": ([0.02, 0.08], lambda n: 1 / (0.02 + 0.08 * n)),
    "usl": ([0.5, 9.5, 0.02], lambda n: 0.5 + 9.5 / n + 0.02 * (n - 1)),
    "tree": ([0.5, 9.5, 0.1], lambda n: 0.5 + 9.5 / n + 0.1 * np.log2(n)),
    "halo": ([0.1, 9.0, 0.9], lambda n: 0.1 + 9 / n + 0.9 * n ** (-2 / 3)),
    "power": ([np.log(10), 0.85], lambda n: 10 * n**-0.85),
}


def noisy(times: Numbers, seed: int, blocks: int = 10) -> Numbers:
    return np.asarray(times * np.exp(np.random.default_rng(seed).normal(0, 0.05, (blocks, len(times)))))


@pytest.mark.parametrize("name", EXACT)
def test_exact_times_give_their_law_back(name: str) -> None:
    coefficients, time = EXACT[name]
    times = time(COUNTS)
    assert BY_NAME[name].fit(COUNTS, times[None, :])[0] == pytest.approx(coefficients, rel=1e-4)
    found = Fits(COUNTS, np.tile(times, (6, 1)))
    assert LAWS[found.best].name == name and found.fits
    assert found.time(64).value == pytest.approx(time(64.0), rel=1e-3)
    assert found.times(found.best, COUNTS) == pytest.approx(times, rel=1e-4)
    assert [c.value for c in found.coefficients(found.best)] == pytest.approx(coefficients, rel=1e-4)


def test_a_coefficient_is_never_negative() -> None:
    # faster than linear: the part of one would be below zero
    times = 10 * COUNTS**-1.1
    for law in LAWS[:5]:
        assert (law.fit(COUNTS, times[None, :]) >= 0).all()


def test_the_left_out_error_is_that_of_points_predicted_from_the_others() -> None:
    times = np.array([[10.0, 5.4, 2.9, 1.8, 1.1], [9.9, 5.2, 3.0, 1.6, 1.2]])
    law = BY_NAME["amdahl"]
    wanted = []
    for row in times:
        errors = []
        for i in range(5):
            others = [j for j in range(5) if j != i]
            columns = np.stack([np.ones(4), 1 / COUNTS[others]], 1) / row[others][:, None]
            a, b = np.linalg.lstsq(columns, np.ones(4), rcond=None)[0]
            errors.append((a + b / COUNTS[i]) / row[i] - 1)
        wanted.append(np.sqrt(np.mean(np.square(errors))))
    assert left_out_error(law, COUNTS, times) == pytest.approx(wanted, rel=1e-6)


def test_intervals_hold_and_predictions_are_near_at_four_times_the_largest() -> None:
    held, errors = 0, []
    for seed in range(12):
        _, time = EXACT[("amdahl", "gustafson", "usl")[seed % 3]]
        said = Fits(COUNTS, noisy(time(COUNTS), seed)).time(64)
        held += said.low <= time(64.0) <= said.high
        errors.append(abs(said.value / time(64.0) - 1))
        assert said.low <= said.value <= said.high
    assert held >= 10 and np.median(errors) < 0.15


def test_the_same_blocks_say_the_same() -> None:
    blocks = noisy(EXACT["amdahl"][1](COUNTS), 0)
    assert Fits(COUNTS, blocks).time(64) == Fits(COUNTS, blocks).time(64) != Fits(COUNTS, blocks, 1).time(64)


LONGER = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("bend", lambda n: 0.2 + 9 / np.minimum(n, 6)),
        pytest.param("bend", lambda n: 0.2 + 9 / np.minimum(n, 6) + 0.1 * np.maximum(0, n - 6), marks=pytest.mark.long),
        ("slower cores", lambda n: 10 / (np.minimum(n, 8) + 0.25 * np.maximum(0, n - 8))),
    ],
)
def test_what_bends_inside_what_was_measured_is_seen_to(name: str, time: Callable[[Numbers], Numbers]) -> None:
    truth = float(time(np.array([64.0]))[0])
    exact = Fits(LONGER, np.tile(time(LONGER), (6, 1)))
    assert exact.laws[exact.best].name == name and exact.fits
    assert exact.time(64).value == pytest.approx(truth, rel=1e-3)
    held = 0
    for seed in range(6):
        found = Fits(LONGER, noisy(time(LONGER), seed))
        said = found.time(64)
        held += not found.fits or said.low <= truth <= said.high
    assert held >= 4


def test_a_bend_that_noise_may_have_made_does_not_lead() -> None:
    led = [Fits(LONGER, noisy(EXACT["amdahl"][1](LONGER), seed)) for seed in range(6)]
    assert sum(f.laws[f.best].name in BENT for f in led) <= 1


def test_a_bend_may_be_at_each_number_but_the_ends_or_between_two() -> None:
    formulas = [law.formula for law in bent_laws(np.array([1.0, 2, 8, 16])) if law.name == "bend"]
    assert [f.split("min(n, ")[1].split(")")[0] for f in formulas] == ["2", "4", "8"]


def test_pieces_that_are_dealt_out_in_rounds_are_a_law() -> None:
    # 20 pieces over 6 or 12 threads: four rounds, two
    def time(n: Numbers) -> Numbers:
        return np.asarray(0.1 + 10 * np.ceil(20 / n) / 20)

    truth = float(time(np.array([64.0]))[0])
    exact = Fits(LONGER, np.tile(time(LONGER), (6, 1)))
    assert exact.laws[exact.best].formula == "a + b ceil(20 / n)" and exact.time(64).value == pytest.approx(truth)
    held = 0
    for seed in range(6):
        found = Fits(LONGER, noisy(time(LONGER), seed))
        held += not found.fits or found.time(64).low <= truth <= found.time(64).high
    assert held >= 5


def test_pieces_that_all_numbers_divide_are_work_that_is_divided_at_will(monkeypatch: pytest.MonkeyPatch) -> None:
    # of rounding errors alone one may be half of the others
    monkeypatch.setattr(scaling, "_BEYOND_CHANCE", 0.1)
    for counts in (COUNTS, np.array([1.0, 2, 3, 4, 6, 8]), np.array([2.0, 4, 8, 16, 32, 64])):
        for pieces in (192, 193):
            found = Fits(counts, np.tile(0.1 + 10 * np.ceil(pieces / counts) / pieces, (6, 1)))
            assert found.laws[found.best].name == "amdahl" and "rounds" not in [law.name for law in found.laws]


@pytest.mark.long
def test_the_square_of_the_number_is_a_law_where_what_was_measured_shows_it() -> None:
    def time(n: Numbers) -> Numbers:
        return np.asarray(0.2 + 9.8 / n + 2e-3 * n * (n - 1))

    truth = float(time(np.array([64.0]))[0])
    exact = Fits(LONGER, np.tile(time(LONGER), (6, 1)))
    assert exact.laws[exact.best].name == "exchange" and exact.time(64).value == pytest.approx(truth, rel=1e-3)
    found = [Fits(LONGER, noisy(time(LONGER), seed)) for seed in range(5)]
    assert sum(f.time(64).low <= truth <= f.time(64).high for f in found) >= 4
    plain = [Fits(LONGER, noisy(EXACT["amdahl"][1](LONGER), seed)) for seed in range(5)]
    assert sum(law.name == "exchange" for f in plain for law in f.laws) <= 1


def test_no_law_fits_what_follows_none() -> None:
    times = np.array([10.0, 4.0, 6.0, 1.5, 3.0])
    found = Fits(COUNTS, noisy(times, 1))
    assert not found.fits and found.misfit > 0.1


@pytest.mark.parametrize(("off", "fits"), [(0.02, True), (0.09, False)])
def test_no_law_fits_where_all_miss_by_three_percent_without_noise(off: float, fits: bool) -> None:
    wavy = np.array([1 - off, 1 + off, 1 - off, 1 + off, 1 - off, 1 + off, 1 - off, 1 + off])
    found = Fits(LONGER, np.tile(EXACT["amdahl"][1](LONGER) * wavy, (6, 1)))
    assert found.fits == fits and (found.misfit < 0.03 if fits else 0.03 < found.misfit < 0.09)


def test_a_misfit_that_noise_explains_is_none() -> None:
    times = np.array([10.0, 4.6, 3.2, 1.4, 1.0])
    wild = times * np.exp(np.random.default_rng(1).normal(0, 0.6, (8, 5)))
    found = Fits(COUNTS, wild)
    assert found.noise > 0.1 and found.fits


@pytest.mark.parametrize(("spread", "fits"), [(0.3, False), (0.9, True)])
def test_noise_explains_a_misfit_of_up_to_twice_what_it_moves_medians(spread: float, fits: bool) -> None:
    times = np.array([10.0, 9.0, 3.0, 2.8, 0.9])
    # each block's times lie as far above as the next one's lie below, so that the medians are exact
    blocks = np.stack([times * np.exp(sign * spread * (k + 1) / 5) for k in range(5) for sign in (1, -1)])
    found = Fits(COUNTS, blocks)
    assert found.fits == fits and (2.5 < found.misfit / found.noise < 5.5) == (not fits)


def test_too_few_counts_and_too_far_ones_are_refused() -> None:
    with pytest.raises(ValueError, match="4 counts"):
        Fits(COUNTS[:4], np.ones((6, 4)))
    found = Fits(COUNTS, np.tile(EXACT["amdahl"][1](COUNTS), (6, 1)))
    assert isinstance(found.time(FARTHEST * 16), Expected)
    for count in (65, 0.5):
        with pytest.raises(ValueError, match="too far"):
            found.time(count)


@pytest.mark.parametrize(("fixed", "pieces"), [(20.0, True), (30.0, False)])
def test_rounds_are_not_read_out_of_less_than_a_percent(fixed: float, pieces: bool) -> None:
    counts = np.array([1.0, 2, 3, 4, 5, 6, 8, 12])
    found = Fits(counts, np.tile(fixed + np.ceil(20 / counts), (6, 1)))
    # what all others miss of it
    others = min(error for law, error in zip(found.laws, found.errors, strict=True) if law.name != "rounds")
    assert others == pytest.approx(0.01, abs=0.0025) and ("rounds" in [law.name for law in found.laws]) == pieces


@pytest.mark.parametrize("law", [*LAWS, *bent_laws(np.array([1.0, 2, 4, 8, 16]))[:4]], ids=lambda law: law.formula)
def test_all_fits_without_one_are_those_of_the_others_by_themselves(law: Law) -> None:
    counts = np.array([1.0, 2, 4, 8, 16])
    times = np.exp(np.random.default_rng(3).normal(0, 0.1, (3, 5))) * (0.5 + 9.5 / counts)
    found = law.fit_without_each(counts, times)
    assert found.shape[:2] == (5, 3)
    for left_out in range(5):
        rest = np.arange(5) != left_out
        assert law.times(found[left_out], counts[rest]) == pytest.approx(
            law.times(law.fit(counts[rest], times[:, rest]), counts[rest]), rel=1e-6
        )
