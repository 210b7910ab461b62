# SPDX-License-Identifier: BSD-3-Clause
"""Launcher: how a setting becomes a running process and then a Sample."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path
from typing import Protocol

from nodewise.base.frozen import dataclass
from nodewise.runner.price import Price
from nodewise.runner.ranks import OverRanks
from nodewise.runner.same_output import ANY_OUTPUT, SameOutput
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting


@dataclass(frozen=True)
class RunOptions:
    """What holds for every run of an experiment, whatever the setting.

    `metrics` read the output where the program prints no protocol: a metric named `seconds` is what is compared; the
    first group of the pattern is the number. `expect` must be found in the output, else the run is an error.
    `limits` are resource limits by their name in setrlimit(2) without RLIMIT_ (`{"AS": 1 << 30}`). `accepted` are exit
    codes other than 0 that count as well done; None accepts all. `price` gives each sample the metric `cost`, over one of
    that name that the program prints. `needed` are metrics that the first good run has to report. `same` says which part of
    its output each sample keeps as its answer. `domain` are processors on which others' load disturbs a run although it
    takes no processor from it, as those that share its memory's bandwidth. `over_ranks` says what becomes of metrics that
    several ranks print. `as_printed`: what a line to paste into a shell starts before the program (taskset, numactl) is started
    here, too, wherever its time would show. `one_clock`: times that programs report
    of themselves and those of whole runs are not compared with each other: what the first good run has counts. `returns`: the word in the one line
    of the sample protocol that counts; a run without it is an error, as that of a function which ended its process.
    """

    cwd: Path | None = None
    stdin: Path | None = None
    timeout_s: float | None = None
    metrics: dict[str, re.Pattern[str]] = field(default_factory=dict)
    expect: re.Pattern[str] | None = None
    limits: dict[str, int] = field(default_factory=dict)
    accepted: frozenset[int] | None = frozenset()
    price: Price | None = None
    needed: tuple[str, ...] = ()
    same: SameOutput = ANY_OUTPUT
    domain: tuple[int, ...] = ()
    over_ranks: OverRanks = field(default_factory=OverRanks)
    as_printed: bool = False
    one_clock: bool = False
    returns: str = ""


class Launcher(Protocol):
    """Starts settings. That of a machine is `runner.local.LocalLauncher`, that of ranks, too, `runner.job.JobLauncher`."""

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """Run once. A run that fails, or exceeds `timeout_s`, is a Sample with `error` (and `cut_off`), not an exception.

        Raises ProgramError where the program cannot be started at all (missing, not executable).
        """
        ...

    def close(self) -> None:
        """End what the launcher keeps running; nothing is left behind."""
        ...
