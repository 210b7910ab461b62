# SPDX-License-Identifier: BSD-3-Clause
"""Options that every command which runs programs has, read into one value."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from nodewise.base.errors import InputError
from nodewise.base.units import parse_seconds
from nodewise.runner.launcher import RunOptions

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class RunChoice:
    """How the user wants programs to be run: `options` for the launcher, `env` over the inherited environment."""

    options: RunOptions
    env: dict[str, str]


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError(f"{option} {text!r} is no NAME=VALUE", f"write it such as {option} {example}")
    return name, value


def _pattern(text: str, option: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as problem:
        raise InputError(f"{option}: {text!r} is no regular expression: {problem}") from problem


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
) -> RunChoice:
    pairs = [_pair(m, "--metric", "seconds='elapsed: ([0-9.]+)'") for m in metric]
    limits = [_pair(text, "--limit", "AS=2G") for text in limit]
    options = RunOptions(
        cwd=cwd,
        stdin=stdin.absolute() if stdin else None,
        timeout_s=parse_seconds(timeout) if timeout else None,
        metrics={name: _pattern(pattern, f"--metric {name}") for name, pattern in pairs},
        expect=_pattern(expect, "--expect") if expect is not None else None,
        limits={name: _size(value) for name, value in limits},
    )
    return RunChoice(options, dict(_pair(e, "--env", "OMP_WAIT_POLICY=active") for e in env))


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, and hand it their value as the keyword argument `run`."""

    @click.option("--timeout", help="End a run after this time: 10s, 5min.")
    @click.option("--cwd", type=click.Path(path_type=Path), help="Directory to run in.")
    @click.option(
        "--input", "stdin", type=click.Path(path_type=Path), help="File for standard input (default: nothing)."
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
        **rest: Any,
    ) -> Any:
        return function(*args, run=_choose(timeout, cwd, stdin, env, metric, expect, limit), **rest)

    return wrapped
