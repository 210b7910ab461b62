# SPDX-License-Identifier: BSD-3-Clause
"""How often verdicts are wrong, and what they cost: nodewise's sequential comparison beside the field's habits.

Simulated experiments of two commands, in families of noise of about 1 %, and of five. nodewise's runs are interleaved in
the orders that it uses, blocks with unequal predecessors are left out, and it looks as `nodewise compare` does, until a word
is said or 90 blocks are done. The others take ten runs of each: one command after the other as those tools do, and
interleaved beside that.
"""

import itertools
import math
import os
from collections.abc import Callable
from random import Random as Dice

import numpy as np
from numpy.typing import NDArray

from nodewise.statistics.carryover import comparable
from nodewise.statistics.compare import holds, ratio_interval
from nodewise.statistics.order import BalancedOrder
from nodewise.statistics.sequential import OpenLooks
from nodewise.statistics.verdict import Word, judge

EXPERIMENTS = int(os.environ.get("NODEWISE_EXPERIMENTS", "1000"))
MOST_BLOCKS = 90
FIXED_RUNS = 10
#: What is held against no difference, and the true difference that is to be found.
QUESTIONS = ((0.01, 0.02), (0.005, 0.01))
WITHIN, GAIN = QUESTIONS[0]
#: At most so many of a hundred words may be wrong.
LIMIT = 0.04

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


def _scaled(values: Array) -> Array:
    """Noise with the median absolute deviation of a normal one of 1 %."""
    centre = np.median(values)
    return 1 + 0.01 * (values - centre) / (1.4826 * np.median(np.abs(values - centre)))


def _pareto(random: Random, runs: int) -> Array:
    return _scaled(random.pareto(1.5, 4000))[:runs]


def _cauchy(random: Random, runs: int) -> Array:
    return _scaled(random.standard_cauchy(4000))[:runs]


def _two_states(random: Random, runs: int) -> Array:
    # a tenth slower for some runs on end
    slow, states = random.random() < 0.3, np.empty(runs)
    for i, dice in enumerate(random.random(runs)):
        slow = not slow if dice < (0.2 if slow else 0.08) else slow
        states[i] = slow
    return (1 + random.normal(0, 0.01, runs)) * (1 + 0.1 * states)


def _pink(random: Random, runs: int) -> Array:
    frequencies = np.fft.rfftfreq(4 * runs)[1:]
    waves = (random.normal(size=frequencies.size) + 1j * random.normal(size=frequencies.size)) / np.sqrt(frequencies)
    series = np.fft.irfft(np.concatenate([[0], waves]), 4 * runs)[:runs]
    return np.asarray(1 + 0.01 * (series - series.mean()) / series.std())


def _wave(random: Random, runs: int, period: float) -> Array:
    wave = np.sin(2 * np.pi * (np.arange(runs) / period + random.random()))
    return 1 + random.normal(0, 0.01, runs) + 0.01 * np.sqrt(2) * wave


def _periodic(random: Random, runs: int) -> Array:
    return _wave(random, runs, float(np.exp(random.uniform(np.log(3), np.log(60)))))


def _in_step(random: Random, runs: int) -> Array:
    return _wave(random, runs, 4)


def _one_sided(random: Random, runs: int) -> Array:
    return 1 + random.normal(0, 0.01, runs) + 0.3 * (random.random(runs) < 0.05)


def _bimodal(random: Random, runs: int) -> Array:
    return 1 + random.normal(0, 0.0035, runs) + 0.02 * (random.random(runs) < 0.5)


Family = Callable[[Random, int], Array]
FAMILIES: dict[str, Family] = {
    "Gaussian": _gaussian,
    "lognormal": _lognormal,
    "bursty (5-15 % outliers)": _bursty,
    "autocorrelated (0.8)": _autocorrelated,
    "drifting (0.2 % a run)": _drifting,
    "quantised (1 %)": _quantised,
}
HARDER: dict[str, Family] = {
    "Pareto 1.5": _pareto,
    "Cauchy": _cauchy,
    "two states": _two_states,
    "1/f": _pink,
    "a period of 3 to 60 runs": _periodic,
    "a period of 4 runs": _in_step,
    "one-sided (5 %)": _one_sided,
    "bimodal": _bimodal,
}
#: Runs until a word was said of the two differences by simpler rules: looks after 8, 12, 18, 27 … blocks, at levels that
#: add up to 5 %, scores that reach 3 deviations, all blocks of random orders. 2000 and 1500 experiments each.
BEFORE: dict[str, tuple[float, float]] = {
    "Gaussian": (21.6, 60.6),
    "lognormal": (19.7, 35.5),
    "bursty (5-15 % outliers)": (32.3, 78.8),
    "autocorrelated (0.8)": (16.1, 19.4),
    "drifting (0.2 % a run)": (21.6, 61.1),
    "quantised (1 %)": (21.5, 61.1),
}


def sequential(
    random: Random, noise: Family, speedup: float, within: float = WITHIN, contenders: int = 2
) -> tuple[Word, int, float]:
    """One comparison as `nodewise compare` makes it: the word, the runs until there was one, and the size that it leaves open.

    The first of the contenders takes `speedup` times as long as the others. Of more than two it is the first word on any.
    """
    names = [chr(ord("A") + i) for i in range(contenders)]
    pairs = list(itertools.combinations(names, 2))
    order = BalancedOrder(Dice(int(random.integers(2**32))))
    looks = OpenLooks(0.05, len(pairs))
    blocks = MOST_BLOCKS // (contenders - 1)
    times = noise(random, contenders * blocks).clip(0.1)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    before: dict[str, list[str | None]] = {name: [] for name in names}
    last: str | None = None
    for block in range(blocks):
        for position, name in enumerate(order.next(names)):
            seconds[name].append(float(times[block * contenders + position]) * (speedup if name == "A" else 1))
            before[name].append(last)
            last = name
        for one, other in pairs:
            kept = comparable(one, other, list(zip(before[one], before[other], strict=True)))
            costs = [[seconds[name][i] for i in kept] for name in (one, other)]
            final = block == blocks - 1
            if not (looks.due(len(kept)) or final):
                continue
            level = looks.level(len(kept))
            # no word without 1 or both edges of `within` outside: most looks are over at once
            middle, above, below = holds(*costs, [1.0, 1 + within, 1 / (1 + within)], level)
            if middle and (above or below) and not final:
                continue
            verdict = judge(ratio_interval(*costs, level), within, final=final)
            if verdict.word is not Word.UNDECIDED and (contenders == 2 or verdict.word is not Word.NO_DIFFERENCE):
                return verdict.word, contenders * (block + 1), max(verdict.beyond, within)
    return Word.UNDECIDED, contenders * blocks, math.inf


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


def is_wrong(word: Word, size: float, speedup: float) -> bool:
    """A difference said of equal commands, one of the wrong sign, or none beyond a `size` of one that is larger."""
    if speedup == 1:
        return word in (Word.FASTER, Word.SLOWER)
    return word is Word.SLOWER or (word is Word.NO_DIFFERENCE and speedup > 1 + size)


def _errors() -> None:
    print(
        f"{EXPERIMENTS} experiments each. 'wrong': a difference is said of two equal commands, and none or one of the"
    )
    print(
        f"wrong sign of two that differ by twice what counts as none (limit {LIMIT:.0%}). 'runs': until a word is said of"
    )
    print("the latter, both commands together, and over those of simpler rules.\n")
    asked = "".join(f"{f'{gain:.0%} at --within {within:.1%}':>34}" for within, gain in QUESTIONS)
    print(f"{'noise':<26}{asked}")
    print(f"{'':<26}" + f"{'wrong':>9}{'wrong':>8}{'runs':>9}{'ratio':>8}" * len(QUESTIONS))
    ratios: list[list[float]] = [[] for _ in QUESTIONS]
    for number, (name, noise) in enumerate((FAMILIES | HARDER).items()):
        row = f"{name:<26}"
        for column, (within, gain) in enumerate(QUESTIONS):
            random = np.random.default_rng([7, number, column])
            same = [sequential(random, noise, 1.0, within) for _ in range(EXPERIMENTS)]
            real = [sequential(random, noise, 1 + gain, within) for _ in range(EXPERIMENTS)]
            wrong = [np.mean([is_wrong(w, size, 1.0) for w, _, size in same])]
            wrong.append(np.mean([is_wrong(w, size, 1 + gain) for w, _, size in real]))
            runs = float(np.mean([r for _, r, _ in real]))
            row += f"{wrong[0]:>9.1%}{wrong[1]:>8.1%}{runs:>9.1f}"
            if name in BEFORE:
                ratios[column].append(runs / BEFORE[name][column])
            row += f"{ratios[column][-1]:>7.2f}×" if name in BEFORE else f"{'':>8}"
        print(row, flush=True)
    random = np.random.default_rng([7, 99])
    said = [sequential(random, _gaussian, 1.0, contenders=5) for _ in range(EXPERIMENTS // 4)]
    five = np.mean([is_wrong(w, size, 1.0) for w, _, size in said])
    print(f"{'five commands, Gaussian':<26}{five:>9.1%}")
    told = [f"{math.exp(float(np.mean(np.log(column)))):.2f}× (worst {max(column):.2f}×)" for column in ratios]
    print(f"runs over those of simpler rules, geometric means: {', '.join(told)}\n")


def main() -> None:
    """Print the tables."""
    _errors()
    try:
        import scipy  # noqa: F401
    except ImportError:
        print("the tests of the field need SciPy: pip install scipy")
        return
    print(
        f"The habits of the field, {FIXED_RUNS} runs of each: a difference said of equal commands; {GAIN:.0%} found.\n"
    )
    print(f"{'noise':<26}{'method':<44}{'wrong':>8}{'found':>8}")
    for number, (name, noise) in enumerate(FAMILIES.items()):
        random = np.random.default_rng([8, number])
        for rule, decide in RULES.items():
            for how, take in (("one after the other", _one_after_the_other), ("interleaved", _interleaved)):
                said = np.mean([decide(*take(random, noise, 1.0)) for _ in range(EXPERIMENTS)])
                power = 0
                for _ in range(EXPERIMENTS):
                    one, other = take(random, noise, 1 + GAIN)
                    power += decide(one, other) and one.mean() > other.mean()
                print(f"{name:<26}{f'{rule}, {how}':<44}{said:>8.1%}{power / EXPERIMENTS:>8.1%}")
