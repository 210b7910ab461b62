# SPDX-License-Identifier: BSD-3-Clause
"""Limits of a machine that were measured, and are kept for the next study."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from nodewise.base.shapes import ShapeError
from nodewise.machine.model import Cache
from nodewise.records import kept_limits as module
from nodewise.records.kept_limits import (
    KeptLimit,
    forget_limit,
    keep_limit,
    kept_limits,
    limit_from_json,
    machine_state,
)
from tests.surfaces import machine

LIMIT = KeptLimit("copy", "bytes", 4, "state", 2e9, 1e9, 4e9, 9, "2026-01-02 03:04 UTC")


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where they are kept, a folder that is not there yet."""
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache/limits.json"


def test_one_is_kept_of_each_name_number_of_threads_and_state() -> None:
    others = [replace(LIMIT, name="add"), replace(LIMIT, threads=8), replace(LIMIT, state="other")]
    for limit in (LIMIT, *others, again := replace(LIMIT, rate=3e9)):
        keep_limit(limit)
    assert kept_limits("state", 4) == {"copy": again, "add": others[0]}
    assert kept_limits("state", 8) == {"copy": others[1]} and kept_limits("other", 4) == {"copy": others[2]}
    forget_limit(LIMIT)
    assert kept_limits("state", 4) == {"add": others[0]} and kept_limits("state", 8) == {"copy": others[1]}


def test_the_oldest_go(file: Path) -> None:
    for n in range(66):
        keep_limit(replace(LIMIT, name=str(n)))
    assert [one["name"] for one in json.loads(file.read_text())["limits"]] == [str(n) for n in range(2, 66)]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"limits": 3}', '{"limits": [{}]}', '{"other": []}'])
def test_a_damaged_file_keeps_nothing_and_is_replaced(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    assert kept_limits("state", 4) == {}
    keep_limit(LIMIT)
    assert kept_limits("state", 4) == {"copy": LIMIT}


def test_a_folder_that_cannot_be_made_costs_nothing(file: Path) -> None:
    file.parent.write_text("")
    keep_limit(LIMIT)
    assert kept_limits("state", 4) == {}


def test_a_rate_lies_in_its_interval_whose_ends_it_may_be() -> None:
    for low, rate, high in ((1.0, 1.0, 2.0), (1.0, 2.0, 2.0), (1.0, 1.0, 1.0)):
        assert limit_from_json(asdict(replace(LIMIT, low=low, rate=rate, high=high))).rate == rate
    for low, rate, high in ((1.0, 0.5, 2.0), (1.0, 2.5, 2.0), (0.0, 1.0, 2.0), (-1.0, 1.0, 2.0)):
        with pytest.raises(ShapeError, match="rate"):
            limit_from_json(asdict(replace(LIMIT, low=low, rate=rate, high=high)))


def test_how_long_work_takes_and_where_it_is_from() -> None:
    assert LIMIT.seconds(1e9) == 0.5
    assert LIMIT.how == "measured 2026-01-02 03:04 UTC, 9 runs, and kept"


def test_the_state_changes_with_what_a_limit_depends_on_and_not_with_the_clock_of_the_moment(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"one")
    here = machine(2, 1)

    def state(of=here, processors=(0, 1), root=tmp_path) -> str:  # type: ignore[no-untyped-def]
        return machine_state(of, processors, program, root)

    first = state()
    assert state(processors=(1, 0)) == first and state(processors=(0,)) != first
    assert state(replace(here, processor=replace(here.processor, frequency_hz=1e9))) == first
    assert state(replace(here, processor=replace(here.processor, model="another"))) != first
    assert state(replace(here, caches=(Cache(3, "unified", 1 << 20, 64, (0,)),))) != first
    assert state(replace(here, kernel="another")) != first and state(replace(here, memory_bytes=1)) != first
    for number, path in enumerate(("proc/sys/kernel/random/boot_id", *module._BOOST)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(str(number))
        assert state() != first
        first = state()
    program.write_bytes(b"two")
    assert state() != first
