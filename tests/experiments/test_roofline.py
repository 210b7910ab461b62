# SPDX-License-Identifier: BSD-3-Clause
"""Roofs, and which of them bounds a kernel; the runs are scripted."""

import dataclasses
import json
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.experiments.roofline import cache_levels, measure_roofline, roof_points
from nodewise.machine.model import Cache, Machine
from nodewise.machine.sources import load_machine
from nodewise.records.result_store import STUDY, read_result
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.stored import read_stored
from tests.kept_result import keep_result
from tests.surfaces import machine

KIB, MIB = 1 << 10, 1 << 20


def _cached(cores: int, l3: int = 32 * MIB) -> Machine:
    one = machine(cores, 1)
    caches = [
        Cache(level, kind, size, 64, (p,))
        for p in one.pus
        for level, kind, size in ((1, "data", 48 * KIB), (1, "instruction", 32 * KIB), (2, "unified", MIB))
    ]
    shared = Cache(3, "unified", l3, 64, one.pus)
    return dataclasses.replace(one, caches=(*caches, shared))


def test_the_levels_are_those_that_the_threads_use() -> None:
    assert cache_levels(_cached(4), 1) == [("L1", 48 * KIB), ("L2", MIB), ("L3", 32 * MIB)]
    assert cache_levels(_cached(4), 4) == [("L1", 192 * KIB), ("L2", 4 * MIB), ("L3", 32 * MIB)]
    # a level hardly larger than the one before it cannot be distinguished from it
    assert cache_levels(_cached(4, 8 * MIB), 4) == [("L1", 192 * KIB), ("L2", 4 * MIB)]
    assert cache_levels(machine(2, 1), 2) == []


def test_arrays_fill_half_of_their_level() -> None:
    points = {(r.name, r.variant): r.point for r in roof_points(_cached(2), 2)}
    assert points["L1", "read"]["kib"] == "24" and points["L3", "triad"]["kib"] == "5460"
    assert points["memory", "triad"] == {"passes": "1"}
    assert {r.name for r in roof_points(machine(2, 1), 2)} == {"f64 peak", "f32 peak", "memory"}


class Pretend:
    """A Launcher that knows what each worker would have told."""

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        variant = setting.command[setting.command.index("--variant") + 1]
        if "/flops" in setting.command[1]:
            told = {"seconds": 0.01 if variant == "f64" else 0.005, "flops": 1e9}
        elif "/bandwidth" in setting.command[1]:
            told = {"seconds": 0.02 if variant == "read" else 0.03, "bytes": 1e9}
        elif variant == "static":
            return Sample(0.0, 0.0, 0.0, error="exit code 1")
        else:
            told = {"seconds": {"dynamic": 0.1, "guided": 0.05}.get(variant, 0.2), "flops": 1e9, "bytes": 5e7}
        seconds = told.pop("seconds")
        return Sample(seconds, seconds, 0.0, metrics=told)

    def close(self) -> None:
        """Nothing is kept running."""


def test_of_each_study_the_best_variant_is_placed_and_the_others_are_said(tmp_path: Path) -> None:
    result = measure_roofline(load_machine(), 1, Pretend(), tmp_path / "x", ("schedule", "is", "flops"))
    rates = {r.name: r.rate for r in result.roofs}
    assert rates["f64 peak"] == pytest.approx(1e11) and rates["f32 peak"] == pytest.approx(2e11)
    assert rates["memory"] == pytest.approx(5e10)
    (kernel,) = result.kernels
    assert kernel.contender == "guided" and kernel.role == "best" and kernel.intensity == pytest.approx(20)
    assert kernel.bound.name == "f64 peak" and kernel.bound.share == pytest.approx(0.2)
    assert [one.study for one in result.left_out] == ["flops", "is"]
    kept = read_stored(tmp_path / "x")
    assert kept.kind.name == "roofline" and kept.verdict == result and kept.machine == load_machine()


def test_a_kept_result_comes_back_and_a_damaged_one_is_said(tmp_path: Path) -> None:
    record = keep_result(tmp_path / "x", STUDY, {"results": []}, machine(2, 1), {"OMP_X": "1"}, ("nodewise",))
    assert read_result(tmp_path / "x") == json.loads(json.dumps(record))
    with pytest.raises(InputError, match="holds no experiment"):
        read_result(tmp_path)
    for text, said in (("{", "damaged"), ("{}", "holds no results")):
        (tmp_path / "x/verdict.json").write_text(text)
        with pytest.raises(InputError, match=said):
            read_result(tmp_path / "x")
    (tmp_path / "x/verdict.json").unlink()
    with pytest.raises(InputError, match="cut off before its end"):
        read_result(tmp_path / "x")
