# SPDX-License-Identifier: BSD-3-Clause
"""Which roof bounds a kernel."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.studies.commands import Contender
from nodewise.verdicts.roofline import (
    ABOVE_ROOF,
    Bound,
    Kernel,
    KernelPoint,
    Role,
    Roof,
    RoofKind,
    RooflineSeries,
    RoofPoint,
    _measured,
    _sentence,
    bound_of,
)
from tests.report.stored import roofline_result
from tests.verdicts.cases import hold

ROOFS = [
    Roof("f64 peak", RoofKind.FLOPS, 100.0, 90.0, None, "f64", {}),
    Roof("f32 peak", RoofKind.FLOPS, 200.0, 190.0, None, "f32", {}),
    Roof("L1", RoofKind.BANDWIDTH, 400.0, 390.0, None, "read", {}),
    Roof("memory", RoofKind.BANDWIDTH, 20.0, 19.0, None, "read", {}),
]


@pytest.mark.parametrize(
    ("intensity", "rate", "peak", "bound", "roof"),
    [
        (1.0, 10.0, "f64 peak", "memory", 20.0),
        (1.0, 20.2, "f64 peak", "memory", 20.0),
        (1.0, 30.0, "f64 peak", "f64 peak", 100.0),
        # memory as high as the peak bounds nothing
        (5.0, 50.0, "f64 peak", "f64 peak", 100.0),
        (0.1, 30.0, "f64 peak", "L1", 40.0),
        (6.0, 50.0, "f64 peak", "f64 peak", 100.0),
        (6.0, 50.0, "f32 peak", "memory", 120.0),
        (None, 50.0, "f64 peak", "f64 peak", 100.0),
        (1.0, 50.0, "f16 peak", None, None),
    ],
)
def test_a_kernel_is_bound_by_the_lowest_roof_that_it_is_not_above(
    intensity: float | None, rate: float, peak: str, bound: str | None, roof: float | None
) -> None:
    found = bound_of(intensity, rate, peak, ROOFS)
    assert found.name == bound and found.roof == pytest.approx(roof) and found.peak == peak
    assert found.share == pytest.approx(None if roof is None else rate / roof)


def test_what_came_out_is_said_once_and_the_nearest_kernel_is_named() -> None:
    found = roofline_result(2)
    assert found.headline == "238 GFLOP/s, 81 GB/s"
    assert found.sentence.endswith("study0 way-best, 90.3% of f64 peak · 5 blocks in 88 s")


@pytest.mark.parametrize("kernels", [0, 8])
def test_all_that_is_said(tmp_path: Path, kernels: int) -> None:
    hold(f"roofline {kernels}", roofline_result(kernels), tmp_path)


def test_without_enough_blocks_a_rate_has_no_interval() -> None:
    few = RooflineSeries(
        Contender("c", "variant", ("c",)), "s", KernelPoint({}, "f64 peak", "c"), Role.BEST, [0.5, 0.25, 1.0]
    )
    assert few.interval("flops") == (None, None) and few.rate("flops") == 0.0
    many = replace(few, work={"flops": 8.0}, times=[0.25, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0])
    assert many.rate("flops") == 16.0 and many.interval("flops") == (8.0, 32.0)
    assert many.interval("bytes") == (0.0, 0.0)


def test_a_roof_is_the_highest_of_the_variants_that_ran() -> None:
    def series(variant: str, seconds: list[float], error: str | None = None) -> RooflineSeries:
        what = RoofPoint("L1", RoofKind.BANDWIDTH, variant, {})
        return RooflineSeries(
            Contender(variant, "variant", (variant,)), "s", what, None, seconds, {"bytes": 8.0}, error
        )

    kernel = RooflineSeries(Contender("k", "variant", ("k",)), "s", KernelPoint({}, "f64 peak", "k"), Role.BEST, [1.0])
    every = [
        series("slow", [2.0]),
        series("fast", [0.5, 1.0]),
        series("broken", [0.1], "exit code 3"),
        series("late", [4.0]),
    ]
    (roof,) = _measured([kernel, *every])
    assert (roof.name, roof.variant, roof.rate, roof.median) == ("L1", "fast", 16.0, 8.0 / 0.75)


def test_work_that_was_not_counted_is_no_roof() -> None:
    what = RoofPoint("L1", RoofKind.BANDWIDTH, "a", {})
    (roof,) = _measured([RooflineSeries(Contender("a", "variant", ("a",)), "s", what, None, [0.5], {"flops": 8.0})])
    assert (roof.rate, roof.median) == (0.0, 0.0)


def test_the_nearest_is_of_those_that_are_the_best_of_their_study() -> None:
    def kernel(name: str, role: Role, share: float | None) -> Kernel:
        bound = Bound("f64 peak", None if share is None else "f64 peak", 1.0, share)
        return Kernel("s", name, role, {}, 1.0, None, 1.0, None, 1.0, None, None, bound)

    kernels = [kernel("a", Role.BEST, 0.25), kernel("b", Role.BEST, 0.5), kernel("c", Role.BEST, None)]
    other = next(role for role in Role if role is not Role.BEST)
    said = _sentence([*kernels, kernel("d", other, 0.75)], 1, 2.0)
    assert said.split(" · ")[1:] == ["nearest to its roof: s b, 50% of f64 peak", "1 block in 2 s"]
    assert len(_sentence([kernel("d", other, 0.75)], 3, 2.0).split(" · ")) == 2


def test_a_kernel_as_high_as_a_roof_may_be_measured_is_below_it() -> None:
    # noise: a little above is still that roof's
    assert bound_of(1.0, 20.0 * ABOVE_ROOF, "f64 peak", ROOFS).name == "memory"
    assert bound_of(1.0, 20.0 * ABOVE_ROOF * 1.001, "f64 peak", ROOFS).name != "memory"


def test_series_are_told_apart_by_study_contender_and_knobs() -> None:
    one = RooflineSeries(Contender("c", "variant", ("c",)), "s", KernelPoint({"k": "1", "l": "2"}, "f64 peak", "c"))
    assert one.key == "s c k=1 l=2" and not one.ran
