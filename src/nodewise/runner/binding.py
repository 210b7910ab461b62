# SPDX-License-Identifier: BSD-3-Clause
"""Binding: how a program's threads are held to their places, and the variables that do it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path
from nodewise.base.processors import format_processors
from nodewise.placement.openmp.places import openmp_environment
from nodewise.placement.placement import PlaceList
from nodewise.runner.loaded import Loaded
from nodewise.runner.program import RUNTIMES, Program, find_on_path, inspect_program

#: `openmp`: by the runtime's variables; `preload`: by a library that binds threads as they are created; `mask`: all threads
#: to all places together. `auto` chooses by the program's file.
BINDINGS = ("auto", "openmp", "preload", "mask")


@dataclass(frozen=True)
class Binding:
    """How threads are bound, and why, in words."""

    name: str
    why: str


def choose_binding(program: Program) -> Binding:
    """How threads of a program are best placed."""
    if program.openmp:
        return Binding("openmp", "it has an OpenMP runtime, which reads its places from the environment")
    if program.kind == "script":
        return Binding(
            "openmp", "it is a script: OpenMP programs that it starts read their places from the environment"
        )
    if program.kind == "unknown":
        return Binding("openmp", "what kind of program it is cannot be determined: OpenMP's variables do no harm")
    if program.linkage == "static":
        return Binding(
            "mask", "it is linked statically: no preload library can bind its threads, a mask holds all of them"
        )
    if program.guarded:
        return Binding(
            "mask", "it runs under another user's or group's rights, for which the system loads no preload library"
        )
    if program.interpreter:
        return Binding(
            "openmp", "it is an interpreter: what it loads and starts reads OpenMP's places from the environment"
        )
    if program.threads and program.foreign:
        return Binding(
            "mask", f"{program.foreign}, which the preload library is not made for: a mask holds all threads"
        )
    if program.threads:
        return Binding("preload", "it makes its threads itself: a preload library binds each as it is created")
    # its libraries may use OpenMP or make threads without its own file saying so
    return Binding(
        "openmp", "its file names neither threads nor an OpenMP runtime: libraries that it loads may read the places"
    )


def program_of(command: Sequence[str], environment: Mapping[str, str]) -> Program:
    """What a command's program is."""
    path = find_on_path(command[0], environment) if command else None
    return Program("unknown") if path is None else inspect_program(path, environment)


def binding_seen(command: Sequence[str], environment: Mapping[str, str], loaded: Loaded | None) -> Binding:
    """How a launch line that people keep places the threads of a command's program: `openmp`, or `mask` and nothing else.

    `loaded` is what was seen of a run. What a program loaded then counts more than what its file says; where it was not
    seen, the program may have an OpenMP runtime unless its file shows that it makes its threads without one.
    """
    program = program_of(command, environment)
    if loaded is not None and any(name.startswith(RUNTIMES) for name in loaded.names):
        return Binding("openmp", "it loads an OpenMP runtime, which reads its places from the environment")
    if program.openmp:
        return choose_binding(program)
    if loaded is not None and _was_seen(command, environment, program, loaded):
        return Binding("mask", "it loads no OpenMP runtime: a mask holds all of its threads together")
    if program.kind == "elf" and program.threads and not program.interpreter:
        return Binding("mask", "it makes its threads itself: a mask holds all of them together")
    chosen = choose_binding(program)
    return chosen if chosen.name == "openmp" else Binding("mask", chosen.why)


def _was_seen(command: Sequence[str], environment: Mapping[str, str], program: Program, loaded: Loaded) -> bool:
    """Whether a run of this very program was watched: a launcher may have started it where nobody could look."""
    path = find_on_path(command[0], environment) if command else None
    if path is None or not loaded.watched:
        return False
    # of a script only the interpreter is mapped
    return program.kind == "script" or os.path.realpath(path) in {os.path.realpath(p) for p in loaded.mapped}


def binding_environment(
    command: Sequence[str],
    places: Sequence[tuple[int, ...]],
    environment: Mapping[str, str],
    via: str = "auto",
    levels: Sequence[int] = (),
    inner: PlaceList | None = None,
) -> tuple[dict[str, str], Binding]:
    """The variables that place a command's threads, and how they are bound; whoever starts it sets the mask, too.

    `levels` and `inner` are as `openmp_environment` takes them: only OpenMP knows of teams within teams.
    Raises InputError for a `via` that is not known, or cannot place such.
    """
    if via not in BINDINGS:
        raise InputError(f"threads cannot be bound by {via!r}", f"give one of: {', '.join(BINDINGS)}")
    program = program_of(command, environment)
    chosen = choose_binding(program) if via == "auto" else Binding(via, "it was asked for")
    if len(levels) > 1 or inner is not None:
        if via not in ("auto", "openmp"):
            raise InputError(f"--via {via} knows nothing of teams within teams", "leave it out")
        chosen = Binding("openmp", "only OpenMP has teams within teams")
    count = {"OMP_NUM_THREADS": str(len(places))}
    if chosen.name == "openmp":
        return openmp_environment(places, levels, inner), chosen
    if chosen.name == "mask":
        return count, chosen
    library = str(native_path("libnodewise-pin.so"))
    # a program that makes threads has its main thread in place from the start; one that a script starts, at its first
    at_once = {"NODEWISE_PIN_MAIN": "start"} if program.threads else {}
    # an OpenMP runtime in one of its libraries binds its own threads, which the preload then leaves alone
    return {
        **openmp_environment(places),
        **at_once,
        "NODEWISE_PIN": ",".join("{" + format_processors(place) + "}" for place in places),
        "LD_PRELOAD": ":".join(
            [library, *(p for p in environment.get("LD_PRELOAD", "").split(":") if p and p != library)]
        ),
    }, chosen
