# SPDX-License-Identifier: BSD-3-Clause
"""How near decoded frames are to the clip, and whether that is like quality."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: Frames a second at which the clip is watched.
RATE = 30
#: So far from the wanted PSNR, in dB, encoders are still compared: a setting in whole numbers has steps.
LIKE_DB = 0.5
#: Of the structural similarity by Wang et al., for sums over 64 pixels of 8 bits, as FFmpeg's filter has them.
_PIXELS = 64
_C1 = 0.01**2 * 255**2 * _PIXELS
_C2 = 0.03**2 * 255**2 * _PIXELS * (_PIXELS - 1)


def psnr(one: Any, other: Any) -> float:
    """Peak signal-to-noise ratio of all samples of 8 bits, in dB; 100 where they are equal."""
    squares, count = 0.0, 0
    for begin in range(0, one.size, 1 << 22):
        part = one[begin : begin + (1 << 22)].astype(np.int32) - other[begin : begin + (1 << 22)]
        squares += float(np.square(part, dtype=np.int64).sum())
        count += part.size
    return 10 * math.log10(255**2 * count / squares) if squares else 100.0


def _sums(plane: Any) -> Any:
    """Over windows of 8 by 8 pixels that begin at each fourth one."""
    height, width = (n // 4 * 4 for n in plane.shape)
    fours = plane[:height, :width].reshape(height // 4, 4, width // 4, 4).sum(axis=(1, 3))
    return fours[:-1, :-1] + fours[1:, :-1] + fours[:-1, 1:] + fours[1:, 1:]


def ssim(one: Any, other: Any) -> float:
    """Structural similarity of two planes, the mean over overlapping windows."""
    a, b = one.astype(np.int64), other.astype(np.int64)
    s1, s2 = _sums(a), _sums(b)
    squares, products = _sums(a * a + b * b), _sums(a * b)
    variances = squares * _PIXELS - s1 * s1 - s2 * s2
    covariance = products * _PIXELS - s1 * s2
    parts = (2 * s1 * s2 + _C1) * (2 * covariance + _C2) / ((s1 * s1 + s2 * s2 + _C1) * (variances + _C2))
    return float(parts.mean())


def ssim_of_clip(one: Any, other: Any, width: int, height: int) -> float:
    """The mean of the light of all frames (yuv420p)."""
    frame = width * height * 3 // 2
    frames = one.size // frame
    light = [x.reshape(frames, frame)[:, : width * height].reshape(frames, height, width) for x in (one, other)]
    return float(np.mean([ssim(a, b) for a, b in zip(*light, strict=True)]))


def is_like(db: float, wanted: float) -> bool:
    """Whether a PSNR is near enough to the wanted one for its encoder to be compared with the others."""
    return abs(db - wanted) <= LIKE_DB
