# SPDX-License-Identifier: BSD-3-Clause
"""JUnit's XML: each command is a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nodewise.base.escaping import visible
from nodewise.report.exports.cells import one_line
from nodewise.report.exports.exporter import Exporter
from nodewise.report.exports.outcomes import Outcome, State, outcomes, outcomes_of_stopped, outcomes_of_suite

if TYPE_CHECKING:
    from nodewise.verdicts.confirm import Comparison
    from nodewise.verdicts.stored import Stored
    from nodewise.verdicts.suite import SuiteVerdict


def export(stored: Stored[Comparison]) -> str:
    """A suite with a test for each command: slower than is allowed is a failure, undecided is skipped."""
    return _xml(outcomes(stored))


def export_suite(verdict: SuiteVerdict) -> str:
    """Likewise of a suite's commands, each against what it was then."""
    return _xml(outcomes_of_suite(verdict))


def export_stopped(commands: Mapping[str, str], why: str) -> str:
    """Of commands that were not compared: the one that does not run is an error, the others are skipped."""
    return _xml(outcomes_of_stopped(commands, why))


def _xml(found: Sequence[Outcome]) -> str:
    import xml.etree.ElementTree as ET

    counted = {name: str(sum(one.state is state for one in found)) for name, state in _COUNTED.items()}
    suite = ET.Element("testsuite", {"name": "nodewise", "tests": str(len(found)), **counted})
    for one in found:
        case = ET.SubElement(suite, "testcase", {"classname": "nodewise", "name": _plain(one.name)})
        if one.seconds is not None:
            case.set("time", f"{one.seconds:.9g}")
        if one.value is not None:
            properties = ET.SubElement(case, "properties")
            ET.SubElement(properties, "property", {"name": _plain(one.metric), "value": f"{one.value:.9g}"})
        if (kind := _ELEMENTS.get(one.state)) is not None:
            ET.SubElement(case, kind, {"message": _plain(one.message)})
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _plain(text: str) -> str:
    """XML has no control characters, however they are written."""
    return visible(one_line(text))


_COUNTED = {"errors": State.BROKEN, "failures": State.FAILED, "skipped": State.OPEN}
_ELEMENTS = {State.BROKEN: "error", State.FAILED: "failure", State.OPEN: "skipped"}
EXPORTER = Exporter(
    "junit", "A test for each command, as JUnit's XML", export, suite=export_suite, stopped=export_stopped
)
