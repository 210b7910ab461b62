# SPDX-License-Identifier: BSD-3-Clause
"""Subsets of the machine, counted by hand: KMP_HW_SUBSET as Intel's manual has it."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.openmp.subset import rank_subset, read_subset


@pytest.mark.parametrize(
    ("threads", "rank", "per_core", "subset"),
    [
        (1, 0, 1, "1c@0,1t"),
        (4, 0, 2, "2c@0,2t"),
        (4, 3, 2, "2c@6,2t"),
        # a core that is filled in part is taken whole
        (5, 1, 2, "3c@3,2t"),
        (1, 2, 4, "1c@2,4t"),
    ],
)
def test_a_rank_has_whole_cores_behind_those_of_the_ranks_before(
    threads: int, rank: int, per_core: int, subset: str
) -> None:
    assert rank_subset(threads, rank, per_core) == subset


@pytest.mark.parametrize(("threads", "rank", "per_core"), [(0, 0, 1), (1, -1, 1), (1, 0, 0)])
def test_what_is_no_number_of_threads_or_of_a_rank_is_refused(threads: int, rank: int, per_core: int) -> None:
    with pytest.raises(InputError, match="no zone for rank"):
        rank_subset(threads, rank, per_core)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("2s,4c,1t", ["socket", "core", "thread"]),
        ("1proc_group", ["proc_group"]),
        ("1package", ["proc_group"]),
        ("1die,2module,3tile", ["die", "module", "tile"]),
        ("1dice", ["die"]),
        ("2numa_domain,1l3_cache", ["numa_domain", "l3_cache"]),
        ("2n,1l2,1l1", ["numa_domain", "l2_cache", "l1_cache"]),
        ("1ll_cache", ["ll_cache"]),
        ("1ll", ["ll_cache"]),
        ("2sockets,3cores,2threads", ["socket", "core", "thread"]),
    ],
)
def test_layers_are_read_by_their_names_and_the_shortest_of_them(text: str, kinds: list[str]) -> None:
    assert [item.kind for item in read_subset(text).items] == kinds


def test_an_offset_stands_behind_an_at_sign_or_an_o() -> None:
    for text in ("2s@1,4c@2", "2so1,4co2", "2S@1x4C@2"):
        assert [(i.count, i.offset) for i in read_subset(text).items] == [(2, 1), (4, 2)]
