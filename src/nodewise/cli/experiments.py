# SPDX-License-Identifier: BSD-3-Clause
"""Directories of experiments: a new one for each question, and going on with one that was cut off."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path

import click

from nodewise.api.experiment import read_question
from nodewise.base.errors import InputError

_FOLDER = Path("nodewise-experiments")


def place_for(name: str) -> Path:
    """A directory of its own for each experiment: what it is about and the time."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "experiment"
    base = _FOLDER / f"{plain}-{datetime.now():%Y%m%d-%H%M%S}"
    path, count = base, 1
    while path.exists():
        count += 1
        path = base.with_name(f"{base.name}-{count}")
    return path


def again_in(context: click.Context, path: Path, kind: str) -> None:
    """Run the command that made the experiment in `path` again, to go on in its directory.

    The working directory and the variables that bear on a run become those of then; --json holds if it is given now.
    Raises InputError where `path` holds no experiment of that kind.
    """
    path = path.absolute()
    question = read_question(path)
    asked = list(question.get("asked") or [])
    if question.get("kind") != kind or kind not in asked:
        raise InputError(
            f"{path} holds no {kind} that can be continued",
            f"name the directory of a `nodewise {kind}` that was cut off",
        )
    try:
        os.chdir(question["cwd"])
    except OSError as problem:
        raise InputError(f"cannot go on in {question['cwd']}: {problem.strerror}") from problem
    os.environ.update(question["environment"])
    command = context.command
    inner = command.make_context(kind, asked[asked.index(kind) + 1 :], parent=context.parent, obj="resumed")
    inner.params |= {"resume": path, "as_json": context.params["as_json"]}
    with inner:
        command.invoke(inner)
