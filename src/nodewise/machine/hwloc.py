# SPDX-License-Identifier: BSD-3-Clause
"""What the native hwloc bridge returns, as the nouns of `machine.model`; reads values only, without the bridge itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nodewise.base.frozen import dataclass
from nodewise.machine.model import Cache, Core, CoreKind, Device, Node, NumaNode

if TYPE_CHECKING:
    from nodewise import _core


@dataclass(frozen=True)
class Hardware:
    """The part of a Machine that hwloc knows; `infos` are its name-value pairs of the machine and the first package, `allowed` the processors that may be used."""

    tree: Node
    cores: tuple[Core, ...]
    caches: tuple[Cache, ...]
    numa_nodes: tuple[NumaNode, ...]
    distances: tuple[tuple[int, ...], ...]
    kinds: tuple[CoreKind, ...]
    devices: tuple[Device, ...]
    infos: dict[str, str]
    allowed: tuple[int, ...]


def _tree(source: _core.Object) -> Node:
    children = tuple(_tree(child) for child in source.children)
    return Node(source.kind, source.logical, source.os_index, tuple(source.pus), children, source.size_bytes)


def _core_nodes(node: Node, socket: int = 0) -> Iterator[tuple[Node, int]]:
    """Every core with its socket; a hardware thread outside any core (some virtual machines) stands for a core of its own."""
    if node.kind == "package":
        socket = node.logical
    if node.kind in ("core", "pu"):
        yield node, socket
        return
    for child in node.children:
        yield from _core_nodes(child, socket)


def _nearest_node(pus: tuple[int, ...], nodes: Iterable[NumaNode]) -> int:
    """The smallest NUMA node that holds all of a core; 0, as in Linux without NUMA, where there is none."""
    holding = [n for n in nodes if set(pus) <= set(n.pus)]
    return min(holding, key=lambda n: (len(n.pus), n.os_index)).os_index if holding else 0


def _kind_of(pus: tuple[int, ...], kinds: tuple[CoreKind, ...]) -> int | None:
    return next((i for i, kind in enumerate(kinds) if pus[0] in kind.pus), None)


def _core_kinds(found: list[_core.CoreKind]) -> tuple[CoreKind, ...]:
    return tuple(
        CoreKind(k.infos.get("CoreType", f"kind {i}"), k.efficiency, tuple(k.pus), dict(k.infos))
        for i, k in enumerate(found)
    )


def _owners(nodes: Sequence[_core.NumaNode]) -> set[int]:
    """The nodes with processors of their own. hwloc gives any other node those that it is near to, which others have."""
    taken: set[int] = set()
    owners = set()
    for node in sorted(nodes, key=lambda n: (len(n.pus), n.os_index)):
        if taken.isdisjoint(node.pus):
            owners.add(node.os_index)
            taken.update(node.pus)
    return owners


def _devices(found: Sequence[_core.Device], ordered: Callable[[list[int]], tuple[int, ...]]) -> tuple[Device, ...]:
    """The system's devices by their names, and the graphics processors counted in the order of their addresses.

    One that is known by several drivers (`card0`, `renderD128`) is there under each of its names.
    """
    named = [Device(d.name, d.kind, ordered(d.pus), d.bus, d.model) for d in found if d.name]
    gpus = {d.bus or d.name: d for d in found if d.kind == "gpu"}
    # a number of its own a vendor's library gives by the same order, unless it is told otherwise
    gpus |= {d.bus or d.name: d for d in found if d.kind == "coprocessor" and d.name.startswith(("cuda", "rsmi", "ze"))}
    counted = [
        Device(f"gpu{i}", "gpu", ordered(gpus[at].pus), gpus[at].bus, gpus[at].model)
        for i, at in enumerate(sorted(gpus))
    ]
    return tuple(sorted({d.name: d for d in (*named, *counted)}.values(), key=lambda d: (d.kind, d.name)))


def hardware(description: _core.Description) -> Hardware:
    """Translate a description from the bridge."""
    tree = _tree(description.tree)
    order = {p: i for i, p in enumerate(tree.pus)}

    def ordered(pus: list[int]) -> tuple[int, ...]:
        return tuple(sorted((p for p in pus if p in order), key=order.__getitem__))

    owners = _owners(description.numa_nodes)
    nodes = tuple(
        NumaNode(
            n.os_index,
            n.size_bytes,
            ordered(n.pus) if n.os_index in owners else (),
            n.subtype,
            n.bandwidth_mib_s,
            n.latency_ns,
        )
        for n in sorted(description.numa_nodes, key=lambda n: n.os_index)
    )
    places = sorted(range(len(nodes)), key=lambda i: description.numa_nodes[i].os_index)
    distances = tuple(tuple(description.distances[a][b] for b in places) for a in places if description.distances)
    kinds = _core_kinds(description.kinds)
    # hwloc keeps the cores of a tree in its order, so counting them again gives its logical indexes also where it has none.
    cores = tuple(
        Core(i, node.os_index, node.pus, socket, _nearest_node(node.pus, nodes), _kind_of(node.pus, kinds))
        for i, (node, socket) in enumerate(_core_nodes(tree))
    )
    caches = tuple(
        Cache(c.level, c.content, c.size_bytes, c.line_bytes, ordered(c.pus))
        for c in sorted(description.caches, key=lambda c: (-c.level, c.content == "instruction"))
    )
    devices = _devices(description.devices, ordered)
    return Hardware(
        tree, cores, caches, nodes, distances, kinds, devices, dict(description.infos), ordered(description.allowed)
    )
