# SPDX-License-Identifier: BSD-3-Clause
"""What an earlier tune is called."""

import pytest

from nodewise.records.earlier import SAME_LIBRARIES, SAME_PROGRAM, Earlier, Width


@pytest.mark.parametrize(
    ("machine", "here", "relation", "best", "sentence"),
    [
        ("n1", True, SAME_PROGRAM, "", "./a, on this machine, 2026-01-02: nothing was shown to be faster (0 settings)"),
        ("n1", False, SAME_PROGRAM, "4 threads", "./a, on n1, 2026-01-02: 4 threads was 1.50× as fast (0 settings)"),
        (
            *("", False, SAME_LIBRARIES, "4 threads"),
            "./a (another program of the same libraries), on another machine, 2026-01-02: 4 threads was 1.50× as fast (0 settings)",
        ),
    ],
)
def test_its_sentence(machine: str, here: bool, relation: str, best: str, sentence: str) -> None:
    began = "2026-01-02T03:04:05+00:00"
    earlier = Earlier("./a", machine, began, relation, here, Width(1, 1), {}, [], best, 1.5)
    assert earlier.sentence == sentence
