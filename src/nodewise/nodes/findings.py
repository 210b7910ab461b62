# SPDX-License-Identifier: BSD-3-Clause
"""What a check found: a Finding of a rule, and on which nodes; and the whole answer."""

from __future__ import annotations

from nodewise.base.frozen import dataclass
from nodewise.quiet.finding import Finding


@dataclass(frozen=True)
class NodeFinding:
    """A finding on `nodes` of a group (empty: of none). `fact` is the path that shows it, `deviations` how far the furthest lies out, in
    robust deviations; `suppressed` the reason and the last day where the site's file says that it is known."""

    finding: Finding
    kind: str
    nodes: tuple[str, ...]
    group: str = ""
    fact: str = ""
    deviations: float | None = None
    suppressed: str | None = None


@dataclass(frozen=True)
class GroupSummary:
    """A group of nodes that were held against each other."""

    name: str
    about: str
    nodes: int


@dataclass(frozen=True)
class CheckResult:
    """The answer: how many nodes were read and how many rules held against them, the groups, and the findings, worst first."""

    nodes: int
    rules: int
    groups: tuple[GroupSummary, ...]
    findings: tuple[NodeFinding, ...]
    suppressed: tuple[NodeFinding, ...]
    node_names: tuple[str, ...]
    notes: tuple[str, ...] = ()
