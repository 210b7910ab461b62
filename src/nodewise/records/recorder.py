# SPDX-License-Identifier: BSD-3-Clause
"""Recorder: makes runs and writes each down before the next, or hands back what an earlier process had written.

An experiment decides from its question, its seed and the samples alone, the time spent being part of each sample. So
continuing after a kill is to ask again from the start and to answer from the file until it ends.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import asdict

from nodewise.base.errors import InputError
from nodewise.records.answers import AnswerJudge
from nodewise.records.budget import Budget, Meter
from nodewise.records.columns import Record, Records
from nodewise.records.experiment import Experiment, Writer
from nodewise.runner.launcher import Launcher
from nodewise.runner.outlived import RUN_VARIABLE
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting


class Recorder:
    """The one way from a setting to a recorded sample."""

    def __init__(
        self,
        writer: Writer,
        launcher: Launcher,
        meter: Meter,
        earlier: Experiment | None = None,
        budget: Budget | None = None,
    ):
        """`earlier` is what the directory held when it was opened again, `budget` the one that holds from then on.

        What was decided then was decided under the budget given then, which the meter has again for as long as that takes.
        """
        self._writer = writer
        self._launcher = launcher
        self._meter = meter
        self._earlier = earlier
        self._replayed = 0
        #: What compares the answers of runs; None where nothing does.
        self.judge = writer.judge()
        #: Called with each run before it is written down, and with each that was; may make an error of it.
        self.check: Callable[[Setting, Sample], Sample] = lambda _, sample: sample
        self._budgets = _budgets(writer, earlier, budget)
        self._set_budget()

    def _set_budget(self) -> None:
        """From some runs on another budget held."""
        self._meter.budget = self._budgets.get(self._replayed, self._meter.budget)

    @property
    def replaying(self) -> bool:
        """Whether the next sample comes from the file."""
        return self._earlier is not None and self._replayed < len(self._earlier.records)

    def sample(
        self,
        setting: Setting,
        phase: str,
        block: int,
        position: int,
        timeout_s: float | None,
        around: tuple[Callable[[], None], Callable[[], None]] | None = None,
    ) -> tuple[Sample, float]:
        """One run, and what it cost in seconds of the budget. `around` is called before and after a run that is made.

        Raises InputError where the file holds another run at this place: the question or nodewise itself has changed.
        """
        begin = self._meter.seconds
        earlier = self._earlier
        record = self._next_recorded()
        if record is not None:
            if (record.setting, record.phase, record.block, record.position) != (setting.key, phase, block, position):
                raise InputError(
                    f"{self._writer.path} cannot be continued: it goes on with {record.setting!r} in block {record.block} "
                    f"of the {record.phase}, this nodewise with {setting.key!r} in block {block} of the {phase}",
                    "it was made by another version, or its files were changed"
                    + (f" ({earlier.damage[0]})" if earlier is not None and earlier.damage else "")
                    + "; start a new experiment",
                )
            self._writer.know(setting)
            self._meter.count(record.spent_s)
            self._set_budget()
            sample = self.check(setting, record.sample)
            return sample if self.judge is None else self.judge.replayed(setting, sample), record.spent_s - begin
        self._meter.resume()
        if around is not None:
            around[0]()
        self._writer.note_neighbours()
        sample = self.check(setting, self._run(setting, timeout_s))
        self._writer.note_neighbours()
        if around is not None:
            around[1]()
        self._meter.count()
        late: list[tuple[int, str]] = []
        if self.judge is not None:
            sample, late = self._compared(self.judge, setting, sample)
        self._writer.add(Record(setting.key, phase, block, position, sample, self._meter.seconds), setting)
        for number, differs in late:
            self._writer.add_difference(number, differs)
        return sample if self.judge is None else self.judge.judged(sample), self._meter.seconds - begin

    def _compared(self, judge: AnswerJudge, setting: Setting, sample: Sample) -> tuple[Sample, list[tuple[int, str]]]:
        """The sample with where its answer differs, and the same of earlier ones; the reference is stored when it comes."""
        known = judge.reference
        compared = judge.compared(setting, sample)
        if judge.reference is not None and judge.reference is not known:
            self._writer.keep_reference(judge.reference)
        return compared

    def _next_recorded(self) -> Record | None:
        if self._earlier is None:
            return None
        if not self.replaying:
            # who judges reads the directory again; two copies of a large experiment are one too many
            self._earlier.records = Records()
            self._earlier = None
            return None
        self._replayed += 1
        return self._earlier.records[self._replayed - 1]

    def _run(self, setting: Setting, timeout_s: float | None) -> Sample:
        if setting.broken:
            what, _, output = setting.broken.partition("\n")
            return Sample(0.0, 0.0, time.time(), error=what, output=output)
        numbered = dataclasses.replace(setting, env={**setting.env, RUN_VARIABLE: str(self._meter.runs + 1)})
        return self._launcher.run(numbered, timeout_s=timeout_s)


def _budgets(writer: Writer, earlier: Experiment | None, budget: Budget | None) -> dict[int, Budget]:
    """From how many runs on which budget held; the one given now is stored where it is another one. Empty: always the same.

    Who goes on without naming a budget gives the first one, and has the last.
    """
    if earlier is None or budget is None or "budget" not in earlier.question:
        return {}
    runs = len(earlier.records)
    first = earlier.question["budget"]
    stored = earlier.question.get("extended", [])
    # of runs that were lost none can be the first of a budget
    later = [{**e, "runs": min(e["runs"], runs)} for e in stored]
    if asdict(budget) not in (first, later[-1]["budget"] if later else first):
        later.append({"runs": runs, "budget": asdict(budget)})
    if later != stored:
        writer.amend({"extended": later})
    return {0: Budget(**first), **{e["runs"]: Budget(**e["budget"]) for e in later}}
