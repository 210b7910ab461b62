# SPDX-License-Identifier: BSD-3-Clause
"""The command line that asks what a caller asked, so that `--resume`, `confirm` and a page's reader can ask it again.

Each function is empty-handed where no command line says the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from nodewise.api.given import (
    Command,
    Duration,
    Processors,
    Share,
    StrPath,
    Values,
    processors_of,
    seconds_of,
    share_of,
    values_of,
)
from nodewise.api.options import looks_like_pattern
from nodewise.base.errors import InputError
from nodewise.experiments.contenders import parse_values
from nodewise.machine.model import Machine
from nodewise.runner.launch import quoted_line

#: Longer than anything runs, for what has no bound in time.
_ENDLESS = "10000d"
#: Keywords of `nodewise.HowToRun` by the option that says them, of one value, of several, and flags.
_ONE = {
    **{name: name for name in ("cwd", "expect", "work", "minimize", "maximize", "cost", "launcher", "ranks")},
    "ranks_per_node": "ranks-per-node",
    "stdin": "input",
}
_NAMED = {"env": "env", "metrics": "metric", "limits": "limit"}
_FLAGS = ("cost_per_core", "accept_disturbed", "wait", "ignore_failure")


class _NotSaidError(Exception):
    """No command line says it."""


class _Words:
    """The words of a command line as they are put together."""

    def __init__(self, command: str) -> None:
        self.made = ["nodewise", command]

    def option(self, name: str, value: object) -> None:
        """`--name=value`, where there is a value."""
        if value is not None:
            self.made.append(f"--{name.replace('_', '-')}={value}")

    def named(self, name: str, values: Mapping[str, object]) -> None:
        """`--name KEY=VALUE` for each; the option by itself, so that what hides a value may look at its name."""
        for key, value in values.items():
            if "=" in key:
                raise _NotSaidError
            self.made += [f"--{name}", f"{key}={value}"]

    def flag(self, name: str, given: bool) -> None:
        """`--name`, where it holds."""
        if given:
            self.made.append(f"--{name.replace('_', '-')}")

    def how(self, how: Mapping[str, object]) -> None:
        """The plain values of `nodewise.HowToRun`."""
        for keyword, value in how.items():
            if keyword in _ONE:
                self.option(_ONE[keyword], value)
            elif keyword in _NAMED and isinstance(value, Mapping):
                self.named(_NAMED[keyword], value)
            elif keyword in _FLAGS:
                self.flag(keyword, bool(value))
            elif keyword == "accept_codes" and isinstance(value, Sequence):
                self.option(keyword, ",".join(map(str, value)))
            elif keyword in ("show", "over_ranks", "isolation") and isinstance(value, Sequence):
                for one in value:
                    self.option(keyword, one)
            elif isinstance(value, float):
                self.option(keyword, _seconds(value))
            else:
                raise _NotSaidError

    def same_output(self, given: StrPath | bool | None, tolerance: float | None) -> None:
        """Which output has to be the same."""
        if given is False:
            self.flag("any-output", True)
        elif given is not None:
            if isinstance(given, os.PathLike) and looks_like_pattern(os.fspath(given)):
                raise _NotSaidError
            self.option("same-output", "" if given is True else os.fspath(given))
        self.option("tolerance", tolerance)

    def values(self, name: str, values: Mapping[str, Values] | None, in_command: bool = True) -> None:
        """What is tried in each place."""
        for key, tried in values_of(values, in_command).items():
            text = ",".join(value.replace(",", "\\,") for value in tried)
            if parse_values(text) != tried:
                raise _NotSaidError
            self.named(name, {key: text})

    def done(self, words: Iterable[str]) -> tuple[str, ...]:
        """All of them, with those of programs behind."""
        return (*self.made, "--", *words)


def _seconds(given: Duration, name: str = "duration") -> str:
    return f"{_plain(seconds_of(given, name))}s"


def _share(given: Share, name: str) -> str:
    return f"{_plain(share_of(given, name, None), 100)}%"


def _plain(number: float, times: int = 1) -> str:
    text = format(Decimal(repr(float(number))) * times, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def tune_line(
    words: Sequence[str],
    how: Mapping[str, object],
    *,
    budget: Duration | None,
    max_runs: int | None,
    axes: str | Sequence[str] | None,
    parameters: Mapping[str, Values] | None,
    env_axes: Mapping[str, Values] | None,
    build: str | None,
    constraints: Sequence[str],
    machine: Machine | StrPath | None,
    allow: Processors | None,
    within: Share,
    seed: int,
    sweep: str | Sequence[str] | None,
    history: bool,
    same_output: StrPath | bool | None,
    tolerance: float | None,
) -> tuple[str, ...]:
    """`nodewise tune …`; the arguments are those of `nodewise.tune`. Raises InputError for what is wrong in itself."""
    line = _Words("tune")
    try:
        if isinstance(machine, Machine):
            raise _NotSaidError
        line.option("budget", _ENDLESS if budget is None else _seconds(budget, "--budget"))
        line.option("max-runs", max_runs)
        line.option("axes", axes if axes is None or isinstance(axes, str) else ",".join(axes))
        line.option("sweep", sweep if sweep is None or isinstance(sweep, str) else ",".join(sweep))
        line.values("parameter", parameters)
        line.values("env-axis", env_axes, in_command=False)
        line.option("build", build)
        for one in constraints:
            line.option("constraint", one)
        line.option("machine", None if machine is None else os.fspath(machine))
        line.option("allow", None if allow is None else processors_of(allow))
        line.option("within", _share(within, "--within"))
        line.option("seed", seed)
        line.flag("no-history", not history)
        line.how(how)
        line.same_output(same_output, tolerance)
    except _NotSaidError:
        return ()
    return line.done(words)


def compare_line(
    contenders: Sequence[Command],
    how: Mapping[str, object],
    *,
    names: Sequence[str],
    parameters: Mapping[str, Values] | None,
    shell: str | None,
    steps: Mapping[str, str | Sequence[str] | None],
    runs: int | None,
    min_runs: int,
    max_runs: int | None,
    warmup: int,
    budget: Duration | None,
    within: Share,
    threshold: Share | None,
    baseline: StrPath | None,
    any_machine: bool,
    seed: int,
    same_output: StrPath | bool | None,
    tolerance: float | None,
) -> tuple[str, ...]:
    """`nodewise compare …` for commands; the arguments are those of `nodewise.compare`, texts with their shell."""
    line = _Words("compare")
    try:
        line.values("parameter", parameters)
        for name in names:
            line.option("command-name", name)
        line.option("shell", shell)
        least = None if min_runs == 1 else min_runs
        for step, given in steps.items():
            for one in (given,) if given is None or isinstance(given, str) else given:
                line.option(step, one)
        for name, number in (("runs", runs), ("min-runs", least), ("max-runs", max_runs), ("warmup", warmup)):
            line.option(name, number)
        line.option("budget", None if budget is None else _seconds(budget, "--budget"))
        line.option("within", _share(within, "--within"))
        line.option("fail-if-slower", None if threshold is None else _share(threshold, "--fail-if-slower"))
        line.option("baseline", None if baseline is None else os.fspath(baseline))
        line.flag("any-machine", any_machine)
        line.option("seed", seed)
        line.how(how)
        line.same_output(same_output, tolerance)
    except _NotSaidError:
        return ()
    return line.done(c if isinstance(c, str) else quoted_line([os.fspath(word) for word in c]) for c in contenders)


def run_line(
    words: Sequence[str],
    how: Mapping[str, object],
    *,
    runs: int,
    warmup: int,
    allow: Processors | None,
    budget: Duration,
) -> tuple[str, ...]:
    """`nodewise run …`; the arguments are those of `nodewise.run`."""
    line = _Words("run")
    try:
        line.option("runs", runs)
        line.option("warmup", warmup)
        line.option("allow", None if allow is None else processors_of(allow))
        line.option("budget", _seconds(budget, "--budget"))
        line.how(how)
    except _NotSaidError:
        return ()
    return line.done(words)


def study_line(
    name: StrPath,
    *,
    knobs: Sequence[str],
    threads: int | None,
    launcher: str | None,
    ranks: int | None,
    ranks_per_node: int | None,
    quick: bool,
    full: bool,
    only: Sequence[str],
    blocks: int,
    budget: Duration | None,
    accept_disturbed: bool,
    wait_quiet: Duration | None,
    wait: bool,
) -> tuple[str, ...]:
    """`nodewise study …`; the arguments are those of `nodewise.study`, knobs as `NAME=VALUE`."""
    line = _Words("study")
    if any("," in one for one in only):
        return ()
    line.option("threads", threads)
    line.option("launcher", launcher)
    line.option("ranks", ranks)
    line.option("ranks-per-node", ranks_per_node)
    line.flag("quick", quick)
    line.flag("full", full)
    line.option("only", ",".join(only) or None)
    if not full:
        line.option("blocks", blocks)
    line.option("budget", None if budget is None else _seconds(budget, "--budget"))
    line.flag("accept-disturbed", accept_disturbed)
    line.option("wait-quiet", None if wait_quiet is None else _seconds(wait_quiet, "--wait-quiet"))
    line.flag("wait", wait)
    return line.done([os.fspath(name), *knobs])


def confirm_line(
    experiment: StrPath,
    arguments: Sequence[str],
    how: Mapping[str, object],
    *,
    budget: Duration,
    runs: int | None,
    max_runs: int | None,
    warmup: int,
    within: Share | None,
    seed: int,
    same_output: StrPath | bool | None,
    tolerance: float | None,
) -> tuple[str, ...]:
    """`nodewise confirm …`; the arguments are those of `nodewise.confirm`."""
    line = _Words("confirm")
    try:
        line.option("runs", runs)
        line.option("warmup", warmup)
        line.option("budget", _seconds(budget, "--budget"))
        line.option("max-runs", max_runs)
        line.option("within", None if within is None else _share(within, "--within"))
        line.option("seed", seed)
        line.how(how)
        line.same_output(same_output, tolerance)
    except _NotSaidError:
        return ()
    return line.done([os.fspath(experiment), *arguments])


def scale_line(
    words: Sequence[str],
    how: Mapping[str, object],
    *,
    over: str | None,
    counts: str | Sequence[int] | None,
    weak: bool,
    to: str | Sequence[int],
    by: str | None,
    times: float,
    blocks: int,
    budget: Duration,
    machine: Machine | StrPath | None,
    allow: Processors | None,
    seed: int,
) -> tuple[str, ...]:
    """`nodewise scale …`; the arguments are those of `nodewise.scale`."""
    line = _Words("scale")
    try:
        if isinstance(machine, Machine):
            raise _NotSaidError
        line.option("over", over)
        for name, numbers in (("counts", counts), ("to", to)):
            text = numbers if numbers is None or isinstance(numbers, str) else ",".join(map(str, numbers))
            line.option(name, text or None)
        line.flag("weak", weak)
        line.option("by", by)
        line.option("times", _plain(times))
        line.option("blocks", blocks)
        line.option("budget", _seconds(budget, "--budget"))
        line.option("machine", None if machine is None else os.fspath(machine))
        line.option("allow", None if allow is None else processors_of(allow))
        line.option("seed", seed)
        line.how(how)
    except _NotSaidError:
        return ()
    return line.done(words)


def check_continuable(asked: Sequence[str], kind: str, folder: os.PathLike[str], of_functions: bool) -> None:
    """Raises InputError where no command line can continue an experiment: it says from where it can be continued."""
    if not asked:
        what = (
            "compares functions of Python"
            if of_functions
            else "was asked for from Python in a way that no command line says"
        )
        raise InputError(
            f"{folder} {what}: the command line cannot go on with it",
            f"go on there, with the same arguments: nodewise.{kind}(…, out={os.fspath(folder)!r}, resume=True)",
        )
