# SPDX-License-Identifier: BSD-3-Clause
"""How Linux sets a processor's frequency, and what it has counted of that (Documentation/admin-guide/pm/cpufreq.rst, cpufreq/cpufreq-stats.rst)."""

from __future__ import annotations

from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.machine.files import read_number, read_text


@dataclass(frozen=True)
class FrequencyControl:
    """A processor's driver and governors; frequencies in kHz, falling, and the latency of a change in ns. `counted` says whether the kernel counts
    changes, `transitions` how many it has counted, `times_s` how long the processor had each frequency, in seconds by kHz, and `changes` how often it went from
    one to another, by both; what never happened is left out.
    """

    processor: int
    driver: str
    governor: str
    governors: tuple[str, ...]
    frequencies_khz: tuple[int, ...]
    least_khz: int | None
    most_khz: int | None
    latency_ns: int | None
    counted: bool
    transitions: int | None
    times_s: dict[str, float]
    changes: dict[str, dict[str, int]]

    @property
    def into_top(self) -> dict[str, int]:
        """How often it came back to its highest frequency, by that from which it came."""
        top = str(max(self.frequencies_khz, default=0))
        return {start: ends[top] for start, ends in self.changes.items() if top in ends}


def read_frequency_control(root: Path, processor: int) -> FrequencyControl | None:
    """What the system below `root` says of a processor; None where no driver sets its frequency."""
    folder = root / f"sys/devices/system/cpu/cpu{processor}/cpufreq"
    driver, governor = read_text(folder / "scaling_driver"), read_text(folder / "scaling_governor")
    if not driver or not governor:
        return None
    latency = read_number(folder / "cpuinfo_transition_latency")
    listed = [int(w) for w in (read_text(folder / "scaling_available_frequencies") or "").split() if w.isdecimal()]
    times = read_text(folder / "stats/time_in_state")
    counted = [line.split() for line in (times or "").splitlines()]
    return FrequencyControl(
        processor=processor,
        driver=driver,
        governor=governor,
        governors=tuple((read_text(folder / "scaling_available_governors") or governor).split()),
        frequencies_khz=tuple(sorted({*listed, *(int(f) for f, _ in counted)}, reverse=True)),
        least_khz=_whole(read_number(folder / "scaling_min_freq")),
        most_khz=_whole(read_number(folder / "scaling_max_freq")),
        latency_ns=_whole(latency),
        counted=times is not None,
        transitions=_whole(read_number(folder / "stats/total_trans")),
        # in units of 10 ms, whatever the kernel's own clock
        times_s={frequency: int(time) / 100 for frequency, time in counted},
        changes=_changes(read_text(folder / "stats/trans_table") or ""),
    )


def _changes(table: str) -> dict[str, dict[str, int]]:
    """The kernel's table of changes: a line of the frequencies to which, then one for each from which."""
    found: dict[str, dict[str, int]] = {}
    ends: list[str] = []
    for line in table.splitlines():
        start, _, numbers = line.partition(":")
        counts = [int(w) for w in numbers.split() if w.isdecimal()]
        if not start.strip():
            ends = numbers.split()
        elif start.strip().isdecimal():
            made = {end: count for end, count in zip(ends, counts, strict=False) if count}
            found |= {start.strip(): made} if made else {}
    return found


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
