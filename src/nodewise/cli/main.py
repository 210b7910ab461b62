# SPDX-License-Identifier: BSD-3-Clause
"""The command line: parse, hand to one command, and turn what went wrong into one message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import pkgutil
import re
import signal
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import nodewise
from nodewise.base.ends import asked_to_end_by, ended_like_ctrl_c
from nodewise.base.errors import NodewiseError, shortened
from nodewise.base.escaping import in_quotes
from nodewise.base.exit_codes import ExitCode
from nodewise.base.installed import entry_points_of
from nodewise.base.late import late
from nodewise.base.lists import listed
from nodewise.base.meant import meant
from nodewise.base.own_process import hear_children, what_is_lacking
from nodewise.base.registry import brought_by
from nodewise.cli import commands
from nodewise.cli.masked_terminal import masked_terminal
from nodewise.cli.streams import open_standard_streams
from nodewise.cli.typed import argument_hint, check_times, missing_hint, option_hint, stands_elsewhere, value_hint

if TYPE_CHECKING:
    from nodewise.records.kind import Kind

#: What commands stand under in the help, in this order.
SECTIONS = ("Measure", "Place", "Understand", "Studies", "Nodes", "Keep", "Others")
#: What `--help` shows of the commands.
INDEX = Path(__file__).with_name("index.json")
_LONGEST_SHOWN = 120
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_OF_THE_SYSTEM = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "the quota is used up: free some space",
    errno.EFBIG: "a file size limit (ulimit -f) is in force: raise it",
    errno.EMFILE: "too many files are open: raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "the system is short of memory",
    errno.EAGAIN: "there are too many processes: raise `ulimit -u`",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ELOOP: "its links lead round in a circle",
    errno.ENOTDIR: "a part of that path is a file",
    errno.EACCES: "it may not be used by you: name another one",
    errno.EPERM: "it may not be used by you: name another one",
    errno.EROFS: "name one on a filesystem that may be written",
    errno.EIO: "the device does not work, or the terminal is gone",
}


class _Help(click.HelpFormatter):
    """Help that is broken between words only, and never within quotes: what is copied is whole."""

    def write_text(self, text: str) -> None:
        """See `click.HelpFormatter.write_text`."""
        super().write_text(_whole(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """See `click.HelpFormatter.write_dl`."""
        super().write_dl([(first, _whole(second)) for first, second in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        """See `click.HelpFormatter.getvalue`."""
        return super().getvalue().translate(_BROKEN)


class _Context(click.Context):
    formatter_class = _Help


#: Stand for a blank and a hyphen where no line may end.
_UNBROKEN = {ord(" "): "\ue000", ord("-"): "\ue001"}
_BROKEN = {ord(stand_in): sign for sign, stand_in in zip(" -", _UNBROKEN.values(), strict=True)}
_NO_NUMBER = late(r"is not a valid (integer|float)(?: range)?(?=\.?$)")
_QUOTED = late(r"(?<!\w)(['`])(?=\S)[^'`\n]{1,50}\1(?!\w)")


def _whole(text: str) -> str:
    return _QUOTED.sub(lambda found: found[0].translate(_UNBROKEN), text).replace("-", _UNBROKEN[ord("-")])


class _Commands(click.Group):
    """Finds a command in the module of its name, so that only the one asked for is imported; others are those of kinds of experiments."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*_own_commands(), *_commands_of_kinds()})

    context_class = _Context

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, whose help is broken between words only."""
        if (command := self._found(cmd_name)) is not None:
            command.context_class = _Context
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name; what is typed apart from its number is found before it is taken for a program."""
        if args and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"no such command: {args[0]}{self._meant(args[0], ctx)}", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            check_times(command, rest)
        return name, command, rest

    def _meant(self, word: str, ctx: click.Context) -> str:
        from nodewise.studies.discovery import study_names

        # a study is named in full: nothing that is only spelled alike is meant then, nor where one command has an option of that name
        if word in study_names():
            return f"; did you mean `nodewise study {word}`?"
        having = [name for name in self.list_commands(ctx) if self._has_option(ctx, name, f"--{word}")]
        if len(having) == 1:
            return f"; did you mean `nodewise {having[0]} --{word}`?"
        return meant(word, self.list_commands(ctx))

    def _has_option(self, ctx: click.Context, name: str, spelled: str) -> bool:
        command = self.get_command(ctx, name)
        return command is not None and any(spelled in parameter.opts for parameter in command.params)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; where nobody reads what it prints, the rest is not printed."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            sys.stdout = None
            return ExitCode.WELL

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under the heading that each has, in the order of work."""
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in SECTIONS}
        index = _index()
        for name in self.list_commands(ctx):
            section, told = index.get(name) or self.summary(ctx, name)
            rows[section].append((name, told))
        width = max(len(name) for several in rows.values() for name, _ in several)
        for heading, several in rows.items():
            if several:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), said) for name, said in several])

    def summary(self, ctx: click.Context, name: str) -> tuple[str, str]:
        """The heading of a command and its help in a few words, by the command itself."""
        command = self.get_command(ctx, name)
        return _section(name), "" if command is None else command.get_short_help_str(100)

    def _found(self, cmd_name: str) -> click.Command | None:
        if cmd_name in _own_commands():
            command: click.Command = importlib.import_module(f"nodewise.cli.commands.{cmd_name}").command
            command.name = cmd_name
            return command
        kind = _commands_of_kinds().get(cmd_name)
        return None if kind is None else kind.load("command")


def _section(name: str) -> str:
    """The heading of a command: its module says it; those of other packages have the last."""
    if name not in _own_commands():
        return SECTIONS[-1]
    return str(importlib.import_module(f"nodewise.cli.commands.{name}").SECTION)


def _index() -> dict[str, tuple[str, str]]:
    """Heading and short help of the commands in the file that `tools/manual.py` writes: to load them all takes longer than the rest of `--help`."""
    index: dict[str, tuple[str, str]] = json.loads(INDEX.read_text())
    return index


@cache
def _own_commands() -> frozenset[str]:
    return frozenset(module.name for module in pkgutil.iter_modules(commands.__path__))


def _commands_of_kinds() -> dict[str, Kind]:
    """The kinds of experiments that have a command of their name; none where all kinds are nodewise's own, whose commands are modules."""
    if "nodewise.records.kind_registry" not in sys.modules and not entry_points_of("nodewise.experiments"):
        return {}
    from nodewise.records.kind_registry import all_kinds

    return {kind.name: kind for kind in all_kinds() if kind.command}


def _say_include_dir(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    del parameter
    if asked:
        from nodewise.markers import INCLUDE_DIR

        click.echo(str(INCLUDE_DIR))
        context.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.version_option(nodewise.__version__, "-V", "--version", prog_name="nodewise")
@click.option("--traceback", "show_traceback", is_flag=True, help="On an error, show where in nodewise it arose.")
@click.option(
    "--include-dir",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_say_include_dir,
    help="Show where nodewise.h and nodewise.f90 are, by which programs say what they measured.",
)
@click.pass_context
def nodewise_command(context: click.Context, /, show_traceback: bool) -> None:
    """Find the fastest way to run a program on this machine, and prove it."""
    del show_traceback
    if context.invoked_subcommand is None:
        print(context.get_help())


def _complain(what: str, hint: str | None = None) -> None:
    # where nobody can hear it the exit code is all there is
    with contextlib.suppress(OSError):
        print(f"error: {in_quotes(shortened(what))}", file=sys.stderr)
        if hint:
            print(f"\nhint: {in_quotes(hint)}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 well, 2 for bad input, 70 for a defect of nodewise's own."""
    words = sys.argv[1:] if arguments is None else arguments
    open_standard_streams()
    hear_children()
    # none that a system starts has one
    if (number := next((i for i, word in enumerate(words, 1) if "\0" in word), 0)) > 0:
        _complain(f"argument {number} holds a zero byte", "no name and no text that is read here has one")
        return ExitCode.BAD_INPUT
    if (lacking := what_is_lacking()) is not None:
        _complain(*lacking)
        return ExitCode.BAD_INPUT
    try:
        with ended_like_ctrl_c(), masked_terminal(words):
            code = _run(words)
    except KeyboardInterrupt:
        # asked once more, while the answer to the first time was on its way out
        code = _interrupted()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as problem:
        sys.stdout = None
        if not isinstance(problem, BrokenPipeError):
            _complain(f"cannot write to standard output: {problem.strerror}", _OF_THE_SYSTEM.get(problem.errno or 0))
            code = code or ExitCode.BAD_INPUT
    try:
        sys.stderr.flush()
    except OSError:
        # what nobody can hear is not tried again at the interpreter's end, whose failure would be the exit code
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    return code


def _run(words: list[str]) -> int:
    try:
        code = nodewise_command.main(args=words, prog_name="nodewise", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _interrupted()
    except click.ClickException as problem:
        usage = problem.ctx.get_usage() if isinstance(problem, click.UsageError) and problem.ctx else None
        hint = usage and f"{usage.replace('Usage: ', '')} (--help says more)"
        if isinstance(problem, click.NoSuchOption) and (told := stands_elsewhere(problem)):
            _complain(f"no such option: {problem.option_name}", told)
            return ExitCode.BAD_INPUT
        if hint and isinstance(problem, click.NoSuchOption):
            hint += f"; {option_hint(problem, words)}"
        elif isinstance(problem, click.UsageError) and (told := argument_hint(problem, words) or missing_hint(problem)):
            hint = told
        elif isinstance(problem, click.BadOptionUsage) and "does not take a value" in problem.message:
            given = next((w for w in words if w.startswith(f"{problem.option_name}=")), "")
            hint = value_hint(problem.option_name, given.partition("=")[2])
        _complain(_plain(problem), hint)
        return ExitCode.BAD_INPUT
    except NodewiseError as problem:
        if "--traceback" in words:
            _trace()
        _complain(problem.what, problem.hint)
        return problem.exit_code
    except BrokenPipeError:
        sys.stdout = None
        return 0
    except (OSError, MemoryError) as problem:
        return _of_the_system(problem, words)
    except Exception as problem:
        if isinstance(problem, RuntimeError) and str(problem).startswith("Symlink loop from "):
            # before Python 3.13 paths have an error of their own for it
            name = str(problem).removeprefix("Symlink loop from ").strip("'")
            return _of_the_system(OSError(errno.ELOOP, os.strerror(errno.ELOOP), name), words)
        return _interrupted() if _of_an_interrupt(problem) else _defect(problem, words)
    return code if isinstance(code, int) else 0


def _plain(problem: click.ClickException) -> str:
    """A message of click's as one line, without the names that it has for numbers and for arguments."""
    if (
        isinstance(problem, click.MissingParameter)
        and problem.param is not None
        and isinstance(problem.param, click.Argument)
    ):
        kind = problem.param.type
        wanted = listed(kind.choices, "or") if isinstance(kind, click.Choice) else problem.param.human_readable_name
        return f"missing: {wanted}"
    if isinstance(problem, click.MissingParameter) and isinstance(problem.param, click.Option):
        return f"{problem.param.opts[0]} is missing: {problem.param.help or problem.param.metavar}"
    message = " ".join(problem.format_message().split())
    return _NO_NUMBER.sub(lambda found: f"is no {'whole ' * (found[1] == 'integer')}number", message)


def _interrupted() -> int:
    """The exit code that a shell gives what ends by the signal that asked for it: a batch system tells by it who ended a job."""
    return ExitCode.INTERRUPTED + (asked_to_end_by() or signal.SIGINT) - signal.SIGINT


def _trace() -> None:
    """Print where what is being handled was raised."""
    import traceback

    traceback.print_exc()


def _of_the_system(problem: OSError | MemoryError, words: list[str]) -> int:
    """What is of the system's making: no space, no memory, no files or processes left."""
    # Python tries all folders that there are for them, and says so alone
    if isinstance(problem, FileNotFoundError) and str(problem.strerror).startswith("No usable temporary directory"):
        if "--traceback" in words:
            _trace()
        _complain(
            "no temporary file can be written: none of /tmp, /var/tmp and the current directory takes one",
            "free some space, raise `ulimit -f`, or name a folder that takes one by TMPDIR",
        )
        return ExitCode.BAD_INPUT
    if isinstance(problem, OSError) and problem.errno not in _OF_THE_SYSTEM:
        return _defect(problem, words)
    if "--traceback" in words:
        _trace()
    if isinstance(problem, MemoryError):
        _complain("there is not enough memory for this", "raise `ulimit -v`, or the limit of the job or container")
        return ExitCode.BAD_INPUT
    name = str(problem.filename or "")
    if not name:
        # what is left of the answer would fail once more
        sys.stdout = None if problem.errno in _NO_ROOM else sys.stdout
        name = "cannot write to standard output" if problem.errno in _NO_ROOM else "the system refuses"
    on = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…"
    _complain(f"{on}: {problem.strerror}", _OF_THE_SYSTEM[problem.errno or 0])
    return ExitCode.BAD_INPUT


def _of_an_interrupt(problem: BaseException | None) -> bool:
    """Whether it is what became of Ctrl-C: while a class is being made, Python makes it the cause of an error of its own."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__
    return problem is not None


def _without_end(words: list[str]) -> tuple[str, str]:
    """What is said where a number has more digits than Python turns into one."""
    most = sys.get_int_max_str_digits()
    word = next((w for w in words if re.search(rf"\d{{{most + 1}}}", w)), "")
    where = f"{word[:_LONGEST_SHOWN]!r}…" if word else "what was read"
    return f"{where} holds a number of more than {most} digits", "give a number that can be meant"


def _defect(problem: Exception, words: list[str]) -> int:
    if "--traceback" in words:
        _trace()
    if isinstance(problem, ValueError) and "set_int_max_str_digits" in str(problem):
        _complain(*_without_end(words))
        return ExitCode.BAD_INPUT
    if (brought := brought_by(problem)) is not None:
        _complain(
            f"{brought} failed: {type(problem).__name__}: {problem}",
            "tell those who make that package, or remove it; `nodewise --traceback …` shows where it failed",
        )
        return ExitCode.BAD_INPUT
    _complain(
        f"a defect in nodewise: {type(problem).__name__}: {problem}",
        "run again as `nodewise --traceback …` and report what it prints",
    )
    return ExitCode.DEFECT
