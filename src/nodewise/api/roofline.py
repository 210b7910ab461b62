# SPDX-License-Identifier: BSD-3-Clause
"""The machine's roofline, from what is asked to its points."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.given import Duration, StrPath, check_threads, seconds_of
from nodewise.api.history import remembered
from nodewise.api.measuring import kept, launcher_for
from nodewise.base.frozen import dataclass
from nodewise.experiments.roofline import RooflineProgress, measure_roofline
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.runner.launcher import RunOptions
from nodewise.studies.discovery import find_study
from nodewise.verdicts.roofline import RooflineVerdict


@dataclass(frozen=True)
class Roofline:
    """A roofline that is ready to be measured."""

    machine: Machine
    out: Path
    threads: int
    studies: tuple[str, ...] = ()
    seconds: float | None = None
    wait: bool = False
    asked: tuple[str, ...] = ()

    def answer(self, progress: Callable[[RooflineProgress], None] = unheard, note: Notify = unheard) -> RooflineVerdict:
        """Measure it. Raises what `experiments.roofline.measure_roofline` does."""
        # roofs of the memory are lowered by whoever uses it, from whichever processor
        options = RunOptions(domain=self.machine.memory_domain)
        with launcher_for(options, os.environ, note, self.wait) as launcher:
            verdict = measure_roofline(
                self.machine, self.threads, launcher, self.out, self.studies, progress, self.asked, self.seconds
            )
        return remembered(verdict, self.out, note)


def prepare_roofline(
    out: Path,
    *,
    studies: Sequence[str] = (),
    threads: int | None = None,
    budget: Duration | None = None,
    wait: bool = False,
    asked: Sequence[str] = (),
) -> Roofline:
    """The roofline that is asked for; `asked` is the command line that asks it again. Raises InputError."""
    check_threads(threads)
    for name in studies:
        find_study(name)
    machine = load_machine()
    seconds = None if budget is None else seconds_of(budget, "--budget")
    return Roofline(machine, out, threads or machine.parallelism, tuple(studies), seconds, wait, tuple(asked))


@question()
def roofline(
    *,
    studies: Sequence[str] = (),
    threads: int | None = None,
    budget: Duration | None = None,
    out: StrPath | None = None,
    wait: bool = False,
    progress: Callable[[RooflineProgress], None] | None = None,
    note: Notify | None = None,
) -> RooflineVerdict:
    """Measure what this machine can do at most, and place the kernels of studies below that.

    The roofs are the peaks of multiply-adds and the bandwidths of caches and memory, with `threads` threads (None: all that may
    be used). Of each study that counts its operations (all, or those of `studies`) the best variant and the plain one are
    placed. Roofs and kernels are interleaved, within the `budget` (None: what it takes). The runs are kept where `out` is
    given. `wait`, `progress` and `note` are those of `nodewise.study`.

    >>> import nodewise
    >>> try:
    ...     nodewise.roofline(studies=["no-such-study"])
    ... except nodewise.InputError as problem:
    ...     print(problem.what)
    unknown study: 'no-such-study'

    Raises InputError for a study that is not there or a budget that holds not even one block, StoreError where the runs cannot be
    kept, and KeyboardInterrupt on Ctrl-C, once the programs have ended.
    """
    with kept(out, False, "roofline", named=False) as folder:
        asked = prepare_roofline(folder, studies=studies, threads=threads, budget=budget, wait=wait)
        return asked.answer(progress or unheard, note or unheard)
