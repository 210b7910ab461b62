# SPDX-License-Identifier: BSD-3-Clause
"""Questions of experiments as they are stored, for tests that ask nothing of them but to be whole."""

from pathlib import Path
from typing import Any

from nodewise.experiments.compare import CompareQuestion
from nodewise.experiments.contenders import Contender
from nodewise.experiments.tune_question import Question
from nodewise.runner.setting import Setting
from tests.surfaces import machine


def tune_question(**more: Any) -> dict[str, Any]:
    """Of a tune of the command `a`, with other fields than the usual."""
    question = Question(("a",), machine(2, 1), None, Path("e"), environment={}, asked=("nodewise", "tune", "a"))
    return {**question.to_json(), **more}


def compare_question(*names: str, **more: Any) -> dict[str, Any]:
    """Of a comparison of commands of these names."""
    contenders = tuple(Contender(Setting((name,), name=name), name) for name in names or ("a", "b"))
    question = CompareQuestion(contenders, machine(2, 1), Path("e"), environment={}, asked=("nodewise", "compare"))
    return {**question.to_json(), **more}
