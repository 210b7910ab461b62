# SPDX-License-Identifier: BSD-3-Clause
"""Lists of places as they are written for every OpenMP runtime: short, the same when read back, shorter where they must be."""

import random

import pytest

from nodewise.placement.layers import layers_of
from nodewise.placement.openmp.gnu_text import expand, read_gnu_places
from nodewise.placement.openmp.places import openmp_environment, place_list, read_places
from nodewise.placement.placement import PlaceList
from tests.placement.test_dialects import synthetic


def _one(*numbers: int) -> list[tuple[int, ...]]:
    return [(n,) for n in numbers]


@pytest.mark.parametrize(
    ("places", "text"),
    [
        (_one(3), "{3}"),
        (_one(0, 1), "{0},{1}"),
        (_one(0, 1, 2), "{0}:3"),
        (_one(0, 2, 4, 6), "{0}:4:2"),
        (_one(6, 4, 2), "{6}:3:-2"),
        # three that are the same are no repetition to GNU's
        (_one(1, 1, 1), "{1},{1},{1}"),
        (_one(0, 1, 2, 4, 6, 8), "{0}:3,{4}:3:2"),
        (_one(0, 1, 3, 5, 7), "{0},{1}:4:2"),
        (_one(0, 2, 3), "{0},{2},{3}"),
        (_one(5, 0, 1, 2, 9), "{5},{0}:3,{9}"),
        ([(0, 1)], "{0,1}"),
        ([(0, 2)], "{0,2}"),
        ([(0, 1, 2)], "{0:3}"),
        ([(0, 2, 4)], "{0:3:2}"),
        ([(0, 1, 3)], "{0,1,3}"),
        ([(0, 1, 2, 4)], "{0,1,2,4}"),
        ([(0, 8), (1, 9), (2, 10)], "{0,8}:3"),
        ([(0, 1), (2, 3), (4, 5)], "{0,1}:3:2"),
        ([(0, 1), (1, 3), (2, 5)], "{0,1},{1,3},{2,5}"),
        ([(0, 1), (2,), (4, 5)], "{0,1},{2},{4,5}"),
        ([(0, 1, 2), (4, 5, 6), (8, 9, 10), (0,)], "{0:3}:3:4,{0}"),
    ],
)
def test_each_list_is_written_so(places: list[tuple[int, ...]], text: str) -> None:
    assert openmp_environment(places) == {
        "OMP_NUM_THREADS": str(len(places)),
        "OMP_PLACES": text,
        "OMP_PROC_BIND": "close",
    }


def test_teams_are_written_with_their_levels() -> None:
    assert openmp_environment(_one(0, 1, 2, 3), (2, 2)) == {
        "OMP_NUM_THREADS": "2,2",
        "OMP_MAX_ACTIVE_LEVELS": "2",
        "OMP_PLACES": "{0}:4",
        "OMP_PROC_BIND": "spread,close",
    }
    assert openmp_environment(_one(*range(8)), (2, 2, 2))["OMP_PROC_BIND"] == "spread,spread,close"
    assert openmp_environment(_one(0, 1, 2, 3), (4,)) == openmp_environment(_one(0, 1, 2, 3))
    inner = PlaceList(((0,), (2,), (4,)), ("spread", "primary"))
    assert openmp_environment(_one(0, 4), (), inner) == {
        "OMP_NUM_THREADS": "2",
        "OMP_PLACES": "{0}:3:2",
        "OMP_PROC_BIND": "spread,primary",
    }


def _lists(seed: int) -> list[tuple[int, ...]]:
    """Places of up to nine processors of 64, with runs in them and between them."""
    draw = random.Random(seed)
    found: list[tuple[int, ...]] = []
    while len(found) < 6:
        first, stride = draw.randrange(24), draw.randint(1, 5)
        place = {first + stride * i for i in range(draw.randint(1, 6))} | {
            draw.randrange(32) for _ in range(draw.randrange(4))
        }
        shift = draw.randint(-2, 3)
        for i in range(draw.choice([1, 1, 2, 3, 5])):
            moved = tuple(sorted(p + shift * i for p in place))
            if moved[0] >= 0 and moved[-1] < 64:
                found.append(moved)
    return found


@pytest.mark.parametrize("often", [1, 40])
def test_a_list_is_read_back_as_it_was_by_each_runtime(often: int) -> None:
    """Those that are long enough to be written shorter too."""
    layers = layers_of(synthetic("core:64 pu:1"))
    for seed in range(40 if often == 1 else 5):
        places = _lists(seed)
        # one after another in a shuffled order, so that the list cannot be written as repetitions
        order = [i for n in range(often) for i in random.Random(seed + n).sample(range(len(places)), len(places))]
        asked = [places[i] for i in order]
        text = openmp_environment(asked)["OMP_PLACES"]
        assert place_list(layers, read_places(text)) == (asked, []), text
        assert expand(read_gnu_places(text), 64, set(range(64))) == (asked, 0), text


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((0, 1), "{0,1}"),
        ((0, 1, 2), "{0:3}"),
        ((0, 2, 4), "{0:3:2}"),
        ((0, 1, 2, 4, 6, 8), "{0:5:2,1}"),
        ((0, 1, 2, 3, 8, 9, 10, 11), "{0:4,8:4}"),
        ((0, 3, 6, 9, 1, 4, 7), "{0:4:3,1:3:3}"),
        ((0, 1, 3, 5, 7, 9), "{0,1:5:2}"),
        ((0, 5, 7), "{0,5,7}"),
        # of two that are as long the one that lies closer
        ((0, 1, 2, 10, 20), "{0:3,10,20}"),
    ],
)
def test_what_is_longer_than_intels_runtime_reads_is_written_by_intervals(place: tuple[int, ...], text: str) -> None:
    """The list as it is usually written would have more than 4085 characters."""
    places = [tuple(sorted(place)), (63,)] * 2000
    assert openmp_environment(places)["OMP_PLACES"].startswith(f"{text},{{63}},{text}")
    # and places that are the same are repeated there
    wide = tuple(sorted({*place, 20, 23, 31, 37, 43, 51, 58}))
    assert openmp_environment([wide] * 400)["OMP_PLACES"].endswith("}:400:0")
