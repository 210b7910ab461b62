# SPDX-License-Identifier: BSD-3-Clause
"""PSNR and SSIM by known numbers and FFmpeg's own filters, and the search for the setting of a wanted PSNR."""

import math
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise_studies.video import encoders
from nodewise_studies.video.bjontegaard import bd_rate
from nodewise_studies.video.quality import psnr, ssim, ssim_of_clip
from nodewise_studies.video.search import Quality, RefusedError, curve_values, search
from nodewise_studies.video.study import STUDY
from nodewise_studies.video.vmaf import has_vmaf, vmaf, vmaf_of


def test_psnr_and_ssim_of_known_differences() -> None:
    random = np.random.default_rng(4)
    plane = random.integers(16, 236, (64, 96), np.uint8)
    assert psnr(plane.ravel(), plane.ravel()) == 100
    assert psnr(plane.ravel(), (plane + 1).ravel()) == pytest.approx(20 * math.log10(255))
    assert ssim(plane, plane) == pytest.approx(1)
    # a constant difference leaves structure as it is; noise of its own destroys it
    assert ssim(plane, plane + 4) > 0.99
    assert abs(ssim(plane, random.integers(16, 236, (64, 96), np.uint8))) < 0.1
    small = 0.01**2 * 255**2 / 64
    flat = np.full((16, 16), 100, np.uint8)
    assert ssim(flat, flat + 20) == pytest.approx((2 * 100 * 120 + small) / (100**2 + 120**2 + small))


@pytest.mark.skipif(encoders.ffmpeg() is None, reason="ffmpeg is not installed; known numbers are tested above")
def test_psnr_and_ssim_are_those_of_ffmpegs_filters(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    width, height, frames = 64, 48, 2
    one = np.add.outer(np.zeros(frames, int), np.arange(width * height * 3 // 2) // 40 % 200 + 20).astype(np.uint8)
    other = np.clip(one + random.integers(-9, 10, one.shape), 0, 255).astype(np.uint8)
    for name, clip in (("one", one), ("other", other)):
        (tmp_path / name).write_bytes(clip.tobytes())
    raw = [
        f"-f rawvideo -pix_fmt yuv420p -s {width}x{height} -i {tmp_path / name}".split() for name in ("one", "other")
    ]
    words = ["ffmpeg", "-hide_banner", "-nostdin", *raw[0], *raw[1], "-lavfi", "ssim", "-f", "null", "-"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    known = float(re.findall(r"SSIM Y:([0-9.]+)", said)[-1])
    assert ssim_of_clip(one.ravel(), other.ravel(), width, height) == pytest.approx(known, abs=1e-6)
    words[words.index("ssim")] = "psnr"
    said = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    known = float(re.findall(r"PSNR y:.* average:([0-9.]+)", said)[-1])
    assert psnr(one.ravel(), other.ravel()) == pytest.approx(known, abs=1e-5)


CRF = Quality("-crf", 51, 24, 19, 0, 0.1)
WHOLE = Quality("-crf", 63, 36, 25, 1)
BITS = Quality("-b:v", 250_000, 3_000_000, 6_000_000, 30_000_000, 1000)


def _searched(quality: Quality, measure: Any, wanted: float) -> tuple[float, list[float]]:
    tried: list[float] = []

    def reported(value: float) -> float:
        tried.append(value)
        return float(measure(value))

    return search(quality, reported, wanted), tried


@pytest.mark.parametrize("wanted", [34.0, 38.5, 42.0, 46.3])
@pytest.mark.parametrize(
    ("quality", "measure"),
    [
        (CRF, lambda crf: 54 - 0.5 * crf),
        (CRF, lambda crf: 62 - 1.1 * crf + 0.007 * crf**2),
        (CRF, lambda crf: 30 + 28 / (1 + math.exp((crf - 22) / 8))),
        # frames' quantizers are rounded
        (CRF, lambda crf: 56 - 0.6 * round(crf)),
        (WHOLE, lambda crf: 55 - 0.35 * crf),
        (BITS, lambda bits: 40 + 6 * math.log2(bits / 4e6)),
    ],
    ids=["line", "curve", "saturation", "steps", "whole", "bits"],
)
def test_a_search_ends_near_the_wanted_psnr_within_six_encodes(quality: Quality, measure: Any, wanted: float) -> None:
    found, tried = _searched(quality, measure, wanted)
    assert len(tried) == len(set(tried)) <= 6 and found in tried
    assert all(value / quality.step == pytest.approx(round(value / quality.step)) for value in tried)
    assert abs(measure(found) - wanted) <= (0.3 + 1e-9 if measure(24.0) == measure(24.4) else 0.25)


def test_a_search_takes_the_nearest_of_settings_that_are_far_apart() -> None:
    found, tried = _searched(Quality("-qp", 51, 25, 20, 1), lambda qp: 60 - 0.8 * qp, 41.6)
    assert found == 23 and len(tried) <= 4
    # 1.2 dB between neighbours: 42.4 is nearer than 41.2, and both are tried
    found, tried = _searched(Quality("-qp", 51, 25, 20, 1), lambda qp: 70 - 1.2 * qp, 42.0)
    assert found == 23 and 24 in tried


@pytest.mark.parametrize(("wanted", "end"), [(70.0, 1), (20.0, 63)])
def test_a_search_ends_at_the_end_where_the_wanted_psnr_is_beyond_it(wanted: float, end: int) -> None:
    found, tried = _searched(WHOLE, lambda crf: 55 - 0.35 * crf, wanted)
    assert found == end and len(tried) <= 6


def test_a_search_is_not_led_astray_by_what_is_flat_or_falls() -> None:
    assert _searched(WHOLE, lambda crf: 44.0, 42)[0] in range(1, 64)
    assert _searched(BITS, lambda bits: 40.0, 42)[1][-1] <= BITS.finest
    # coarser is better, as in tiny clips
    found, tried = _searched(CRF, lambda crf: 40 + 0.1 * crf, 42)
    assert len(tried) <= 6 and found in tried


def test_a_search_keeps_what_was_tried_before_an_encoder_refuses() -> None:
    def measure(bits: float) -> float:
        if bits > 5e6:
            raise RefusedError("too many")
        return 38.0 + bits / 5e6

    assert search(BITS, measure, 45) == BITS.start
    with pytest.raises(RefusedError, match="too many"):
        search(Quality("-b:v", 1, 6e6, 7e6, 9e6), measure, 45)


#: Rates and PSNRs that circulate as examples of the measure, and what the package bjontegaard 1.3.0 (method pchip) makes of them.
BD = (
    (
        [(85.95, 31.42), (157.11, 34.24), (309.58, 37.18), (686.76, 40.28)],
        [(112.75, 31.24), (204.93, 34.17), (407.8, 37.21), (893.34, 40.39)],
        31.379878202397627,
    ),
    (
        [(1358.24, 34.851), (2486.44, 36.845), (4593.60, 38.615), (9487.76, 40.037)],
        [(1356.24, 34.987), (2451.52, 36.97), (4469.0, 38.651), (9787.8, 40.121)],
        -4.417485350589045,
    ),
    (
        [(1, 30), (2, 31), (4, 35), (9, 35.5), (30, 41)],
        [(1.5, 33), (2.5, 33.5), (3, 37), (10, 39)],
        -63.327325210426466,
    ),
)


@pytest.mark.parametrize(("one", "other", "known"), BD)
def test_bd_rates_are_those_of_another_program(one: Any, other: Any, known: float) -> None:
    assert bd_rate(one, other) == pytest.approx(known, rel=1e-10)
    # in any order
    assert bd_rate(one[::-1], other[::-1]) == pytest.approx(known, rel=1e-10)


def test_bd_rates_that_are_known_without_any() -> None:
    curve = [(2.0**k, 30.0 + 2 * k) for k in range(5)]
    assert bd_rate(curve, curve) == pytest.approx(0)
    # the same quality for 0.7 of the bits everywhere; and 1 dB more for the same bits, of which 2 dB double them
    assert bd_rate(curve, [(0.7 * rate, quality) for rate, quality in curve]) == pytest.approx(-30)
    assert bd_rate(curve, [(rate, quality + 1) for rate, quality in curve]) == pytest.approx(100 * (2**-0.5 - 1))
    assert bd_rate(curve, curve[:3]) is None
    assert bd_rate(curve, [(rate, quality + 50) for rate, quality in curve]) is None
    assert bd_rate(curve, [*curve, (99.0, 30.0)]) is None


def test_settings_of_a_curve_go_from_coarse_to_fine() -> None:
    assert curve_values(CRF, 24, 5) == [29, 26.5, 24, 21.5, 19]
    assert curve_values(BITS, 3_000_000, 5) == [1_500_000, 2_121_000, 3_000_000, 4_243_000, 6_000_000]
    # not beyond the finest
    assert curve_values(CRF, 1, 5) == [6, 3.5, 1, 0]
    assert curve_values(CRF, 24, 0) == []


def test_the_answer_has_bd_rates_and_vmaf() -> None:
    def row(name: str, curve: Any, **more: float) -> dict[str, Any]:
        metrics = {"fps": 9.0, "mbits": 1.0, "psnr_db": 42.0, "quality": 20.0, **more}
        for k, (rate, quality) in enumerate(curve, 1):
            metrics |= {f"curve_mbits_{k}": rate, f"curve_db_{k}": quality}
        return {"contender": name, "kind": "variant", "seconds": 1.0, "for_scale": False, "metrics": metrics}

    one, other, _ = BD[0]
    rows = [row("libx264-medium", one), row("libx265-medium", other, vmaf=93.24), row("libaom-av1-8", other[:3])]
    assert STUDY.report is not None
    lines = STUDY.report({"rows": rows, "point": {"psnr": "42", "curve": "4"}})
    assert any(line.split() == ["libx265-medium", "+31.4%", "-"] for line in lines)
    assert any(line.split() == ["libaom-av1-8", "-", "-"] for line in lines)
    assert any("VMAF  93.2" in line for line in lines)
    lines = STUDY.report({"rows": rows[1:], "point": {"psnr": "42", "curve": "4"}})
    assert any("libx264-medium did not run" in line for line in lines)


def test_what_ffmpeg_says_of_vmaf_is_read() -> None:
    assert vmaf_of("[Parsed_libvmaf_4 @ 0x5] VMAF score: 93.241234\n") == 93.241234
    assert vmaf_of("Conversion failed!") is None


def test_the_filter_is_found_in_ffmpegs_list(tmp_path: Path) -> None:
    for name, listed, known in (
        ("a", " .. libvmaf           VV->V      Calculate the VMAF", True),
        ("b", " .. vmafmotion", False),
    ):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho '{listed}'\n")
        program.chmod(0o755)
        assert has_vmaf(str(program)) is known


@pytest.mark.skipif(
    not has_vmaf(encoders.ffmpeg() or "false"), reason="ffmpeg has no libvmaf; what it says is tested above"
)
def test_vmaf_falls_with_noise() -> None:
    width, height, frames = 320, 180, 3
    random = np.random.default_rng(8)
    clip = np.add.outer(np.arange(frames), np.arange(width * height * 3 // 2) // 40 % 200 + 20).astype(np.uint8)
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}", "-r", "30"]
    program = encoders.ffmpeg()
    assert program is not None
    scores = []
    for noise in (0, 4, 20):
        made = np.clip(clip.astype(int) + random.integers(-noise, noise + 1, clip.shape), 0, 255).astype(np.uint8)
        file = os.memfd_create("made")
        words = [
            program,
            "-y",
            "-hide_banner",
            *raw,
            "-i",
            "pipe:0",
            "-c:v",
            "ffv1",
            "-f",
            "matroska",
            f"/proc/self/fd/{file}",
        ]
        subprocess.run(words, input=made.tobytes(), capture_output=True, check=True, pass_fds=[file])
        score = vmaf(program, f"/proc/self/fd/{file}", clip.ravel(), raw, 1, file)
        os.close(file)
        assert score is not None
        scores.append(score)
    assert scores[0] > 90 and scores[0] > scores[1] > scores[2]
