# SPDX-License-Identifier: BSD-3-Clause
"""What is said below the table: half round trips by their quantiles; of a ladder, where a contender saturates, and from which
size on remote writes are faster than messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.base.units import format_seconds

#: A contender is saturated from the first size whose rate is so much of its highest, as all above it.
_SATURATED = 0.9
_RATE = "gb_s_"
_KIB, _MIB = 1024, 1024**2
#: Remote writes, and the messages of the same library.
_BESIDE = {
    "ucx-put": "ucx-tag",
    "ofi-shm-write": "ofi-shm",
    "ofi-tcp-write": "ofi-tcp",
    "openmpi-put": "openmpi",
    "mpich-put": "mpich",
    "intelmpi-put": "intelmpi",
    "mapped": "ring",
}

Rates = Mapping[int, float]


def report(result: Mapping[str, Any]) -> list[str]:
    """The lines of a result as `--json` prints it; none where its table says it all."""
    rows = [r for r in result["rows"] if r.get("seconds") and r.get("metrics")]
    if result["point"].get("class") == "latency":
        return _round_trips(rows)
    ladders = {row["contender"]: rates for row in rows if (rates := rates_of(row["metrics"]))}
    if not ladders:
        return []
    lines = _rates(ladders)
    lines += [f"{name} saturates at {_size(knee(rates))}" for name, rates in ladders.items()]
    for write, message in _BESIDE.items():
        if write in ladders and message in ladders:
            lines.append(_crossing(write, message, crossover(ladders[write], ladders[message])))
    return lines


def rates_of(metrics: Mapping[str, float]) -> dict[int, float]:
    """GB/s by bytes of a message, where a ladder was gone through."""
    found = {int(k.removeprefix(_RATE)): v for k, v in metrics.items() if k.startswith(_RATE) and v is not None}
    return dict(sorted(found.items()))


def knee(rates: Rates) -> int:
    """The size from which on each rate is nine tenths of the highest, or more; the largest size where none below it is."""
    enough = _SATURATED * max(rates.values())
    saturated = max(rates)
    for size in sorted(rates, reverse=True):
        if rates[size] < enough:
            break
        saturated = size
    return saturated


def crossover(writes: Rates, messages: Rates) -> int | None:
    """The size from which on writes are faster than messages at each size; None where they are not at the largest."""
    crossing = None
    for size in sorted(writes.keys() & messages.keys(), reverse=True):
        if writes[size] <= messages[size]:
            break
        crossing = size
    return crossing


def _crossing(write: str, message: str, size: int | None) -> str:
    if size is None:
        return f"{write} is not faster than {message} at the largest size"
    return f"{write} is faster than {message} from {_size(size)} on"


def _rates(ladders: Mapping[str, Rates]) -> list[str]:
    sizes = sorted({size for rates in ladders.values() for size in rates})
    lines = [f"{'GB/s of a message of':<20}" + "".join(f"{_size(size):>9}" for size in sizes)]
    for name, rates in ladders.items():
        lines.append(f"  {name:<18}" + "".join(f"{rates[s]:>9.3g}" if s in rates else f"{'':>9}" for s in sizes))
    return lines


def _size(size: int) -> str:
    if size >= _MIB:
        return f"{size / _MIB:g} MiB"
    return f"{size / _KIB:g} KiB" if size >= _KIB else f"{size} B"


def _round_trips(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    head = f"{'half a round trip':<20}{'half within':>14}{'99% within':>14}{'99.9% within':>16}{'cores busy':>13}"
    lines = []
    for row in rows:
        found = row["metrics"]
        if "p50_us" in found:
            half, most, nearly_all = (format_seconds(found[name] * 1e-6) for name in ("p50_us", "p99_us", "p999_us"))
            lines.append(
                f"  {row['contender']:<18}{half:>14}{most:>14}{nearly_all:>16}{found.get('busy_cores', 0):>13.3f}"
            )
    return [head, *lines] if lines else []
