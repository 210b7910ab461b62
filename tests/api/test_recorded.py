# SPDX-License-Identifier: BSD-3-Clause
"""How programs were run then, and what is given now over it."""

from nodewise.api.recorded import over


def test_what_is_named_or_listed_is_kept_beside_what_is_given_now() -> None:
    then = {"env": {"A": "1", "B": "1"}, "show": ["energy_j"], "timeout": 3, "limits": {"AS": 1}}
    now = {"env": {"B": "2"}, "show": ["peak_bytes"], "timeout": 4}
    assert over(then, now) == {
        "env": {"A": "1", "B": "2"},
        "show": ["energy_j", "peak_bytes"],
        "timeout": 4,
        "limits": {"AS": 1},
    }
    assert over(then, {})["show"] == ["energy_j"] and over({}, now) == now


def test_one_number_decides() -> None:
    assert over({"minimize": "a"}, {"maximize": "b"}) == {"maximize": "b"}
    assert over({"maximize": "a"}, {"minimize": "b"}) == {"minimize": "b"}
    assert over({"maximize": "a"}, {}) == {"maximize": "a"}
