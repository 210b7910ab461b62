# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise run` measured of its one command."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.records.experiment import Experiment
from nodewise.runner.objective import value_of
from nodewise.runner.sample import Sample
from nodewise.statistics.summary import mad, median
from nodewise.verdicts.compare import COMPARE, RUN, CompareVerdict
from nodewise.verdicts.secondary import ENERGY, MetricSummary, interval_of, summary_of

#: What is kept of a comparison's warnings; the rest is in the summary itself.
_KEPT_NOTES = ("failed in", "a run was stopped")


@dataclass(frozen=True)
class RunSummary:
    """A command's good runs, in seconds: median with its 95% interval (None below six runs), spread and range.

    `runs` count; `left_out` more were disturbed and do not. `source` says whether the program reported its time (`program`) or
    it was taken from outside. `usage` and `metrics` are medians, `shown` those metrics that were asked for, and energy.
    `counters` and `energy` say why there are none, None where there are. `failed` runs did not end
    well, `error` is that of one of them; `stopped` is what ended it all, `notes` are what is to be known of it. `samples` are all good runs, in their order.
    """

    kind: str
    median_s: float
    low_s: float | None
    high_s: float | None
    mad_s: float
    min_s: float
    max_s: float
    runs: int
    left_out: int
    source: str
    usage: Mapping[str, float]
    metrics: Mapping[str, float]
    shown: Mapping[str, MetricSummary]
    counters: str | None
    energy: str | None
    experiment: str
    failed: int
    error: str | None
    stopped: str
    notes: tuple[str, ...]
    samples: tuple[Sample, ...]

    @property
    def made(self) -> int:
        """How many runs there were, good ones and others."""
        return len(self.samples) + self.failed


def run_summary(
    experiment: Experiment, verdict: CompareVerdict, counters: str | None = None, energy: str | None = None
) -> RunSummary:
    """What the runs were that `verdict` is of, disturbed ones left out as long as the others are at least half. Raises InputError without any."""
    (row,) = verdict.contenders
    at = [i for i, r in enumerate(experiment.records) if r.phase == COMPARE and r.sample.ok]
    every = [experiment.records[i].sample for i in at]
    if not every:
        raise InputError(f"{experiment.path} holds no good run of {row.name}", "run it again")
    samples = [sample for i, sample in zip(at, every, strict=True) if experiment.counted[i]]
    times = [s.seconds for s in samples]
    low, high = interval_of(times)
    shown = {}
    for name in dict.fromkeys([*(o.metric for o in experiment.shown.metrics), ENERGY]):
        values = [v for s in samples if (v := value_of(s, name)) is not None]
        if values:
            shown[name] = summary_of(values)
    return RunSummary(
        kind=RUN,
        median_s=median(times),
        low_s=low,
        high_s=high,
        mad_s=mad(times),
        min_s=min(times),
        max_s=max(times),
        runs=len(times),
        left_out=len(every) - len(samples),
        source=samples[0].source,
        # what was stored may lack some of it
        usage={
            name: median([s.usage[name] for s in samples if name in s.usage])
            for name in dict.fromkeys(name for s in samples for name in s.usage)
        },
        metrics={
            name: median([s.metrics[name] for s in samples if name in s.metrics])
            for name in dict.fromkeys(name for s in samples for name in s.metrics)
        },
        shown=shown,
        counters=counters,
        energy=energy,
        experiment=str(experiment.path),
        failed=row.failed,
        error=row.error,
        stopped=verdict.stopped,
        notes=tuple(w for w in verdict.warnings if w.startswith(_KEPT_NOTES) or w in experiment.remarks),
        samples=tuple(every),
    )
