# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise place --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PlaceOutput:
    """Places of threads, rank by rank, and what sets them.

    `places` are each thread's processors (None: left to the system), `ranks` how many threads each rank of a node has,
    `size` the ranks of all `nodes`, dealt to these in that `order`; `zones` are the processors of each rank of a node.
    `mask` is what a program is held to, `env` what binds its threads, `memory` the memory policy; empty or None: nothing.
    """

    policy: str
    threads: int
    places: tuple[tuple[int, ...], ...] | None
    ranks: tuple[int, ...]
    nodes: int
    order: str
    size: int
    zones: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...]
    traps: tuple[str, ...]
    env: Mapping[str, str]
    mask: tuple[int, ...] | None
    memory: str | None
