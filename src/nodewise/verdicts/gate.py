# SPDX-License-Identifier: BSD-3-Clause
"""Whether a comparison lets a change pass: what a continuous integration asks of it."""

from __future__ import annotations

from nodewise.base.frozen import dataclass
from nodewise.statistics.verdict import Word
from nodewise.verdicts.compare import CompareVerdict


@dataclass(frozen=True)
class Gate:
    """What stands in the way of a change, by names of contenders; those with ` (baseline)` behind against what they were then.

    `slower` are surely slower by more than the `threshold` (a share; None: none was asked for, and nothing is), `failed` those
    that failed, `undecided` those of which nobody knows: against the threshold, or without one whether there is a difference.
    `incomparable`: a baseline was given and nothing could be held against it.
    """

    threshold: float | None
    slower: tuple[str, ...]
    failed: tuple[str, ...]
    undecided: tuple[str, ...]
    incomparable: bool

    @property
    def blocked(self) -> bool:
        """Whether something is slower than is allowed, or failed."""
        return bool(self.slower or self.failed)


def gate_of(verdict: CompareVerdict, threshold: float | None) -> Gate:
    """The gate of a comparison with a threshold: a slowdown (0.02: 2%) against the reference, and the baseline."""
    then = verdict.baseline.pairs if verdict.baseline is not None else ()
    spans: dict[str, tuple[Word | None, float | None, float | None]] = {
        r.name: (p.verdict, p.low, p.high) for r in verdict.contenders if (p := r.against_reference) and not r.error
    }
    spans |= {f"{p.name} (baseline)": (p.verdict, p.low, p.high) for p in then if p.comparable}
    failed = tuple(r.name for r in verdict.contenders if r.error)
    incomparable = verdict.baseline is not None and not any(p.comparable for p in then)
    if threshold is None:
        undecided = tuple(name for name, (word, _, _) in spans.items() if word is Word.UNDECIDED)
        return Gate(None, (), failed, undecided, incomparable)
    limit = 1 / (1 + threshold)
    slower = tuple(name for name, (_, _, high) in spans.items() if high is not None and high < limit)
    open_ = tuple(name for name, (_, low, _) in spans.items() if name not in slower and (low is None or low <= limit))
    return Gate(threshold, slower, failed, open_, incomparable)
