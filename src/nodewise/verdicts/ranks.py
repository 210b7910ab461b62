# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a setting did, over all of its runs: one row a rank, and how unevenly the work was dealt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from nodewise.base.frozen import dataclass
from nodewise.records.columns import WARM_UP, Record
from nodewise.records.experiment import Experiment
from nodewise.runner.ranks import imbalance


@dataclass(frozen=True)
class RankRow:
    """One rank of `size`: its host, threads, the processors that it might use, its pages' policy (empty: the system's).

    `seconds` are what it took, `cpu_s` its processor time and `peak_bytes` its memory: medians over the runs.
    """

    rank: int
    size: int
    host: str
    threads: int
    seconds: float
    cpu_s: float
    peak_bytes: float
    allowed: tuple[int, ...]
    memory: str


@dataclass(frozen=True)
class RankTable:
    """The rows by rank, how many `runs` they are of, and the median imbalance: slowest over mean, less one; None for one rank."""

    rows: tuple[RankRow, ...]
    runs: int
    imbalance: float | None


def rank_table(records: Sequence[Record], key: str, threads: int | None = None) -> RankTable | None:
    """The ranks of a setting's good runs, those to warm up left out; None where no launcher started it.

    `threads` are those that each was asked to have; without, those that were seen to work.
    """
    counted = [r for r in records if r.setting == key and r.phase != WARM_UP]
    samples = [r.sample for r in counted if r.sample.ok and r.sample.ranks]
    if not samples:
        return None
    rows = []
    for rank in sorted({part.rank for sample in samples for part in sample.ranks}):
        parts = [part for sample in samples for part in sample.ranks if part.rank == rank]
        where = Counter((p.host, p.allowed, p.memory) for p in parts).most_common(1)[0][0]
        rows.append(
            RankRow(
                rank=rank,
                size=max(len(sample.ranks) for sample in samples),
                host=where[0],
                threads=threads or max(p.threads for p in parts),
                seconds=median(p.seconds for p in parts),
                cpu_s=median(p.cpu_s for p in parts),
                peak_bytes=median(p.peak_bytes for p in parts),
                allowed=where[1],
                memory=where[2],
            )
        )
    shares = [share for sample in samples if (share := imbalance(sample.ranks)) is not None]
    return RankTable(tuple(rows), len(samples), median(shares) if shares else None)


def ranks_of(experiment: Experiment, key: str) -> RankTable | None:
    """The ranks of one of an experiment's settings; None where no launcher started it, or no run ended well."""
    setting = experiment.settings.get(key)
    if setting is None or not setting.ranks:
        return None
    records = experiment.records
    given = setting.values.get("threads", setting.env.get("OMP_NUM_THREADS"))
    threads = int(given) if str(given).isdecimal() else None
    return rank_table([records[int(i)] for i in records.of(key)], key, threads)
