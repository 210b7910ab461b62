# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a folder that is taken for an experiment's."""

from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.records.experiment import read_question


def _hint(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_question(path)
    return caught.value.hint or ""


def test_a_profile_and_a_folder_of_several_say_what_to_do(tmp_path: Path) -> None:
    assert _hint(tmp_path) == "name the folder of an experiment, which holds its report"
    for name in ("solve_n=1", "solve_n=2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "question.json").write_text("{}")
        (tmp_path / "notes").mkdir(exist_ok=True)
    assert _hint(tmp_path) == f"name one of those in it: {tmp_path / 'solve_n=1'} (2 in all)"
    (tmp_path / "profile.json").write_text("{}")
    assert _hint(tmp_path) == f"it holds a profile: nodewise profile --read {tmp_path}"
