# SPDX-License-Identifier: BSD-3-Clause
"""Profiles of known truth, from stacks that are written down."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.profile.result import Profiled, ProfileResult, calling_count, function_shares, thread_shares
from nodewise.profile.samples import Frame, Life, Recorded, Taken


def taken(stack: str, count: int = 1, waited: float | None = None) -> list[Taken]:
    """Samples of a stack, its functions from the outermost on with semicolons between."""
    chain = tuple(Frame(name, "/tmp/app", 0) for name in reversed(stack.split(";")))
    return [Taken(1, 1, 0.0, chain, waited)] * count


def profiled(samples: Sequence[Taken]) -> Profiled:
    """A profile of one thread."""
    work = [one for one in samples if one.waited is None]
    recorded = {None: Recorded(list(samples), {(1, 1): Life("app", 0.0, 4.0)})}
    result = ProfileResult(
        ("./app",), "a processor", "2026-11-23 12:00", 4.0, 0, "cycles", 99, "fp", "asked for", "", False, "6.1", len(work), 0,
        function_shares(work), calling_count(work), (), thread_shares(recorded), (), (), 0.0, (), ("perf.data",),
    )  # fmt: skip
    return Profiled(result, recorded)
