# SPDX-License-Identifier: BSD-3-Clause
"""Limits of the machine that were measured and are kept with their date, until something about the machine has changed.

They lie in `limits.json` of nodewise's cache folder, which can be deleted at any time: what is not there is measured again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from nodewise.base.cache import cache_folder
from nodewise.base.errors import StoreError
from nodewise.base.files import make_directory, write_whole
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import ShapeError, fit
from nodewise.base.units import format_count
from nodewise.machine.files import read_text
from nodewise.machine.model import Machine
from nodewise.statistics.interval import median_interval
from nodewise.statistics.summary import median

#: More than these are not kept; the oldest go.
_MOST = 64
#: What says that clocks may go above their nominal rate.
_BOOST = ("sys/devices/system/cpu/cpufreq/boost", "sys/devices/system/cpu/intel_pstate/no_turbo")


@dataclass(frozen=True)
class KeptLimit:
    """What a limit was: `rate` in bytes or flops (`per`) a second with its 95% interval, over that many `runs`.

    `name` is its contender's, `state` the machine's (`machine_state`), `measured` when that was.
    """

    name: str
    per: str
    threads: int
    state: str
    rate: float
    low: float
    high: float
    runs: int
    measured: str

    def seconds(self, work: float) -> float:
        """How long that many bytes or flops take."""
        return work / self.rate

    @property
    def how(self) -> str:
        """As a row says it."""
        return f"measured {self.measured}, {format_count(self.runs, 'run')}, and kept"


def machine_state(machine: Machine, processors: Sequence[int], program: Path, root: Path = Path("/")) -> str:
    """A digest of all that a limit of the machine depends on, as far as the system shows it.

    That is the processor, its clocks' rules, caches, memory, the system since it was started, huge pages, what may be used,
    the `processors` that it is measured on, and the program that measures.
    """
    facts = {
        "processor": {k: v for k, v in asdict(machine.processor).items() if k != "frequency_hz"},
        "caches": sorted((c.level, c.content, c.size_bytes, len(c.pus)) for c in machine.caches),
        "memory": machine.memory_bytes,
        "nodes": [(n.os_index, n.size_bytes, len(n.pus)) for n in machine.numa_nodes],
        "system": [machine.hostname, machine.kernel, machine.hypervisor, machine.transparent_huge_pages],
        "started": read_text(root / "proc/sys/kernel/random/boot_id"),
        "boost": [read_text(root / path) for path in _BOOST],
        "limits": [machine.limits.cpu_quota, machine.limits.memory_bytes],
        "processors": sorted(processors),
        "program": sha256(program.read_bytes()).hexdigest(),
    }
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def measured_limit(
    name: str, per: str, threads: int, state: str, work: float, times: Sequence[float], now: datetime | None = None
) -> KeptLimit | None:
    """The limit that this much `work` in each of these `times` (seconds) shows; None where they are too few for an interval."""
    interval = median_interval(list(times))
    if interval is None:
        return None
    rate, low, high = work / median(list(times)), work / interval[1], work / interval[0]
    when = (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    return KeptLimit(name, per, threads, state, rate, low, high, len(times), when)


def kept_limits(state: str, threads: int) -> dict[str, KeptLimit]:
    """Those of a machine in this state, for that many threads, by name."""
    return {k.name: k for k in _read() if (k.state, k.threads) == (state, threads)}


def keep_limit(limit: KeptLimit) -> None:
    """Keep it in place of an earlier one; where that cannot be written, nothing is kept."""
    _write([k for k in _read() if _key(k) != _key(limit)] + [limit])


def forget_limit(limit: KeptLimit) -> None:
    """Measure it again next time."""
    _write([k for k in _read() if _key(k) != _key(limit)])


def _key(limit: KeptLimit) -> tuple[str, int, str]:
    return limit.name, limit.threads, limit.state


def limit_from_json(data: Mapping[str, object]) -> KeptLimit:
    """Rebuild one from its fields. Raises ShapeError."""
    made: KeptLimit = fit(data, KeptLimit)
    if not 0 < made.low <= made.rate <= made.high:
        raise ShapeError("rate", "it is not in its interval")
    return made


def _file() -> Path:
    return cache_folder() / "limits.json"


def _read() -> list[KeptLimit]:
    """What is kept; nothing where that cannot be read."""
    try:
        return [limit_from_json(one) for one in json.loads(_file().read_text())["limits"]]
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, ShapeError):
        return []


def _write(limits: Sequence[KeptLimit]) -> None:
    with contextlib.suppress(StoreError, RuntimeError):
        make_directory(_file().parent)
        kept = {"limits": [asdict(limit) for limit in limits[-_MOST:]]}
        write_whole(_file(), json.dumps(kept, indent=1) + "\n")
