# SPDX-License-Identifier: BSD-3-Clause
"""What isolation costs: the same kernel as a plain process, in containers and in virtual machines."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nodewise.base.units import format_bytes, format_seconds
from nodewise.isolation.image import read_image
from nodewise.isolation.kind import all_kinds, kind_of
from nodewise.studies.contract import Knob, Published, Study

_FACTOR, _ADDED, _MODULUS = 6364136223846793005, 1442695040888963407, 1 << 64
_SOURCE = "a description of a light virtual machine: stripped QEMU, minimal kernel, root by DAX, pages merged by KSM"
#: What was published of the three, in words: start, isolation, speed.
_VERDICTS = (
    ("container", "fast", "shares the kernel", "native"),
    ("virtual machine", "slow", "a kernel of its own", "lower"),
    ("light virtual machine", "as a container", "a kernel of its own", "2 to 3% lower"),
)
#: The limit, which is the kernel by itself, and what all are compared with.
_ALONE, _PROCESS = "alone", "process"
#: Metrics of guests whose root is mapped begin so.
_MAPPED = "mapped_"
#: For tests, of which none is about starts.
_ONCE = {"starts": "1", "instances": "1"}
_AS_PUBLISHED = {"runc": "container", "crun": "container", "vm": "virtual machine", "microvm": "light virtual machine"}


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The kernel's result by a formula: so many steps of the generator are one power of it."""
    rounds = int(point["rounds"])
    if point["kernel"] == "memory":
        result = rounds * (int(point["kib"]) * 1024 // 8)
    elif point["kernel"] == "syscalls":
        result = rounds
    else:
        # (f^n - 1) / (f - 1) exactly: modulo (f - 1) times the modulus
        power = pow(_FACTOR, rounds, _MODULUS * (_FACTOR - 1))
        result = power * int(inputs["first"].view(np.uint64).sum(dtype=np.uint64)) + _ADDED * (
            (power - 1) // (_FACTOR - 1)
        )
    # the same bits, as the study's arrays are of signed numbers
    return {"result": np.array([result % _MODULUS], np.uint64).view(np.int64)}


def select(point: Mapping[str, str]) -> Collection[str]:
    """The kinds that are asked for, beside the plain process; all without.

    Raises InputError for a root that is no image, and for a kind that there is not.
    """
    if point.get("root"):
        read_image(Path(point["root"]))
    asked = [word.strip() for word in point.get("kinds", "").split(",") if word.strip()]
    for name in asked:
        if name != _ALONE:
            kind_of(name)
    return [name for name in (_ALONE, *all_kinds()) if not asked or name in (_ALONE, _PROCESS, *asked)]


def report(result: Mapping[str, Any]) -> Sequence[str]:
    """Starts, memory of instances and slowdown of each kind, then what was published."""
    rows = [row for row in result["rows"] if row["kind"] == "variant" and row["seconds"]]
    if not rows:
        return []
    kernel = result["point"]["kernel"]
    counts = sorted(int(name.split("_")[1]) for name in rows[0]["metrics"] if name.startswith("pss_"))
    lines = [
        f"{'kind':<10}{'start p50':>11}{'p99':>10}{'end':>10}  {kernel + ' slower by':<26}"
        + "".join(f"{f'PSS of {n}':>12}" for n in counts)
    ]
    lines += [_line(row, counts) for row in rows]
    if any(row["for_scale"] for row in rows):
        lines.append("* emulated: its times mean nothing, and it is not ranked")
    shares = [_shares(row, counts[-1], prefix) for row in rows if counts for prefix in ("", _MAPPED)]
    return [*lines, *filter(None, shares), "", *_published(rows)]


def _line(row: Mapping[str, Any], counts: Sequence[int]) -> str:
    metrics = row["metrics"]
    name = row["contender"] + ("*" if row["for_scale"] else "")
    times = [metrics[key] for key in ("startup_p50_s", "startup_p99_s", "teardown_p50_s")]
    memory = "".join(f"{format_bytes(round(metrics.get(f'pss_{n}_bytes', 0))):>12}" for n in counts)
    start, late, end = (format_seconds(value) for value in times)
    return f"{name:<10}{start:>11}{late:>10}{end:>10}  {_slower(row):<26}{memory}"


def _slower(row: Mapping[str, Any]) -> str:
    """How much longer the kernel takes than in a plain process, with the interval."""
    if row["for_scale"]:
        return "not ranked"
    against = row["against_plain"]
    if against is None:
        return "reference"
    # ratios are of speeds: above 1 where the row is faster
    if against["low"] is None or against["high"] is None:
        return f"{100 * (1 / against['ratio'] - 1):.1f}% (too few blocks)"
    low, high = 1 / against["high"] - 1, 1 / against["low"] - 1
    return f"{100 * (1 / against['ratio'] - 1):.1f}% ({100 * low:.1f} to {100 * high:.1f})"


def _shares(row: Mapping[str, Any], count: int, prefix: str) -> str:
    """What of each instance's memory is whose; of one whose root is mapped with its PSS, which stands in no column."""
    metrics = row["metrics"]
    parts = [
        f"{name} {format_bytes(round(metrics[key]))}"
        for name in (*(["pss"] if prefix else []), "private", "shared", "ksm")
        if (key := f"{prefix}{name}_{count}_bytes") in metrics
    ]
    how = ", root mapped" if prefix else ""
    return f"{row['contender']:<10}each of {count}{how}: {', '.join(parts)}" if parts else ""


def _published(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    here: dict[str, list[str]] = {}
    for row in rows:
        if (name := _AS_PUBLISHED.get(row["contender"])) is not None:
            start = format_seconds(row["metrics"]["startup_p50_s"])
            here.setdefault(name, []).append(
                f"{row['contender']}: start {start}, "
                f"{'its speed is not ranked' if row['for_scale'] else 'slower by ' + _slower(row)}"
            )
    lines = ["published, and here:"]
    for name, start, isolation, speed in _VERDICTS:
        found = "; ".join(here.get(name, ["not measured here"]))
        lines.append(f"{name}: starts {start}, {isolation}, speed {speed} | {found}")
    return lines


STUDY = Study(
    name="isolation",
    title="isolation: what containers and virtual machines cost in start, memory and speed",
    knobs=(
        Knob(
            "kernel",
            "what is timed inside: arithmetic, memory, or calls of the system",
            "compute",
            values=("compute", "memory", "syscalls"),
        ),
        Knob("rounds", "steps of compute, passes over the array, or calls", "200000000", quick="1000000"),
        Knob("kib", "KiB of the array that memory passes over", "65536", quick="1024", unit=2**10),
        Knob("starts", "of each kind and run, for p50 and p99", "20", quick="3", most=10000),
        Knob("instances", "at a time at most: 1, 2, 4 …", "4", quick="2", most=4096),
        Knob("root", "an image that has sleep: guests are measured with their root mapped from it, too", "", text=True),
        Knob("kinds", "those that are measured, separated by commas (default: all)", "", text=True),
        Knob("emulated", "whether those are that only emulate a processor", "yes", ("yes", "no"), quick="no"),
    ),
    default_variant="process",
    plain_variant="process",
    rate_unit="Mrounds/s",
    rate_scale=1e-6,
    test_points=(
        {"kernel": "compute", "rounds": "1", **_ONCE},
        {"kernel": "compute", "rounds": "1000003", **_ONCE},
        {"kernel": "memory", "rounds": "1", "kib": "1", **_ONCE},
        {"kernel": "memory", "rounds": "7", "kib": "129", **_ONCE},
        {"kernel": "syscalls", "rounds": "1001", **_ONCE},
    ),
    reference=reference,
    published=(
        Published("microvm", "loss of speed of a light virtual machine", "2 to 3%", _SOURCE),
        Published("runc", "start of a container", "faster than a virtual machine's", _SOURCE),
        Published("vm", "start of a virtual machine", "slower than a container's", _SOURCE),
    ),
    bench=({"kernel": "compute"}, {"kernel": "memory", "rounds": "50"}, {"kernel": "syscalls", "rounds": "3000000"}),
    select=select,
    report=report,
    threads=1,
)
