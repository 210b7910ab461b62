# SPDX-License-Identifier: BSD-3-Clause
"""How programs and ranks are recorded."""

from pathlib import Path

from nodewise.profile.perf import Perf, Recording

ECHO = Perf("echo", "6.1", "cycles:u", True)


def test_where_threads_wait_each_switch_counts() -> None:
    words = Recording(ECHO, Path("p"), 199, "dwarf", True, 10**6).words(["app"])
    said = " ".join(words)
    assert "-e cycles/freq=199/u -c 1 -e sched:sched_switch" in said
    assert "--call-graph dwarf,8192" in said and "--max-size=1000000B" in said and said.endswith("-- app")
