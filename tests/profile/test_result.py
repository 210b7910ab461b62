# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a profile: who works, who only calls, and a fixed order."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from nodewise.api import stored_profile
from nodewise.api.stored_profile import Kept, read_recordings
from nodewise.profile.result import (
    calling_count,
    function_shares,
    line_shares,
    spinning_share,
    thread_shares,
    waiting_shares,
)
from nodewise.profile.samples import Frame, Life, Recorded, Taken, read_samples
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


def test_a_threads_share_is_of_all_ranks_work() -> None:
    def rank(samples: int) -> Recorded:
        return Recorded([Taken(1, 1, float(i), ()) for i in range(samples)], {(1, 1): Life("app", 0.0, 1.0)})

    assert [t.share for t in thread_shares({0: rank(30), 1: rank(10)})] == [0.75, 0.25]


def test_who_waits_is_named_with_the_caller_outside_of_the_c_library() -> None:
    chain = (
        Frame("schedule", "[kernel.kallsyms]", 1),
        Frame("futex_wait", "/lib/libc.so.6", 2),
        Frame("pthread_cond_wait", "/lib/libc.so.6", 3),
        Frame("take_work", "/app", 4),
        Frame("main", "/app", 5),
    )
    [found] = waiting_shares([Taken(1, 1, 0.0, chain, 0.5)])
    assert (found.function, found.caller) == ("futex_wait", "take_work")


def test_spinning_is_seen_below_what_it_calls() -> None:
    within = [Frame("do_spin", "/app", 1), Frame("gomp_barrier_wait", "libgomp.so.1", 2), Frame("main", "/app", 3)]
    chain = (Frame("cpu_relax", "/app", 0), *within)
    assert spinning_share([Taken(1, 1, 0.0, chain), Taken(1, 1, 0.1, tuple(within[-1:]))]) == 0.5
    # and no deeper
    assert spinning_share([Taken(1, 1, 0.0, (Frame("f", "/app", 9),) * 4 + chain)]) == 0.0


KERNEL = Frame("schedule", "[kernel.kallsyms]", 1)
GOMP, LIBC = "/usr/lib/libgomp.so.1.0.0", "/usr/lib/libc.so.6"
START = (Frame("start_thread", LIBC, 5), Frame("clone3", LIBC, 6))


@pytest.mark.parametrize(
    ("chain", "function", "caller"),
    [
        # a team's thread, and the first one, under a libgomp that names only what it exports
        ((Frame("[unknown]", GOMP, 1), Frame("[unknown]", GOMP, 2), *START), "libgomp.so.1.0.0", "start_thread"),
        (
            (Frame("[unknown]", GOMP, 1), Frame("[unknown]", GOMP, 2), Frame("GOMP_parallel", GOMP, 3)),
            "libgomp.so.1.0.0",
            "GOMP_parallel",
        ),
        # by frame pointers, where these lead nowhere
        ((Frame("[unknown]", GOMP, 1), Frame("[unknown]", "[unknown]", 0)), "libgomp.so.1.0.0", ""),
        (
            (Frame("[unknown]", LIBC, 1), Frame("pthread_cond_wait", LIBC, 2), Frame("fetch", "/app", 3)),
            "pthread_cond_wait",
            "fetch",
        ),
        ((Frame("[unknown]", LIBC, 1), Frame("fetch", "/app", 3)), "libc.so.6", "fetch"),
        ((Frame("read", LIBC, 1), Frame("[unknown]", "/app", 2), Frame("main", "/app", 3)), "read", "main"),
        ((Frame("[unknown]", "[unknown]", 0),), "[unknown]", ""),
        ((), "[unknown]", ""),
    ],
)
def test_what_waits_without_a_name_is_known_by_its_object_and_a_caller_with_one(
    chain: tuple[Frame, ...], function: str, caller: str
) -> None:
    [found] = waiting_shares([Taken(1, 1, 0.0, (KERNEL, *chain), 0.5)])
    assert (found.function, found.caller, found.seconds) == (function, caller, 0.5)


def test_one_sample_is_no_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "app 1/1 10.0: cpu-clock/freq=99/u:  1139 half (/app)\napp 1/1 10.1: PERF_RECORD_LOST lost 1\n"
    (tmp_path / "perf.data").touch()
    monkeypatch.setattr(stored_profile, "_recorded", lambda _: read_samples(said.splitlines()))
    kept = Kept(("app",), "m", "t", 1.0, 0, "cpu-clock", 99, "none", "asked for", False, "6", ())
    made = read_recordings(tmp_path, kept)
    notes = made.result.notes
    assert any(n.startswith("1 sample was lost") for n in notes) and any(
        n.startswith("1 sample bears no") for n in notes
    )
    assert profile_text(made.result).startswith("1 sample of cpu-clock") and "1 sample of" in profile_page(made)
    assert profile_text(profiled(WORK).result).startswith("30 samples of")
