# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise submit`: any experiment as a job of Slurm, or as an array of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.base.errors import InputError
from nodewise.base.meant import meant
from nodewise.cli.experiments import place_for, place_for_command, result_place
from nodewise.cli.help import JOB, OUTPUT, Command, option
from nodewise.cli.job_options import array_option, without
from nodewise.cli.kinds import PATH, given_options, refuse_ignored
from nodewise.cli.options import run_keywords

if TYPE_CHECKING:
    from nodewise.jobs.submission import Array
    from nodewise.verdicts.submitted import Submitted

SECTION = "Nodes"
#: What may be a job: each goes on by `--resume`.
_JOBS = ("tune", "compare", "study", "suite", "run", "scale", "confirm")
#: Where each says what may be given again when it goes on, without what would give it more time each time.
_MORE_TIME = ("budget", "max_runs")


@click.command(
    cls=Command,
    examples={
        "nodewise submit compare './solver a' './solver b'": "a comparison as one job, which goes on by itself when it is requeued",
        "nodewise submit --array '16%4' --sbatch 'partition=long' study is --class A": "a study on 16 nodes, four at a time",
        "nodewise submit suite run --tag quick": "a project's suite",
    },
    context_settings={"allow_interspersed_args": False},
)
@option(
    "--sbatch",
    metavar="OPTIONS",
    default="",
    help="Further options of sbatch, by their long names: 'partition=long time=4:00:00'.",
    group=JOB,
)
@array_option(
    "N of them, each in a folder of its own, at most M at once; nodewise fleet shows their nodes side by side."
)
@option(
    "--resume",
    type=PATH,
    metavar="DIR",
    help="Go on with the experiment in DIR, of any kind, with the options given then.",
    group=OUTPUT,
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND [OPTIONS]...")
@click.pass_context
def command(
    context: click.Context, /, sbatch: str, array: str | None, resume: Path | None, words: tuple[str, ...]
) -> None:
    """Run any experiment as a job of Slurm.

    COMMAND is tune, compare, study, suite run, run, scale or confirm, with its options, as without submit in front of it.

    The job has a whole node to itself, goes on where it was when it is requeued, killed or at its time limit, and prints its
    answer into its log. The directory (--out of COMMAND) has to be seen from the nodes.
    """
    from nodewise.api.submit import submit_again
    from nodewise.jobs.submission import read_array

    if resume is not None:
        refuse_ignored(context, "an array begins anew", ("array",))
        if words:
            raise InputError(f"{words[0]} would do nothing: --resume goes on with what was asked then", "leave it out")
        kind, found = submit_again(resume, sbatch)
        print(f"job       {found.job}, which goes on with the {kind} in {resume}")
    else:
        tasks = None if array is None else read_array(array)
        found = _submit(context, words, sbatch, tasks)
        name = " ".join(words[: 2 if words[0] == "suite" else 1])
        if tasks is None:
            print(
                f"job       {found.job}, one for the whole {name}: it goes on when it is requeued or at its time limit"
            )
        else:
            side = f"{found.experiment}/*/NAME, for a command of that name" if words[0] == "suite" else found.experiment
            print(f"job       {found.job}, an array of {tasks.tasks} times {name}, {tasks.told}")
            print(f"          side by side: nodewise fleet {side}")
    print(f"kept in   {found.experiment}")
    print(f"log       {found.log}")


def _submit(context: click.Context, words: Sequence[str], sbatch: str, tasks: Array | None) -> Submitted:
    """Hand the words to Slurm; what is wrong with them is found here and not in the job."""
    from nodewise.api.submit import submit_suite, submit_words
    from nodewise.cli.main import nodewise_command

    if not words or words[0] not in _JOBS or (words[0] == "suite" and words[1:2] != ("run",)):
        named = " ".join(words[: 2 if words and words[0] == "suite" else 1])
        near = meant(words[0], _JOBS) if words and words[0] not in _JOBS else ""
        raise InputError(
            f"{named} does not become a job{near}" if named else "no experiment is named that becomes a job",
            f"these do: {', '.join(name if name != 'suite' else 'suite run' for name in _JOBS)}: nodewise submit tune -- ./app",
        )
    name = words[0]
    asked = nodewise_command.get_command(context, name)
    assert asked is not None, "all of these are there"
    inner = asked.make_context(name, list(words[1:]), parent=context.parent)
    given = given_options(inner)
    for parameter in ("resume", "submit", "on", "array", "dry_run", "ci"):
        if parameter in given:
            raise InputError(
                f"{given[parameter]} of {name} cannot be a job's",
                "nodewise submit has --resume, --sbatch and --array itself",
            )
    program = inner.params.get("command_words", ())
    sbatch = _check(name, inner.params, sbatch)
    own, rest = list(words[: len(words) - len(program)]), words[len(words) - len(program) :]
    folder = inner.params["out"] or _folder(name, inner.params)
    plain = without(own, ("--out",), ())

    def suite(place: Path) -> tuple[str, ...]:
        return ("suite", "--resume", str(place), *plain[1:])

    if name == "suite":
        return submit_suite(folder, suite, sbatch, tasks)

    def first(place: Path) -> tuple[str, ...]:
        return (name, "--out", str(place), *plain[1:], *rest)

    def again(place: Path) -> tuple[str, ...]:
        return (name, "--resume", str(place), *_said_again(name, inner, given))

    return submit_words(folder, first, again, sbatch, tasks)


def _check(name: str, params: dict[str, Any], sbatch: str) -> str:
    """The options of sbatch, with the nodes that the command takes. Raises where it would end at once in its job, as it names no program, or one
    that is not there."""
    from nodewise.api.options import choose_run
    from nodewise.api.submit import check_starts, with_nodes
    from nodewise.base.words import split_words
    from nodewise.experiments.contenders import needs_shell
    from nodewise.experiments.first_run import check_runs
    from nodewise.studies.discovery import find_study

    if name == "study" and params["name"]:
        find_study(params["name"])
    if name == "tune":
        check_runs(params["max_runs"])
    if "command_words" in params and not params["command_words"]:
        raise InputError(f"there is no command to {name}", f"name it: nodewise submit {name} -- ./app")
    commands = [params["command_words"]] if "command_words" in params else []
    plain = [c for c in params.get("commands", ()) if not needs_shell(c) and not set(c) & set("{}")]
    if params.get("shell") is None and not params.get("study"):
        commands += [split_words(c) for c in plain]
    starts = [name for name in ("cwd", "env", "launcher", "ranks", "ranks_per_node") if name in params]
    run = choose_run(**run_keywords(params, starts)) if commands else None
    for words in commands:
        if run is not None and not str(words[0]).startswith("study:"):
            check_starts(words, run, params.get("build"))
    return sbatch if run is None else with_nodes(sbatch, commands, run)


def _folder(name: str, params: dict[str, Any]) -> Path:
    """Where it is kept when nobody says so."""
    if name in ("suite", "study"):
        return result_place(None, name if name == "suite" else f"study-{Path(params['name'] or name).name}")
    return place_for_command(params["command_words"]) if params.get("command_words") else place_for(name)


def _said_again(name: str, inner: click.Context, given: dict[str, str]) -> list[str]:
    """The options that an experiment does not keep: what is written and how its exit code is made."""
    from importlib import import_module

    module = import_module(f"nodewise.cli.commands.{name}")
    kept_not = {*getattr(module, "_ANEW", ("as_json",)), *(p for p in given if p.startswith("export_"))} - {*_MORE_TIME}
    said = []
    for parameter, spelled in given.items():
        value = inner.params[parameter]
        if parameter in kept_not and value is not None:
            text = "=".join(str(part) for part in value if part is not None) if isinstance(value, tuple) else str(value)
            said.append(spelled if value is True else f"{spelled}={text}")
    return said
