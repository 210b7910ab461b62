# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two threads with memory of their own, by copy, by loan, as tokens, and there and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.studies.contract import Knob, Library, Published, Study

_LENDING = ("transport", "ring")
_COPYING = (*_LENDING, "pipe", "unix", "tcp", "zeromq-ipc", "zeromq-tcp")
_CLASSES = {
    "copy": (*_COPYING, "untransferred"),
    "loan": (*_LENDING, "untransferred"),
    "token": _LENDING,
    "latency": _COPYING,
}


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The sum of each message, what a token is long, or what came back."""
    import numpy as np

    first = inputs["first"].view(np.uint64)
    kind, size = point.get("class", "copy"), int(point["size"])
    if kind == "token":
        sums = np.full(first.shape, size, np.uint64)
    elif kind == "latency":
        sums = first + np.uint64(1)
    else:
        words = size // 8
        sums = first * np.uint64(words) + np.uint64(words * (words - 1) // 2)
    return {"sums": sums.view(np.int64)}


def select(point: Mapping[str, str]) -> tuple[str, ...]:
    """Who has part in a class."""
    return _CLASSES[point.get("class", "copy")]


def report(result: Mapping[str, Any]) -> list[str]:
    """Half a round trip by its quantiles, or bytes a second."""
    rows = [r for r in result["rows"] if r["kind"] != "limit" and r.get("seconds") and r.get("metrics")]
    if result["point"].get("class") != "latency" or not rows:
        return []
    lines = [f"{'half a round trip':<20}{'half within':>14}{'99 % within':>14}{'99.9 % within':>16}"]
    for row in rows:
        found = row["metrics"]
        if "p50_us" in found:
            lines.append(
                f"  {row['contender']:<18}{found['p50_us']:>11.2f} us{found['p99_us']:>11.2f} us{found['p999_us']:>13.2f} us"
            )
    return lines


STUDY = Study(
    name="transport",
    title="messages between two threads with memory of their own, by copy, by loan, as tokens, and there and back",
    knobs=(
        Knob("size", "bytes of a message, a multiple of 8 (of latency 8)", "4096", least=8, most=2**30),
        Knob(
            "class",
            "copy into the transport and out of it, loan of its memory, token that no one looks into, or latency",
            "copy",
            tuple(_CLASSES),
        ),
        Knob(
            "messages",
            "how many; 0: 256 MiB of them, a million at most; of token a million, of latency 10 000 round trips",
            "0",
            least=0,
            most=2**30,
        ),
        Knob("wait", "how a side waits, of transport and ring", "spin", ("spin", "block")),
    ),
    threads=2,
    default_variant="transport",
    plain_variant="pipe",
    rate_unit="M messages/s",
    rate_scale=1e-6,
    test_points=(
        {"size": "8", "messages": "1"},
        {"size": "64", "messages": "501"},
        {"size": "4096", "messages": "333", "wait": "block"},
        {"size": "1000008", "messages": "7"},
        {"size": "64", "messages": "1009", "class": "loan"},
        {"size": "3000000", "messages": "5", "class": "loan", "wait": "block"},
        {"size": "4096", "messages": "5003", "class": "token"},
        {"messages": "101", "class": "latency", "wait": "block"},
        {"size": "104", "messages": "7001"},
    ),
    reference=reference,
    libraries={
        "transport": Library(
            ("libnodewise-transport.so",), "pip install nodewise", ("nodewise/native/libnodewise-transport.so",)
        ),
        "zeromq": Library(("libzmq.so.5",), "apt-get install libzmq5"),
    },
    published=(
        Published("", "remote memory access over messages of a queue, above 4 KB", "more than 10 x", "a host and a coprocessor"),
        Published("", "chunk from which remote memory access is saturated", "64 KB", "a host and a coprocessor"),
    ),
    bench=(
        *({"size": size} for size in ("64", "4096", "65536", "1048576", "16777216")),
        *({"size": size, "class": "loan"} for size in ("4096", "1048576", "16777216")),
        {"class": "token"},
        {"class": "latency"},
    ),
    select=select,
    report=report,
)  # fmt: skip
