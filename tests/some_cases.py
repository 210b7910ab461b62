# SPDX-License-Identifier: BSD-3-Clause
"""Of a test's many cases some that lie evenly among them; the others have the mark `long`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest


def leave_some(items: Sequence[pytest.Item]) -> None:
    """Of each test with the mark `some(N)` leave N of the cases that are not `long` as they are, or a few more: see `chosen`."""
    cases: dict[tuple[object, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("some") and not item.get_closest_marker("long"):
            cases[item.path, item.nodeid.partition("[")[0]].append(item)
    for several in cases.values():
        mark = several[0].get_closest_marker("some")
        assert mark is not None
        kept = chosen([item.callspec.indices for item in several], *mark.args)  # type: ignore[attr-defined]
        for i, item in enumerate(several):
            if i not in kept:
                item.add_marker(pytest.mark.long)


def chosen(cases: Sequence[Mapping[str, int]], some: int) -> set[int]:
    """Which cases are left, of each the number of its value by the name of the parameter.

    `some` that lie evenly, the first and the last among them, and where a parameter has no more values than that one for each
    value that these leave out. Raises ValueError for less than two.
    """
    if some < 2:
        raise ValueError(f"some({some}): two at least, the first and the last, or the mark `long`")
    if some >= len(cases):
        return set(range(len(cases)))
    kept = {round(i * (len(cases) - 1) / (some - 1)) for i in range(some)}
    for name in cases[0]:
        values = {case[name] for case in cases}
        if len(values) <= some:
            for value in sorted(values - {cases[i][name] for i in kept}):
                kept.add(next(i for i, case in enumerate(cases) if case[name] == value))
    return kept
