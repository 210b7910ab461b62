# SPDX-License-Identifier: BSD-3-Clause
"""Who has part in which class, and what is said of half round trips; the rest is the contract's."""

from nodewise_studies.transport.study import STUDY


def test_only_who_lends_has_part_in_loans_and_tokens() -> None:
    chosen = STUDY.select
    assert chosen is not None
    assert set(chosen({"class": "token"})) == {"transport", "ring"}
    assert "zeromq-ipc" in chosen({"class": "copy"})
    assert "pipe" not in chosen({"class": "loan"})


def test_half_round_trips_are_shown_with_their_tails() -> None:
    row = {"contender": "pipe", "kind": "variant", "seconds": 1.0}
    result = {
        "point": {"class": "latency"},
        "rows": [{**row, "metrics": {"p50_us": 6.0, "p99_us": 7.5, "p999_us": 20.0}}],
    }
    assert STUDY.report is not None
    assert STUDY.report(result)[1].split() == ["pipe", "6.00", "us", "7.50", "us", "20.00", "us"]
    assert STUDY.report({**result, "point": {"class": "copy"}}) == []
