# SPDX-License-Identifier: BSD-3-Clause
"""Find the fastest way to run a program on a machine, and prove it.

`tune`, `compare`, `confirm`, `run`, `study`, `scale`, `roofline`, `submit`, `suite`, `pipeline`, `place`, `where` and `machine` answer what the commands of these names answer, with typed
results. Nothing is printed; what goes wrong is a `NodewiseError`. See docs/python.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from nodewise.base.errors import InputError, NodewiseError, ProgramError, StoreError, UnavailableError

if TYPE_CHECKING:
    from nodewise.api.compare import compare
    from nodewise.api.confirm import confirm
    from nodewise.api.options import HowToRun
    from nodewise.api.pipeline import pipeline
    from nodewise.api.place import place
    from nodewise.api.roofline import roofline
    from nodewise.api.run import run
    from nodewise.api.scale import scale
    from nodewise.api.study import study
    from nodewise.api.submit import submit
    from nodewise.api.suite import suite
    from nodewise.api.tune import tune
    from nodewise.api.where import where
    from nodewise.base.note import Note
    from nodewise.experiments.progress import Progress, StudyProgress
    from nodewise.experiments.roofline import RooflineProgress
    from nodewise.machine.given import machine
    from nodewise.machine.model import Machine
    from nodewise.pipelines.result import PipelineResult
    from nodewise.statistics.verdict import Word
    from nodewise.verdicts.compare import CompareVerdict
    from nodewise.verdicts.confirm import ConfirmVerdict
    from nodewise.verdicts.place import PlaceOutput
    from nodewise.verdicts.roofline import RooflineVerdict
    from nodewise.verdicts.run import RunSummary
    from nodewise.verdicts.scale import ScaleVerdict
    from nodewise.verdicts.study import StudyVerdict
    from nodewise.verdicts.submitted import Submitted
    from nodewise.verdicts.suite import SuiteVerdict
    from nodewise.verdicts.tune import TuneVerdict
    from nodewise.verdicts.where import WhereOutput

__version__ = "0.1.0"
__all__ = [
    "CompareVerdict",
    "ConfirmVerdict",
    "HowToRun",
    "InputError",
    "Machine",
    "NodewiseError",
    "Note",
    "PipelineResult",
    "PlaceOutput",
    "ProgramError",
    "Progress",
    "RooflineProgress",
    "RooflineVerdict",
    "RunSummary",
    "ScaleVerdict",
    "StoreError",
    "StudyProgress",
    "StudyVerdict",
    "Submitted",
    "SuiteVerdict",
    "TuneVerdict",
    "UnavailableError",
    "WhereOutput",
    "Word",
    "compare",
    "confirm",
    "machine",
    "pipeline",
    "place",
    "roofline",
    "run",
    "scale",
    "study",
    "submit",
    "suite",
    "tune",
    "where",
]
#: Where the rest is, which is imported when it is first asked for.
_LATER = {
    "CompareVerdict": "nodewise.verdicts.compare",
    "ConfirmVerdict": "nodewise.verdicts.confirm",
    "HowToRun": "nodewise.api.options",
    "Machine": "nodewise.machine.model",
    "Note": "nodewise.base.note",
    "PipelineResult": "nodewise.pipelines.result",
    "PlaceOutput": "nodewise.verdicts.place",
    "Progress": "nodewise.experiments.progress",
    "RooflineProgress": "nodewise.experiments.roofline",
    "RooflineVerdict": "nodewise.verdicts.roofline",
    "RunSummary": "nodewise.verdicts.run",
    "ScaleVerdict": "nodewise.verdicts.scale",
    "StudyProgress": "nodewise.experiments.progress",
    "StudyVerdict": "nodewise.verdicts.study",
    "Submitted": "nodewise.verdicts.submitted",
    "SuiteVerdict": "nodewise.verdicts.suite",
    "TuneVerdict": "nodewise.verdicts.tune",
    "WhereOutput": "nodewise.verdicts.where",
    "Word": "nodewise.statistics.verdict",
    "compare": "nodewise.api.compare",
    "confirm": "nodewise.api.confirm",
    "pipeline": "nodewise.api.pipeline",
    "place": "nodewise.api.place",
    "roofline": "nodewise.api.roofline",
    "run": "nodewise.api.run",
    "scale": "nodewise.api.scale",
    "study": "nodewise.api.study",
    "submit": "nodewise.api.submit",
    "suite": "nodewise.api.suite",
    "tune": "nodewise.api.tune",
    "where": "nodewise.api.where",
}


def __getattr__(name: str) -> Any:
    if name == "machine":
        # the package itself, which can be called
        return importlib.import_module("nodewise.machine")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_LATER[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
