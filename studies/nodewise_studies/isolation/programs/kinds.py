# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of isolation as contenders."""

from ..isolated import contenders, metrics, outputs, prepare, run

__all__ = ["contenders", "metrics", "outputs", "prepare", "run"]
