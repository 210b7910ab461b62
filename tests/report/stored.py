# SPDX-License-Identifier: BSD-3-Clause
"""Results of studies and rooflines as they are stored, without a clock."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodewise.records.result_store import ROOFLINE, STUDY
from nodewise.report.pages.write import write_page
from nodewise.runner.sample import Sample
from nodewise.studies.commands import Contender
from nodewise.studies.contract import Published, Study
from nodewise.studies.discovery import find_study
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.roofline import (
    KernelPoint,
    LeftOut,
    Role,
    RoofKind,
    RooflineSeries,
    RooflineVerdict,
    RoofPoint,
    roofline_verdict,
)
from nodewise.verdicts.series import Series
from nodewise.verdicts.study import StudyVerdict, study_verdict
from tests.kept_result import keep_result
from tests.surfaces import machine

BLOCKS = 25
ITEMS = 1e9


def pretend(**more: Any) -> Study:
    """A study that is none."""
    published = Published("plain", "rate with **60** threads", "12", "61 cores")
    made = replace(find_study("is").study, name="pretend", title="a study that is none", for_scale=())
    made = replace(made, plain_variant="plain", published=(published,), rate_unit="Gitems/s", rate_scale=1e-9)
    return replace(made, **more)


def series(name: str, kind: str, seconds: float | None, spread: float = 0.02, **metrics: float) -> Series:
    """A contender that took so many seconds in each block, within the spread; None did not run."""
    reason = None if seconds else "scikit-learn is not installed"
    one = Series(Contender(name, kind, (name,), not_run=reason))
    # every part once, so that the median is the time itself
    parts = [2 * block / (BLOCKS - 1) - 1 for block in range(BLOCKS)]
    random.Random(name).shuffle(parts)
    for block, part in enumerate(parts if seconds else ()):
        time = (seconds or 0.0) * (1 + spread * part)
        one.add(block, Sample(time, time, 0.0, metrics={"items": ITEMS, **metrics}))
    return one


def judged(given: Sequence[Series], point: Mapping[str, str] | None = None, **study: Any) -> StudyVerdict:
    """What is found of these, with two threads."""
    return study_verdict(given, pretend(**study), point or {"n": "1024"}, 2, BLOCKS, seconds_spent=61.0)


def study_result(point: Mapping[str, str] | None = None, seconds: float = 0.025, **study: Any) -> StudyVerdict:
    """A study with two variants, two peers of which one is missing, and two limits."""
    given = [
        series("blocked", "variant", seconds, flops=4e9, bytes=2e9, error_ulp=1.5),
        series("plain", "variant", 0.1),
        series("library", "peer", 0.04),
        series("absent", "peer", None),
        series("flops f64", "limit", 0.02),
        series("bandwidth triad", "limit", 0.01),
    ]
    return judged(given, point, **study)


def with_row(found: StudyVerdict, which: str, **more: Any) -> StudyVerdict:
    """The same with one row changed."""
    return replace(found, rows=tuple(replace(r, **more) if r.contender == which else r for r in found.rows))


def roofline_result(kernels: int = 8) -> RooflineVerdict:
    """A roofline with kernels on the slope, below the peak and without bytes."""
    rates = {"f64 peak": 238.0, "f32 peak": 476.0, "L1": 938.0, "L2": 420.0, "L3": 214.0, "memory": 81.0}
    roofs = []
    for name, rate in rates.items():
        kind, per = (RoofKind.FLOPS, "flops") if "peak" in name else (RoofKind.BANDWIDTH, "bytes")
        variant = name[:3] if kind is RoofKind.FLOPS else "read"
        roof = RoofPoint(name, kind, variant, {"kib": "24"} if rate > 500 else {})
        slower = [1.0, 1 / 0.9, 1 / 0.9, 1 / 0.9, 1.25]
        roofs.append(_given(variant, kind.value, roof, [1 / rate * s for s in slower], {per: 1e9}))
    shapes = [(85.0, 215.0, 1.9), (3.1, 190.0, 31.0), (16.0, 160.0, 9.0), (0.9, 61.0, 14.0)]
    shapes += [(0.25, 18.0, 6.0), (0.5, 33.0, 21.0), (0.0, 60.0, 1.2), (20.9, 14.0, 12.0)]
    placed = []
    for number, (intensity, best, plain) in enumerate(shapes[:kernels]):
        for role, rate in ((Role.BEST, best), (Role.PLAIN, plain)):
            work = {"flops": 1e9} | ({"bytes": 1e9 / intensity} if intensity else {})
            what = KernelPoint({"n": "64"}, "f64 peak", "way-plain")
            one = _given(f"way-{role}", f"study{number}", what, [1 / rate] * 5, work)
            one.role = role
            placed.append(one)
    left_out = [LeftOut("is", "its work is not counted in floating-point operations")]
    return roofline_verdict(2, roofs, placed, left_out, 5, 88.0)


def _given(
    name: str, study: str, what: RoofPoint | KernelPoint, times: list[float], work: Mapping[str, float]
) -> RooflineSeries:
    return RooflineSeries(Contender(name, "variant", (name,)), study, what, times=times, work=work)


def study_page_of(results: StudyVerdict | Sequence[StudyVerdict], readme: str, folder: Path) -> Path:
    """The page of stored results, of one run or several."""
    several = [results] if isinstance(results, StudyVerdict) else list(results)
    content = {"readme": readme, "results": [encode(one) for one in several]}
    keep_result(folder, STUDY, content, machine(2, 1), {}, ("nodewise",))
    return write_page(folder)


def roofline_page_of(result: RooflineVerdict, folder: Path) -> Path:
    """The page of a stored roofline."""
    keep_result(folder, ROOFLINE, {"result": encode(result)}, machine(2, 1), {}, ("nodewise",))
    return write_page(folder)
