# SPDX-License-Identifier: BSD-3-Clause
"""How programs and ranks are recorded."""

import subprocess
from pathlib import Path

import pytest

from nodewise.profile.perf import Perf, Recording, rank_words, ranks_text

ECHO = Perf("echo", "6.1", "cycles:u", True)


@pytest.mark.parametrize(("text", "written"), [("0", "0"), ("0-2,7", "0,1,2,7"), ("3,3,1", "3,1")])
def test_lists_of_ranks_are_written_out(text: str, written: str) -> None:
    assert ranks_text(text) == written


@pytest.mark.parametrize("text", ["", "a", "1-", "2-1", "0-99999", "1,,2", "-1", "1.5"])
def test_what_is_no_list_of_ranks_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        ranks_text(text)


@pytest.mark.parametrize("into", ["/x/perf.data", "/x y/it's"])
@pytest.mark.parametrize(("ranks", "recorded"), [("", "013"), ("0-1", "01"), ("3,13", "3")])
def test_the_ranks_that_are_named_are_recorded_and_the_others_run(ranks: str, recorded: str, into: str) -> None:
    for rank in "013":
        words = rank_words(Recording(ECHO, Path(into), 99, "none", False), ranks, ["printf", "%s", "it's me"])
        done = subprocess.run(
            words, env={"PMIX_RANK": rank, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
        )
        if rank in recorded:
            assert f"-o {into}.{rank} " in done.stdout and done.stdout.endswith("-- printf %s it's me\n")
        else:
            assert done.stdout == "it's me"


def test_where_threads_wait_each_switch_counts() -> None:
    words = Recording(ECHO, Path("p"), 199, "dwarf", True, 10**6).words(["app"])
    said = " ".join(words)
    assert "-e cycles/freq=199/u -c 1 -e sched:sched_switch" in said
    assert "--call-graph dwarf,8192" in said and "--max-size=1000000B" in said and said.endswith("-- app")
