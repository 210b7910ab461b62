# SPDX-License-Identifier: BSD-3-Clause
"""How the settings of a tune are started: the values behind a launch line, and the line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.masking import masked_names, shell_text, to_be_set
from nodewise.records.experiment import Experiment
from nodewise.runner.launch import launch_of
from nodewise.runner.setting import Setting
from nodewise.verdicts.question import question_of


@dataclass(frozen=True)
class Launch:
    """How a setting is started: what `Setting` holds, and the line for a shell.

    `threads` is None where nothing sets them; `build` is the command that made the program (empty: none was asked for).
    """

    key: str
    values: Mapping[str, Any]
    env: Mapping[str, str]
    unset: tuple[str, ...]
    command: tuple[str, ...]
    mask: tuple[int, ...] | None
    places: tuple[tuple[int, ...], ...] | None
    placement: str
    threads: int | None
    launch_line: str
    build: str


def launched(experiment: Experiment, setting: Setting) -> Launch:
    """How a setting of an experiment is started."""
    places = setting.places
    return Launch(
        key=setting.key,
        values=dict(setting.values),
        env=dict(setting.env),
        unset=setting.unset,
        command=setting.command,
        mask=setting.mask,
        places=places,
        placement=str(setting.values.get("placement", "os")),
        threads=setting.values.get("threads", len(places) if places else None),
        launch_line=launch_of(setting, question_of(experiment).start).line(),
        build=shell_text(setting.build),
    )


def to_be_set_note(experiment: Experiment, best: Setting) -> list[str]:
    """The note where the launch line, or the build, names variables in the place of secrets."""
    names = launch_of(best, question_of(experiment).start).needed
    names = tuple(dict.fromkeys([*names, *masked_names(best.build)]))
    return [to_be_set("the launch line", names)] if names else []
