# SPDX-License-Identifier: BSD-3-Clause
"""Tests of a node's speed go into its snapshot, on the processors that are asked for; what cannot run says why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from nodewise.api import speed
from nodewise.api.speed import Meet, speed_tests, with_speeds
from nodewise.base.errors import InputError
from nodewise.nodes import pairs
from nodewise.nodes.checked import problem_of
from nodewise.nodes.facts import frozen
from nodewise.nodes.relations import all_reached
from nodewise.nodes.snapshot import snapshot_from_json
from nodewise.nodes.take import take_snapshot


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    # two blocks end it; on a busy machine they take longer than what a node is given
    monkeypatch.setattr(speed, "SECONDS_EACH", 60.0)
    monkeypatch.setattr(speed, "_BLOCKS", 2)
    monkeypatch.setitem(speed._TESTS, "latency", speed._Test("latency", "chase", {"kib": "64", "steps": "1000"}, 1))
    monkeypatch.setitem(speed._TESTS, "bandwidth", speed._Test("bandwidth", "plain", {"kib": "64", "passes": "2"}))


def test_rates_go_into_the_snapshot_and_are_read_back() -> None:
    before = os.sched_getaffinity(0)
    shown: list[str] = []
    bare = take_snapshot(Path("/"), "test", "n1")
    made = with_speeds(bare, ("bandwidth", "latency"), None, sorted(before)[:1], None, None, shown.append)
    assert os.sched_getaffinity(0) == before
    assert shown == ["bandwidth", "latency"] == list(made.speed), made.absent
    assert made.speed["bandwidth"].unit == "GB/s" and made.speed["bandwidth"].threads == 1
    assert all(s.rate and s.runs == 2 for s in made.speed.values())
    assert problem_of(json.loads(json.dumps(made.to_json()))) is None
    assert snapshot_from_json(json.loads(json.dumps(made.to_json()))) == made
    earlier = {k: v for k, v in json.loads(json.dumps(bare.to_json())).items() if k != "speed"}
    assert problem_of(earlier) is None and snapshot_from_json(earlier) == bare


def test_what_cannot_run_is_absent_with_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(speed._TESTS, "dgemm", speed._Test("there-is-none", "best"))
    made = with_speeds(take_snapshot(Path("/"), "test", "n1"), ("dgemm", "disk"), 1, None, tmp_path / "none")
    assert made.speed == {}
    assert "unknown study" in made.absent["speed.dgemm"] and made.absent["speed.disk"]


def test_nodes_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_FIRST_WAIT_S", 0.2)
    monkeypatch.setattr(pairs, "_WAIT_S", 0.2)
    monkeypatch.setenv("SLURMD_NODENAME", "127.0.0.1")
    meet = Meet.new(["127.0.0.1", "127.0.0.2", "127.0.0.3"])
    assert Meet.read(meet.text()) == meet
    made = with_speeds(take_snapshot(Path("/"), "test", "n1"), ("ping",), 1, None, None, meet)
    assert made.speed["ping"].unreached == "127.0.0.[2-3]" and made.speed["ping"].rate is None
    assert all_reached(frozen(json.loads(json.dumps(made.to_json()))["speed"])) == "no connection with 127.0.0.[2-3]"
    alone = with_speeds(take_snapshot(Path("/"), "test", "n1"), ("ping",), 1, None, None)
    assert alone.absent["speed.ping"] == "it takes several nodes: --hosts"


def test_rates_of_links_are_in_turns_and_megabytes_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    met = [pairs.Meeting("n2", 9000.0 + k, 2.5e9 + k) for k in range(8)]
    monkeypatch.setattr(speed, "meet_all", lambda *_: (met, []))
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    made = with_speeds(take_snapshot(Path("/"), "test", "n1"), ("ping",), 1, None, None, Meet.new(["n1", "n2"]))
    assert [(s.unit, round(s.rate or 0)) for s in made.speed.values()] == [("turns/s", 9004), ("MB/s", 2500)]


def test_tests_are_named() -> None:
    assert speed_tests("all") == speed.SPEED_TESTS
    assert speed_tests("disk,dgemm,disk") == ("disk", "dgemm")
    with pytest.raises(InputError, match="no such test: 'stream'"):
        speed_tests("stream")


def test_no_budget_is_asked_for_that_nobody_can_give(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object, **__: object) -> None:
        raise InputError("the budget is too small: one run takes 6.2 s", "give --budget 1min")

    monkeypatch.setattr(speed, "study", short)
    made = with_speeds(take_snapshot(Path("/"), "test", "n1"), ("latency",), 1, None, None)
    assert made.absent["speed.latency"] == "fewer than six runs ended within 60 s"


@pytest.mark.parametrize(("verified", "said"), [(True, None), (False, "its result is wrong")])
def test_a_wrong_result_is_no_speed(monkeypatch: pytest.MonkeyPatch, verified: bool, said: str | None) -> None:
    row = SimpleNamespace(
        contender="chase", rate=9.0, rate_low=8.0, rate_high=10.0, unit="ns", threads=1, times=[1.0], disturbed=0,
        verified=verified, not_run="",
    )  # fmt: skip
    monkeypatch.setattr(speed, "study", lambda *_, **__: SimpleNamespace(rows=[row]))
    made = with_speeds(take_snapshot(Path("/"), "test", "n1"), ("latency",), 1, None, None)
    assert made.absent.get("speed.latency") == said and ("latency" in made.speed) is verified
