# SPDX-License-Identifier: BSD-3-Clause
"""Writes the schemas of the verdicts' JSON into docs/schemas, from the verdicts themselves."""

import json
from pathlib import Path

from nodewise.verdicts.compare import CompareVerdict
from nodewise.verdicts.confirm import ConfirmVerdict
from nodewise.verdicts.encoding import schema_of
from nodewise.verdicts.roofline import RooflineVerdict
from nodewise.verdicts.study import StudyVerdict
from nodewise.verdicts.tune import TuneVerdict

FOLDER = Path(__file__).parent.parent / "docs/schemas"
#: The result behind each schema, and the files that a command writes and names in its JSON.
KINDS: dict[str, tuple[type, tuple[str, ...]]] = {
    "tune": (TuneVerdict, ("report", "script")),
    "compare": (CompareVerdict, ("report",)),
    "confirm": (ConfirmVerdict, ("report",)),
    "study": (StudyVerdict, ("report",)),
    "roofline": (RooflineVerdict, ("report",)),
}


def text_of(kind: str) -> str:
    """The file of one kind of verdict."""
    return json.dumps(schema_of(*KINDS[kind]), indent=1) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in KINDS:
        (FOLDER / f"{name}.schema.json").write_text(text_of(name))
