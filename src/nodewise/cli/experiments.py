# SPDX-License-Identifier: BSD-3-Clause
"""Directories of experiments: a new one for each question, and continuing one that was cut off."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nodewise.api.given import split_variables
from nodewise.base.errors import InputError, StoreError
from nodewise.base.files import make_directory
from nodewise.cli.masked_terminal import hide
from nodewise.cli.trust import check_owner
from nodewise.cli.wrapping import print_wrapped

if TYPE_CHECKING:
    from nodewise.base.note import Note

_FOLDER = Path("nodewise-experiments")
#: A program's name may be as long as a name of a file, and the time comes behind it.
_LONGEST_NAME = 100
#: What a file's name is for standard output.
STDOUT = Path("-")


def place_for(name: str, among: Path = _FOLDER) -> Path:
    """A directory of its own for each experiment, made: what it is about and the time. One that stays empty goes. Raises StoreError."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "experiment"
    base = among / f"{plain[:_LONGEST_NAME]}-{datetime.now():%Y%m%d-%H%M%S}"
    path, count = base, 1
    make_directory(among)
    while True:
        # made at once, so that no other one of the same second takes it
        try:
            path.mkdir()
        except FileExistsError:
            count += 1
            path = base.with_name(f"{base.name}-{count}")
        except OSError as problem:
            raise StoreError(f"cannot make {path}: {problem.strerror}", "name a directory with --out") from problem
        else:
            break
    if (context := click.get_current_context(silent=True)) is not None:
        context.call_on_close(lambda: _forget(path, path.parent))
    return path


def place_for_command(words: Sequence[str], among: Path = _FOLDER) -> Path:
    """The same, called as the program is whose words these are, with variables or env(1) before it or not."""
    _, program = split_variables(words)
    if program[:1] == ("env",) and (behind := split_variables(program[1:]))[0]:
        program = behind[1]
    return place_for(Path(program[0]).name if program else "experiment", among)


def named_place(path: Path) -> Path:
    """The directory that was asked for, made with those above it; what of these was not there and stays empty goes. Raises StoreError."""
    made = [one for one in (path, *path.parents) if not one.exists()]
    make_directory(path)
    if (context := click.get_current_context(silent=True)) is not None:
        context.call_on_close(lambda: _forget(*made))
    return path


def _forget(*paths: Path) -> None:
    """Take back directories into which nothing was written, the innermost first."""
    with suppress(OSError):
        for path in paths:
            path.rmdir()


def result_place(out: Path | None, name: str) -> Path:
    """Where a result is kept: the directory that was asked for, or one of its own. Raises InputError for one in use."""
    if out is None:
        return place_for(name)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"--out: {out} is there and not an empty directory", "name another one")
    return out


def check_target(path: Path, option: str) -> None:
    """Raises InputError where a file can surely not be written to `path`."""
    folder = path.absolute().parent
    if path == STDOUT:
        return
    if path.is_dir():
        raise InputError(f"{option}: {path} is a directory", "name a file in it")
    if not folder.is_dir():
        raise InputError(f"{option}: no such directory: {folder}", "make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option}: {folder} is not writable", "name a file in another directory")


def print_note(note: Note) -> None:
    """Print a note while the answer is still being worked out; it goes to standard error."""
    print_wrapped(str(note), sys.stderr)


def again_in(context: click.Context, path: Path, kind: str, now_too: Collection[str] = ("as_json",)) -> None:
    """Run the command that made the experiment in `path` again, to go on in its directory.

    The working directory and the variables that bear on a run become those of that time; `now_too` names parameters that
    may also be given now. Raises InputError for others, where `path` holds no experiment of that kind, and where it belongs to
    another user who is not trusted.
    """
    from nodewise.api.command_line import check_continuable
    from nodewise.api.recorded import environment_then
    from nodewise.records.experiment import CALLS, read_question
    from nodewise.records.secret_file import Revealed
    from nodewise.verdicts.question import read_question_of

    path = path.absolute()
    now = _given(context)
    for name in now.keys() - {"resume", *now_too}:
        option = next(p for p in context.command.get_params(context) if p.name == name)
        what = option.opts[-1] if isinstance(option, click.Option) else "a command"
        raise InputError(
            f"--resume goes on as it was asked for then: {what} cannot be given", "give --resume DIR alone"
        )
    check_owner(path, context)
    through = Revealed(path)
    hide(through.masks)
    question = read_question_of(read_question(path, through), path)
    asked = list(question.asked)
    if question.kind == kind:
        check_continuable(asked, kind, path, (path / CALLS).is_dir())
    if question.kind != kind or kind not in asked:
        raise InputError(
            f"{path} holds no {kind} that can be continued",
            f"name the directory of a `nodewise {kind}` that was cut off",
        )
    try:
        os.chdir(question.cwd)
        environment = environment_then(question.environment)
        os.environ.clear()
        os.environ.update(environment)
    except OSError as problem:
        raise InputError(f"cannot go on in {question.cwd}: {problem.strerror}") from problem
    except ValueError as problem:
        # a zero byte, or a name with a sign of equality
        raise InputError(
            f"{path} cannot be continued: {problem}", "its directory or environment is damaged"
        ) from problem
    command = context.command
    inner = command.make_context(kind, asked[asked.index(kind) + 1 :], parent=context.parent, obj="resumed")
    inner.params |= {**now, "resume": path, "as_json": context.params["as_json"]}
    with inner:
        command.invoke(inner)


def _given(context: click.Context) -> dict[str, Any]:
    """The parameters that are on the command line; files by their whole path, whatever directory becomes the current one."""
    given = {n: v for n, v in context.params.items() if context.get_parameter_source(n) is ParameterSource.COMMANDLINE}
    return {n: v.absolute() if isinstance(v, Path) and v != STDOUT else v for n, v in given.items()}
