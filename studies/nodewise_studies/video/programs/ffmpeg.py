# SPDX-License-Identifier: BSD-3-Clause
"""FFmpeg's encoders as contenders."""

from ..encoding import contenders, metrics, outputs, prepare, run, settle

__all__ = ["contenders", "metrics", "outputs", "prepare", "run", "settle"]
