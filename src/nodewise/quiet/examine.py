# SPDX-License-Identifier: BSD-3-Clause
"""All findings about a system, from what was read, watched and measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodewise.machine.surroundings import Surroundings
from nodewise.machine.watch import Watched
from nodewise.quiet.clocks import clock_findings
from nodewise.quiet.finding import Finding, worst_first
from nodewise.quiet.given_back import given_back_findings
from nodewise.quiet.load import load_findings
from nodewise.quiet.system import system_findings

if TYPE_CHECKING:
    from nodewise.runner.spin import Spin


def examine(
    s: Surroundings, idle: Watched | None = None, loaded: Watched | None = None, spins: Sequence[Spin] = ()
) -> list[Finding]:
    """The findings, worst first: `idle` was watched while nodewise did nothing, `loaded` while it measured `spins`."""
    others = [
        *load_findings(s, idle, loaded),
        *clock_findings(s, loaded or idle),
        *system_findings(s),
        *given_back_findings(s),
    ]
    measured = []
    if spins:
        # its statistics take longer to load than all the rest to do
        from nodewise.quiet.measured import measured_findings

        measured = [*measured_findings(s, spins, loaded, others)]
    return worst_first([*measured, *others])
