# SPDX-License-Identifier: BSD-3-Clause
"""What can be known of a suite before any of it runs: whether each value of its file is one that can be used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.api.given import seconds_of, unfilled
from nodewise.api.options import choose_run, exit_codes, pattern_of
from nodewise.api.suite_file import Case, Suite, this_host
from nodewise.base.errors import InputError
from nodewise.runner.price import COST

#: What a run has a number of, whatever the program prints (`runner.objective.value_of`).
_ALWAYS = ("seconds", "wall_s", "cpu_s", "user_s", "system_s", "peak_bytes", "context_switches")
#: What the machine brings where it can.
_OF_THE_MACHINE = ("energy_j", "cycles", "instructions")


def check_cases(suite: Suite, cases: Sequence[Case]) -> None:
    """Raises InputError, with file, line and key, for the first value that cannot be used.

    What has to be there on the machine is asked only of cases that are for this one; files, only where no build can still make them.
    """
    host = this_host()
    built = any(case.build for case in suite.cases)
    for case in cases:
        _check_texts(suite, case)
        if case.is_for(host):
            _check_here(suite, case, built)


def _check_texts(suite: Suite, case: Case) -> None:
    how = case.how
    seconds_of(case.budget, suite.where(case, "budget"))
    if "timeout" in how:
        seconds_of(how["timeout"], suite.where(case, "timeout"))
    for metric, pattern in how.get("metrics", {}).items():
        pattern_of(pattern, suite.where(case, "metric", metric))
    for key in ("expect", "work"):
        if key in how:
            pattern_of(how[key], suite.where(case, key))
    if exit_codes(how.get("accept_codes", ()), suite.where(case, "accept-codes")) and how.get("ignore_failure"):
        raise InputError(
            f"{suite.where(case, 'ignore-failure')}: accept-codes is given, too",
            "leave one of them out: it accepts all",
        )
    if case.runs < 1:
        raise InputError(f"{suite.where(case, 'runs')}: at least one run is needed", "leave it out, or give 1 or more")
    if "minimize" in how and "maximize" in how:
        raise InputError(
            f"{suite.where(case, 'maximize')}: minimize is given, too", "one number decides: leave one of them out"
        )
    for name in ("minimize", "maximize"):
        # the file has no price that it could be reckoned from
        if how.get(name, "").removesuffix("/s") == COST and COST not in how.get("metrics", {}):
            raise InputError(
                f"{suite.where(case, name)}: what a run costs is not known", f"read it by metric = {{{COST} = 'REGEX'}}"
            )


def _check_here(suite: Suite, case: Case, built: bool) -> None:
    how: dict[str, Any] = dict(case.how)
    cwd = Path(how["cwd"])
    # its own build runs there, too
    if not cwd.is_dir() and (case.build or not built):
        raise InputError(f"{suite.where(case, 'cwd')}: no such directory: {cwd}")
    source = how.pop("stdin", None)
    if source is not None and not built and (Path(source).is_dir() or not os.access(source, os.R_OK)):
        raise InputError(f"{suite.where(case, 'input')}: cannot read {source}")
    _used(suite, case, ("env",), {key: how[key] for key in ("env",) if key in how})
    _used(suite, case, ("launcher", "ranks"), {key: how[key] for key in ("launcher", "ranks", "env") if key in how})


def _used(suite: Suite, case: Case, keys: tuple[str, ...], how: Mapping[str, Any]) -> None:
    if not any(key in how for key in keys):
        return
    key = next(key for key in keys if key in how)
    try:
        choose_run(**how)
    except InputError as problem:
        said = problem.what.removeprefix(f"--{key}: ")
        raise InputError(f"{suite.where(case, key)}: {said}", problem.hint) from problem


def only_by_running(suite: Suite, cases: Sequence[Case]) -> list[str]:
    """A line for each value of which only a run can say whether it is right: metrics that only the program itself could report, and
    words that look like the place of a parameter that has no values.
    """
    found: dict[str, None] = {}
    for case in cases:
        if literal := unfilled(case.command.split(), (), "parameters = {{{} = [1, 2]}} gives it values"):
            found[f"{suite.where(case, 'run')}: {literal}"] = None
        for name in ("minimize", "maximize"):
            metric = case.how.get(name, "").removesuffix("/s")
            if metric and metric not in (*_ALWAYS, *_OF_THE_MACHINE, *case.how.get("metrics", {})):
                if metric == "work" and "work" in case.how:
                    continue
                found[
                    f"{suite.where(case, name)}: no pattern of metric reads {metric}: whether {case.command.split()[0]} "
                    "itself reports it is seen when it runs"
                ] = None
    return list(found)
