# SPDX-License-Identifier: BSD-3-Clause
"""Annotations of GitHub Actions: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodewise.report.exports.exporter import Exporter
from nodewise.report.exports.outcomes import Outcome, State, outcomes, outcomes_of_suite

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored
    from nodewise.verdicts.suite import SuiteVerdict

_LEVELS = {State.PASSED: "notice", State.FAILED: "error", State.OPEN: "warning"}


def export(stored: Stored[Comparison]) -> str:
    """A line for each command, which Actions shows with the change where it is printed."""
    return _lines(outcomes(stored))


def export_suite(verdict: SuiteVerdict) -> str:
    """Likewise of a suite's commands, each against what it was then."""
    return _lines(outcomes_of_suite(verdict))


def _lines(found: Sequence[Outcome]) -> str:
    return "".join(
        f"::{_LEVELS[one.state]} title={_escaped(one.name, ':,')}::{_escaped(one.message)}\n" for one in found
    )


def _escaped(text: str, more: str = "") -> str:
    """As its runner reads it: the percent sign, ends of lines and, in a property, what separates these."""
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text)


EXPORTER = Exporter("github", "Annotations of GitHub Actions; to be printed: -", export, suite=export_suite)
