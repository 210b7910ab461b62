# SPDX-License-Identifier: BSD-3-Clause
"""The commands that run a study's contenders: ordinary programs that speak the sample protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path
from nodewise.machine.sources import load_machine
from nodewise.studies.contract import parse_knobs
from nodewise.studies.discovery import Found, find_study
from nodewise.studies.libraries import find_library, how_it_runs, neighbours

#: What chooses the variant, in addition to the knobs.
VARIANT = "variant"
#: The worker's option for the file of a peer's library.
_LIBRARY = "--library"
_OPTION = "--variant"
_UNASKED = "it cannot be asked"


@dataclass(frozen=True)
class Contender:
    """One row of a study: `kind` is `variant`, `peer` or `limit`; `not_run` says why it cannot run here, else None.

    `env` are variables for its process, those to clear being empty. `simd` says that Highway chooses the instructions, `library`
    is the name of the one that it is by, `how` what a row says of its version and its settings.
    """

    name: str
    kind: str
    command: tuple[str, ...]
    not_run: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    simd: bool = False
    library: str | None = None
    settles: bool = False
    how: str = ""


def settling_command(command: Sequence[str]) -> tuple[str, ...]:
    """The process that only finds what has to hold for all runs of a contender, and reports it as metrics."""
    return (*command, "--settle")


def settled_command(command: Sequence[str], settled: Mapping[str, float]) -> tuple[str, ...]:
    """A contender's run with what was found for it."""
    return (*command, "--settled", *_words({k: repr(v) for k, v in settled.items()}))


def worker_command(found: Found, variant: str, point: Mapping[str, str]) -> list[str]:
    """The worker that runs a variant once at a point; threads are OpenMP's, as the environment says."""
    return [str(native_path("nodewise-worker")), str(found.binary), "--variant", variant, *_words(point)]


def rank_command(command: Sequence[str], library: str, ranks: int, threads: int) -> tuple[str, ...]:
    """What each of so many ranks runs of a native contender, joined by that MPI library."""
    return (*command, "--mpi", library, "--ranks", str(ranks), "--threads", str(threads))


def script_command(found: Found, script: Path, name: str, point: Mapping[str, str]) -> list[str]:
    """The process that runs a contender in Python once at a point, on the inputs of the study's worker, which judges it."""
    module = [sys.executable, "-m", "nodewise.studies.peer_worker"]
    return [*module, str(script), str(found.binary), "--contender", name, *_words(point)]


def _words(point: Mapping[str, str]) -> list[str]:
    return [f"{k}={v}" for k, v in point.items()]


def default_command(name: str, words: Sequence[str]) -> list[str]:
    """What `run study:NAME knob=value …` starts. Raises InputError for an unknown study, variant or knob."""
    return _default(find_study(name), words)


def _default(found: Found, words: Sequence[str]) -> list[str]:
    knobs = parse_knobs(words)
    variant = knobs.pop(VARIANT, found.study.default_variant)
    point = found.study.point(knobs)
    contenders = {c.name: c for c in native_contenders(found, point)}
    if variant not in contenders:
        contenders |= {c.name: c for c in script_contenders(found, point, {variant}) if c.kind == VARIANT}
    if variant not in contenders:
        raise InputError(
            f"study {found.study.name} has no variant {variant!r}", f"its variants are: {', '.join(contenders)}"
        )
    if contenders[variant].not_run is not None:
        raise UnavailableError(f"{variant} cannot run: {contenders[variant].not_run}")
    return list(contenders[variant].command)


def tunable_command(name: str, words: Sequence[str]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """What `tune study:NAME knob=value …` starts, with what it tries in place of each `{knob}`.

    Tried are the variant and the knobs that have `tries`, unless they are given; the study's own choice comes first. The
    variant leads, since knobs matter less than it and some only to a few of them.
    """
    return tunable(find_study(name), words)


def tunable(found: Found, words: Sequence[str]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """As `tunable_command`, of a study that was found."""
    command = _default(found, words)
    given = parse_knobs(words)
    tries = {k.name: (k.default, *k.tries) for k in found.study.knobs if k.tries and k.name not in given}
    # a program is not the worker, which takes any variant of the table
    if VARIANT not in given and _OPTION in command:
        able = [c for c in native_contenders(found, {}) if c.kind == VARIANT and c.not_run is None]
        if len(able) > 1:
            tries = {VARIANT: (found.study.default_variant, *(c.name for c in able)), **tries}
            command[command.index(_OPTION) + 1] = "{" + VARIANT + "}"
            command = _with_libraries(command, able)
    kept = [word for word in command if word.partition("=")[0] not in tries]
    return [*kept, *(f"{k}={{{k}}}" for k in tries if k != VARIANT)], {k: _once(v) for k, v in tries.items()}


def _with_libraries(command: list[str], contenders: Sequence[Contender]) -> list[str]:
    """The command with the files of all the contenders' libraries in place of one."""
    files = {c.library: c.command[c.command.index(_LIBRARY) + 1] for c in contenders if c.library}
    if not files:
        return command
    if _LIBRARY in command:
        at = command.index(_LIBRARY)
        command = [*command[:at], *command[at + 2 :]]
    return [*command, _LIBRARY, ",".join(f"{name}={file}" for name, file in files.items())]


def _once(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v for v in values if v))


def native_contenders(found: Found, point: Mapping[str, str]) -> list[Contender]:
    """The contenders of the study's table, also those that this processor or system cannot run."""
    return [_native(found, answer, point) for answer in _listed(found)["variants"]]


def table_name(found: Found) -> str:
    """What the study's table calls it. Raises InputError where it cannot be read."""
    return str(_listed(found)["study"])


def simd_targets(found: Found) -> list[str]:
    """The instruction sets that Highway can choose between on this processor, the best first."""
    return [str(name) for name in _listed(found)["simd"]]


def _listed(found: Found) -> dict[str, Any]:
    """What the worker lists of a study: its table and what it can be run on."""
    listing = [str(native_path("nodewise-worker")), str(found.binary), "--list"]
    done = subprocess.run(listing, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _refused(found, done)
    return dict(json.loads(done.stdout))


def work_of(found: Found, point: Mapping[str, str], threads: int | None = None, ranks: int = 1) -> dict[str, float]:
    """How much work a point is: `items` and, where they mean anything, `flops` and `bytes`; `working_set`, bytes of its arrays.

    All of it is that of all ranks. Raises InputError with the study's reason where the point cannot be run, with that many
    threads (None: all).
    """
    command = [str(native_path("nodewise-worker")), str(found.binary), "--work", *_words(point)]
    command += ["--threads", str(threads)] if threads is not None else []
    command += ["--ranks", str(ranks)] if ranks > 1 else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _refused(found, done)
    return dict(json.loads(done.stdout))


def _refused(found: Found, done: subprocess.CompletedProcess[str]) -> InputError:
    """What the worker said on standard error: what is wrong, and in a line of its own what to do about it."""
    printed = done.stderr.strip().removeprefix("nodewise-worker: ").removeprefix("layout: ")
    what, _, hint = printed.partition("\nhint: ")
    what = what or f"its worker ended with code {done.returncode}"
    return InputError(
        f"study {found.study.name}: {what}", hint or "`nodewise study` lists its knobs with their meaning"
    )


def _native(found: Found, answer: Mapping[str, Any], point: Mapping[str, str]) -> Contender:
    command = worker_command(found, answer["name"], point)
    reason = f"needs {answer['missing']}, which this processor lacks" if answer["missing"] else None
    env: Mapping[str, str] = {}
    how = ""
    if answer["library"] is not None:
        library = found.study.libraries[answer["library"]]
        env, path = library.env, find_library(library)
        if path is None:
            reason = reason or f"{library.files[0]} is not installed: {library.install}"
        else:
            command += [_LIBRARY, str(path)]
            how = how_it_runs(library, path, _vendor())
            env = {**neighbours(path), **env}
    simd = "simd" in answer["needs"].split(",")
    return Contender(answer["name"], answer["kind"], tuple(command), reason, env, simd, answer["library"], how=how)


@cache
def _vendor() -> str:
    """Of this machine's processor; a table may have dozens of contenders whose rows depend on it."""
    return load_machine().processor.vendor


def ask_script(question: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """What a contender in Python answers in a process of its own."""
    return subprocess.run(question, capture_output=True, text=True, check=False)


def script_contenders(found: Found, point: Mapping[str, str], among: Collection[str] | None = None) -> list[Contender]:
    """The contenders in Python, peers and programs; one that is not installed is a contender with the reason.

    Only of those `among` them (None: all) is a reason asked that takes time to find.
    """
    wanted = [] if among is None else ["--among", ",".join(sorted(among))]
    contenders = []
    for kind, path in found.scripts:
        command = script_command(found, path, path.stem, point)
        asked = ask_script([*command[:5], "--available", *wanted, *_words(point)])
        try:
            answer = json.loads(asked.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            answer = {
                "contenders": {path.stem: f"{_UNASKED}: {asked.stderr.strip()[-200:]}"},
                "environment": {},
                "settles": False,
            }
        contenders += [
            Contender(
                name,
                kind,
                tuple(script_command(found, path, name, point)),
                reason,
                answer["environment"],
                settles=answer["settles"],
            )
            for name, reason in answer["contenders"].items()
        ]
    return contenders


def contenders_of(found: Found, point: Mapping[str, str], only: Collection[str] = ()) -> list[Contender]:
    """All contenders that a point is for: the table's, then those in Python.

    Where `only` some are wanted the others have no reason that takes time to find. Raises InputError for a point that is for none.
    """
    # what it refuses is said before anything is started
    wanted = found.study.select(point) if found.study.select is not None else None
    among = (set(only) if wanted is None else {*wanted} & {*only}) if only else wanted
    every = [*native_contenders(found, point), *script_contenders(found, point, among)]
    # a file that cannot be asked has names that no study knows
    return [c for c in every if wanted is None or c.name in wanted or (c.not_run or "").startswith(_UNASKED)]
