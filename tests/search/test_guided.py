# SPDX-License-Identifier: BSD-3-Clause
"""The search by a model on surfaces whose truth is known."""

import itertools
import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from nodewise.search import guided
from nodewise.search.guided import GuidedSearch
from nodewise.search.outcome import AtLeast
from nodewise.search.space import Axis, Point, Space

Formula = Callable[[Mapping[str, Any]], float | None]

THREADS = Axis("threads", tuple(range(1, 65)), (64, 32, 16, 8, 1), 64, ordered=True, crossed=True)
PLACEMENT = Axis("placement", ("os", "compact", "scatter"), ("scatter", "os", "compact"), "os", crossed=True)
PAGES = Axis("hugepages", ("default", "transparent"), ("default", "transparent"), "default")


def _space(*axes: Axis, **more: Any) -> Space:
    return Space(axes, lambda p: tuple(p.items()), **more)


SPACE = _space(THREADS, PLACEMENT, PAGES)


def _surface(best: int, pages: float) -> Formula:
    def seconds(point: Mapping[str, Any]) -> float:
        shape = 1 + 0.3 * abs(math.log(point["threads"] / best))
        where = {"os": 1.1, "compact": 1.2, "scatter": 1.0}[point["placement"]]
        return shape * where * (pages if point["hugepages"] == "transparent" else 1.0)

    return seconds


class _Run:
    """A search to its end; what it asked for, and what it found."""

    def __init__(self, space: Space, formula: Formula, runs: int, seed: int = 0, noise: float = 0.01):
        rng = random.Random(seed)
        self.search = GuidedSearch(space, seed)
        self.asked: list[list[Point]] = []
        self.spent = 0
        while points := self.search.ask(runs - self.spent):
            assert len(points) <= runs - self.spent
            assert len({space.identity(p) for p in points}) == len(points)
            self.asked.append(points)
            self.spent += len(points)
            self.search.tell({p: self._noisy(formula(p), rng, noise) for p in points})
        self.ranking = self.search.ranking

    @staticmethod
    def _noisy(seconds: float | None, rng: random.Random, noise: float) -> float | None:
        slow = 1.4 if rng.random() < 0.05 else 1.0
        return None if seconds is None else seconds * math.exp(rng.gauss(0, noise)) * slow


@pytest.mark.parametrize("seeds", [3, pytest.param(20, marks=pytest.mark.long)])
def test_a_natural_optimum_is_found_every_time(seeds: int) -> None:
    for seed in range(seeds):
        found = _Run(SPACE, _surface(16, 0.8), 120, seed)
        assert dict(found.ranking[0]) == {"threads": 16, "placement": "scatter", "hugepages": "transparent"}


@pytest.mark.parametrize("seeds", [3, pytest.param(20, marks=pytest.mark.long)])
def test_an_optimum_between_the_natural_values_is_approached(seeds: int) -> None:
    for seed in range(seeds):
        best = _Run(SPACE, _surface(23, 1.0), 120, seed).ranking[0]
        assert _surface(23, 1.0)(best) < 1.03
        assert best["placement"] == "scatter"


@pytest.mark.parametrize("seeds", [5, pytest.param(40, marks=pytest.mark.long)])
def test_an_axis_that_does_nothing_keeps_its_default(seeds: int) -> None:
    kept = [_Run(SPACE, _surface(16, 1.0), 120, seed).ranking[0]["hugepages"] == "default" for seed in range(seeds)]
    assert sum(kept) >= 0.8 * seeds


@pytest.mark.parametrize("runs", [0, 1, 2, 3, 10, 25, 60])
def test_the_budget_is_kept(runs: int) -> None:
    assert _Run(SPACE, _surface(16, 0.8), runs).spent <= runs


def test_no_block_is_larger_than_what_is_left() -> None:
    for seed in range(10):
        search = GuidedSearch(SPACE, seed)
        rng = random.Random(seed)
        for left in (30, 20, 17, 14, 2, 3, 2, 5, 2):
            points = search.ask(left)
            assert len(points) <= left
            search.tell({p: math.exp(rng.gauss(0, 0.02)) for p in points})


def test_it_ends_early_where_there_is_nothing_to_gain() -> None:
    assert _Run(_space(THREADS), lambda _: 1.0, 2000).spent < 1000


def test_a_point_that_fails_never_wins() -> None:
    found = _Run(SPACE, lambda p: None if p["threads"] == 16 else _surface(16, 1.0)(p), 100)
    assert found.ranking
    assert all(p["threads"] != 16 for p in found.ranking)


def test_a_point_that_fails_later_leaves_the_ranking() -> None:
    search = GuidedSearch(SPACE)
    best = None
    for _ in range(6):
        points = search.ask(100)
        search.tell({p: None if p == best else _surface(16, 1.0)(p) for p in points})
        best = best or search.ranking[0]
    assert best not in search.ranking


def test_where_everything_fails_there_is_no_ranking() -> None:
    found = _Run(SPACE, lambda _: None, 200)
    assert found.ranking == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_the_only_one_of_a_thousand_that_runs_is_found(seed: int) -> None:
    numbers = Axis("n", tuple(range(1000)), tuple(range(0, 1000, 50)), 0)
    found = _Run(_space(numbers), lambda p: 1.0 if p["n"] == 777 else None, 1100, seed)
    assert [p["n"] for p in found.ranking] == [777]


def test_a_lone_lucky_run_is_repeated_before_it_is_believed_for_good() -> None:
    search = GuidedSearch(SPACE)
    rng = random.Random(1)
    for block in range(8):
        points = search.ask(200)
        times = {p: _surface(16, 1.0)(p) * math.exp(rng.gauss(0, 0.02)) for p in points}
        if block == 3:
            lucky = next(p for p in reversed(points) if p["threads"] != 16)
            times[lucky] *= 0.8
        elif block == 4:
            assert lucky in points
        search.tell(times)
    assert _surface(16, 1.0)(search.ranking[0]) < 1.02


def test_the_leader_is_measured_again_and_again() -> None:
    found = _Run(SPACE, _surface(16, 0.8), 150)
    assert sum(found.ranking[0] in block for block in found.asked) >= 4


def test_equal_seeds_and_times_give_equal_searches() -> None:
    runs = [_Run(SPACE, _surface(23, 0.9), 90, 7) for _ in range(2)]
    assert runs[0].asked == runs[1].asked
    assert runs[0].ranking == runs[1].ranking


TEN = tuple(Axis(f"knob{i}", ("a", "b", "c", "d"), ("a", "b", "c", "d"), "a") for i in range(10))


@pytest.mark.parametrize(("seeds", "least"), [(2, 2), pytest.param(10, 9, marks=pytest.mark.long)])
def test_of_many_axes_those_that_matter_are_found_and_combined(seeds: int, least: int) -> None:
    def seconds(point: Mapping[str, Any]) -> float:
        gain = {"knob2": ("c", 0.85), "knob5": ("d", 0.9), "knob7": ("b", 0.93)}
        return math.prod(by if point[name] == value else 1.0 for name, (value, by) in gain.items())

    truth = 0.85 * 0.9 * 0.93
    reached = [seconds(_Run(_space(*TEN), seconds, 200, seed).ranking[0]) / truth for seed in range(seeds)]
    assert sum(one < 1.01 for one in reached) >= least


def test_a_value_that_breaks_the_program_is_soon_left_alone() -> None:
    def seconds(point: Mapping[str, Any]) -> float | None:
        return None if point["knob3"] == "b" else 0.9 if point["knob5"] == "d" else 1.0

    found = _Run(_space(*TEN), seconds, 200)
    late = [p for block in found.asked[len(found.asked) // 2 :] for p in block]
    assert sum(p["knob3"] == "b" for p in late) <= 2
    assert found.ranking[0]["knob5"] == "d"


def test_an_axis_alone_will_do() -> None:
    only = Axis("schedule", ("static", "dynamic,1", "dynamic,64", "guided,1"), ("static",), "static")
    times = {"static": 1.0, "dynamic,1": 1.2, "dynamic,64": 0.9, "guided,1": 0.95}
    assert _Run(_space(only), lambda p: times[p["schedule"]], 60).ranking[0]["schedule"] == "dynamic,64"


def test_points_that_are_not_allowed_are_never_asked_for() -> None:
    limited = _space(THREADS, PLACEMENT, allowed=lambda p: p["threads"] <= 8 or p["placement"] == "os")
    found = _Run(limited, lambda p: 1 / p["threads"] + (0.5 if p["placement"] == "os" else 0), 120)
    assert all(limited.allowed(p) for block in found.asked for p in block)
    assert found.ranking[0]["threads"] == 8


def test_points_of_one_identity_run_once_a_block() -> None:
    same = Space((THREADS, PLACEMENT), lambda p: p["threads"])
    found = _Run(same, lambda p: 1 / p["threads"], 60)
    assert len({p["placement"] for block in found.asked for p in block if p["threads"] == 64}) == 1


def test_a_space_of_one_point_is_no_trouble() -> None:
    only = _space(Axis("threads", (1,), (1,), 1))
    assert len(_Run(only, lambda _: 1.0, 50).ranking) == 1


@pytest.mark.long
def test_what_hangs_is_told_as_a_bound_and_left_alone() -> None:
    def outcome(point: Mapping[str, Any]) -> float | AtLeast:
        return AtLeast(3.0) if point["knob3"] == "b" else 0.9 if point["knob5"] == "d" else 1.0

    late: list[Point] = []
    for seed in range(4):
        search = GuidedSearch(_space(*TEN), seed)
        asked: list[list[Point]] = []
        while (points := search.ask(200 - sum(map(len, asked)))) and len(asked) < 100:
            asked.append(points)
            search.tell({p: outcome(p) for p in points})
        late += [p for block in asked[len(asked) // 2 :] for p in block]
        assert search.ranking[0]["knob5"] == "d"
    # a quarter of all points have that value
    assert sum(p["knob3"] == "b" for p in late) <= 0.08 * len(late)


def test_a_gain_seen_once_is_repeated_in_the_next_block_and_leads() -> None:
    """A setting with fewer than three runs is no slower for it."""
    only = Axis("allocator", ("default", "a", "b", "c"), ("default", "a", "b", "c"), "default")
    for seed in range(20):
        rng = random.Random(seed)
        search, left = GuidedSearch(_space(only), seed), 7
        seen: list[str] = []
        while points := search.ask(left):
            left -= len(points)
            seen += [p["allocator"] for p in points]
            search.tell({p: (0.6 if p["allocator"] == "b" else 1.0) * math.exp(rng.gauss(0, 0.05)) for p in points})
        assert search.ranking[0]["allocator"] == "b"
        assert seen.count("b") >= 2


def test_the_default_neither_leads_nor_runs_in_every_block_where_another_is_faster() -> None:
    for seed in range(5):
        found = _Run(SPACE, _surface(16, 0.8), 120, seed)
        assert found.ranking[0] != SPACE.default
        assert sum(SPACE.default in block for block in found.asked) < len(found.asked)


def test_the_program_as_it_is_stands_apart_from_a_default_that_is_not_its_own() -> None:
    """Spelling out the guessed default is what helps here."""
    search = GuidedSearch(SPACE, 0, apart=True)
    rng = random.Random(0)
    left = 100
    while points := search.ask(left):
        left -= len(points)
        search.tell(
            {p: (3.0 if p == search.reference else _surface(64, 1.0)(p)) * math.exp(rng.gauss(0, 0.02)) for p in points}
        )
    assert search.ranking[0] != search.reference
    gain, deviation = search.gain(SPACE.default, over=search.reference)
    assert gain - deviation > 0.3


def test_a_first_failure_defers_a_setting_that_may_be_the_best() -> None:
    search = GuidedSearch(_space(*TEN), 0)
    best: Point | None = None
    again = 0
    for block in range(12):
        points = search.ask(200)
        again += block > 1 and best in points
        best = best or (points[-1] if block == 1 else None)
        search.tell({p: None if p == best else 1.0 for p in points})
    assert best not in search.ranking
    assert again <= 1


def test_where_the_program_fails_by_itself_a_failure_is_no_end() -> None:
    rng = random.Random(3)

    def outcome(point: Point) -> float | None:
        return None if rng.random() < 0.2 else _surface(16, 0.8)(point) * math.exp(rng.gauss(0, 0.01))

    found = []
    for seed in range(5):
        search, left = GuidedSearch(SPACE, seed), 150
        while points := search.ask(left):
            left -= len(points)
            search.tell({p: outcome(p) for p in points})
        found.append(_surface(16, 0.8)(search.ranking[0]))
    # one in five may have failed too often to be told from a setting that fails by its own fault
    assert sorted(found)[3] < 1.05 * 0.8


def _knobs(axes: int, values: int) -> Space:
    return _space(*(Axis(f"k{i}", tuple(range(values + 1)), tuple(range(values + 1)), 0) for i in range(axes)))


@pytest.mark.parametrize(("axes", "values", "runs"), [(3, 3, 8), (4, 4, 16), (6, 6, 24), (1, 7, 8), (2, 6, 9)])
def test_each_value_runs_once_before_any_is_followed_up(axes: int, values: int, runs: int) -> None:
    space = _knobs(axes, values)
    for seed in range(8):
        search, seen, spent = GuidedSearch(space, seed), set(), 0
        while search.unseen or not spent:
            points = search.ask(runs - spent)
            assert points
            spent += len(points)
            seen |= {change for p in points for change in p.items()}
            search.tell(dict.fromkeys(points, 1.0))
        assert seen == {(a.name, v) for a in space.axes for v in a.values}


def test_one_value_of_many_is_found_in_few_runs() -> None:
    space = _knobs(4, 4)
    for seed in range(10):
        name, value = random.Random(seed).choice([(a.name, v) for a in space.axes for v in a.worth])
        found = _Run(space, lambda p, n=name, v=value: 0.75 if p[n] == v else 1.0, 24, seed).ranking[0]
        assert found[name] == value


def test_values_that_only_ran_together_are_entangled() -> None:
    space = _knobs(3, 2)
    search = GuidedSearch(space)
    both, alone = space.default.having(k0=1, k1=1), space.default.having(k0=1)
    search.tell({search.reference: 1.0, both: 0.5, space.default.having(k2=1): 1.0})
    assert search.entangled(both) == {"k0", "k1"}
    assert search.entangled(alone) == set()
    search.tell({alone: 0.5})
    assert search.entangled(both) == set()


def test_a_value_that_ran_beside_a_crash_alone_is_seen_again() -> None:
    space = _knobs(3, 3)
    search = GuidedSearch(space, 1)
    search.tell({search.reference: 1.0, space.default.having(k0=1, k1=2): None})
    assert {("k0", 1), ("k1", 2)} <= set(search.unseen)
    search.tell({space.default.having(k0=1): None, space.default.having(k1=2): 1.0})
    assert not {("k0", 1), ("k1", 2)} & set(search.unseen)


def test_a_value_that_starts_as_another_one_did_was_tried() -> None:
    axes = (Axis("where", ("os", "compact", "scatter"), ("os", "compact", "scatter"), "os"), *_knobs(1, 2).axes)
    # two threads on two cores sit alike, whatever that is called
    space = Space(axes, lambda p: (p["where"] if p["where"] == "os" else "bound", p["k0"]))
    search = GuidedSearch(space)
    search.tell({space.default: 1.0, space.default.having(k0=2): None})
    assert search.untried == [("where", "compact"), ("where", "scatter"), ("k0", 1)]
    search.tell({space.default.having(where="scatter"): 1.0})
    assert search.untried == [("k0", 1)]


@pytest.mark.parametrize(("axes", "values", "runs"), [(2, 2, 16), (2, 3, 26), (4, 1, 30)])
def test_a_gain_that_two_values_have_only_together_is_found_in_a_small_space(axes: int, values: int, runs: int) -> None:
    space = _knobs(axes, values)
    for seed in range(6):
        rng = random.Random(seed)
        (one, first), (other, second) = (
            (n, rng.randint(1, values)) for n in rng.sample([a.name for a in space.axes], 2)
        )

        def formula(p: Mapping[str, Any], a: str = one, b: str = other, v: int = first, w: int = second) -> float:
            return 0.7 if p[a] == v and p[b] == w else 1.1 if p[a] == v or p[b] == w else 1.0

        best = _Run(space, formula, runs, seed).ranking[0]
        assert best[one] == first and best[other] == second


def test_only_so_many_combinations_are_gone_through_as_are_asked_for() -> None:
    space = _knobs(2, 3)
    search = GuidedSearch(space)
    search.tell({search.reference: 1.0, space.default.having(k0=1, k1=1): None})
    assert len(search.untried_pairings(14)) == 14 and search.untried_pairings(13) == []
    ordered = GuidedSearch(_space(THREADS, *_knobs(1, 3).axes))
    ordered.tell({ordered.reference: 1.0})
    # what a model can tell from neighbours is not gone through
    assert ordered.untried_pairings(1000) == []


@pytest.mark.some(2)
@pytest.mark.parametrize("alone", [1.0, 1.1])
def test_what_two_values_gain_only_together_is_found(alone: float) -> None:
    def seconds(point: Mapping[str, Any]) -> float:
        changed = (point["k0"] == 1) + (point["k3"] == 2)
        return (1.0, alone, 0.75)[changed]

    best = [_Run(_knobs(6, 2), seconds, 100, seed).ranking[0] for seed in range(8)]
    assert sum((p["k0"], p["k3"]) == (1, 2) for p in best) >= 6


def test_what_is_good_by_itself_is_promised_together_and_runs_so() -> None:
    gains = {"k0": 0.9, "k2": 0.85, "k4": 0.8}

    def seconds(point: Mapping[str, Any]) -> float:
        return math.prod(g for n, g in gains.items() if point[n] == 1)

    space = _knobs(6, 2)
    search = GuidedSearch(space)
    assert not search.promises
    singles = [space.default.having(**{f"k{i}": v}) for i in range(6) for v in (1, 2)]
    for _ in range(2):
        search.tell({p: seconds(p) for p in (search.reference, *singles)})
    assert search.promises
    best = space.default.having(k0=1, k2=1, k4=1)
    search.tell({best: seconds(best), search.reference: 1.0})
    assert not search.promises
    # beside the pairs, right after the single values
    assert sum(best in _Run(space, seconds, 60, seed).asked[2] for seed in range(4)) >= 3


def test_a_value_that_is_surely_bad_by_itself_is_not_tried_with_others() -> None:
    found = _Run(_knobs(6, 2), lambda p: 4.0 if p["k1"] == 2 else 1.0, 150, 1)
    late = [p for block in found.asked[3:] for p in block]
    assert late and sum(p["k1"] == 2 for p in late) <= len(late) // 20


def test_what_never_ran_together_runs_at_once_after_the_single_values() -> None:
    new = 0
    for seed in range(4):
        found = _Run(_knobs(6, 2), lambda _: 1.0, 100, seed)
        blocks = [{pair for p in block for pair in itertools.combinations(p.items(), 2)} for block in found.asked[:3]]
        new += len(blocks[2] - blocks[1] - blocks[0])
    # of 540 pairs; points that the model asks for in that block bring 161
    assert new >= 190


def test_one_run_a_hair_faster_leads_nothing_and_one_that_is_much_faster_does() -> None:
    """Ranked is by the expected time and its doubt: one run is known less well than six."""
    only = _space(Axis("allocator", ("default", "a", "b", "c"), ("default", "a", "b", "c"), "default"))
    default, slow, often, once = (only.default.having(allocator=v) for v in ("default", "a", "b", "c"))
    for gain, leader in ((0.985, often), (0.96, once)):
        search = GuidedSearch(only, 0)
        for block, noise in enumerate((0.04, -0.03, 0.02, -0.04, 0.03, -0.02)):
            third = {once: 0.9 * gain} if block == 3 else {slow: 1.0}
            search.tell({default: math.exp(-noise), often: 0.9 * math.exp(noise), **third})
        assert search.ranking[0] == leader


@pytest.mark.parametrize(
    ("space", "runs", "sizes"),
    [
        # the program as it is, each value by itself, then combinations
        (_knobs(6, 2), 10, [1, 5, 3]),
        (_knobs(6, 2), 40, [1, 13, 11, 4]),
        # where that would take most of the runs many values meet in each, block after block
        (_knobs(6, 2), 24, [1, 5, 5, 5]),
        (_knobs(3, 3), 24, [1, 5, 5, 5]),
        # all of a small space where half of what is left is enough for it
        (_knobs(3, 3), 150, [1, 10, 56, 12]),
        # several values in a run where there are too many
        (_knobs(10, 8), 10, [1, 8]),
        (_knobs(10, 8), 60, [1, 55, 3]),
        pytest.param(_knobs(10, 8), 150, [1, 32, 23, 16], marks=pytest.mark.long),
        pytest.param(_knobs(10, 8), 400, [1, 81, 82, 12], marks=pytest.mark.long),
        # a sixth of the runs are for natural points of the crossed axes, six of them at least and half of the runs at most
        (_space(THREADS, PLACEMENT, *_knobs(8, 8).axes), 10, [5, 5]),
        (_space(THREADS, PLACEMENT, *_knobs(8, 8).axes), 13, [6, 7]),
        (_space(THREADS, PLACEMENT, *_knobs(8, 8).axes), 60, [10, 46, 3]),
        (_space(THREADS, PLACEMENT, *_knobs(8, 8).axes), 150, [15, 30, 21, 14]),
        # what is too little for a second block is spent in the first
        (_knobs(3, 3), 2, [2]),
        (_knobs(3, 3), 3, [2]),
        (_space(THREADS), 2, [2]),
    ],
)
def test_how_many_runs_the_first_blocks_have(space: Space, runs: int, sizes: list[int]) -> None:
    search, left = GuidedSearch(space), runs
    for size in sizes:
        points = search.ask(left)
        assert len(points) == size
        left -= size
        search.tell(dict.fromkeys(points, 1.0))


@pytest.mark.parametrize(("runs", "given", "of"), [(4, 1, 3), (12, 3, 6), (60, 5, 10), (120, 10, 20), (600, 20, 35)])
def test_points_to_start_with_have_half_of_the_first_block(runs: int, given: int, of: int) -> None:
    start = [SPACE.default.having(threads=n) for n in range(40, 60)]
    first = GuidedSearch(_space(THREADS, PLACEMENT), start=start).ask(runs)
    assert [p["threads"] for p in first[1 : given + 1]] == list(range(40, 40 + given))
    assert sum(p in start for p in first) == given and len(first) == of


def test_of_more_points_than_the_model_is_fitted_to_the_fastest_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guided, "_MOST_FITTED", 3)
    space = _space(Axis("v", tuple(range(8)), tuple(range(8)), 0))
    search = GuidedSearch(space, 0)
    search.ask(20)
    search.tell({space.default.having(v=v): 2.0 - 0.2 * v for v in range(8)})
    assert [p["v"] for p in search.ranking] == [7, 6, 5]


@pytest.mark.parametrize(("affordable", "size"), [(20, 3), (60, 6), (400, 12)])
def test_a_block_is_a_tenth_of_what_can_be_afforded_within_bounds(affordable: int, size: int) -> None:
    search = GuidedSearch(_space(Axis("v", tuple(range(30)), tuple(range(30)), 0)), 0)
    search.ask(affordable)
    assert search.size == size


def test_before_anything_ran_well_no_gain_is_known() -> None:
    axis = Axis("n", (1, 2), (1, 2), 1)
    space = Space((axis,), lambda p: tuple(p.items()))
    search = GuidedSearch(space, 0)
    search.tell({Point({"n": 2}): None})
    with pytest.raises(ValueError, match="nothing ran well yet"):
        search.gain(Point({"n": 2}), over=space.default)
    assert search.unseen == []
