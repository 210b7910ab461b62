# SPDX-License-Identifier: BSD-3-Clause
"""Runs that failed since ranks were lost, told from those that failed by themselves."""

from typing import Any

import pytest

from nodewise.runner.ranks import Seen
from nodewise.runner.sample import Sample
from nodewise.runner.standstill import stands_still


def _seen(*ends: str) -> list[Seen]:
    """Ranks of which each ended well (`.`), failed (`x`), or did not end (`-`)."""
    lines: dict[str, dict[str, Any]] = {".": {"ended": True}, "x": {"ended": True, "exit_code": 3}, "-": {}}
    return [Seen({**lines[end], "rank": rank}) for rank, end in enumerate(ends)]  # type: ignore[typeddict-item]


def _failed(output: str = "", cut_off: bool = False) -> Sample:
    return Sample(1.0, 1.0, 0.0, error="exit code 1", output=output, cut_off=cut_off)


GONE = "srun: error: Node failure on n3"


@pytest.mark.parametrize(
    ("sample", "ends", "still"),
    [
        (Sample(1.0, 1.0, 0.0), "..", False),
        # one that failed by itself is the reason
        (_failed(GONE), "x-", False),
        (_failed(cut_off=True), "x", False),
        # all began: some, or all, never said that they ended
        (_failed(), ".-", True),
        (_failed(), "--", True),
        (_failed(), "..", False),
        # fewer began than were asked for
        (_failed(GONE), ".", True),
        (_failed("out of memory"), ".", False),
        (_failed(cut_off=True), ".", True),
        # it took longer than it may, with all there
        (_failed(GONE, cut_off=True), "--", False),
    ],
)
def test_what_stood_still(sample: Sample, ends: str, still: bool) -> None:
    assert stands_still(sample, _seen(*ends), 2) is still
