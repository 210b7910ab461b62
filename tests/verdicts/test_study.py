# SPDX-License-Identifier: BSD-3-Clause
"""What a study's blocks bear."""

import random
from dataclasses import replace
from typing import Any

import pytest

from nodewise.runner.sample import Sample
from nodewise.studies.commands import Contender
from nodewise.studies.discovery import find_study
from nodewise.verdicts.study import Series, study_rows

IS = find_study("is").study


def _series(times: dict[str, float], blocks: int, noise: float, seed: int = 0, disturbed: int = 0) -> list[Series]:
    """The first `disturbed` blocks of the first contender are disturbed."""
    dice = random.Random(seed)
    made = []
    for name, seconds in times.items():
        kind = "peer" if name.startswith("peer") else "variant"
        one = Series(Contender(name, kind, (name,)))
        for block in range(blocks):
            t = seconds * (1 + dice.gauss(0, noise))
            marks = ("other load: much",) if block < disturbed and name == next(iter(times)) else ()
            one.add(block, Sample(t, t, 0.0, metrics={"items": 1e6}, marks=marks))
        made.append(one)
    return made


def _rows(series: list[Series], blocks: int, **more: Any) -> dict[str, dict[str, Any]]:
    return {r["contender"]: r for r in study_rows(series, IS, {}, 1, blocks, **more)}


@pytest.mark.parametrize("blocks", [1, 5])
def test_few_blocks_claim_nothing_however_far_apart(blocks: int) -> None:
    row = _rows(_series({"mine": 0.001, "peer": 0.1}, blocks, 0.001), blocks)["mine"]
    assert (row["verdict"], row["low"], row["high"]) == ("undecided", None, None)
    assert "too few" in row["reason"]


def test_a_busy_machine_claims_nothing_unless_that_is_accepted() -> None:
    times = {"mine": 0.05, "peer": 0.1}
    busy = _series(times, 20, 0.01, disturbed=11)
    row = _rows(busy, 20)["mine"]
    assert row["verdict"] == "undecided" and "the machine was busy (11 of 40 runs" in row["reason"]
    assert _rows(busy, 20, accept=True)["mine"]["verdict"] == "faster"
    assert _rows(_series(times, 20, 0.01, disturbed=10), 20)["mine"]["verdict"] == "faster"


def test_a_disturbed_third_contender_says_nothing_of_the_others() -> None:
    rows = _rows(_series({"disturbed": 0.2, "mine": 0.05, "peer": 0.1}, 20, 0.01, disturbed=20), 20)
    assert rows["mine"]["verdict"] == "faster" and rows["disturbed"]["verdict"] == "undecided"


def test_of_equal_contenders_none_is_faster_than_the_fastest_of_many_peers() -> None:
    wrong = 0
    for seed in range(60):
        times = dict.fromkeys(["mine", *(f"peer{i}" for i in range(6))], 0.1)
        rows = _rows(_series(times, 20, 0.02, seed), 20)
        wrong += rows["mine"]["verdict"] in ("faster", "slower")
    assert wrong <= 6


def test_a_variant_that_beats_all_peers_is_faster_and_the_peer_is_named() -> None:
    row = _rows(_series({"mine": 0.08, "peer1": 0.1, "peer2": 0.12}, 25, 0.01), 25)["mine"]
    assert (row["verdict"], row["best_peer"]) == ("faster", "peer1")
    assert row["low"] < 1.25 < row["high"]


def test_a_contender_for_scale_is_compared_with_nothing() -> None:
    series = _series({"mine": 0.08, "peer1": 0.1}, 12, 0.01)
    study = replace(IS, for_scale=("peer1",))
    rows = {r["contender"]: r for r in study_rows(series, study, {}, 1, 12)}
    assert rows["mine"]["ratio_to_best_peer"] is None
