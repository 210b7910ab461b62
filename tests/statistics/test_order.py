# SPDX-License-Identifier: BSD-3-Clause
"""Orders of blocks: random, and each contender after each equally often."""

import itertools
from collections import Counter
from random import Random

import pytest

from nodewise.statistics.order import BalancedOrder


def runs(names: str, blocks: int, seed: int) -> list[str]:
    order = BalancedOrder(Random(seed))
    return [name for _ in range(blocks) for name in order.next(names)]


@pytest.mark.parametrize("names", ["AB", "ABC", "ABCDE", "ABCDEFGH"])
def test_each_follows_each_equally_often(names: str) -> None:
    met = Counter(itertools.pairwise(runs(names, 400, 3)))
    even = 400 / len(names)
    assert all(0.8 * even <= met[pair] <= 1.2 * even for pair in itertools.product(names, repeat=2))


@pytest.mark.parametrize("names", ["A", "AB", "ABC", "ABCDE"])
def test_each_block_holds_each_once_and_the_seed_decides(names: str) -> None:
    for seed in range(5):
        order = runs(names, 50, seed)
        assert all(sorted(order[i : i + len(names)]) == list(names) for i in range(0, len(order), len(names)))
        assert order == runs(names, 50, seed)
    assert len(names) == 1 or len({tuple(runs(names, 50, seed)) for seed in range(5)}) == 5


def test_two_contenders_do_not_alternate_for_ever() -> None:
    for seed in range(20):
        order = runs("AB", 60, seed)
        kept = [order[i] == order[i - 1] for i in range(2, len(order), 2)]
        assert 3 <= kept.count(False) <= 7


def test_contenders_may_come_and_go() -> None:
    order = BalancedOrder(Random(1))
    first = order.next("ABC")
    left = [name for name in "ABC" if name != first[-1]]
    second = order.next(left)
    assert sorted(second) == left
    assert order.next(["D", *left])[0] == second[-1]
    assert order.next([]) == []
    with pytest.raises(ValueError, match="once in a block"):
        order.next("AA")


def test_what_ran_outside_of_a_block_comes_before_the_next() -> None:
    order = BalancedOrder(Random(1))
    for name in "ABCABC":
        order.ran(name)
        assert order.next("ABC")[0] == name


def test_two_contenders_are_kept_so_many_blocks_and_what_starts_anew_as_many_as_at_first() -> None:
    def broken(blocks: int, seed: int, restart: int = 0) -> list[int]:
        order, last, found = BalancedOrder(Random(seed)), "", []
        for number in range(blocks):
            if restart and number == restart:
                order.restart()
            made = order.next("AB")
            if last and made[0] != last:
                found.append(number)
            last = made[-1]
        return found

    first, later, anew = set(), set(), set()
    for seed in range(400):
        at = broken(80, seed)
        first.add(at[0])
        later |= {b - a for a, b in itertools.pairwise(at)}
        anew.add(broken(40, seed, 5)[0])
    # the first block follows none
    assert (min(first), max(first)) == (10, 17)
    assert (min(later), max(later)) == (8, 15)
    assert (min(anew), max(anew)) == (14, 21)


def test_of_two_random_orders_the_one_whose_neighbours_have_met_less_often_is_taken() -> None:
    met: Counter[tuple[str, str]] = Counter()
    order, run = BalancedOrder(Random(7)), []
    for _ in range(40):
        run += order.next("ABCDEF")
    met.update(itertools.pairwise(run))
    # 239 steps over 36 pairs; by chance alone some pair is met twice as often as another
    assert max(met.values()) - min(met[pair] for pair in itertools.product("ABCDEF", repeat=2)) <= 6


def test_what_follows_a_run_outside_of_the_blocks_is_balanced_too() -> None:
    uneven = 0
    for seed in range(20):
        order, first = BalancedOrder(Random(seed)), Counter[str]()
        for _ in range(90):
            order.ran("W")
            first[order.next("ABC")[0]] += 1
        uneven += max(first.values()) - min(first.values())
    # 58 where only neighbours within a block are counted
    assert uneven <= 45
