# SPDX-License-Identifier: BSD-3-Clause
"""A check's findings as JUnit's XML, which continuous integration systems read: a case for each rule, failed where it found something."""

from __future__ import annotations

from collections.abc import Container
from xml.etree import ElementTree

from nodewise.base.escaping import visible
from nodewise.nodes.findings import CheckResult, NodeFinding
from nodewise.nodes.node_names import fold
from nodewise.quiet.finding import Severity


def junit_text(result: CheckResult, failing: Container[Severity] = (Severity.WRONG,)) -> str:
    """The document. Findings of other severities than `failing` are cases that pass with output; what is suppressed is skipped, with the reason."""
    by_rule: dict[str, list[NodeFinding]] = {}
    for one in (*result.findings, *result.suppressed):
        by_rule.setdefault(one.finding.name, []).append(one)
    counts = {"tests": 0, "failures": 0, "skipped": 0}
    suite = ElementTree.Element("testsuite", name="nodewise check")
    for name, found in by_rule.items():
        case = ElementTree.SubElement(suite, "testcase", classname=visible(found[0].kind), name=visible(name))
        bad = [f for f in found if f.suppressed is None and f.finding.severity in failing]
        text = "\n".join(_line(f) for f in found)
        counts["tests"] += 1
        if bad:
            counts["failures"] += 1
            ElementTree.SubElement(
                case, "failure", type=str(bad[0].finding.severity), message=visible(bad[0].finding.summary)
            ).text = text
        elif all(f.suppressed for f in found):
            counts["skipped"] += 1
            ElementTree.SubElement(case, "skipped", message=visible(found[0].suppressed or ""))
        else:
            ElementTree.SubElement(case, "system-out").text = text
    if not by_rule:
        counts["tests"] = 1
        ElementTree.SubElement(suite, "testcase", classname="check", name=f"{result.nodes} nodes, {result.rules} rules")
    suite.attrib |= {name: str(n) for name, n in counts.items()}
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _line(one: NodeFinding) -> str:
    nodes = f"{fold(one.nodes)}: " if one.nodes else ""
    return visible(f"{one.finding.severity}: {nodes}{one.finding.summary}; {one.finding.do}")
