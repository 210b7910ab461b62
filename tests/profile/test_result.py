# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a profile: who works, who only calls, and a fixed order."""

from __future__ import annotations

from random import Random

from nodewise.profile.result import calling_count, function_shares, line_shares, thread_shares, waiting_shares
from nodewise.profile.samples import Life, Recorded, Taken
from nodewise.report.pages.profile import profile_page
from nodewise.report.text.profile import profile_text
from tests.profile.profiles import profiled, taken

WORK = [one for name in "cab" for one in taken(f"_start;main;{name}", 10)]


def test_functions_that_only_call_are_counted_and_not_shown() -> None:
    made = profiled(WORK)
    assert calling_count(WORK) == made.result.only_calling == 2
    assert {f.function for f in made.result.functions} == {"_start", "main", "a", "b", "c"}
    text = profile_text(made.result)
    assert "2 functions that only call others are left out" in text and "_start" not in text and "\n   0%" not in text
    page = profile_page(made)
    assert "2 functions that only call others are left out." in page and 'class="name">_start<' not in page
    alone = profiled(taken("main;a", 30)).result
    assert "1 function that only calls others is left out" in profile_text(alone)
    assert "only call" not in profile_text(profiled(taken("a", 30)).result)


def test_what_has_the_same_share_is_in_the_order_of_names() -> None:
    for seed in range(5):
        mixed = list(WORK)
        Random(seed).shuffle(mixed)
        assert [f.function for f in function_shares(mixed)] == ["a", "b", "c", "_start", "main"]
        lines = line_shares(mixed, lambda name, addresses: {address: (name, address) for address in addresses})
        assert [line.function for line in lines] == ["a", "b", "c"]
        waits = [Taken(1, 1, 0.0, one.chain, 0.5) for one in mixed]
        assert [one.function for one in waiting_shares(waits)] == ["a", "b", "c"]
        tids = Random(seed).sample(range(1, 5), 4)
        threads = Recorded([], {(1, tid): Life("app", 0.0, 1.0) for tid in tids})
        assert [one.tid for one in thread_shares({0: threads})] == [1, 2, 3, 4]
