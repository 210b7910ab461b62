# SPDX-License-Identifier: BSD-3-Clause
"""How programs and ranks are recorded."""

from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.profile.perf import Perf, Recording, bytes_copied, chain_words, read_chains, sample_bytes

ECHO = Perf("echo", "6.1", "cycles:u", True)


def test_where_threads_wait_each_switch_counts() -> None:
    words = Recording(ECHO, Path("p"), 199, "dwarf", True, 10**6).words(["app"])
    said = " ".join(words)
    assert "-e cycles/freq=199/u -c 1 -e sched:sched_switch" in said
    assert "--call-graph dwarf,8192" in said and "--max-size=1000000B" in said and said.endswith("-- app")


def test_how_much_of_a_stack_is_copied_can_be_said() -> None:
    assert [read_chains(t) for t in ("fp", "none", "dwarf", "dwarf,32768", "dwarf,65528", "dwarf,15")] == [
        *("fp", "none", "dwarf", "dwarf,32768", "dwarf,65528", "dwarf,8")
    ]
    assert [chain_words(t) for t in ("none", "fp", "dwarf,32768")] == [
        [],
        ["--call-graph", "fp"],
        ["--call-graph", "dwarf,32768"],
    ]
    assert (bytes_copied("dwarf"), bytes_copied("dwarf,16"), bytes_copied("fp"), bytes_copied("none")) == (
        8192,
        16,
        0,
        0,
    )
    assert sample_bytes("dwarf,65528") > sample_bytes("dwarf") > sample_bytes("fp") > sample_bytes("none")


@pytest.mark.parametrize(
    "text", ["lbr", "", "fp,8", "dwarf,", "dwarf,7", "dwarf,65536", "dwarf,8k", "dwarf,-8", "dwarf,٨"]
)
def test_other_chains_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"no such call chains|no size of a stack's copy"):
        read_chains(text)
