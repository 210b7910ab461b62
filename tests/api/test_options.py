# SPDX-License-Identifier: BSD-3-Clause
"""The choice that keywords of how to run make."""

import pytest

from nodewise.api.options import choose_run, pattern_of
from nodewise.base.errors import InputError


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


def test_a_pattern_without_an_end_is_refused_before_it_is_read() -> None:
    assert pattern_of("x" * 1000, "--expect").pattern == "x" * 1000
    with pytest.raises(InputError, match=r"^--expect: a regular expression has at most 16 KiB$"):
        pattern_of("x" * 1_000_000, "--expect")
