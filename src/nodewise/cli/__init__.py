# SPDX-License-Identifier: BSD-3-Clause
"""The command line: reads what was typed, prints what came of it, ends with an exit code."""
