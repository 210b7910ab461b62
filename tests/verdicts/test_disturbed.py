# SPDX-License-Identifier: BSD-3-Clause
"""What disturbed runs, asked for the contenders of one comparison at a time."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.runner.sample import Sample
from nodewise.verdicts.disturbed import PhaseMet, met_of, phase_met, quota_of
from tests.surfaces import machine
from tests.verdicts.cases import BUSY, Runs, compared


def test_a_run_used_the_larger_of_its_processor_time_and_its_duration() -> None:
    run = Sample(1.0, 2.0, 0.0, usage={"user_s": 1.5, "system_s": 1.0}, conditions={"rest_s": 0.5, "rest_busy_s": 0.1})
    met = met_of(7, "a", run)
    assert (met.block, met.contender, met.used_s, met.rest_s, met.rest_busy_s) == (7, "a", 2.5, 0.5, 0.1)
    waiting = met_of(1, "a", Sample(1.0, 2.0, 0.0, usage={"user_s": 0.5}, marks=(BUSY,)))
    assert (waiting.used_s, waiting.rest_s, waiting.rest_busy_s, waiting.marks) == (2.0, 0.0, 0.0, (BUSY,))


def test_a_third_contender_says_nothing_of_two(tmp_path: Path) -> None:
    marked = {"usage": {"user_s": 1.0}, "conditions": {"rest_s": 0.25}}
    made = compared(
        tmp_path / "x",
        {
            "a": Runs(1.0),
            "b": Runs(1.0),
            "c": Runs(1.0, fields=marked, change=lambda run: {"marks": (BUSY,)} if run < 3 else {}),
        },
        blocks=8,
    )
    met = phase_met(made, "compare")
    assert met.of("a", "b").disturbed_runs == 0 and met.of("a", "b").runs == 16
    assert met.of("a", "c").disturbed_blocks == 3 and met.of("a", "c").which == {1, 2, 3}
    assert met.of().runs == 24 and met.of("c").runs == 8 and met.of("none").runs == 0
    assert met.of("a", "c") is met.of("a", "c")
    assert phase_met(made, "confirm").of().runs == 0


def test_runs_are_judged_in_the_order_in_which_they_were_made() -> None:
    # steal of short runs is distinguished from those that follow each other: twenty in a row are one disturbance
    def run(block: int, who: str, stolen: float) -> Sample:
        return Sample(0.02, 0.02, float(block), conditions={"mask_steal_s": stolen, "steal_s": stolen})

    runs = [met_of(b, who, run(b, who, 0.02 * (100 <= b < 150))) for b in range(400) for who in "ab"]
    assert 90 <= PhaseMet(runs).of("a", "b").disturbed_runs <= 140
    assert PhaseMet(runs, 1.5).of("a").conditions[-1] == "a quota of 1.5 processors"


@pytest.mark.parametrize(
    ("question", "quota"),
    [
        ({"machine": {"limits": {"cpu_quota": 1.5}}}, 1.5),
        ({"machine": {"limits": {"cpu_quota": None}}}, None),
        ({"machine": {"limits": []}}, None),
        ({"machine": []}, None),
        ({}, None),
    ],
)
def test_the_quota_is_that_of_then(question: dict[str, object], quota: float | None) -> None:
    assert quota_of(question) == quota


def test_what_a_run_met_is_read_from_its_conditions_and_its_usage(tmp_path: Path) -> None:
    stolen = {"usage": {"user_s": 1.0}, "conditions": {"mask_steal_s": 0.5, "steal_s": 0.5, "rest_s": 0.25}}
    made = compared(tmp_path / "x", {"a": Runs(1.0, change=lambda run: stolen if run == 3 else {})}, blocks=8)
    assert phase_met(made, "compare").of("a").disturbed_runs == 1


@pytest.mark.parametrize(
    "seen",
    [
        {"mask_steal_s": 0.01, "steal_s": 0.02, "mask_busy_s": 0.5, "busy_s": 0.9},
        {"steal_s": 0.04, "busy_s": 0.8},
    ],
)
def test_what_is_read_back_of_a_run_is_what_it_met(tmp_path: Path, seen: dict[str, float]) -> None:
    """Runs that rested as much as they worked, and had a server work for them, as they were stored."""
    fields = {
        "usage": {"user_s": 0.2, "system_s": 0.1, "served_s": 0.6},
        "conditions": {**seen, "rest_s": 0.5, "rest_busy_s": 0.4},
    }
    made = compared(tmp_path / "x", {"a": Runs(1.0, fields=fields)}, blocks=2)
    runs = [made.records[i] for i in range(2)]
    met = [met_of(one.block, one.setting, one.sample) for one in runs]
    assert [one for _, one in phase_met(made, "compare")._runs["a"]] == met
    assert (met[0].rest_s, met[0].rest_busy_s, met[0].served_s) == (0.5, 0.4, 0.6)


def test_a_quota_of_the_experiment_is_a_condition_of_its_runs(tmp_path: Path) -> None:
    limited = replace(machine(2, 1), limits=replace(machine(2, 1).limits, cpu_quota=1.5))
    made = compared(tmp_path / "x", {"a": Runs(1.0), "b": Runs(1.0)}, blocks=8, machine=limited.to_json())
    assert phase_met(made, "compare").of("a", "b").conditions == ("a quota of 1.5 processors",)
