# SPDX-License-Identifier: BSD-3-Clause
"""Whether the pages of a process are where a memory policy has them, by the kernel's word."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_bytes, format_percent
from nodewise.placement.memory import MemoryPolicy
from nodewise.runner.numa_maps import Mapping as Pages
from nodewise.runner.numa_maps import bytes_by_node

_KERNELS_WORDS = {
    "bind": "bind",
    "preferred": "prefer",
    "preferred-many": "prefer (many)",
    "interleave": "interleave",
    "weighted-interleave": "weighted interleave",
    "local": "local",
}


@dataclass(frozen=True)
class MemoryProof:
    """Whether pages went where a policy says, and by it (None: no page was seen); in words."""

    agrees: bool | None
    words: str


def prove_memory(policy: MemoryPolicy, mappings: Sequence[Pages], least: float = 0.95) -> MemoryProof:
    """Hold a process's mappings against a policy: the kernel's name for it, and the share of private pages by node.

    bind must have all pages on its nodes, the preferring modes and local at least the share `least`; interleave must also
    spread evenly, each node within a quarter of its part, weighted interleave by its weights where those are given.
    """
    private = [m for m in mappings if m.kind != "file" and m.pages]
    total = sum(bytes_by_node(private).values())
    if not private or total == 0:
        return MemoryProof(None, "it is not known where its memory is: no page was seen")
    if policy.mode == "default":
        return MemoryProof(True, f"memory is where {policy} has it: {_by_node(private)}, by the system's own rule")
    name = _KERNELS_WORDS[policy.mode]
    named = [m for m in private if m.policy.split(":")[0].split("=")[0] == name]
    if not named:
        there = sum(bytes_by_node(private).get(n, 0) for n in policy.nodes) / total
        share = f"; {format_percent(there)} of {format_bytes(total)} is there all the same" if policy.nodes else ""
        return MemoryProof(
            False,
            f"no memory has the policy {policy}: the kernel calls it {private[0].policy}{share} ({_by_node(private)})",
        )
    by_node = bytes_by_node(named)
    size = sum(by_node.values())
    wanted = policy.nodes or tuple(by_node)
    there = sum(by_node.get(n, 0) for n in wanted) / size
    words = f"has it: {format_percent(there)} of {format_bytes(size)} under {named[0].policy} on nodes asked for ({_by_node(named)})"
    right = there >= (1.0 if policy.mode == "bind" else least)
    if policy.mode in ("interleave", "weighted-interleave") and size >= 64 * 4096 * len(wanted):
        weights = dict(policy.weights) or dict.fromkeys(wanted, 1)
        if policy.mode == "interleave" or policy.weights:
            parts = {n: weights[n] / sum(weights.values()) for n in wanted}
            right &= all(abs(by_node.get(n, 0) / size - part) <= part / 4 for n, part in parts.items())
    return MemoryProof(right, f"memory is {'' if right else 'NOT '}where {policy} {words}")


def _by_node(mappings: Sequence[Pages]) -> str:
    return ", ".join(f"node {n}: {format_bytes(b)}" for n, b in bytes_by_node(mappings).items())
