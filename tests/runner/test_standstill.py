# SPDX-License-Identifier: BSD-3-Clause
"""Runs that failed since ranks were lost, told from those that failed by themselves."""

from typing import Any

import pytest

from nodewise.base.errors import ProgramError
from nodewise.runner import standstill
from nodewise.runner.ranks import Seen
from nodewise.runner.sample import Sample
from nodewise.runner.standstill import stands_still, wait_for_start


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


class _Clock:
    """Time that passes by sleeping alone."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


# Slurm takes a node for gone after 300 s, and has its job go on elsewhere after that
@pytest.mark.parametrize(("back_s", "goes_on"), [(0.0, True), (310.0, True), (10000.0, False)])
def test_a_node_is_waited_for_until_slurm_takes_it_for_gone(
    monkeypatch: pytest.MonkeyPatch, back_s: float, goes_on: bool
) -> None:
    clock = _Clock()
    monkeypatch.setattr(standstill, "time", clock)
    monkeypatch.setattr(standstill, "asked", lambda *_: "nodewise-started\n" * 2 if clock.now >= back_s else GONE)
    if goes_on:
        assert wait_for_start(["srun"], 2, {}, None)
        return
    with pytest.raises(ProgramError, match="srun starts no ranks any more: srun: error: Node failure on n3"):
        wait_for_start(["srun"], 2, {}, None)


def test_another_reason_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "asked", lambda *_: "slurmstepd: error: no such program")
    assert not wait_for_start(["srun"], 2, {}, None)
