# SPDX-License-Identifier: BSD-3-Clause
"""What tells trends of one command apart."""

import pytest

from nodewise.history.trend import Trend


@pytest.mark.parametrize(
    ("role", "metric", "about"),
    [
        ("", "seconds", ""),
        ("tuned", "seconds", "tuned"),
        ("", "peak_bytes", "peak_bytes"),
        ("tuned", "work/s", "tuned, work/s"),
    ],
)
def test_a_trend_says_of_what_it_is_unless_of_time(role: str, metric: str, about: str) -> None:
    assert Trend("p", "./p 1", "", role, metric, False, "here", "cpu", (), ()).about == about
