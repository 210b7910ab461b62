# SPDX-License-Identifier: BSD-3-Clause
"""Memory policies: on which nodes a program's pages go (set_mempolicy(2), numactl(8)), read, checked and written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed
from nodewise.base.meant import meant
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.scan import Scanner

#: The kernel's numbers of the modes (include/uapi/linux/mempolicy.h).
MODES = {
    "default": 0,
    "preferred": 1,
    "bind": 2,
    "interleave": 3,
    "local": 4,
    "preferred-many": 5,
    "weighted-interleave": 6,
}
_WITHOUT_NODES = ("default", "local")
#: The first Linux that knows a mode.
_SINCE = {"local": (3, 8), "preferred-many": (5, 15), "weighted-interleave": (6, 9)}
_LARGEST_NODE = 1023


@dataclass(frozen=True)
class MemoryPolicy:
    """`mode` of `MODES` and the nodes it names; `weights` are those wished of a weighted interleave, by node."""

    mode: str
    nodes: tuple[int, ...] = ()
    weights: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        if self.weights:
            return f"{self.mode}:{','.join(f'{n}={w}' for n, w in self.weights)}"
        return self.mode + (f":{format_processors(self.nodes)}" if self.nodes else "")


def fast_nodes(machine: Machine) -> tuple[tuple[int, ...], str]:
    """The nodes of the machine's fast memory, and how that is known; none where all memory is alike.

    By what the nodes are called (HBM, MCDRAM), else by the bandwidth that the firmware promises, else by the rule of
    machines with memory on the package: nodes without processors of their own, where they are not called otherwise.
    """
    called = [n for n in machine.numa_nodes if re.search(r"HBM|MCDRAM", n.subtype, re.IGNORECASE)]
    if called:
        return tuple(n.os_index for n in called), f"they are called {called[0].subtype}"
    known = [n for n in machine.numa_nodes if n.bandwidth_mib_s]
    if len(known) == len(machine.numa_nodes) and known:
        most = max(n.bandwidth_mib_s for n in known)
        # promises of firmware are round: what is a tenth slower is of the same kind
        fast = [n for n in known if n.bandwidth_mib_s > 0.9 * most]
        if len(fast) < len(known):
            return tuple(n.os_index for n in fast), f"the firmware promises {most} MiB/s there, which is the most"
        return (), "the firmware promises the same bandwidth everywhere"
    bare = [n for n in machine.numa_nodes if not n.pus and n.subtype in ("", "DRAM") and n.size_bytes != 0]
    if bare and len(bare) < len(machine.numa_nodes):
        return tuple(n.os_index for n in bare), "they have no processors of their own, as memory on the package has"
    return (), "no node is called fast, none has a higher bandwidth, and all have processors"


def read_memory(machine: Machine, text: str) -> MemoryPolicy:
    """Read `local`, `bind:0,1`, `preferred:fast`, `interleave:all`, `weighted-interleave:0=3,1=1` and the like.

    `fast` and `normal` are kinds of memory, found by `fast_nodes`. Raises InputError with the column.
    """
    scanner = Scanner("memory policy", text)
    start = scanner.at
    mode = scanner.word(r"[A-Za-z-]+").lower()
    if mode not in MODES:
        raise scanner.error(f"a mode ({', '.join(MODES)})", start, meant(mode, MODES))
    if mode in _WITHOUT_NODES:
        scanner.end(f"the end: {mode} takes no nodes")
        return MemoryPolicy(mode)
    scanner.need(":", "':' and nodes")
    if mode == "weighted-interleave" and "=" in text:
        weights = _weights(scanner)
        return MemoryPolicy(mode, tuple(n for n, _ in weights), weights)
    nodes = _nodes(machine, scanner)
    if mode == "preferred" and len(nodes) > 1:
        mode = "preferred-many"
    return MemoryPolicy(mode, nodes)


def _weights(scanner: Scanner) -> tuple[tuple[int, int], ...]:
    found: dict[int, int] = {}
    while True:
        node = scanner.number("a node's number")
        scanner.need("=", "'=' and a weight")
        at = scanner.at
        weight = scanner.number("a weight")
        if not 1 <= weight <= 255:
            raise scanner.error("a weight from 1 to 255", at)
        found[node] = weight
        if scanner.done:
            return tuple(sorted(found.items()))
        scanner.need(",", "',' or the end")


def _nodes(machine: Machine, scanner: Scanner) -> tuple[int, ...]:
    there = tuple(n.os_index for n in machine.numa_nodes)
    start = scanner.at
    word = scanner.word(r"[A-Za-z]+").lower()
    if word:
        scanner.end("the end")
        fast, why = fast_nodes(machine)
        kinds = {"all": there, "fast": fast, "normal": tuple(n for n in there if n not in fast)}
        if word not in kinds:
            raise scanner.error("all, fast, normal or nodes such as 0,2-3", start)
        if not kinds[word]:
            raise InputError(
                f"memory policy {scanner.text!r}: this machine has no fast memory: {why}", "name nodes by number"
            )
        return kinds[word]
    found: set[int] = set()
    while True:
        start = scanner.at
        found.update(scanner.upward_range("all, fast, normal or a node's number"))
        if max(found) > _LARGEST_NODE:
            raise scanner.error(f"nodes up to {_LARGEST_NODE}", start)
        if scanner.done:
            return tuple(sorted(found))
        scanner.need(",", "',', '-' or the end")


def check_memory(machine: Machine, policy: MemoryPolicy, weights_set: dict[int, int] | None = None) -> None:
    """Raises InputError where the machine cannot follow a policy, UnavailableError where its kernel is too old.

    `weights_set` are the weights of the system, which are for all programs and are not changed here.
    """
    there = {n.os_index for n in machine.numa_nodes}
    missing = [n for n in policy.nodes if n not in there]
    if missing:
        raise InputError(
            f"memory policy {policy}: node {format_processors(missing)} is not there",
            f"the machine has {format_processors(there)}",
        )
    barred = [n for n in policy.nodes if machine.limits.nodes and n not in machine.limits.nodes]
    if barred:
        raise InputError(
            f"memory policy {policy}: this process may not use node {format_processors(barred)}",
            f"its cpuset allows {format_processors(machine.limits.nodes)}",
        )
    version = kernel_version(machine.kernel)
    since = _SINCE.get(policy.mode)
    if since and version and version < since:
        more = ": only one node would be preferred, without a message" if policy.mode == "preferred-many" else ""
        raise UnavailableError(
            f"{policy} needs Linux {since[0]}.{since[1]}, and this is {version[0]}.{version[1]}{more}",
            "prefer one node, or use interleave",
        )
    wrong = [(n, w) for n, w in policy.weights if weights_set is not None and weights_set.get(n) != w]
    if wrong:
        raise InputError(
            f"memory policy {policy}: the system's weights are {weights_set}, and they are for all programs",
            "as root: "
            + "; ".join(f"echo {w} > /sys/kernel/mm/mempolicy/weighted_interleave/node{n}" for n, w in wrong),
        )


def kernel_version(kernel: str) -> tuple[int, int] | None:
    """The version in a text such as `Linux 6.1.0-18-amd64`; None where there is none."""
    match = re.search(r"(\d{1,4})\.(\d{1,4})", kernel)
    return (int(match[1]), int(match[2])) if match else None


_NUMACTL = {
    "--membind": "bind",
    "--preferred": "preferred",
    "--preferred-many": "preferred-many",
    "--interleave": "interleave",
    "--weighted-interleave": "weighted-interleave",
}


def from_numactl(machine: Machine, options: Sequence[str]) -> MemoryPolicy | None:
    """The policy of numactl's options `--membind=…` and the like; None where none of them sets one. Raises InputError for nodes that are not there."""
    found: list[MemoryPolicy] = []
    for option in options:
        name, _, value = option.partition("=")
        if name == "--localalloc":
            found.append(MemoryPolicy("local"))
        elif name in _NUMACTL:
            found.append(read_memory(machine, f"{_NUMACTL[name]}:{value}"))
    if len(found) > 1:
        raise InputError(f"numactl: {listed(options)} contradict each other", "name one policy")
    return found[0] if found else None


def to_numactl(policy: MemoryPolicy) -> tuple[str, ...]:
    """numactl's options for a policy; none for the default."""
    if policy.mode == "default":
        return ()
    if policy.mode == "local":
        return ("numactl", "--localalloc")
    option = next(name for name, mode in _NUMACTL.items() if mode == policy.mode)
    return ("numactl", f"{option}={format_processors(policy.nodes)}")
