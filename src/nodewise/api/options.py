# SPDX-License-Identifier: BSD-3-Clause
"""How programs are run and judged: what every question that runs programs can be given, and what is made of it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypedDict

from nodewise.api.given import Duration, StrPath, seconds_of, split_variables
from nodewise.api.recorded import plain_how
from nodewise.base.errors import InputError
from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.isolation.prepare import isolation_kind
from nodewise.runner.isolation import PROCESS, Isolation, read_isolation
from nodewise.runner.launcher import RunOptions
from nodewise.runner.mpi import start_words
from nodewise.runner.objective import SECONDS, Objective, Shown
from nodewise.runner.price import COST, parse_price
from nodewise.runner.ranks import read_over_ranks
from nodewise.runner.same_output import TOLERANCE, Kind, SameOutput

_LONGEST_PATTERN = 16 << 10
_LARGEST = (1 << 63) - 1
_LAST_CODE = 255
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
#: What no name of a file holds, and nearly every regular expression that is worth comparing.
_PATTERN_SIGNS = re.compile(r"[\\()\[\]{}*+?|^$]")


class HowToRun(TypedDict, total=False):
    """Keywords of `tune`, `compare` and `run` that say how programs are run and which number of a run counts.

    - `timeout`: end a run after this time; `cwd`: the directory to run in; `stdin`: a file for standard input (else nothing)
    - `env`: variables over those of this process; `limits`: resource limits as in setrlimit(2), `{"AS": "2G"}`
    - `metrics`: by name a regular expression that reads a number from the output, `seconds` being what is compared;
      `work`: one that reads the amount of work; `expect`: one that the output must hold, else the run is wrong
    - `accept_codes`: exit codes other than 0 that count as well done; `ignore_failure`: all do
    - `minimize`, `maximize`: a metric that decides instead of time; `show`: metrics shown with it (`"NAME"`, or `"NAME:max"`)
    - `cost`: what an hour of this machine costs, `"3.2EUR/h"`; `cost_per_core`: only the share of the processors used
    - `accept_disturbed`: let runs decide, too, that other load or throttling disturbed
    - `wait_quiet`: before each block wait so long at most until the machine is quiet; `wait`: begin once no other
      experiment of nodewise runs here
    - `launcher`: start the program as `ranks` ranks, `ranks_per_node` of them on each node, by `"openmpi"`, `"mpich"`,
      `"intelmpi"`, `"srun"` or `"aprun"`; `over_ranks`: what becomes of metrics that several ranks print (`"mean"`, `"NAME=sum"`)
    - `isolation`: run in a container or a virtual machine, `"bwrap"`, `"runc,volume=/data"`; of several `compare` runs each
      command in each, and `tune` tries them
    """

    timeout: Duration | None
    cwd: StrPath | None
    stdin: StrPath | None
    env: Mapping[str, str | int | float] | None
    metrics: Mapping[str, str | re.Pattern[str]] | None
    expect: str | re.Pattern[str] | None
    limits: Mapping[str, int | str] | None
    work: str | re.Pattern[str] | None
    accept_codes: int | Iterable[int]
    ignore_failure: bool
    minimize: str | None
    maximize: str | None
    show: Sequence[str]
    cost: str | None
    cost_per_core: bool
    accept_disturbed: bool
    wait_quiet: Duration | None
    wait: bool
    launcher: str | None
    ranks: int | None
    ranks_per_node: int | None
    over_ranks: Sequence[str]
    isolation: str | Sequence[str]


@dataclass(frozen=True)
class RunChoice:
    """How the user wants programs to be run and judged.

    `options` are for the launcher, `env` goes over the inherited environment, `objective` is the number that counts, `shown`
    are those to be shown besides. With `accept_disturbed` runs that something disturbed decide, too; `wait_quiet_s` is how long a
    quiet machine is waited for before a block; with `wait` other experiments on this machine end first.
    `start` are the words that start ranks, to stand before those of the program; empty where none are asked for.
    `how` are the keywords that say all this, as plain values. `isolation` is what programs are isolated by, one after the other
    (None: plain processes); empty where nothing is said of it.
    """

    options: RunOptions
    env: dict[str, str]
    objective: Objective = SECONDS
    shown: Shown = field(default_factory=Shown)
    accept_disturbed: bool = False
    wait_quiet_s: float | None = None
    wait: bool = False
    how: Mapping[str, Any] = field(default_factory=dict)
    start: tuple[str, ...] = ()
    isolation: tuple[Isolation | None, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """What programs inherit: this process's variables as they are now, and `env` over them."""
        return {**os.environ, **self.env}


def with_variables(
    run: RunChoice, words: Sequence[str], parameters: Iterable[str] = ()
) -> tuple[RunChoice, tuple[str, ...]]:
    """How to run, with the variables that lead the command among those of `env`, and the command without them.

    Raises InputError where no program follows them, and where one has the place of a parameter, which only a command has.
    """
    found, program = split_variables(words)
    if not found:
        return run, program
    if not program or (" " in "".join(found.values()) and shutil.which(program[0]) is None):
        # one word with blanks in it may be meant as a line for a shell
        lines = [i for i, word in enumerate(words) if " " in word]
        hint = "name it behind its variables: -- OMP_NUM_THREADS=4 ./app"
        if lines:
            line = " ".join([*words[: lines[0] + 1], *map(shlex.quote, words[lines[0] + 1 :])])
            hint = f"write its words each by itself, or give the line to a shell: -- sh -c {shlex.quote(line)}"
        raise InputError(f"no program follows {shlex.join(words[: len(words) - len(program)])}", hint)
    for name, value in found.items():
        if (parameter := next((p for p in parameters if "{" + p + "}" in value), None)) is not None:
            raise InputError(
                f"{name}={value}: -P {parameter} is put into the words of a command, not into a variable",
                f"try the variable's values with --env-axis {name}=VALUES",
            )
    env = {**run.env, **found}
    return replace(run, env=env, how={**run.how, "env": env}), program


def choose_run(
    *,
    timeout: Duration | None = None,
    cwd: StrPath | None = None,
    stdin: StrPath | None = None,
    env: Mapping[str, str | int | float] | None = None,
    metrics: Mapping[str, str | re.Pattern[str]] | None = None,
    expect: str | re.Pattern[str] | None = None,
    limits: Mapping[str, int | str] | None = None,
    work: str | re.Pattern[str] | None = None,
    accept_codes: int | Iterable[int] = (),
    ignore_failure: bool = False,
    minimize: str | None = None,
    maximize: str | None = None,
    show: Sequence[str] = (),
    cost: str | None = None,
    cost_per_core: bool = False,
    accept_disturbed: bool = False,
    wait_quiet: Duration | None = None,
    wait: bool = False,
    launcher: str | None = None,
    ranks: int | None = None,
    ranks_per_node: int | None = None,
    over_ranks: Sequence[str] = (),
    isolation: str | Sequence[str] = (),
) -> RunChoice:
    """The choice that the keywords of `HowToRun` make. Raises InputError where they do not go together."""
    # all keywords, and nothing else: no line stands before this one
    given = dict(locals())
    accept_codes = given["accept_codes"] = exit_codes(accept_codes, "--accept-codes")
    if minimize and maximize:
        raise InputError("--minimize and --maximize cannot both be given", "one number decides; the others are shown")
    if ignore_failure and accept_codes:
        raise InputError("--ignore-failure and --accept-codes cannot both be given", "the first accepts all codes")
    folder, source = _folder_and_input(cwd, stdin)
    patterns = {**{one_line(name): p for name, p in (metrics or {}).items()}, **({"work": work} if work else {})}
    if cost_per_core and not cost:
        raise InputError(
            "--cost-per-core says how --cost is meant", "give the price of an hour of the machine: --cost 3.2/h"
        )
    price = parse_price(cost, cost_per_core) if cost else None
    objective = Objective(one_line(maximize or minimize or SECONDS.metric), bool(maximize))
    others = _others(objective, show, priced=price is not None, own=patterns)
    options = RunOptions(
        cwd=folder,
        stdin=source.absolute() if source else None,
        timeout_s=seconds_of(timeout, "--timeout") if timeout is not None else None,
        metrics={name: pattern_of(pattern, f"--metric {name}") for name, pattern in patterns.items()},
        expect=pattern_of(expect, "--expect") if expect is not None else None,
        accepted=None if ignore_failure else frozenset(accept_codes),
        limits={name: _size(name, value) for name, value in (limits or {}).items()},
        price=price,
        needed=(objective.metric, *(one.metric for one in others)),
        over_ranks=read_over_ranks(over_ranks),
        one_clock=objective.metric == SECONDS.metric or objective.metric.endswith("/s"),
    )
    shown = Shown(others, price.currency if price else "")
    quiet_s = seconds_of(wait_quiet, "--wait-quiet") if wait_quiet is not None else None
    variables = _variables(env or {})
    start = _start(launcher, ranks, ranks_per_node, {**os.environ, **variables})
    isolated = _isolation([isolation] if isinstance(isolation, str) else isolation, start)
    how = plain_how({**given, "isolation": [one.text if one else PROCESS for one in isolated]})
    return RunChoice(options, variables, objective, shown, accept_disturbed, quiet_s, wait, how, start, isolated)


def _folder_and_input(cwd: StrPath | None, stdin: StrPath | None) -> tuple[Path | None, Path | None]:
    """Where the program runs and what it reads. Raises InputError for what is not there."""
    folder, source = (None if path is None else Path(path) for path in (cwd, stdin))
    if folder is not None and not folder.is_dir():
        raise InputError(f"--cwd: no such directory: {folder}")
    if source is not None and (source.is_dir() or not os.access(source, os.R_OK)):
        raise InputError(f"--input: cannot read {source}", "name a file; without --input there is nothing to read")
    return folder, source


def _others(objective: Objective, show: Sequence[str], *, priced: bool, own: Collection[str]) -> tuple[Objective, ...]:
    """The numbers that are shown besides the one that decides; `own` are those that patterns find. Raises InputError for a cost without a price."""
    asked = {o.metric: o for o in map(_shown, [*([COST] if priced else []), *show])}
    asked.pop(objective.metric, None)
    if not priced and COST not in own and any(m.removesuffix("/s") == COST for m in (objective.metric, *asked)):
        raise InputError("what a run costs is not known", "give the price of an hour of the machine: --cost 3.2/h")
    return tuple(asked.values())


def exit_codes(given: int | Iterable[int], option: str) -> list[int]:
    """The exit codes besides 0, ascending. Raises InputError for what is none."""
    found = sorted({given} if isinstance(given, int) else set(given))
    if wrong := [code for code in found if not 0 <= code <= _LAST_CODE]:
        raise InputError(
            f"{option}: {wrong[0]} is no exit code", f"they are from 1 to {_LAST_CODE}; what a signal ends has none"
        )
    return [code for code in found if code]


def _isolation(texts: Sequence[str], start: Sequence[str]) -> tuple[Isolation | None, ...]:
    """What the texts name, each once. Raises InputError for a kind that is not known, and where ranks are started, too."""
    found = tuple(dict.fromkeys(read_isolation(text) for text in texts))
    for one in found:
        if one is not None:
            isolation_kind(one)
    if start and any(found):
        raise InputError(
            "--isolation and --launcher cannot both be given: ranks are started by their launcher, outside of a container",
            "isolate each rank instead: mpirun -n 4 nodewise place --isolation bwrap -- ./app",
        )
    return found


def _start(
    launcher: str | None, ranks: int | None, per_node: int | None, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The words that start ranks; none where none are asked for. Raises InputError."""
    if launcher is None and ranks is None and per_node is None:
        return ()
    if launcher is None or ranks is None:
        raise InputError(
            "--launcher and --ranks say together how ranks are started, and one of them is missing",
            "give both: --launcher mpich --ranks 4; or write the launcher before the program: -- mpirun -n 4 ./app",
        )
    return start_words(launcher, ranks, per_node or 0, environment)


def _variables(given: Mapping[str, str | int | float]) -> dict[str, str]:
    for name, value in given.items():
        if not isinstance(name, str) or not name or "=" in name or not isinstance(value, str | int | float):
            raise InputError(
                f"--env: {name!r} with {value!r} is no variable with its value", "give such as {'OMP_NUM_THREADS': 4}"
            )
    return {name: str(value) for name, value in given.items()}


def pattern_of(given: str | re.Pattern[str], option: str) -> re.Pattern[str]:
    """A regular expression, `^` and `$` meaning those of a line where it is given as text. Raises InputError."""
    if isinstance(given, re.Pattern):
        return given
    # what is longer takes minutes to be understood
    if len(given) > _LONGEST_PATTERN:
        raise InputError(f"{option}: a regular expression has at most {_LONGEST_PATTERN >> 10} KiB")
    try:
        return re.compile(given, re.MULTILINE)
    except re.error as problem:
        raise InputError(f"{option}: {given!r} is no regular expression: {problem}") from problem
    except (RecursionError, OverflowError) as problem:
        raise InputError(f"{option}: {given[:60]!r}… is nested too deeply, or repeats too often") from problem


def _size(name: str, given: int | str) -> int:
    match = re.fullmatch(r"(\d+)([KMGT]?)(?:I?B)?", str(given).upper())
    if not match:
        raise InputError(f"--limit {name}: not a size: {given!r}", "write it such as 4096, 512M or 2G (1024-based)")
    if len(match[1]) > 20 or (size := int(match[1]) * _SIZES[match[2]]) > _LARGEST:
        raise InputError(f"--limit {name}: no limit is as large: {given!r}", f"the largest is {_LARGEST}")
    return size


def _shown(text: str) -> Objective:
    """A metric to show: less of it is better, or more where it is a rate or ends in `:max`."""
    text = one_line(text)
    name, sign, direction = text.rpartition(":")
    if sign and direction in ("min", "max") and name:
        return Objective(name, direction == "max")
    return Objective(text, text.endswith("/s"))


def looks_like_pattern(text: str) -> bool:
    """Whether a text is rather a regular expression than a file's name."""
    return bool(_PATTERN_SIGNS.search(text))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # a pattern may be longer than any name
        return False


def with_same_output(
    run: RunChoice, usual: Kind, same_output: StrPath | bool | None = None, tolerance: float | None = None
) -> RunChoice:
    """How to run, with the rule of what of a run's output has to be as the reference's.

    `same_output` is None for what is `usual`, False for nothing, True for all that is printed, a path for a file that is
    written, or a text, which is a file's name where it looks like one and else a regular expression. Raises InputError.
    """
    rule = _same_output(same_output, tolerance, run.options.cwd, usual)
    return with_rule(run, rule)


def with_rule(run: RunChoice, rule: SameOutput) -> RunChoice:
    """How to run, with a rule that is there already."""
    return replace(run, options=replace(run.options, same=rule))


def _same_output(given: StrPath | bool | None, tolerance: float | None, cwd: Path | None, usual: Kind) -> SameOutput:
    if given == "":
        raise InputError("same_output: it is empty, and names nothing", "leave it out, or name a file or a pattern")
    if tolerance is not None and not 0 <= tolerance < 1:
        raise InputError(f"--tolerance {tolerance:g} is not from 0 up to 1", "it is relative: 1e-6 allows a millionth")
    if tolerance is not None and (given is False or (given is None and usual is Kind.OFF)):
        raise InputError("--tolerance is of --same-output, which is not given")
    allowed = TOLERANCE if tolerance is None else tolerance
    if given is None or isinstance(given, bool):
        return SameOutput(Kind.OUTPUT if given else usual if given is None else Kind.OFF, tolerance=allowed)
    if not isinstance(given, str):
        return SameOutput(Kind.FILE, os.fspath(given), allowed)
    if _is_file(Path(cwd or ".", given)) or not looks_like_pattern(given):
        return SameOutput(Kind.FILE, given, allowed)
    return SameOutput(Kind.PATTERN, pattern_of(given, "--same-output").pattern, allowed)
