# SPDX-License-Identifier: BSD-3-Clause
"""What options take, one reader for each kind of value in all commands, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nodewise.base.difference import WITHIN
from nodewise.base.errors import InputError
from nodewise.base.units import format_percent, parse_seconds, parse_share
from nodewise.cli.help import MACHINE, MEASUREMENT, OUTPUT, option

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _option_of(param: click.Parameter | None) -> str:
    return next((o for o in param.opts if o.startswith("--")), "") if param is not None else ""


if TYPE_CHECKING:
    _Kind = click.ParamType[float]
    _Counts = click.ParamType[tuple[int, ...]]
else:
    _Kind = _Counts = click.ParamType


class _Time(_Kind):
    """A duration in seconds: `90`, `90s`, `1.5min`; with `zero` also none."""

    name = "TIME"

    def __init__(self, zero: bool = False) -> None:
        self._zero = zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        if self._zero and value.strip() == "0":
            return 0.0
        return parse_seconds(value, _option_of(param))


class _Share(_Kind):
    """A part of one: `1%`, `0.01`; `whole` where it may be nothing, or more than all."""

    name = "SHARE"

    def __init__(self, whole: bool = False) -> None:
        self._most = None if whole else 1.0

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return value if isinstance(value, float) else parse_share(value, _option_of(param), self._most)


class _Threads(_Counts):
    """A number of threads, or of those of a team of each level: `8`, `2,4`."""

    name = "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if not isinstance(value, str):
            return tuple(value)
        try:
            found = tuple(int(part) for part in value.split(","))
        except ValueError:
            found = ()
        if not found or len(value) > 100:
            raise InputError(
                f"{_option_of(param)} {value[:40]!r} is no number of threads",
                "give one, such as 8, or one for each level of nested teams, such as 2,4",
            )
        return found


TIME, TIME_OR_NONE = _Time(), _Time(zero=True)
SHARE, SHARE_OR_NONE = _Share(), _Share(whole=True)
THREADS = _Threads()


class _Path(click.Path):
    """A file or a folder. An empty word is a variable that is not set, and would mean the current directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _refuse_empty(value, param, ctx)
        return super().convert(value, param, ctx)


class _Place(click.types.StringParamType):
    """A text that names a file, a folder or a machine."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _refuse_empty(value, param, ctx)
        return super().convert(value, param, ctx)


def _refuse_empty(value: Any, param: click.Parameter | None, ctx: click.Context | None) -> None:
    if value == "" and param is not None:
        metavar = param.make_metavar(ctx) if ctx is not None else ""
        raise InputError(
            f"{_option_of(param) or metavar.strip('[].')} is empty, and names nothing",
            "leave it out, or see whether a variable in it is set",
        )


PLACE = _Place()
PATH = _Path(path_type=Path)
#: A path that may be standard output.
TARGET = _Path(path_type=Path, allow_dash=True)


def out_option(what: str = "Directory of the experiment.") -> Decorator:
    """`--out DIR`."""
    usual = "[default: a new one in nodewise-experiments]"
    return option("--out", type=PATH, metavar="DIR", help=f"{what} {usual}", group=OUTPUT)


def resume_option(again: str = "--budget") -> Decorator:
    """`--resume DIR`; `again` may be given again."""
    return option(
        "--resume",
        type=PATH,
        metavar="DIR",
        help=f"Continue the experiment in DIR with the options given then; {again} may be given again.",
        group=OUTPUT,
    )


def json_option(what: str = "the verdict", more: str = "") -> Decorator:
    """`--json`."""
    return option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON{more}.", group=OUTPUT)


def machine_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--machine MACHINE`."""
    return option(
        "--machine",
        "machine_spec",
        type=PLACE,
        metavar="MACHINE",
        help="Another machine than this one: synthetic:TEXT, FILE.xml or FILE.json.",
        group=MACHINE,
    )(function)


def allow_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--allow LIST`."""
    return option("--allow", metavar="LIST", help="Use only these processors, such as 0-3,8.", group=MACHINE)(function)


def budget_option(default: str | None, more: str = "") -> Decorator:
    """`--budget TIME`."""
    return option(
        "--budget",
        type=TIME,
        metavar="TIME",
        default=default,
        show_default=default is not None,
        help=f"How long it may take: 60s, 10min, 1h.{more}",
        group=MEASUREMENT,
    )


def within_option(otherwise: str | None = None) -> Decorator:
    """`--within SHARE`; `otherwise` says what holds without it where that is known later (the value is None then)."""
    default = otherwise or format_percent(WITHIN)
    return option(
        "--within",
        type=SHARE,
        metavar="SHARE",
        default=None if otherwise else WITHIN,
        help=f"A difference up to this counts as none: 1% or 0.01. [default: {default}]",
        group=MEASUREMENT,
    )


seed_option = option(
    "--seed", type=int, default=0, metavar="N", help="Seed of the random order of runs.", group=MEASUREMENT
)


def svg_option(what: str = "Draw it into this file.") -> Decorator:
    """`--svg FILE`."""
    return option("--svg", type=PATH, metavar="FILE", help=what, group=OUTPUT)


def given_options(context: click.Context) -> dict[str, str]:
    """By the name of its parameter each option that is on the command line, as it is spelled in the help."""
    return {
        p.name: p.opts[-1] if len(p.opts) == 1 else next(o for o in p.opts if o.startswith("--"))
        for p in context.command.get_params(context)
        if isinstance(p, click.Option)
        and p.name
        and context.get_parameter_source(p.name) is ParameterSource.COMMANDLINE
    }


def refuse_ignored(
    context: click.Context, why: str, names: Iterable[str] = (), but: Iterable[str] | None = None
) -> None:
    """Raises InputError for an option of `names` that is given (or for any `but` those), since it would be ignored."""
    given = given_options(context)
    wrong = [given[n] for n in given if (n not in but if but is not None else n in names)]
    if wrong:
        raise InputError(f"{wrong[0]} would do nothing: {why}", "leave it out")
