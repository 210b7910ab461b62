# SPDX-License-Identifier: BSD-3-Clause
"""A placement: its ranks, zones and seats, and what programs read of it."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.placement import Placement

PLACES = ((0,), (1,), (2, 3), (1,))


def test_one_process_has_all_threads() -> None:
    one = Placement("it", PLACES)
    assert (one.threads, one.per_node, one.size, one.nodes) == (4, 1, 1, 1)
    assert one.by_rank == (PLACES,) and one.used == one.zones == ((0, 1, 2, 3),) and one.mask == (0, 1, 2, 3)
    assert list(one.seats()) == [(0, 0)]
    assert one.to_json() == {
        "policy": "it",
        "threads": 4,
        "places": [[0], [1], [2, 3], [1]],
        "ranks": [],
        "nodes": 1,
        "order": "block",
        "size": 1,
        "zones": [[0, 1, 2, 3]],
        "levels": [],
    }


def test_ranks_have_their_threads_one_after_the_other() -> None:
    two = Placement("it", PLACES, (1, 3), 2, "cyclic", held=((0, 7), (1, 2, 3)), levels=(1, 3))
    assert (two.threads, two.per_node, two.size) == (4, 2, 4)
    assert two.by_rank == (((0,),), ((1,), (2, 3), (1,))) and two.used == ((0,), (1, 2, 3))
    # a process may use more than its threads' places
    assert two.zones == ((0, 7), (1, 2, 3)) and two.mask == (0, 1, 2, 3)
    assert list(two.seats()) == [(0, 0), (1, 0), (0, 1), (1, 1)]
    told = two.to_json()
    assert told["ranks"] == [1, 3] and told["levels"] == [1, 3] and told["zones"] == [[0, 7], [1, 2, 3]]
    assert (told["nodes"], told["order"], told["size"]) == (2, "cyclic", 4)


def test_the_last_node_may_have_fewer_ranks() -> None:
    three = Placement("it", PLACES, (2, 2), 2, total=3)
    assert three.size == 3 and list(three.seats()) == [(0, 0), (0, 1), (1, 0)]


def test_threads_of_ranks_have_a_place_each() -> None:
    with pytest.raises(InputError) as caught:
        Placement("it", PLACES, (2, 3))
    assert caught.value.what == "5 threads of 2 ranks have 4 places"
