# SPDX-License-Identifier: BSD-3-Clause
"""Options that every command which runs programs has, read into one value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodewise.base.errors import InputError
from nodewise.cli.completion import completer, launchers
from nodewise.cli.help import MEASUREMENT, METRICS, PROGRAM, option
from nodewise.cli.kinds import PATH, SHARE_OR_NONE, TIME, Decorator
from nodewise.cli.trust import trust_option
from nodewise.runner.same_output import TOLERANCE, Kind

if TYPE_CHECKING:
    from nodewise.api.options import RunChoice


def parse_pair(text: str, option: str, example: str) -> tuple[str, str]:
    """Read NAME=VALUE. Raises InputError."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError(f"{option} {text!r} is no NAME=VALUE", f"write it such as {option} {example}")
    return name, value


#: The parameters that keywords of another name stand for.
_KEYWORDS = {"metric": "metrics", "limit": "limits"}
#: How a program is started, and how it is judged besides.
START = ("timeout", "cwd", "stdin", "env", "expect", "accept_codes", "ignore_failure", "limit")
_PARAMETERS = (
    *START,
    *(
        "metric",
        "work",
        "minimize",
        "maximize",
        "show",
        "cost",
        "cost_per_core",
        "accept_disturbed",
        "wait_quiet",
        "wait",
        "launcher",
        "ranks",
        "ranks_per_node",
        "over_ranks",
        "isolation",
    ),
)


def run_keywords(params: Mapping[str, Any], names: Iterable[str] = _PARAMETERS) -> dict[str, Any]:
    """The keywords of `nodewise.HowToRun` that the parameters of these `names` say. Raises InputError."""
    read: dict[str, Callable[[Any], Any]] = {
        "stdin": lambda path: None if path == Path("null") else path,
        "env": lambda texts: dict(parse_pair(e, "--env", "OMP_WAIT_POLICY=active") for e in texts),
        "metric": lambda texts: dict(parse_pair(m, "--metric", "seconds='elapsed: (\\S+)'") for m in texts),
        "limit": lambda texts: dict(parse_pair(text, "--limit", "AS=2G") for text in texts),
        "accept_codes": _codes,
    }
    return {
        _KEYWORDS.get(name, name): read.get(name, lambda value: value)(params[name])
        for name in _PARAMETERS
        if name in names
    }


def _codes(texts: Sequence[str]) -> list[int]:
    try:
        return [int(code) for text in texts for code in text.split(",")]
    except ValueError as problem:
        given = ",".join(texts)
        raise InputError(f"--accept-codes {given!r} is no list of exit codes", "write it such as 1,3") from problem


#: For every command that measures.
wait_option = option(
    "--wait", is_flag=True, help="Begin once no other experiment of nodewise runs on this machine.", group=MEASUREMENT
)
disturbed_option = option(
    "--accept-disturbed",
    is_flag=True,
    help="Let disturbed runs (other load, steal, throttling, paging) decide, too.",
    group=MEASUREMENT,
)
wait_quiet_option = option(
    "--wait-quiet",
    type=TIME,
    metavar="TIME",
    help="Before each block wait until the machine is quiet, at most this long: 10min. It does not count towards the budget.",
    group=MEASUREMENT,
)
_START: tuple[Decorator, ...] = (
    option("--timeout", type=TIME, metavar="TIME", help="End a run after this time: 10s, 5min.", group=PROGRAM),
    option("--cwd", type=PATH, metavar="DIR", help="Directory to run in.", group=PROGRAM),
    option(
        "--input", "stdin", type=PATH, metavar="FILE", help="File for standard input. [default: nothing]", group=PROGRAM
    ),
    option("--env", multiple=True, metavar="NAME=VALUE", help="Set a variable for the program.", group=PROGRAM),
    option("--expect", metavar="REGEX", help="What the output must contain; a run without it is wrong.", group=METRICS),
    option(
        "--accept-codes",
        multiple=True,
        metavar="LIST",
        help="These exit codes count as success, such as 1,3.",
        group=METRICS,
    ),
    option("-i", "--ignore-failure", is_flag=True, help="Exit codes other than 0 count as success.", group=METRICS),
    option(
        "--limit",
        multiple=True,
        metavar="NAME=SIZE",
        help="Resource limit as in setrlimit: AS=2G, NOFILE=64.",
        group=PROGRAM,
    ),
)


def _handing_run(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """A command that is handed the value of these parameters as the keyword argument `run`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **params: Any) -> Any:
        from nodewise.api.options import choose_run

        run = choose_run(**run_keywords(params, names))
        return function(*args, run=run, **{n: v for n, v in params.items() if n not in names})

    return wrapped


def _with(function: Callable[..., Any], options: Sequence[Decorator]) -> Callable[..., Any]:
    for one in reversed(options):
        function = one(function)
    return function


def start_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of how a program is started, and hand it their value as the keyword argument `run`."""
    return _with(_handing_run(function, START), _START)


def run_options(of_several: str | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of how programs are run and judged, and hand it their value as the keyword argument `run`.

    `of_several` says what becomes of several kinds of --isolation; None: the command has no such option.
    """
    names = tuple(name for name in _PARAMETERS if of_several is not None or name != "isolation")
    options = [*_START, *_judging()]
    at = next(i for i, one in enumerate(options) if one is disturbed_option)
    isolation = [] if of_several is None else [_isolation_option(of_several)]
    return lambda function: _with(_handing_run(function, names), [*options[:at], *isolation, *options[at:]])


def _isolation_option(of_several: str) -> Decorator:
    return option(
        "--isolation",
        multiple=True,
        metavar="KIND[,OPTION...]",
        help="Run in a container or virtual machine: bwrap, runc, crun, gvisor, vm, microvm …; options: volume=DIR[:ro], "
        f"network=host, way=NAME, memory=2G, root=IMAGE. {of_several}",
        group=PROGRAM,
    )


def _judging() -> list[Decorator]:
    return [
        option(
            "--metric",
            multiple=True,
            metavar="NAME=REGEX",
            help="Read a number that the program prints. The one called seconds takes the place of the time; another decides with "
            "--minimize or --maximize NAME.",
            group=METRICS,
        ),
        option(
            "--work",
            metavar="REGEX",
            help="The amount of work that the program prints, for rate and redundancy.",
            group=METRICS,
        ),
        option(
            "--minimize",
            metavar="METRIC",
            help="What decides instead of time: peak_bytes, cpu_s, energy_j …",
            group=METRICS,
        ),
        option(
            "--maximize",
            metavar="METRIC",
            help="The same, where more of it is better: a metric's name, items/s …",
            group=METRICS,
        ),
        option(
            "--show",
            multiple=True,
            metavar="METRIC[:max]",
            help="Show this one, too, and compare it with what decides: energy_j, peak_bytes …; NAME:max where more is better.",
            group=METRICS,
        ),
        option(
            "--cost",
            metavar="PRICE/h",
            help="What an hour of this machine costs, such as 3.2EUR/h: runs report cost.",
            group=METRICS,
        ),
        option(
            "--cost-per-core",
            is_flag=True,
            help="Count only the share of --cost of the processors that a setting may use.",
            group=METRICS,
        ),
        launcher_options("Start --ranks ranks of the program with it, as mpirun -n 4 would."),
        option(
            "--over-ranks",
            multiple=True,
            metavar="[METRIC=]HOW",
            help="What becomes of a metric that several ranks print: max (usual), min, mean, sum. Work is summed.",
            group=METRICS,
        ),
        disturbed_option,
        wait_quiet_option,
        wait_option,
        trust_option,
    ]


def launcher_options(does: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options that start ranks; `does` says what --launcher does there."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return _with(
            function,
            [
                option(
                    "--launcher",
                    metavar="NAME",
                    shell_complete=completer(launchers),
                    help=f"{does} Such as openmpi, mpich or srun; a wrong name lists them all.",
                    group=PROGRAM,
                ),
                option(
                    "--ranks",
                    type=click.IntRange(1),
                    metavar="N",
                    help="How many ranks --launcher starts.",
                    group=PROGRAM,
                ),
                option(
                    "--ranks-per-node",
                    type=click.IntRange(1),
                    metavar="N",
                    help="How many of them on each node.",
                    group=PROGRAM,
                ),
            ],
        )

    return decorate


def same_output_keywords(params: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords `same_output` and `tolerance` that the options of `same_output_options` say. Raises InputError."""
    text, tolerance = params["same_output"], params["tolerance"]
    if params["any_output"] and (text is not None or tolerance is not None):
        raise InputError(
            "--any-output cannot be given with --same-output or --tolerance", "it says that nothing is to be compared"
        )
    # without a value it is all that is printed
    given = False if params["any_output"] else True if text == "" else text
    return {"same_output": given, "tolerance": tolerance}


def same_output_options(usual: Kind) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of comparing outputs, within those of `run_options`; the rule is in `run.options.same`.

    `usual` is what holds where nothing is said.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @option(
            "--same-output",
            is_flag=False,
            flag_value="",
            metavar="[FILE|REGEX]",
            help="A run whose output differs from the baseline's is wrong: all that it prints, what a REGEX finds in it, or a "
            "FILE that it writes. Numbers may differ by --tolerance."
            + (" [default: what it prints, where that repeats]" if usual is Kind.AUTO else ""),
            group=METRICS,
        )
        @option(
            "--tolerance",
            type=SHARE_OR_NONE,
            metavar="SHARE",
            help=f"How much numbers may differ, relatively. [default: {TOLERANCE:g}]",
            group=METRICS,
        )
        @option("--any-output", is_flag=True, help="Outputs may differ.", group=METRICS)
        @functools.wraps(function)
        def wrapped(
            *args: Any, same_output: str | None, tolerance: float | None, any_output: bool, run: RunChoice, **rest: Any
        ) -> Any:
            from nodewise.api.options import with_same_output

            params = {"same_output": same_output, "tolerance": tolerance, "any_output": any_output}
            return function(*args, run=with_same_output(run, usual, **same_output_keywords(params)), **rest)

        return wrapped

    return decorate
