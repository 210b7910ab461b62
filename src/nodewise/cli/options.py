# SPDX-License-Identifier: BSD-3-Clause
"""Options that every command which runs programs has, read into one value."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.base.units import parse_seconds
from nodewise.cli.trust import trust_option
from nodewise.runner.launcher import RunOptions
from nodewise.runner.objective import SECONDS, Objective, Shown
from nodewise.runner.price import COST, parse_price
from nodewise.runner.same_output import TOLERANCE, Kind, SameOutput

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class RunChoice:
    """How the user wants programs to be run and judged.

    `options` are for the launcher, `env` goes over the inherited environment, `objective` is the number that counts, `shown`
    are those to be shown besides. With `accept_disturbed` runs that something disturbed decide, too; `wait_quiet_s` is how long a
    quiet machine is waited for before a block; with `wait` other experiments on this machine end first.
    """

    options: RunOptions
    env: dict[str, str]
    objective: Objective = SECONDS
    shown: Shown = field(default_factory=Shown)
    accept_disturbed: bool = False
    wait_quiet_s: float | None = None
    wait: bool = False


def parse_pair(text: str, option: str, example: str) -> tuple[str, str]:
    """Read NAME=VALUE. Raises InputError."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError(f"{option} {text!r} is no NAME=VALUE", f"write it such as {option} {example}")
    return name, value


def _pattern(text: str, option: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as problem:
        raise InputError(f"{option}: {text!r} is no regular expression: {problem}") from problem
    except (RecursionError, OverflowError) as problem:
        raise InputError(f"{option}: {text[:60]!r}… is nested too deeply, or repeats too often") from problem


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMGT]?)(?:i?B)?", text)
    if not match:
        raise InputError(f"not a size: {text!r}", "write it such as 4096, 512M or 2G (1024-based)")
    return int(match[1]) * _SIZES[match[2]]


def _choose(
    timeout: str | None,
    cwd: Path | None,
    stdin: Path | None,
    env: tuple[str, ...],
    metric: tuple[str, ...],
    expect: str | None,
    limit: tuple[str, ...],
    work: str | None,
    minimize: str | None,
    maximize: str | None,
    show: tuple[str, ...],
    cost: str | None,
    cost_per_core: bool,
    accept_disturbed: bool,
    wait_quiet: str | None,
    wait: bool,
) -> RunChoice:
    if minimize and maximize:
        raise InputError("--minimize and --maximize cannot both be given", "one number decides; the others are shown")
    if cwd is not None and not cwd.is_dir():
        raise InputError(f"--cwd: no such directory: {cwd}")
    if stdin == Path("null"):
        stdin = None
    if stdin is not None and (stdin.is_dir() or not os.access(stdin, os.R_OK)):
        raise InputError(f"--input: cannot read {stdin}", "name a file; without --input there is nothing to read")
    pairs = [parse_pair(m, "--metric", "seconds='elapsed: ([0-9.]+)'") for m in metric]
    pairs += [("work", work)] if work else []
    limits = [parse_pair(text, "--limit", "AS=2G") for text in limit]
    if cost_per_core and not cost:
        raise InputError(
            "--cost-per-core says how --cost is meant", "give the price of an hour of the machine: --cost 3.2/h"
        )
    objective = Objective(maximize, True) if maximize else Objective(minimize) if minimize else SECONDS
    price = parse_price(cost, cost_per_core) if cost else None
    asked = {o.metric: o for o in map(_shown, [*([COST] if price else []), *show])}
    asked.pop(objective.metric, None)
    needed = [objective.metric, *asked]
    if price is None and any(m.removesuffix("/s") == COST for m in needed) and COST not in dict(pairs):
        raise InputError("what a run costs is not known", "give the price of an hour of the machine: --cost 3.2/h")
    options = RunOptions(
        cwd=cwd,
        stdin=stdin.absolute() if stdin else None,
        timeout_s=parse_seconds(timeout, "--timeout") if timeout else None,
        metrics={name: _pattern(pattern, f"--metric {name}") for name, pattern in pairs},
        expect=_pattern(expect, "--expect") if expect is not None else None,
        limits={name: _size(value) for name, value in limits},
        price=price,
        needed=tuple(needed),
    )
    shown = Shown(tuple(asked.values()), price.currency if price else "")
    variables = dict(parse_pair(e, "--env", "OMP_WAIT_POLICY=active") for e in env)
    quiet_s = parse_seconds(wait_quiet, "--wait-quiet") if wait_quiet else None
    return RunChoice(options, variables, objective, shown, accept_disturbed, quiet_s, wait)


def _shown(text: str) -> Objective:
    """A metric to show: less of it is better, or more where it is a rate or ends in `:max`."""
    name, sign, direction = text.rpartition(":")
    if sign and direction in ("min", "max") and name:
        return Objective(name, direction == "max")
    return Objective(text, text.endswith("/s"))


def parse_share(text: str, option: str, most: float | None = 1.0) -> float:
    """Read a percentage such as `1%` or `0.5 %` as a share of one, less than `most` and, where that is None, also 0.

    Raises InputError.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    share = float(match[1]) / 100 if match else 0.0
    if match is None or (most is not None and not 0 < share < most):
        raise InputError(f"{option}: not a percentage: {text!r}", f"write it such as {option} 1%")
    return share


#: For every command that measures.
wait_option = click.option(
    "--wait", is_flag=True, help="Begin once no other experiment of nodewise runs on this machine."
)


def run_choice(params: Mapping[str, Any]) -> RunChoice:
    """The value of the options of `run_options` in a command's parameters. Raises InputError."""
    return _choose(**{name: params[name] for name in inspect.signature(_choose).parameters})


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, and hand it their value as the keyword argument `run`."""

    @click.option("--timeout", help="End a run after this time: 10s, 5min.")
    @click.option("--cwd", type=click.Path(path_type=Path), help="Directory to run in.")
    @click.option(
        "--input",
        "--stdin",
        "stdin",
        type=click.Path(path_type=Path),
        help="File for standard input (default: nothing).",
    )
    @click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set a variable for the program.")
    @click.option(
        "--metric",
        multiple=True,
        metavar="NAME=REGEX",
        help="Read a number that the program prints; seconds is compared.",
    )
    @click.option("--expect", metavar="REGEX", help="What the output must hold, else the run is wrong.")
    @click.option(
        "--limit", multiple=True, metavar="NAME=SIZE", help="Resource limit as in setrlimit: AS=2G, NOFILE=64."
    )
    @click.option(
        "--work", metavar="REGEX", help="The amount of work that the program prints, for rate and redundancy."
    )
    @click.option("--minimize", metavar="METRIC", help="What decides instead of time: peak_bytes, cpu_s, energy_j …")
    @click.option(
        "--maximize", metavar="METRIC", help="The same, where more of it is better: a metric's name, items/s …"
    )
    @click.option(
        "--show",
        multiple=True,
        metavar="METRIC[:max]",
        help="Show this one, too, and hold it against what decides: energy_j, peak_bytes …; of which more is better: NAME:max.",
    )
    @click.option(
        "--cost", metavar="PRICE/h", help="What an hour of this machine costs, such as 3.2EUR/h: runs tell cost."
    )
    @click.option(
        "--cost-per-core", is_flag=True, help="Of --cost only the share of the processors that a setting may use."
    )
    @click.option(
        "--accept-disturbed",
        is_flag=True,
        help="Let runs decide that something disturbed (other load, steal, throttling, paging), too.",
    )
    @click.option(
        "--wait-quiet",
        metavar="TIME",
        help="Before each block wait until the machine is quiet, at most so long: 10min. It counts for no budget.",
    )
    @wait_option
    @trust_option
    @functools.wraps(function)
    def wrapped(
        *args: Any,
        timeout: str | None,
        cwd: Path | None,
        stdin: Path | None,
        env: tuple[str, ...],
        metric: tuple[str, ...],
        expect: str | None,
        limit: tuple[str, ...],
        work: str | None,
        minimize: str | None,
        maximize: str | None,
        show: tuple[str, ...],
        cost: str | None,
        cost_per_core: bool,
        accept_disturbed: bool,
        wait_quiet: str | None,
        wait: bool,
        **rest: Any,
    ) -> Any:
        run = _choose(
            timeout,
            cwd,
            stdin,
            env,
            metric,
            expect,
            limit,
            work,
            minimize,
            maximize,
            show,
            cost,
            cost_per_core,
            accept_disturbed,
            wait_quiet,
            wait,
        )
        return function(*args, run=run, **rest)

    return wrapped


#: What no name of a file holds, and nearly every regular expression that is worth comparing.
_PATTERN_SIGNS = re.compile(r"[\\()\[\]{}*+?|^$]")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # a pattern may be longer than any name
        return False


def _same_output(
    text: str | None, tolerance: float | None, any_output: bool, cwd: Path | None, usual: Kind
) -> SameOutput:
    if any_output and (text is not None or tolerance is not None):
        raise InputError(
            "--any-output cannot be given beside --same-output or --tolerance", "it says that nothing is to be compared"
        )
    if tolerance is not None and not 0 <= tolerance < 1:
        raise InputError(f"--tolerance {tolerance:g} is not from 0 up to 1", "it is relative: 1e-6 allows a millionth")
    if tolerance is not None and text is None and usual is Kind.OFF:
        raise InputError("--tolerance is of --same-output, which is not given")
    allowed = TOLERANCE if tolerance is None else tolerance
    if any_output or text is None:
        return SameOutput(Kind.OFF if any_output else usual, tolerance=allowed)
    if not text:
        return SameOutput(Kind.OUTPUT, tolerance=allowed)
    if _is_file(Path(cwd or ".", text)) or not _PATTERN_SIGNS.search(text):
        return SameOutput(Kind.FILE, text, allowed)
    return SameOutput(Kind.PATTERN, _pattern(text, "--same-output").pattern, allowed)


def with_same_output(run: RunChoice, params: Mapping[str, Any], usual: Kind) -> RunChoice:
    """How to run, with the rule that the options of `same_output_options` in a command's parameters say. Raises InputError."""
    asked = (params["same_output"], params["tolerance"], params["any_output"])
    return replace(run, options=replace(run.options, same=_same_output(*asked, run.options.cwd, usual)))


def same_output_options(usual: Kind) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of comparing outputs, within those of `run_options`; the rule is in `run.options.same`.

    `usual` is what holds where nothing is said.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.option(
            "--same-output",
            is_flag=False,
            flag_value="",
            metavar="[FILE|REGEX]",
            help="A run whose output differs from the baseline's is wrong: all that it prints, what a REGEX finds in it, or a "
            "FILE that it writes. Numbers may differ by --tolerance."
            + (" [default: what it prints, where that repeats]" if usual is Kind.AUTO else ""),
        )
        @click.option(
            "--tolerance", type=float, help=f"How much numbers may differ, relatively. [default: {TOLERANCE:g}]"
        )
        @click.option("--any-output", is_flag=True, help="Outputs may differ.")
        @functools.wraps(function)
        def wrapped(
            *args: Any, same_output: str | None, tolerance: float | None, any_output: bool, run: RunChoice, **rest: Any
        ) -> Any:
            params = {"same_output": same_output, "tolerance": tolerance, "any_output": any_output}
            return function(*args, run=with_same_output(run, params, usual), **rest)

        return wrapped

    return decorate
