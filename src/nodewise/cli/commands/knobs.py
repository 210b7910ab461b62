# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise knobs`: what can be set of runtimes and libraries, all that is known or what a command loads."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.cli.options import RunChoice, run_options

if TYPE_CHECKING:
    from nodewise.machine.model import Machine
    from nodewise.runner.loaded import Loaded
    from nodewise.tuning.catalogue.choose import Answers
    from nodewise.tuning.catalogue.knob import Follower, Knob, Library

_WIDTH = 118


@click.command()
@click.option(
    "--catalogue",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A folder with files of your own; may be repeated.",
)
@click.option("--no-run", is_flag=True, help="Go by what the command's file needs, without running it.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@run_options
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def command(catalogue: tuple[Path, ...], no_run: bool, as_json: bool, run: RunChoice, words: tuple[str, ...]) -> None:
    """Without COMMAND list every knob that nodewise knows; with it run it once, and list those of what it loads.

    Each comes with its values, what it means, what it may cost and where it is documented.
    """
    from nodewise.tuning.catalogue.read import load_catalogue

    libraries = load_catalogue(catalogue)
    if words:
        _of_command(words, libraries, run, no_run, as_json)
    elif as_json:
        print(json.dumps({"libraries": [_library(library) for library in libraries]}, indent=1))
    else:
        for library in libraries:
            print(f"{library.title}: {library.about}")
            _tell(library.knobs, library.followers)


def _of_command(
    words: tuple[str, ...], libraries: Sequence[Library], run: RunChoice, no_run: bool, as_json: bool
) -> None:
    from nodewise.machine.sources import load_machine
    from nodewise.tuning.catalogue.choose import (
        allocator_knob,
        ask_libraries,
        followers_for,
        knobs_for,
        libraries_loaded,
        worth_trying,
    )

    environment = {**os.environ, **run.env}
    machine = load_machine(None)
    loaded, usage = _loaded(words, libraries, run, environment, no_run)
    found = libraries_loaded(loaded, libraries)
    answers = ask_libraries(found, loaded, machine, environment)
    knobs = knobs_for(loaded, machine, environment, libraries, answers)
    allocator = allocator_knob(loaded, environment, libraries)
    knobs = tuple(sorted((*knobs, *([allocator] if allocator else ())), key=lambda k: -k.worth))
    followers = followers_for(loaded, libraries)
    tried = [k.name for k in worth_trying(knobs, usage=usage)]
    if as_json:
        record: dict[str, Any] = {
            "loaded": loaded.to_json(),
            "libraries": [library.name for library in found],
            "chosen": dict(answers.chosen),
            "versions": dict(answers.versions),
            "knobs": [k.to_json() for k in knobs],
            "followers": [_follower(f) for f in followers],
            "tried": tried,
        }
        print(json.dumps(record, indent=1))
        return
    print("\n".join(_heading(words, loaded, found, answers, machine)))
    print()
    _tell(knobs, followers)
    print(f"worth trying first: {', '.join(tried) or 'none'}")


def _loaded(
    words: tuple[str, ...], libraries: Sequence[Library], run: RunChoice, environment: dict[str, str], no_run: bool
) -> tuple[Loaded, dict[str, float] | None]:
    """What the command loads, and what its run used. Raises ProgramError where its run fails."""
    from nodewise.base.errors import ProgramError
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
        raise ProgramError(f"the program does not run as it is: {sample.error}{shown}", "try --no-run")
    return loaded, dict(sample.usage)


def _heading(
    words: tuple[str, ...], loaded: Loaded, found: Sequence[Library], answers: Answers, machine: Machine
) -> list[str]:
    if loaded.watched:
        seen = f"{len(loaded.mapped)} files mapped by {loaded.processes} process{'es' * (loaded.processes != 1)}"
    else:
        seen = "known by its file alone: it was not run, or ended before anyone could look"
    named = [f"{library.title} {answers.versions.get(library.name, '')}".strip() for library in found]
    return [
        f"program    {' '.join(words)}: {seen}",
        f"loads      {', '.join(named) or 'nothing that the catalogue has'}",
        f"processor  {machine.processor.model or 'unknown'}",
    ]


def _tell(knobs: Iterable[Knob], followers: Iterable[Follower]) -> None:
    for knob in knobs:
        by = f"{knob.setter.variable} {knob.setter.part}".strip()
        print(f"  {knob.name} ({by}): {', '.join(knob.values)}")
        if knob.set_by_user:
            _line("yours", f"{knob.default}, as your environment sets it")
        if knob.own:
            _line("itself", f"left to itself, {knob.title} takes {knob.own} here")
        changes = "" if knob.exact else "; results may change"
        only = f"; matters with several {knob.parallel}" if knob.parallel else ""
        _line("what", f"{knob.meaning}{only}{changes}")
        _line("else", knob.usual)
        _line("why", knob.helps)
        if knob.risk:
            _line("risk", knob.risk)
        for choice in knob.choices:
            if choice.meaning:
                needs = f" (needs {', '.join(choice.needs)})" if choice.needs else ""
                _line("value", f"{choice.name}: {choice.meaning}{needs}")
        _line("source", knob.source)
    for follower in followers:
        print(f"  {follower.setter.variable} follows the axis {follower.follows}: {follower.meaning}")
        _line("source", follower.source)
    print()


def _line(name: str, text: str) -> None:
    print(
        textwrap.fill(text, _WIDTH, initial_indent=f"    {name:<7}", subsequent_indent=" " * 11, break_long_words=False)
    )


def _follower(follower: Follower) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(follower)


def _library(library: Library) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(library), "knobs": [k.to_json() for k in library.knobs]}
