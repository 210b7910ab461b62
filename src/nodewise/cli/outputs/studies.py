# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise study --json` prints where no study is named: a list of these."""

from __future__ import annotations

from nodewise.base.frozen import dataclass
from nodewise.studies.contract import Study


@dataclass(frozen=True)
class StudyKnobOutput:
    """A knob of a study; `default` is empty where it is not given by itself."""

    name: str
    meaning: str
    default: str


@dataclass(frozen=True)
class StudyOutput:
    """A study that there is."""

    study: str
    title: str
    knobs: tuple[StudyKnobOutput, ...]


def study_output(study: Study) -> StudyOutput:
    """A study's name, title and knobs."""
    return StudyOutput(
        study.name, study.title, tuple(StudyKnobOutput(k.name, k.meaning, k.default) for k in study.knobs)
    )
