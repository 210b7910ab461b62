# SPDX-License-Identifier: BSD-3-Clause
"""What a command's `--json` prints where it is no verdict: a frozen dataclass each, written by `verdicts.encoding`."""
