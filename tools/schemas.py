# SPDX-License-Identifier: BSD-3-Clause
"""Writes the schemas of all that is written as JSON into docs/schemas, and docs/schemas.md, from the types of what is written."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodewise.api.doctor import Diagnosis
from nodewise.api.governors import GovernorStudy
from nodewise.api.suite_file import Case
from nodewise.cli.outputs.knobs import CatalogueOutput, KnobsOutput
from nodewise.cli.outputs.outline import OutlineOutput
from nodewise.cli.outputs.profile import ProfileOutput
from nodewise.cli.outputs.quiet import QuietOutput
from nodewise.cli.outputs.studies import StudyOutput
from nodewise.cli.outputs.vec import VecOutput
from nodewise.fabric.result import Fabric, Links, Ports
from nodewise.fabric.translate import Translation
from nodewise.history.difference import Difference
from nodewise.history.fill import Filled
from nodewise.history.fleet import Fleet
from nodewise.history.trend import Trends
from nodewise.machine.model import MACHINE_VERSION, Machine
from nodewise.nodes.findings import CheckResult
from nodewise.nodes.snapshot import SNAPSHOT_VERSION, Snapshot
from nodewise.pipelines.result import PipelineResult
from nodewise.records.kind import Kind
from nodewise.records.kind_registry import all_kinds
from nodewise.report.exports.tables import ResultOutput
from nodewise.verdicts.encoding import schema_of
from nodewise.verdicts.place import PlaceOutput
from nodewise.verdicts.suite import SuiteVerdict
from nodewise.verdicts.where import WhereOutput

FOLDER = Path(__file__).parent.parent / "docs/schemas"
PAGE = FOLDER.parent / "schemas.md"
_HEAD = """# JSON

All that nodewise prints with `--json` or keeps as JSON has a schema (JSON Schema, 2020-12). `schema_version` is raised where a reader of the old form would be
wrong. Numbers are in seconds, bytes and joules; an unknown number is null. Masked values read `<masked:NAME>`.

The `verdict.json` of an experiment's folder, which `nodewise report --json` prints, has the schema of its kind of experiment; that of a `run` is a [comparison](schemas/compare.schema.json)
of one command.

| schema | what it describes |
| --- | --- |
"""
#: Those that other programs write, too, and that are found without looking.
_ABOVE = ("snapshot",)


@dataclass(frozen=True)
class Document:
    """What a command writes: its type, the files that it names besides, and its version mark where that is another one."""

    kind: type
    written: tuple[str, ...] = ()
    version: tuple[str, int] | None = None
    listed: bool = False

    def schema(self) -> dict[str, Any]:
        """Its schema; that of a list of them where it is `listed`."""
        made = schema_of(self.kind, self.written, self.version)
        if not self.listed:
            return made
        item = {name: made.pop(name) for name in list(made) if name not in ("$schema", "title", "$defs")}
        return {**made, "type": "array", "items": item}


def _of_kind(kind: Kind) -> Document:
    """What the command of a kind of experiment writes."""
    return Document(kind.load("printed" if kind.printed else "verdict"), kind.written)


DOCUMENTS = {
    **{kind.name: _of_kind(kind) for kind in all_kinds()},
    "tune-dry-run": Document(OutlineOutput),
    "studies": Document(StudyOutput, listed=True),
    "study-result": Document(ResultOutput),
    "machine": Document(Machine, version=("nodewise_machine", MACHINE_VERSION)),
    "place": Document(PlaceOutput),
    "where": Document(WhereOutput),
    "knobs": Document(KnobsOutput),
    "catalogue": Document(CatalogueOutput),
    "quiet": Document(QuietOutput),
    "check": Document(CheckResult, ("junit", "html")),
    "snapshot": Document(Snapshot, version=("nodewise_snapshot", SNAPSHOT_VERSION)),
    "vec": Document(VecOutput),
    "governors": Document(GovernorStudy),
    "pipeline": Document(PipelineResult, ("page",)),
    "fabric": Document(Fabric),
    "fabric-link": Document(Links),
    "fabric-ports": Document(Ports),
    "fabric-translate": Document(Translation),
    "doctor": Document(Diagnosis),
    "suite": Document(SuiteVerdict),
    "suite-cases": Document(Case, listed=True),
    "profile": Document(ProfileOutput, ("report",)),
    "history": Document(Trends, ("page",)),
    "history-diff": Document(Difference),
    "fleet": Document(Fleet, ("page",)),
    "history-filled": Document(Filled),
}


def text_of(name: str) -> str:
    """The file of one document."""
    return json.dumps(DOCUMENTS[name].schema(), indent=1) + "\n"


def path_of(name: str) -> Path:
    """Where the file of one document is."""
    return (FOLDER.parent if name in _ABOVE else FOLDER) / f"{name}.schema.json"


def page_text() -> str:
    """The page that lists them."""
    rows = []
    for name in sorted(DOCUMENTS):
        schema = DOCUMENTS[name].schema()
        says = schema.get("description") or schema["items"]["description"]
        rows.append(f"| [{name}]({path_of(name).relative_to(PAGE.parent)}) | {' '.join(says.split())} |\n")
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in DOCUMENTS:
        path_of(name).write_text(text_of(name))
    PAGE.write_text(page_text())
