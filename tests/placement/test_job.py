# SPDX-License-Identifier: BSD-3-Clause
"""The shape of a job: which numbers make sense, and what is said of those that do not."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.job import MOST_NODES, Job
from nodewise.placement.policies import MOST_THREADS


@pytest.mark.parametrize(
    ("job", "per_node"),
    [
        (Job(1), 1),
        (Job(MOST_THREADS), 1),
        (Job(1, 0, 2), 1),
        (Job(1, 2, 2), 1),
        (Job(1, 5, 2), 3),
        (Job(1, 6, 2), 3),
        (Job(1, 5, 2, 4), 4),
        (Job(MOST_THREADS // 2, 2), 2),
        (Job(1, MOST_NODES, MOST_NODES), 1),
        (Job(1, MOST_NODES * 1024, MOST_NODES), 1024),
    ],
)
def test_a_full_node_has_so_many_ranks(job: Job, per_node: int) -> None:
    assert job.per_node == per_node


@pytest.mark.parametrize(
    ("numbers", "what", "hint"),
    [
        ((0,), "cannot place 0 threads", f"give a number from 1 to {MOST_THREADS}"),
        ((MOST_THREADS + 1,), f"cannot place {MOST_THREADS + 1} threads", f"give a number from 1 to {MOST_THREADS}"),
        ((1, -1), "cannot place -1 ranks on 1 nodes", "give numbers from 1"),
        ((1, 1, 0), "cannot place 1 ranks on 0 nodes", "give numbers from 1"),
        ((1, 0, MOST_NODES + 1), f"cannot place 0 ranks on {MOST_NODES + 1} nodes", "give numbers from 1"),
        (
            (1, MOST_NODES * 1024 + 1, 9),
            f"cannot place {MOST_NODES * 1024 + 1} ranks on 9 nodes",
            "give numbers from 1",
        ),
        ((1, 1, 2), "1 rank does not fill 2 nodes", "give as many ranks as nodes, or more"),
        ((1, 2, 3), "2 ranks do not fill 3 nodes", "give as many ranks as nodes, or more"),
        (
            (MOST_THREADS // 2 + 1, 2),
            f"cannot place 2 ranks of {MOST_THREADS // 2 + 1} threads on one node",
            f"give at most {MOST_THREADS} threads a node",
        ),
    ],
)
def test_numbers_that_make_no_sense_are_refused(numbers: tuple[int, ...], what: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        Job(*numbers)
    assert (caught.value.what, caught.value.hint) == (what, hint)
