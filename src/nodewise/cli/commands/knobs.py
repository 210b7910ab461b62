# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise knobs`: what can be set of runtimes and libraries, all that is known or what a command loads."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodewise.base.lists import apart
from nodewise.cli.help import Command, option
from nodewise.cli.kinds import PATH, json_option, refuse_ignored
from nodewise.cli.options import START, start_options

if TYPE_CHECKING:
    from nodewise.api.options import RunChoice
    from nodewise.machine.model import Machine
    from nodewise.runner.loaded import Loaded
    from nodewise.tuning.catalogue.choose import Answers
    from nodewise.tuning.catalogue.knob import Follower, Knob, Library
    from nodewise.tuning.catalogue.priority import Prioritized, Spent

SECTION = "Understand"
_WIDTH = 118
#: How a list is read.
_LEGEND = """Each knob stands with the variable that sets it and the values that `tune` may try; `default` sets nothing. `nodewise knobs -- ./app`
lists those that a program has and says which are worth trying; `nodewise tune --axes NAME,… -- ./app` tries them by name.
"""
#: Of the time a smaller share is not shown.
_LEAST_SHOWN = 0.01


@click.command(
    cls=Command,
    examples={
        "nodewise knobs": "every setting of every library that nodewise knows",
        "nodewise knobs -- ./solver input.dat": "what can be set of the libraries that a program loads",
    },
)
@option(
    "--catalogue",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="A folder with files of your own; may be repeated.",
    group="Knobs",
)
@option("--no-run", is_flag=True, help="Go by what the command's file needs, without running it.", group="Knobs")
@json_option("it")
@start_options
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.pass_context
def command(
    context: click.Context,
    catalogue: tuple[Path, ...],
    no_run: bool,
    as_json: bool,
    run: RunChoice,
    words: tuple[str, ...],
) -> None:
    """List what can be set of libraries, or of those COMMAND loads.

    Without COMMAND list every knob that nodewise knows; with it run it once, and list those of what it loads.

    Each comes with its values, what it means, what it may cost and where it is documented; with COMMAND also with the share of
    the run's time that it bears on, and whether tune tries it by itself.
    """
    from nodewise.tuning.catalogue.read import load_catalogue

    if not words:
        refuse_ignored(context, "there is no COMMAND to run", ("no_run", *START))
    elif no_run:
        refuse_ignored(context, "COMMAND is not run", [name for name in START if name not in ("cwd", "env")])

    libraries = load_catalogue(catalogue)
    if words:
        _of_command(words, libraries, run, no_run, as_json)
    elif as_json:
        from nodewise.cli.outputs.knobs import CatalogueOutput
        from nodewise.verdicts.encoding import encode

        print(json.dumps(encode(CatalogueOutput(tuple(libraries))), indent=1))
    else:
        print(_LEGEND)
        for library in libraries:
            print(f"{library.title}: {library.about}")
            _print_knobs(library.knobs, library.followers)


def _of_command(
    words: tuple[str, ...], libraries: Sequence[Library], run: RunChoice, no_run: bool, as_json: bool
) -> None:
    from nodewise.api.options import with_variables
    from nodewise.machine.sources import load_machine
    from nodewise.tuning.catalogue.choose import (
        allocator_knob,
        followers_for,
        knobs_for,
        libraries_loaded,
        query_libraries,
    )
    from nodewise.tuning.catalogue.priority import Spent, prioritize_knobs

    run, words = with_variables(run, words)
    environment = {**os.environ, **run.env}
    machine = load_machine(None)
    loaded, usage = _loaded(words, libraries, run, environment, no_run)
    found = libraries_loaded(loaded, libraries)
    answers = query_libraries(found, loaded, machine, environment)
    knobs = knobs_for(loaded, machine, environment, libraries, answers, command=words, usage=usage)
    allocator = allocator_knob(loaded, environment, libraries)
    prioritized = prioritize_knobs((*knobs, *([allocator] if allocator else ())), libraries, loaded, usage)
    knobs = tuple(w.knob for w in prioritized)
    followers = followers_for(loaded, libraries)
    tried = [w.knob.name for w in prioritized if w.tried]
    # a library that has nothing to set here is no news
    shown = [one for one in found if one.name in {*(k.library for k in knobs), *(f.library for f in followers)}]
    if as_json:
        from nodewise.cli.outputs.knobs import KnobsOutput, knob_output
        from nodewise.verdicts.encoding import encode

        shown_knobs = tuple(map(knob_output, prioritized))
        names = tuple(library.name for library in found)
        print(
            json.dumps(
                encode(
                    KnobsOutput(
                        loaded, names, answers.chosen, answers.versions, shown_knobs, tuple(followers), tuple(tried)
                    )
                ),
                indent=1,
            )
        )
        return
    print("\n".join(_heading(words, loaded, shown, answers, machine, Spent(loaded, usage or {}, libraries))))
    print()
    _print_knobs(knobs, followers, prioritized)
    print(f"worth trying first: {', '.join(tried) or 'none'}")


def _loaded(
    words: tuple[str, ...], libraries: Sequence[Library], run: RunChoice, environment: dict[str, str], no_run: bool
) -> tuple[Loaded, dict[str, float] | None]:
    """What the command loads, and what its run used. Raises ProgramError where its run fails."""
    from nodewise.base.errors import ProgramError
    from nodewise.experiments.first_run import or_accepting
    from nodewise.runner.loaded import needs_of, run_watched
    from nodewise.runner.local import LocalLauncher
    from nodewise.runner.setting import Setting
    from nodewise.tuning.catalogue.choose import marks_of

    marks = marks_of(libraries)
    if no_run:
        return needs_of(words, environment, marks), None
    with LocalLauncher(run.options, environment) as launcher:
        sample, loaded = run_watched(launcher, Setting(command=words), environment, marks)
    if sample.error:
        shown = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
        hint = or_accepting("--no-run goes by the command's file alone", str(sample.error))
        raise ProgramError(f"the program does not run as it is: {sample.error}{shown}", hint)
    return loaded, dict(sample.usage)


def _heading(
    words: tuple[str, ...],
    loaded: Loaded,
    found: Sequence[Library],
    answers: Answers,
    machine: Machine,
    spent: Spent,
) -> list[str]:
    if loaded.watched:
        seen = f"{len(loaded.mapped)} files mapped by {loaded.processes} process{'es' * (loaded.processes != 1)}"
    else:
        seen = "known by its file alone: it was not run, or ended before anyone could look"
    named = [_named(library, spent, answers) for library in found]
    text = textwrap.fill(
        f"loads      {', '.join(named) or 'nothing that the catalogue has'}", _WIDTH, subsequent_indent=" " * 11
    )
    return [
        f"program    {' '.join(words)}: {seen}",
        *_spent(loaded),
        text,
        f"processor  {machine.processor.model or 'unknown'}",
    ]


def _named(library: Library, spent: Spent, answers: Answers) -> str:
    """A library with its version and the share of the time that its knobs bear on, where that is known."""
    from nodewise.base.units import format_percent

    name = f"{library.title} {answers.versions.get(library.name, '')}".strip()
    share = spent.share(library.time, library.name)
    return name if share is None else f"{name} ({format_percent(share)})"


def _spent(loaded: Loaded) -> list[str]:
    """Where the time of the run went, in lines."""
    from nodewise.base.units import format_percent

    profile = loaded.profile
    if profile is None:
        return []
    if profile.missing:
        return [f"time       not known: {profile.missing}"]
    parts = [
        f"{format_percent(share)} {Path(file).name}" for file, share in profile.files.items() if share >= _LEAST_SHOWN
    ]
    giving = (
        f"; {format_percent(profile.allocation)} in malloc and its like" if profile.allocation >= _LEAST_SHOWN else ""
    )
    user = "" if profile.kernel else ", of the time in user mode"
    few = "" if profile.enough else "; too few to say"
    text = f"time       {', '.join(parts)}{giving} ({profile.samples} samples{user}{few})"
    return [textwrap.fill(text, _WIDTH, subsequent_indent=" " * 11)]


def _print_knobs(knobs: Iterable[Knob], followers: Iterable[Follower], prioritized: Iterable[Prioritized] = ()) -> None:
    judged = {w.knob.name: w for w in prioritized}
    for knob in knobs:
        by = f"{knob.setter.variable} {knob.setter.part}".strip()
        print(f"  {knob.name} ({by}): {apart(knob.values)}")
        if knob.name in judged:
            _line("tried", f"{'yes' if judged[knob.name].tried else 'no'}: {judged[knob.name].reason}")
        if knob.set_by_user:
            _line("yours", f"{knob.default}, as your environment sets it")
        if knob.own:
            _line("itself", f"left to itself, {knob.title} takes {knob.own} here")
        changes = "" if knob.exact else "; results may change"
        only = f"; matters with several {knob.parallel}" if knob.parallel else ""
        _line("what", f"{knob.meaning}{only}{changes}")
        _line("default", knob.usual)
        _line("helps", knob.helps)
        if knob.risk:
            _line("risk", knob.risk)
        for choice in knob.choices:
            needs = f" (needs {', '.join(choice.needs)})" if choice.needs else ""
            own = [t for t in (choice.meaning + needs, choice.helps, choice.risk and f"risk: {choice.risk}") if t]
            if own:
                _line("value", f"{choice.name}: {'; '.join(own)}")
        for source in dict.fromkeys(knob.source_of(value) for value in knob.values):
            _line("source", source)
    for follower in followers:
        print(f"  {follower.setter.variable} follows the axis {follower.follows}: {follower.meaning}")
        _line("source", follower.source)
    print()


def _line(name: str, text: str) -> None:
    print(
        textwrap.fill(text, _WIDTH, initial_indent=f"    {name:<8}", subsequent_indent=" " * 12, break_long_words=False)
    )
