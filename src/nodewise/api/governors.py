# SPDX-License-Identifier: BSD-3-Clause
"""The study of governors: three processes that share a core and sleep after each row of their work, and the two controls beside it.

Under a governor that lowers the frequency of an idle core, three processes that each sleep for some milliseconds look idle too often: the published study saw
the core leave its top frequency hundreds of times and run slower than at a constant one; a process alone, and work without sleeps, hardly suffered.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from nodewise.api.compare import compare
from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.files import make_directory
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path
from nodewise.machine.frequencies import FrequencyControl, read_frequency_control
from nodewise.verdicts.compare import ContenderSummary
from nodewise.verdicts.pair import PairVerdict

#: Sizes of the matrices of the three processes, and for how many nanoseconds each sleeps after a row.
SIZES, SLEEPS_NS, CHUNK = (700, 800, 900), (5_000_000, 7_000_000, 9_000_000), 4
_QUICK = 10
#: Published, for 14 frequencies, ondemand with a sampling rate of 10 ms, and core 8: how often the core came back to 2 661 000 kHz from each of the others, 2 660 000
#: to 1 064 000 kHz.
PUBLISHED_INTO_TOP = (19, 17, 28, 68, 110, 41, 48, 72, 49, 47, 22, 254, 40)
#: What is compared where nothing is asked for, as far as it is there.
_USUAL = ("performance", "ondemand", "schedutil", "powersave")
_MODULE = "cpufreq_stats"


@dataclass(frozen=True)
class GovernorRow:
    """A workload under a governor: median seconds with their interval (None: too few runs), how many times as fast as under the first governor, and what the kernel
    counted in a run: changes of frequency, and those back to the top (None: it counts none).
    """

    workload: str
    governor: str
    runs: int
    median_s: float | None
    low_s: float | None
    high_s: float | None
    times: float | None
    times_low: float | None
    times_high: float | None
    verdict: str
    transitions: float | None
    into_top: float | None


@dataclass(frozen=True)
class GovernorStudy:
    """What was found. `before` and `after` are the processor's tables; `changed` says whether governors were set; `rows_each` are the sizes of
    the three matrices, `published_into_top` what was published of those of the study (empty: these are smaller); `experiments` are the comparisons' directories."""

    kind: ClassVar[str] = "governors"
    processor: int
    before: FrequencyControl | None
    after: FrequencyControl | None
    changed: bool
    rows_each: tuple[int, ...]
    governors: tuple[str, ...]
    rows: tuple[GovernorRow, ...]
    published_into_top: tuple[int, ...]
    experiments: tuple[str, ...]
    notes: tuple[str, ...]


def sizes_of(quick: bool) -> tuple[int, ...]:
    """How many rows each of the three matrices has."""
    return tuple(size // (_QUICK if quick else 1) for size in SIZES)


def workloads(quick: bool) -> dict[str, list[list[str]]]:
    """By name the commands that run at once on the core: three that sleep, one of them alone, and three that do not sleep."""
    program = str(native_path("nodewise-rows"))
    sizes = sizes_of(quick)
    sleeping = [[program, str(n), str(ns), str(CHUNK)] for n, ns in zip(sizes, SLEEPS_NS, strict=True)]
    return {
        "three that sleep": sleeping,
        "one alone": sleeping[:1],
        "three without sleep": [[program, str(n), "0", str(CHUNK)] for n in sizes],
    }


def study_governors(
    processor: int,
    *,
    change: bool,
    only: Sequence[str] = (),
    quick: bool = False,
    budget: float | None = None,
    out: Path,
    root: Path = Path("/"),
    tell: Callable[[str], None] = lambda _: None,
) -> GovernorStudy:
    """Run the three workloads under each governor, in interleaved blocks. `only` names the governors; without `change` the present one stays.

    `budget` is in seconds (None: six blocks where it is `quick`, else five minutes), `out` the directory of the comparisons, `root` that of the system, `tell` hears of each workload. Whatever is set is put back by a process of its own, also after `kill -9`.
    Raises InputError for a governor that is not there, UnavailableError where no driver sets frequencies and a change is asked for.
    """
    before = read_frequency_control(root, processor)
    if before is None and change:
        raise UnavailableError(
            f"no driver sets the frequency of processor {processor} here",
            "a virtual machine shows none of it; on hardware, look whether the firmware leaves it to the system",
        )
    chosen, notes = _chosen(before, change, only, root)
    make_directory(out)
    shown = ("transitions", "into_top") if before is not None and before.counted else ()
    whole = 300.0 if budget is None else budget
    runs = 6 if quick and budget is None else None
    rows: list[GovernorRow] = []
    experiments = []
    made, sizes = workloads(quick), sizes_of(quick)
    if len(chosen) == 1:
        # under one governor the workloads stand in the same blocks
        tell(", ".join(made))
        verdict = compare(
            *(_command(processor, chosen[0] if change else None, commands, root) for commands in made.values()),
            names=list(made),
            runs=runs,
            budget=None if runs else whole,
            show=shown,
            out=out,
        )
        experiments.append(verdict.experiment)
        rows += [_row(c.name, chosen[0], c, None) for c in verdict.contenders]
    for name, commands in made.items() if len(chosen) > 1 else ():
        tell(name)
        verdict = compare(
            *(_command(processor, governor, commands, root) for governor in chosen),
            names=chosen,
            runs=runs,
            budget=None if runs else whole / len(made),
            show=shown,
            out=out / name.replace(" ", "-"),
        )
        experiments.append(verdict.experiment)
        first = verdict.contenders[0].name
        pairs = {pair.other: pair for pair in verdict.pairs if pair.one == first}
        rows += [_row(name, c.name, c, pairs.get(c.name)) for c in verdict.contenders]
    after = read_frequency_control(root, processor)
    if after is not None and before is not None and after.governor != before.governor:
        notes.append(f"the governor is {after.governor}, and was {before.governor}: something else has set it")
    return GovernorStudy(
        processor,
        before,
        after,
        change,
        sizes,
        tuple(chosen),
        tuple(rows),
        PUBLISHED_INTO_TOP if sizes == SIZES else (),
        tuple(experiments),
        tuple(notes),
    )


def _chosen(
    control: FrequencyControl | None, change: bool, only: Sequence[str], root: Path
) -> tuple[list[str], list[str]]:
    """The governors that are compared, and what to say of that."""
    if only and not change:
        raise InputError(
            "other governors are only run where they may be set",
            "as root: `nodewise governors --change-governor --only …`",
        )
    if control is None:
        return ["as it is"], [
            "no driver sets frequencies here, as in most virtual machines: what a governor does cannot be seen"
        ]
    notes = [] if control.counted else ["the kernel counts no changes of frequency here (module cpufreq_stats)"]
    if not change:
        return [control.governor], [
            *notes,
            f"only {control.governor}, as it is set: --change-governor compares with others",
        ]
    if unknown := [name for name in only if name not in control.governors]:
        raise InputError(f"no such governor here: {unknown[0]}", f"there are {', '.join(control.governors)}")
    file = root / f"sys/devices/system/cpu/cpu{control.processor}/cpufreq/scaling_governor"
    if not os.access(file, os.W_OK):
        raise UnavailableError(f"the governor may not be set here: {file} cannot be written", "run it as root")
    # named twice, one would be compared with itself
    chosen = list(dict.fromkeys(only)) or [name for name in _USUAL if name in control.governors]
    if len(chosen) < 2:
        raise InputError("there is only one governor to compare", f"there are {', '.join(control.governors)}")
    return chosen, notes


def _command(processor: int, governor: str | None, commands: Sequence[Sequence[str]], root: Path) -> list[str]:
    words = [str(native_path("nodewise-governor")), "--sys", str(root / "sys")]
    words += ["--set", governor] if governor is not None else []
    words += ["--load", _MODULE] if shutil.which("modprobe") and root == Path("/") else []
    together = [word for i, command in enumerate(commands) for word in (*(["+"] if i else []), *command)]
    return [*words, str(processor), "--", *together]


def _row(workload: str, governor: str, c: ContenderSummary, pair: PairVerdict | None) -> GovernorRow:
    return GovernorRow(
        workload,
        governor,
        c.runs,
        c.median,
        c.low,
        c.high,
        None if pair is None else pair.ratio,
        None if pair is None else pair.low,
        None if pair is None else pair.high,
        "" if pair is None else str(pair.verdict),
        c.metrics["transitions"].median if "transitions" in c.metrics else None,
        c.metrics["into_top"].median if "into_top" in c.metrics else None,
    )
