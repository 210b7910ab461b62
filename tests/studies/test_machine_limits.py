# SPDX-License-Identifier: BSD-3-Clause
"""How large the arrays are that a limit is measured with, and what is kept of it."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nodewise.machine.model import Cache
from nodewise.machine.sources import load_machine
from nodewise.records import kept_limits
from nodewise.records.kept_limits import KeptLimit, forget_limit, keep_limit, machine_state, measured_limit
from nodewise.studies.contract import Limit
from nodewise.studies.discovery import find_study
from nodewise.studies.machine_limits import beyond_caches, default_size, machine_limits, seconds_at, size_within

MIB = 1 << 20
MACHINE = replace(
    load_machine(),
    caches=(Cache(1, "data", 48 << 10, 64, (0,)), Cache(3, "unified", 100 * MIB, 64, (0,))),
    memory_bytes=64 << 30,
)
FOUND = replace(find_study("is"), study=replace(find_study("is").study, limits=(Limit("bandwidth", "triad", "bytes"),)))


def _knobs(work: dict[str, float], seconds: float = 100.0, threads: int = 1) -> tuple[dict[str, int], bool]:
    (limit,) = machine_limits(FOUND, MACHINE, threads, work, seconds)
    return {k: int(v) for k, _, v in (w.partition("=") for w in limit.contender.command if "=" in w)}, limit.memory


def test_an_array_is_four_times_the_caches_and_no_eighth_of_the_memory() -> None:
    assert default_size(MACHINE) == 400 * MIB
    assert default_size(replace(MACHINE, memory_bytes=1 << 30)) == 128 * MIB
    assert default_size(replace(MACHINE, caches=())) == 128 * MIB


def test_a_run_of_that_size_takes_no_longer_than_there_is_time() -> None:
    for seconds in (0.5, 1.0, 2.0):
        size = size_within(MACHINE, seconds, 1)
        assert size < default_size(MACHINE) and seconds_at(size, 1) == pytest.approx(seconds, rel=0.01)
    assert size_within(MACHINE, 3600.0, 1) == default_size(MACHINE)
    assert size_within(MACHINE, 0.0, 1) == MIB


def test_a_working_set_in_a_cache_has_a_limit_of_its_size_and_a_larger_one_memorys() -> None:
    knobs, memory = _knobs({"working_set": 3 * MIB, "bytes": 3e8})
    assert not memory and knobs["kib"] == 1024
    # as many bytes are moved as the study moves, so that both meet as much of what disturbs
    assert knobs["passes"] * knobs["kib"] * 1024 / 8 * 48 == pytest.approx(3e8, rel=0.05)
    assert _knobs({"working_set": 200 * MIB + 1e6, "bytes": 3e8}) == ({}, True)
    assert _knobs({"bytes": 3e8}) == ({}, True)
    # with little time memory is measured with arrays that are still more than the caches hold
    knobs, memory = _knobs({"working_set": 1e12}, seconds=0.1)
    assert memory and beyond_caches(MACHINE, knobs["kib"] * 1024) and knobs["kib"] < 400 * 1024


def test_what_is_kept_is_the_median_with_its_interval_and_date() -> None:
    when = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    kept = measured_limit("b", "bytes", 2, "s", 10e9, [1.0, 1.1, 0.9, 1.0, 1.2, 1.0], when)
    assert kept == KeptLimit("b", "bytes", 2, "s", 10e9, 10e9 / 1.2, 10e9 / 0.9, 6, "2026-01-02 03:04 UTC")
    assert measured_limit("b", "bytes", 2, "s", 10e9, [1.0] * 5, when) is None


def test_one_limit_of_a_state_is_kept_and_a_damaged_file_is_none() -> None:
    one = KeptLimit("b", "bytes", 2, "s", 1.0, 0.5, 2.0, 6, "then")
    keep_limit(one)
    keep_limit(replace(one, rate=1.5))
    keep_limit(replace(one, state="other"))
    assert kept_limits.kept_limits("s", 2) == {"b": replace(one, rate=1.5)} and not kept_limits.kept_limits("s", 1)
    forget_limit(one)
    assert not kept_limits.kept_limits("s", 2) and kept_limits.kept_limits("other", 2)
    file = kept_limits.cache_folder() / "limits.json"
    for damaged in ("{", "[]", '{"limits": [{"name": "b"}]}', json.dumps({"limits": [{**vars(one), "rate": -1.0}]})):
        file.write_text(damaged)
        assert not kept_limits.kept_limits("s", 2)


def test_a_state_is_another_where_the_machine_or_what_measures_it_is(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"one")
    (tmp_path / "proc/sys/kernel/random").mkdir(parents=True)
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.write_text("a")
    state = machine_state(MACHINE, (0, 1), program, tmp_path)
    faster = replace(MACHINE, processor=replace(MACHINE.processor, frequency_hz=1e9))
    assert machine_state(faster, (1, 0), program, tmp_path) == state
    others = [
        machine_state(replace(MACHINE, transparent_huge_pages="never"), (0, 1), program, tmp_path),
        machine_state(replace(MACHINE, caches=()), (0, 1), program, tmp_path),
        machine_state(replace(MACHINE, memory_bytes=MACHINE.memory_bytes + 1), (0, 1), program, tmp_path),
        machine_state(replace(MACHINE, numa_nodes=()), (0, 1), program, tmp_path),
        machine_state(replace(MACHINE, hypervisor="other"), (0, 1), program, tmp_path),
        machine_state(replace(MACHINE, limits=replace(MACHINE.limits, cpu_quota=0.5)), (0, 1), program, tmp_path),
        machine_state(MACHINE, (0,), program, tmp_path),
    ]
    (tmp_path / "sys/devices/system/cpu/cpufreq").mkdir(parents=True)
    (tmp_path / "sys/devices/system/cpu/cpufreq/boost").write_text("0")
    others.append(machine_state(MACHINE, (0, 1), program, tmp_path))
    boot.write_text("b")
    others.append(machine_state(MACHINE, (0, 1), program, tmp_path))
    program.write_bytes(b"two")
    others.append(machine_state(MACHINE, (0, 1), program, tmp_path))
    assert len({state, *others}) == 1 + len(others)
