# SPDX-License-Identifier: BSD-3-Clause
"""Hashing many buffers at once: MD5, SHA-1, SHA-256, SHA-512."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.base.units import format_seconds
from nodewise.studies.contract import Knob, Library, Limit, Published, Study

from . import files

FUNCTIONS = ("md5", "sha1", "sha256", "sha512")


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """Python's hashlib over each buffer."""
    # not at the top: hashing files needs neither
    import hashlib

    import numpy as np

    data, spacing = inputs["data"], int(point["chunk-size"])
    buffers = [data[i * spacing :][: int(length)].tobytes() for i, length in enumerate(inputs["lengths"])]
    digests = [hashlib.new(point["function"], b, usedforsecurity=False).digest() for b in buffers]
    return {"digests": np.frombuffer(b"".join(digests), dtype=np.uint8)}


def report(result: Mapping[str, Any]) -> list[str]:
    """How the consumer of `pipeline` kept up, as medians over its runs."""
    lines = []
    for row in result["rows"]:
        if row["contender"] == "pipeline" and "elapsed_s" in row["metrics"]:
            seen = row["metrics"]
            usage = seen["consumer_usage_percent"]
            producers = row["point"]["producers"]
            lines.append(
                f"pipeline, {row['threads']} thread{'s' * (row['threads'] != 1)} hashing, {producers} filling: elapsed "
                f"{format_seconds(seen['elapsed_s'])}, consumer {usage:.1f}% busy ({'it kept up' if usage < 99 else 'it is the bound'}), "
                f"{seen['hash_mb_per_s']:.1f} MB/s ({seen['hash_mib_per_s']:.1f} MiB/s) while busy"
            )
    return lines


def _mixed(function: str, count: int, most: int, **others: str) -> dict[str, str]:
    return {
        "function": function,
        "lengths": "mixed",
        "chunk-size": str(most),
        "total-size": str(count * most),
        **others,
    }


STUDY = Study(
    name="hash",
    title="hashing many buffers at once: MD5, SHA-1, SHA-256 and SHA-512",
    knobs=(
        Knob("function", "hash function", "sha256", FUNCTIONS),
        Knob("chunk-size", "bytes of a buffer", str(2**20), most=2**34, unit=1),
        Knob("total-size", "bytes of all buffers", str(2**24), quick=str(2**22), unit=1),
        Knob(
            "lengths",
            "all buffers full, of any length up to that, or of each in turn",
            "full",
            ("full", "mixed", "each"),
        ),
        Knob("producers", "threads that fill buffers in the variant pipeline", "1", least=1, most=1024),
        Knob(
            "speed", "bytes a second at which each of them fills its own, 0 for as fast as it can", "0", least=0, unit=1
        ),
    ),
    default_variant="best",
    plain_variant="stream",
    rate_unit="GB/s",
    rate_scale=1e-9,
    test_points=(
        {"total-size": "1"},
        {"function": "md5", "total-size": "777", "chunk-size": "64"},
        {"function": "sha512", "total-size": "100000", "chunk-size": "6000", "producers": "3"},
        *(_mixed(f, 30, 300) for f in FUNCTIONS),
        *(_mixed(f, 77, 20_000, producers="4", speed="1GB") for f in FUNCTIONS),
    ),
    reference=reference,
    libraries={
        "crypto": Library(("libcrypto.so.3", "libcrypto.so.1.1"), "apt-get install libssl3"),
        "isal_crypto": Library(
            ("libisal_crypto.so.2",), "spack install isa-l-crypto, or build its source: Debian 12 has no package of it"
        ),
    },
    limits=(Limit("bandwidth", "read", per="bytes"),),
    published=(
        Published("pipeline", "one producer", "2.603 s, consumer busy 42.0%, 981.7 MB/s", "storage server"),
        Published("pipeline", "16 producers", "the consumer waits about 2% of the time", "storage server"),
    ),
    bench=tuple({"function": f} for f in FUNCTIONS),
    report=report,
    uses={"files": files.hash_files},
)
