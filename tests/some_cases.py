# SPDX-License-Identifier: BSD-3-Clause
"""Of a test's many cases some that lie evenly among them; the others have the mark `long`."""

from collections import defaultdict

import pytest


def leave_some(items: list[pytest.Item]) -> None:
    """Of each test with the mark `some(N)` leave N of the cases that are not `long` as they are, the first and the last among them."""
    cases: dict[tuple[object, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("some") and not item.get_closest_marker("long"):
            cases[item.path, item.nodeid.partition("[")[0]].append(item)
    for several in cases.values():
        mark = several[0].get_closest_marker("some")
        assert mark is not None
        kept = evenly(len(several), *mark.args)
        for i, item in enumerate(several):
            if i not in kept:
                item.add_marker(pytest.mark.long)


def evenly(count: int, some: int) -> set[int]:
    """So many of the numbers below `count`, two at least, or all where there are no more."""
    return {round(i * (count - 1) / (some - 1)) for i in range(some)} if some < count else set(range(count))
