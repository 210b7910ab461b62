# SPDX-License-Identifier: BSD-3-Clause
"""Where a program's time goes: sampled by Linux perf, summed over functions, lines and threads."""
