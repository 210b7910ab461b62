# SPDX-License-Identifier: BSD-3-Clause
"""Pure functions on numbers: orders of runs, intervals, verdicts, sequential looks."""
