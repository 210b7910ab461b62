# SPDX-License-Identifier: BSD-3-Clause
"""The choice that keywords of how to run make."""

import pytest

from nodewise.api.options import choose_run


@pytest.mark.parametrize(
    ("how", "one"),
    [
        ({}, True),
        ({"maximize": "work/s"}, True),
        ({"minimize": "wall_s"}, False),
        ({"minimize": "peak_bytes"}, False),
    ],
)
def test_where_times_are_compared_they_are_of_one_clock(how: dict[str, str], one: bool) -> None:
    assert choose_run(**how).options.one_clock is one  # type: ignore[arg-type]
