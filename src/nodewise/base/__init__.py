# SPDX-License-Identifier: BSD-3-Clause
"""What everything stands on: errors, units, escaping, bounded JSON, shapes of plain values."""
