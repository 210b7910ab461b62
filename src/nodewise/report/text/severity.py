# SPDX-License-Identifier: BSD-3-Clause
"""How severities look on a terminal."""

from __future__ import annotations

from nodewise.quiet.finding import Severity

#: Colours of severities, as a terminal is told them.
CODES = {Severity.WRONG: "1;31", Severity.NOISY: "1;31", Severity.NOTE: "33", Severity.UNKNOWN: "36", Severity.OK: "32"}
