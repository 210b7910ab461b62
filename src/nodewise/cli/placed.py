# SPDX-License-Identifier: BSD-3-Clause
"""A program that `nodewise place` runs: this process becomes it, with its threads where they were placed."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError, ProgramError
from nodewise.base.processors import format_processors

if TYPE_CHECKING:
    from nodewise.api.place import Placed
    from nodewise.runner.isolation import Isolation
    from nodewise.runner.setting import Setting


def isolated(text: str) -> Isolation | None:
    """The isolation that is asked for, of a kind that is known. Raises InputError."""
    from nodewise.isolation.prepare import isolation_kind
    from nodewise.runner.isolation import read_isolation

    found = read_isolation(text)
    if found is not None:
        isolation_kind(found)
    return found


def run_placed(
    placed: Placed,
    words: tuple[str, ...],
    via: str,
    untouched: bool,
    variables: Mapping[str, str],
    isolation: Isolation | None,
) -> None:
    """Become the program; under a launcher, with the places of the rank that this process is.

    `untouched`: the environment's variables on threads hold. `variables` stand before the program, and hold whatever else is set.
    """
    from nodewise.placement.huge_pages import huge_page_environment
    from nodewise.placement.registry import binding_variables, launchers, local_rank_variables
    from nodewise.runner.binding import binding_environment, program_of
    from nodewise.runner.setting import Setting
    from nodewise.verdicts.place import is_bound

    machine, job, placement = placed.machine, placed.job, placed.resolved.placement
    if not machine.live:
        raise InputError(
            "a program can be placed only on the machine that it runs on", "leave out --machine, or the command"
        )
    places = placement.places
    inner = placement.inner[0] if placement.inner else None
    if job.ranks or len(placement.by_rank) > 1:
        number = next(
            (os.environ[name] for name in local_rank_variables() if os.environ.get(name, "").isdecimal()), None
        )
        if number is None:
            raise InputError(
                "a command with several ranks is started by their launcher",
                f"write it as: mpirun … nodewise place …, or see --to {', '.join(d.name for d in launchers() if d.writes)}",
            )
        rank = int(number) % len(placement.by_rank)
        places = placement.by_rank[rank]
        inner = placement.inner[rank] if placement.inner else None
    tied = is_bound(machine, placement)
    bound = tied or machine.held_to is not None
    count = ",".join(map(str, placement.levels or (len(places),)))
    env = {"OMP_NUM_THREADS": count} if not untouched else {}
    if tied:
        env, binding = binding_environment(words, places, os.environ, via, placement.levels, inner)
        if binding.name == "mask" and len(set(places)) > 1:
            print(f"note: threads get one mask together: {binding.why}", file=sys.stderr)
    mask = tuple(sorted({p for place in places for p in place})) if bound else None
    unset = tuple(v for v in binding_variables() if not untouched and v not in env)
    policy, pages = placed.pages
    env |= huge_page_environment(pages, os.environ, program_of(words, os.environ).libraries)
    env |= variables
    unset = tuple(v for v in unset if v not in variables)
    _execute(
        Setting(
            command=words,
            env=env,
            unset=unset,
            mask=mask,
            places=places if tied else None,
            memory=policy,
            no_huge_pages=pages == "never",
            isolation=isolation,
        )
    )


def _execute(setting: Setting) -> None:
    """Become the program, under the setting."""
    from nodewise.runner.find_program import find_program
    from nodewise.runner.memory import apply_memory

    environment = setting.environment(os.environ)
    try:
        program = find_program(setting.command, environment, None)
    except ProgramError:
        if setting.isolation is None or not setting.isolation.root:
            raise
        # the image that it runs in may have it
        program = ""
    if setting.mask is not None:
        os.sched_setaffinity(0, setting.mask)
        # what a cpuset holds back, the system leaves out without an error
        missing = set(setting.mask) - os.sched_getaffinity(0)
        if missing:
            raise ProgramError(
                f"the system does not let this process use processors {format_processors(missing)}",
                "a cpuset or a launcher's mask holds them back: plan with --allow",
            )
    apply_memory(setting.memory, setting.no_huge_pages)
    words = list(setting.command)
    if setting.isolation is not None:
        from nodewise.isolation.prepare import words_around

        words = [*words_around(setting.isolation, program, setting.mask, environment), *words]
        program = words[0]
    # what was printed is this process's alone to write
    sys.stdout.flush()
    sys.stderr.flush()
    # the interpreter ignores these for itself, and a program would go on so
    was = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    try:
        os.execve(program, words, environment)
    except OSError as problem:
        for number, handler in was.items():
            signal.signal(number, handler)
        hint = "start a script through its interpreter" if problem.errno == errno.ENOEXEC else None
        raise ProgramError(f"{setting.command[0]} cannot be executed: {problem.strerror}", hint) from problem
