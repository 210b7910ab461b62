# SPDX-License-Identifier: BSD-3-Clause
"""Objective: which number of a sample is compared, and whether less or more of it is better."""

from __future__ import annotations

from dataclasses import replace

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_bytes, format_seconds
from nodewise.runner.price import COST
from nodewise.runner.sample import Sample

#: Work that a program may count, the most informative first; instructions are what the processor counts.
WORK = ("work", "flops", "items", "bytes")


def value_of(sample: Sample, metric: str) -> float | None:
    """A number of a sample by its name; None where the sample has none of it.

    `seconds`, `wall_s`, `cpu_s` (user and system), what the kernel counted (`peak_bytes`, `user_s`, `cycles` …), what the
    program printed, conditions (`energy_j` …), or `NAME/s`: any of these per second of the run.
    """
    if metric.endswith("/s") and metric != "/s":
        amount = value_of(sample, metric.removesuffix("/s"))
        return None if amount is None or sample.seconds <= 0 else amount / sample.seconds
    if metric in ("seconds", "wall_s"):
        return float(getattr(sample, metric))
    if metric == "cpu_s":
        parts = [sample.usage.get("user_s"), sample.usage.get("system_s")]
        return None if None in parts else float(sum(p for p in parts if p is not None))
    for named in (sample.metrics, sample.usage, sample.conditions):
        if metric in named:
            return float(named[metric])
    return None


@dataclass(frozen=True)
class Objective:
    """`metric` as in `value_of`; `maximise` where more of it is better."""

    metric: str = "seconds"
    maximise: bool = False

    def cost(self, sample: Sample) -> float | None:
        """A number above zero that is smaller for the better run; None where the run failed or reports none."""
        value = value_of(sample, self.metric) if sample.ok else None
        if value is None or value <= 0:
            return None
        return 1 / value if self.maximise else value

    def judged(self, sample: Sample) -> Sample:
        """The sample with its cost for seconds; one that reports none is a failure."""
        if self == SECONDS or not sample.ok:
            return sample
        cost = self.cost(sample)
        if cost is None:
            return replace(sample, error=f"the run reports no {self.metric} above zero")
        return replace(sample, seconds=cost)

    def value(self, cost: float) -> float:
        """The metric's own value of a cost."""
        return 1 / cost if self.maximise else cost


#: What is compared unless something else is asked for.
SECONDS = Objective()


@dataclass(frozen=True)
class Shown:
    """What is shown of each setting besides the number that decides; `currency` is that of the metric `cost`."""

    metrics: tuple[Objective, ...] = ()
    currency: str = ""


def named_metric(metric: str, value: float) -> str:
    """A metric's value with its unit, or with its name where that says none: for where the name stands nowhere else."""
    text = format_metric(metric, value)
    told = metric == "seconds" or metric.endswith(("_s", "bytes", "_j", "/s"))
    return text if told else f"{text} {metric}"


def format_metric(metric: str, value: float, currency: str = "") -> str:
    """A metric's value with the unit that its name says: `_s` and `seconds` are seconds, `bytes` sizes, `_j` joules.

    `cost` is in `currency`.
    """
    if metric == COST:
        return f"{value:.4g} {currency}".rstrip()
    if metric == "seconds" or metric.endswith("_s"):
        return format_seconds(value)
    if metric.endswith("bytes"):
        return format_bytes(value)
    if metric.endswith("_j"):
        return f"{value:.4g} J"
    # of another one the unit is not known, and its name stands elsewhere
    unit = metric if metric.endswith("/s") else ""
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= scale:
            return f"{value / scale:.4g} {prefix}{unit}"
    return f"{value:.6g} {unit}".rstrip()
