# SPDX-License-Identifier: BSD-3-Clause
"""Copies between a host's memory and a GPU's, pageable and page-locked, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.studies.contract import Knob, Library, Published, Study


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """What was copied, as it was."""
    return {"to": inputs["from"]}


STUDY = Study(
    name="gpucopy",
    title="copies between a host's memory and a GPU's, pageable and page-locked, both ways",
    knobs=(
        Knob("size", "bytes of a chunk", "1048576", most=2**30, unit=1),
        Knob("total", "bytes of all chunks; 0: 128 MiB up to a size of 4 KiB, 1 GiB above", "0", least=0, quick="16777216", unit=1),
        Knob("direction", "to-device or to-host", "to-device", ("to-device", "to-host")),
    ),
    threads=1,
    default_variant="host",
    plain_variant="host",
    rate_unit="GB/s",
    rate_scale=1e-9,
    test_points=(
        {"size": "1", "total": "3"},
        {"size": "63", "total": "6300"},
        {"size": "4097", "total": "40970", "direction": "to-host"},
        {"size": "100003", "total": "1"},
        {"size": "65", "total": "65000", "direction": "to-host"},
    ),
    reference=reference,
    libraries={
        "cuda": Library(("libcuda.so.1",), "it comes with NVIDIA's driver (Debian: nvidia-driver)", dispatches=False)
    },
    published=(
        Published("", "chunk from which remote memory access is saturated", "64 KB", "a host to its coprocessor over PCIe"),
        Published("", "the same, the other way", "2 MB", "a coprocessor to its host over PCIe"),
    ),
    bench=tuple(
        {"size": str(size), "direction": way}
        for way in ("to-device", "to-host")
        for size in (64, 4096, 65536, 2**20, 2**24, 2**27)
    ),
)  # fmt: skip
