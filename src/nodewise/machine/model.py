# SPDX-License-Identifier: BSD-3-Clause
"""Machine: what the hardware and the system are. Plain values, readable without the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, field, replace
from functools import cached_property
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.shapes import ShapeError, fit

#: The version of the JSON of a machine. In version 1 the `socket` of a core was called `package`.
MACHINE_VERSION = 2


@dataclass(frozen=True)
class Node:
    """One object of the machine's tree, as hwloc nests them: machine, package, die, group, cache, core, pu.

    `kind` is hwloc's name in lower case (`machine`, `package` for a socket, `die`, `group`, `l3cache`, `l2cache`, `l1cache`, `core`,
    `pu`); `logical` and `os_index` count objects of that kind (os_index is -1 where there is none); `pus` are the
    operating-system indexes of the hardware threads below, in the tree's order.
    """

    kind: str
    logical: int
    os_index: int
    pus: tuple[int, ...]
    children: tuple[Node, ...] = ()
    size_bytes: int = 0


@dataclass(frozen=True)
class Cache:
    """A cache: `content` is `unified`, `data` or `instruction`; `pus` share it."""

    level: int
    content: str
    size_bytes: int
    line_bytes: int
    pus: tuple[int, ...]


@dataclass(frozen=True)
class Core:
    """A core: `logical` counts in the tree's order, `socket` and `numa_node` are logical and OS indexes, `kind` an index in `kinds`."""

    logical: int
    os_index: int
    pus: tuple[int, ...]
    socket: int
    numa_node: int
    kind: int | None = None


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node; `pus` is empty where it has no processors of its own (fast or far memory).

    `bandwidth_mib_s` and `latency_ns` are what the firmware promises to the nearest processors, 0 where it does not say.
    """

    os_index: int
    size_bytes: int
    pus: tuple[int, ...]
    subtype: str = ""
    bandwidth_mib_s: int = 0
    latency_ns: int = 0


@dataclass(frozen=True)
class CoreKind:
    """A kind of core: a higher `efficiency` (hwloc's rank, -1 unknown) means faster cores; `info` is hwloc's name-value list."""

    name: str
    efficiency: int
    pus: tuple[int, ...]
    info: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Device:
    """A device that threads may sit near to: `kind` is `block`, `network`, `openfabrics`, `gpu` or `coprocessor`, `pus` are its nearest.

    `name` is the system's (`nvme0n1`, `mlx5_0`; graphics processors are counted, `gpu0`), `bus` its PCI address (`0000:3b:00.0`),
    empty where it is on none.
    """

    name: str
    kind: str
    pus: tuple[int, ...]
    bus: str = ""
    model: str = ""


@dataclass(frozen=True)
class Processor:
    """What the system says of the processor; None where it does not (many virtual machines hide clocks).

    `flags` are the instruction sets and features in Linux's names (`avx512f`, `sve`), empty where they are not known.
    """

    model: str = ""
    vendor: str = ""
    frequency_hz: float | None = None
    max_frequency_hz: float | None = None
    governor: str | None = None
    driver: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limits:
    """What this process may use: `processors` by affinity and cpuset, `cpu_quota` in processors, `memory_bytes`; None is no limit.

    `nodes` are the NUMA nodes allowed, `cpuset` the processors that the control group has, to which a process may widen its
    affinity; empty where that is not known.
    """

    processors: tuple[int, ...]
    cpu_quota: float | None = None
    memory_bytes: int | None = None
    nodes: tuple[int, ...] = ()
    cpuset: tuple[int, ...] = ()

    @property
    def parallelism(self) -> int:
        """How many threads can run at once: processors allowed, or fewer under a quota (rounded up)."""
        count = len(self.processors)
        return count if self.cpu_quota is None else max(1, min(count, int(-(-self.cpu_quota // 1))))


@dataclass(frozen=True)
class Machine:
    """A machine. `source` is `live`, `xml:PATH`, `json:PATH` or `synthetic:TEXT`; a machine that is not live is planned for, never bound on.

    `narrowed`: fewer processors are allowed than the system lets this process use, as its user wants it (`--allow`).
    """

    source: str
    tree: Node
    cores: tuple[Core, ...]
    caches: tuple[Cache, ...]
    numa_nodes: tuple[NumaNode, ...]
    distances: tuple[tuple[int, ...], ...]
    kinds: tuple[CoreKind, ...]
    processor: Processor
    limits: Limits
    memory_bytes: int = 0
    kernel: str = ""
    hostname: str = ""
    transparent_huge_pages: str | None = None
    hypervisor: str | None = None
    devices: tuple[Device, ...] = ()
    narrowed: bool = False

    @property
    def live(self) -> bool:
        """Whether this is the machine that nodewise runs on."""
        return self.source == "live"

    @cached_property
    def pus(self) -> tuple[int, ...]:
        """Operating-system indexes of all hardware threads, in the tree's order (neighbours are near)."""
        return self.tree.pus

    @cached_property
    def allowed(self) -> tuple[int, ...]:
        """Those of `pus` that this process may use, in the tree's order."""
        permitted = set(self.limits.processors)
        return tuple(p for p in self.pus if p in permitted)

    @property
    def held_to(self) -> tuple[int, ...] | None:
        """The processors to which all that is started here has to be held, as the system does not; None: it may use what it inherits."""
        return self.allowed if self.live and self.narrowed else None

    @cached_property
    def nodes_as_counted(self) -> tuple[NumaNode, ...]:
        """NUMA nodes with processors as hwloc counts them, by their places in the tree; `numa_nodes` has them by their numbers.

        A node that holds others comes behind them, and of two with the same processors the one of the lower number first.
        """
        at = {p: i for i, p in enumerate(self.pus)}
        holding = [n for n in self.numa_nodes if n.pus]
        return tuple(sorted(holding, key=lambda n: (max(at[p] for p in n.pus), len(n.pus), n.os_index)))

    @property
    def parallelism(self) -> int:
        """How many threads can run at once here: processors allowed, or fewer under a quota (rounded up)."""
        return replace(self.limits, processors=self.allowed).parallelism

    @property
    def memory_domain(self) -> tuple[int, ...]:
        """All processors of the NUMA nodes that have a processor allowed here: who runs on them shares the memory's bandwidth."""
        mine = set(self.allowed)
        return tuple(sorted({p for node in self.numa_nodes if mine & set(node.pus) for p in node.pus}))

    @cached_property
    def allowed_cores(self) -> tuple[Core, ...]:
        """Cores with at least one processor allowed, each reduced to those."""
        permitted = set(self.limits.processors)
        reduced = (replace(c, pus=tuple(p for p in c.pus if p in permitted)) for c in self.cores)
        return tuple(c for c in reduced if c.pus)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values for JSON; `machine_from_json` reads them back."""
        return {"nodewise_machine": MACHINE_VERSION, **asdict(self)}


def machine_from_json(data: Any, field: str = "") -> Machine:
    """Rebuild a Machine from `Machine.to_json`; `field` is where it stands. Raises ShapeError where it is no such record."""
    machine: Machine = fit(_with_sockets(data), Machine, field)
    check_machine(machine, f"{field}." if field else "")
    return machine


def _with_sockets(data: Any) -> Any:
    """A record of version 1 with the field names of today; any other as it is."""
    if not isinstance(data, dict) or data.get("nodewise_machine") != 1 or not isinstance(data.get("cores"), list):
        return data
    names = {"package": "socket"}
    cores = [{names.get(k, k): v for k, v in c.items()} if isinstance(c, dict) else c for c in data["cores"]]
    return {**data, "cores": cores}


def check_machine(machine: Machine, at: str = "") -> None:
    """Whether its parts belong together, which whoever draws it or plans for it relies on; `at` begins the fields' names.

    Raises ShapeError.
    """
    every = frozenset(machine.pus)
    if not every or len(every) < len(machine.pus) or min(every) < 0 or max(every) >> 20:
        raise ShapeError(f"{at}tree.pus", "its processors are no different numbers")
    _check_node(machine.tree, every, f"{at}tree")
    parts: dict[str, Sequence[Core | Cache | NumaNode | CoreKind | Device]] = {
        "cores": machine.cores,
        "caches": machine.caches,
        "numa_nodes": machine.numa_nodes,
        "kinds": machine.kinds,
        "devices": machine.devices,
    }
    for name, those in parts.items():
        for i, part in enumerate(those):
            if not every.issuperset(part.pus) or (name == "cores" and not part.pus):
                raise ShapeError(f"{at}{name}[{i}].pus", "they are no processors of the machine")
    nodes = {n.os_index for n in machine.numa_nodes}
    for i, core in enumerate(machine.cores):
        if core.kind is not None and not 0 <= core.kind < len(machine.kinds):
            raise ShapeError(f"{at}cores[{i}].kind", f"there is no kind {core.kind}")
        if nodes and core.numa_node not in nodes:
            raise ShapeError(f"{at}cores[{i}].numa_node", f"there is no NUMA node {core.numa_node}")
    if any(len(row) != len(nodes) for row in (machine.distances, *machine.distances) if machine.distances):
        raise ShapeError(f"{at}distances", "they are not those of its NUMA nodes")
    if machine.limits.cpu_quota is not None and machine.limits.cpu_quota <= 0:
        raise ShapeError(f"{at}limits.cpu_quota", "a number above zero is needed")


def _check_node(node: Node, within: frozenset[int], at: str) -> None:
    if not node.pus or not within.issuperset(node.pus) or node.size_bytes < 0:
        raise ShapeError(at, "its processors or its size are not those of a part of the machine")
    for i, child in enumerate(node.children):
        _check_node(child, frozenset(node.pus), f"{at}.children[{i}]")
