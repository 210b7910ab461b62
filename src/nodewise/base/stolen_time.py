# SPDX-License-Identifier: BSD-3-Clause
"""From when on processor time that others took is said to have disturbed a run; read by what marks runs and what judges them."""

#: What took more than this share of a run's own time has disturbed it.
SHARE = 0.05
#: Processor time in /proc/stat is counted by ticks and reported in hundredths of a second: this much, on each of two processors,
#: is rounding; of more processors the roundings add up as the root of their number.
ROUNDING_S = 0.03
