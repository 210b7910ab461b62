# SPDX-License-Identifier: BSD-3-Clause
"""PSNR and SSIM by known numbers and FFmpeg's own filters, and the search for the setting of a wanted PSNR."""

import math
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise_studies.video import encoders
from nodewise_studies.video.quality import psnr, ssim, ssim_of_clip
from nodewise_studies.video.search import Quality, RefusedError, search


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
