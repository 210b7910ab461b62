# SPDX-License-Identifier: BSD-3-Clause
"""How often verdicts are wrong, and what they cost: nodewise's sequential comparison beside the field's habits.

Simulated experiments of two commands, in six families of noise of about 1 %. nodewise's runs are interleaved in blocks of
random order, looked at as `nodewise compare` does, until it is settled or 90 blocks are done. The others take ten runs of
each: one command after the other as those tools do, and interleaved beside that.
"""

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.sequential import OpenLooks
from nodewise.statistics.verdict import Word, is_settled, judge

EXPERIMENTS = int(os.environ.get("NODEWISE_EXPERIMENTS", "2000"))
MOST_BLOCKS = 90
FIXED_RUNS = 10
WITHIN, GAIN = 0.01, 0.02

Array = NDArray[np.float64]
Random = np.random.Generator


def _gaussian(random: Random, runs: int) -> Array:
    return 1 + random.normal(0, 0.01, runs)


def _lognormal(random: Random, runs: int) -> Array:
    # a long tail to the slow side, whose standard deviation is 1 %
    return 1 + 0.01 * (random.lognormal(0, 0.8, runs) - np.exp(0.32)) / 1.313


def _bursty(random: Random, runs: int) -> Array:
    share = random.uniform(0.05, 0.15)
    return (1 + random.normal(0, 0.01, runs)) * (1 + (random.random(runs) < share) * random.exponential(0.3, runs))


def _autocorrelated(random: Random, runs: int) -> Array:
    steps = random.normal(0, 0.01 * np.sqrt(1 - 0.8**2), runs)
    values = np.empty(runs)
    last = random.normal(0, 0.01)
    for i in range(runs):
        last = 0.8 * last + steps[i]
        values[i] = 1 + last
    return values


def _drifting(random: Random, runs: int) -> Array:
    return (1 + random.normal(0, 0.01, runs)) * (1 + random.choice([-1, 1]) * 0.002 * np.arange(runs))


def _quantised(random: Random, runs: int) -> Array:
    return np.round((1 + random.normal(0, 0.01, runs)) * 100) / 100


FAMILIES: dict[str, Callable[[Random, int], Array]] = {
    "Gaussian": _gaussian,
    "lognormal": _lognormal,
    "bursty (5-15 % outliers)": _bursty,
    "autocorrelated (0.8)": _autocorrelated,
    "drifting (0.2 % a run)": _drifting,
    "quantised (1 %)": _quantised,
}


def sequential(random: Random, noise: Callable[[Random, int], Array], speedup: float) -> tuple[Word, int, int]:
    """One comparison as `nodewise compare` makes it: the word, the runs until there was one, and until its size was told."""
    times = noise(random, 2 * MOST_BLOCKS).clip(0.1).reshape(MOST_BLOCKS, 2)
    first = random.random(MOST_BLOCKS) < 0.5
    baseline = np.where(first, times[:, 0], times[:, 1]) * speedup
    candidate = np.where(first, times[:, 1], times[:, 0])
    looks = OpenLooks()
    to_word = 2 * MOST_BLOCKS
    for blocks in range(1, MOST_BLOCKS + 1):
        if looks.due(blocks) or blocks == MOST_BLOCKS:
            ratio = ratio_interval(list(baseline[:blocks]), list(candidate[:blocks]), looks.level(blocks))
            verdict = judge(ratio, WITHIN, final=blocks == MOST_BLOCKS)
            if verdict.word is not Word.UNDECIDED:
                to_word = min(to_word, 2 * blocks)
            if is_settled(verdict):
                break
    return verdict.word, to_word, 2 * blocks


def _one_after_the_other(random: Random, noise: Callable[[Random, int], Array], speedup: float) -> tuple[Array, Array]:
    times = noise(random, 2 * FIXED_RUNS).clip(0.1)
    return times[:FIXED_RUNS] * speedup, times[FIXED_RUNS:]


def _interleaved(random: Random, noise: Callable[[Random, int], Array], speedup: float) -> tuple[Array, Array]:
    times = noise(random, 2 * FIXED_RUNS).clip(0.1)
    return times[::2] * speedup, times[1::2]


def _t_test(one: Array, other: Array) -> bool:
    from scipy import stats

    if one.std() == other.std() == 0:
        return bool(one[0] != other[0])
    return bool(stats.ttest_ind(one, other, equal_var=False).pvalue < 0.05)


def _rank_test(one: Array, other: Array) -> bool:
    from scipy import stats

    return bool(stats.mannwhitneyu(one, other, method="asymptotic").pvalue < 0.05)


def _apart(one: Array, other: Array) -> bool:
    """The habit: two lines `mean ± standard deviation` that do not overlap."""
    low, high = sorted((one, other), key=lambda t: float(t.mean()))
    return bool(low.mean() + low.std(ddof=1) < high.mean() - high.std(ddof=1))


RULES = {"Welch's t-test": _t_test, "Mann-Whitney test": _rank_test, "mean ± sd do not overlap": _apart}


def main() -> None:
    """Print the table."""
    print(
        f"{EXPERIMENTS} experiments each. 'wrong': a difference is said of two equal commands (limit 5 %); 'found': a true"
    )
    print(
        f"one of {GAIN:.0%} is named with its right sign (limit 95 %). Mean numbers of runs, both commands together: of two equal"
    )
    print(
        "ones until a word is said, with a true difference until a word is said, and until its size is told as well.\n"
    )
    print(f"{'noise':<26}{'method':<44}{'wrong':>8}{'found':>8}{'equal':>8}{'word':>8}{'size':>8}")
    for number, (name, noise) in enumerate(FAMILIES.items()):
        random = np.random.default_rng([7, number])
        same = [sequential(random, noise, 1.0) for _ in range(EXPERIMENTS)]
        real = [sequential(random, noise, 1 + GAIN) for _ in range(EXPERIMENTS)]
        wrong = np.mean([word in (Word.FASTER, Word.SLOWER) for word, *_ in same])
        found = np.mean([word is Word.FASTER for word, *_ in real])
        counts = [np.mean([r[column] for r in results]) for results, column in ((same, 1), (real, 1), (real, 2))]
        told = "".join(f"{c:>8.1f}" for c in counts)
        print(f"{name:<26}{'nodewise compare':<44}{wrong:>8.1%}{found:>8.1%}{told}", flush=True)
        try:
            import scipy  # noqa: F401
        except ImportError:
            print(f"{'':<26}the tests of the field need SciPy: pip install scipy")
            continue
        for rule, decide in RULES.items():
            for how, take in (("one after the other", _one_after_the_other), ("interleaved", _interleaved)):
                said = np.mean([decide(*take(random, noise, 1.0)) for _ in range(EXPERIMENTS)])
                power = 0
                for _ in range(EXPERIMENTS):
                    one, other = take(random, noise, 1 + GAIN)
                    power += decide(one, other) and one.mean() > other.mean()
                label = f"{rule}, {how}"
                runs = 2.0 * FIXED_RUNS
                print(f"{'':<26}{label:<44}{said:>8.1%}{power / EXPERIMENTS:>8.1%}{runs:>8.1f}{runs:>8.1f}")
