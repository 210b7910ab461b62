# SPDX-License-Identifier: BSD-3-Clause
"""Real programs, tuned as their users would, and what became of each promise."""
