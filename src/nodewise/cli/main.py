# SPDX-License-Identifier: BSD-3-Clause
"""The command line: parse, hand to one command, and turn what went wrong into one message and an exit code."""

import importlib
import io
import pkgutil
import sys
import traceback

import click

import nodewise
from nodewise.base.errors import NodewiseError
from nodewise.base.escaping import SHOWN
from nodewise.cli import commands

INTERRUPTED = 130
INTERNAL = 70


class _Commands(click.Group):
    """Finds a command in the module of its name, so that only the one asked for is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(m.name for m in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"nodewise.cli.commands.{cmd_name}").command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(nodewise.__version__, prog_name="nodewise")
@click.option("--traceback", "show_traceback", is_flag=True, help="On an error, show where in nodewise it arose.")
def nodewise_command(show_traceback: bool) -> None:
    """Find the fastest way to run a program on this machine, and prove it."""


def _complain(what: str, hint: str | None = None) -> None:
    print(f"error: {what}", file=sys.stderr)
    if hint:
        print(f"\nhint: {hint}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 well, 2 for bad input, 70 for a defect of nodewise's own."""
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SHOWN)
    try:
        code = nodewise_command.main(args=words, prog_name="nodewise", standalone_mode=False)
    except click.exceptions.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.ClickException as problem:
        usage = problem.ctx.get_usage() if isinstance(problem, click.UsageError) and problem.ctx else None
        hint = usage and f"{usage.replace('Usage: ', '')} (--help tells more)"
        if hint and isinstance(problem, click.NoSuchOption):
            hint += "; the options of a program come after its name"
        _complain(problem.format_message(), hint)
        return 2
    except NodewiseError as problem:
        if "--traceback" in words:
            traceback.print_exc()
        _complain(problem.what, problem.hint)
        return problem.exit_code
    except BrokenPipeError:
        sys.stdout = None
        return 0
    except Exception as problem:
        if "--traceback" in words:
            traceback.print_exc()
        _complain(
            f"a defect in nodewise: {type(problem).__name__}: {problem}",
            "run again as `nodewise --traceback …` and report what it prints",
        )
        return INTERNAL
    return code if isinstance(code, int) else 0
