# SPDX-License-Identifier: BSD-3-Clause
"""How a setting of a tune is started, and which variables of its line hold secrets."""

from pathlib import Path
from typing import Any

import pytest

from nodewise.records.experiment import Experiment
from nodewise.runner.setting import BASELINE, Setting
from nodewise.verdicts.launch import launched, to_be_set_note
from tests.verdicts.cases import Runs, tuned


def _made(path: Path, *settings: Setting) -> Experiment:
    return tuned(path, [(one, Runs(1.0), [1]) for one in (Setting(("app",)), *settings)])


@pytest.mark.parametrize(
    ("fields", "threads", "placement", "line"),
    [
        ({"values": {}, "env": {"A": "x y"}}, None, "os", "A='x y' app"),
        ({"values": {"threads": 4}, "env": {"OMP_NUM_THREADS": "4"}}, 4, "os", "OMP_NUM_THREADS=4 app"),
        ({"values": {"placement": "close"}, "places": ((0,), (1,)), "mask": (0, 1)}, 2, "close", "taskset -c 0-1 app"),
        ({"values": {}, "unset": ("KMP_AFFINITY",)}, None, "os", "env -u KMP_AFFINITY app"),
    ],
)
def test_all_of_a_line_is_said(
    tmp_path: Path, fields: dict[str, Any], threads: int | None, placement: str, line: str
) -> None:
    setting = Setting(("app",), **fields, name="one", build="make 'O=a b'")
    launch = launched(_made(tmp_path / "x", setting), setting)
    assert (launch.key, launch.values, launch.env) == ("one", setting.values, setting.env)
    assert (launch.unset, launch.command, launch.mask) == (setting.unset, ("app",), setting.mask)
    assert (launch.threads, launch.placement, launch.places) == (threads, placement, setting.places)
    assert launch.launch_line == line and launch.build == "make 'O=a b'"


def test_nothing_was_built_unless_it_was(tmp_path: Path) -> None:
    experiment = _made(tmp_path / "x")
    assert launched(experiment, experiment.settings[BASELINE]).build == ""
    assert to_be_set_note(experiment, experiment.settings[BASELINE]) == []


def test_a_secret_of_the_build_is_to_be_set(tmp_path: Path) -> None:
    masked = Setting(("app",), {"a": 1}, name="one", build="make TOKEN=<masked:TOKEN>")
    (note,) = to_be_set_note(_made(tmp_path / "x", masked), masked)
    assert "TOKEN" in note and "the launch line" in note
