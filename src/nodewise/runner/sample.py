# SPDX-License-Identifier: BSD-3-Clause
"""Sample: one run's result, with the conditions under which it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.runner.ranks import RankPart, rank_from_json

#: A run that was cut off after this share of its own limit was cut off by that.
_LIMIT_REACHED = 0.98


@dataclass(frozen=True)
class Sample:
    """One run. `seconds` is what is compared: the program's own figure where it prints the protocol, else the time within where it was isolated, else `wall_s`.

    `metrics` are named numbers from the program (among them `flops`, `bytes`, `items`), and `cost` where there is a price;
    `usage` is what the kernel counted for it (`user_s`, `system_s`, `peak_bytes`, `context_switches`,
    `involuntary_switches`, `waited_s` for a processor by the threads that were seen, `watched_s` of processor time that these
    had, `busiest_s` of it the busiest, `watched_threads` that had a twentieth of it or more, `left_s` of processor time of what the program left to itself, `read_s` of what reading its output took nodewise, `migrations`, `minor_faults`, `major_faults`,
    `exit_code` where it is not 0, and hardware counters where there are any),
    `conditions` what the machine did meanwhile: `steal_s` and `busy_s` of all processors, `mask_steal_s` and `mask_busy_s`
    of the `processors` that it was held to or could use, `domain_busy_s` of these and of `RunOptions.domain`, `ready` threads
    of others just before and after it, `pressure_cpu_s`, `pressure_memory_s`, `pressure_io_s`, `throttled_s` by quotas,
    `heat_events` that lowered a clock, `frequency_hz` (its own cycles over its processor time where they are counted, and
    `base_frequency_hz` then; else the clock just after it), `load_average`, and `energy_j`, the whole machine's in joules
    while the run lasted (`energy_package_j` and `energy_dram_j`, or `energy_psys_j`); where `runner.rests` looked before the run,
    `rest_s`, and `rest_busy_s` of its processors in that time. A name is absent where the system
    does not report. `marks` say in words what spoiled it. A run that failed has `error` and is never fast; `output` keeps
    the end of what it printed. Where outputs are compared, `answer` is the digest of what is compared, `differs` says where
    it is not that of the reference; `answer_text` is its text, which is not written down, None where it is too long.

    Of a run that a launcher started, `ranks` are the parts of its ranks that ended, by their numbers: `seconds` is then what the
    slowest of them printed, the work in `metrics` their sum.
    """

    seconds: float
    wall_s: float
    started_at: float
    source: str = "wall"
    metrics: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    conditions: Mapping[str, float] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    error: str | None = None
    output: str = ""
    cut_off: bool = False
    answer: str = ""
    differs: str = ""
    ranks: tuple[RankPart, ...] = ()
    answer_text: str | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the run ended well and its result is right."""
        return self.error is None

    def stopped_before(self, limit_s: float | None) -> bool:
        """Whether it was cut off before a limit of its own (None: it has none), since a budget ended."""
        return self.cut_off and (limit_s is None or self.wall_s < _LIMIT_REACHED * limit_s)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values; of those that may be empty the empty ones are left out."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "answer_text"}
        data |= {name: dict(data[name]) for name in ("metrics", "usage", "conditions")}
        data["ranks"] = [part.to_json() for part in self.ranks]
        return {k: v for k, v in data.items() if v or k in ("seconds", "wall_s", "started_at")}


def sample_from_json(data: Mapping[str, Any]) -> Sample:
    """Rebuild a Sample from `Sample.to_json`, ignoring names that are not its own."""
    known = {k: v for k, v in data.items() if k in Sample.__dataclass_fields__}
    ranks = tuple(map(rank_from_json, known.get("ranks", ())))
    return Sample(**{**known, "marks": tuple(known.get("marks", ())), "ranks": ranks})
