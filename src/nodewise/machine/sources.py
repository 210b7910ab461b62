# SPDX-License-Identifier: BSD-3-Clause
"""Where a Machine comes from: this machine, an hwloc XML file, a synthetic description, or a saved JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.processors import format_processors, parse_processors
from nodewise.machine.model import Cache, Core, CoreKind, Limits, Machine, Node, NumaNode, Processor, machine_from_json
from nodewise.machine.state import System

if TYPE_CHECKING:
    from nodewise import _core

_SYNTHETIC = "synthetic:"
_XML = "xml:"


def load_machine(spec: str | None = None, allow: str | None = None, system: System | None = None) -> Machine:
    """The machine that `spec` names, limited to the processors in `allow`.

    `spec` is None for this machine, `synthetic:TEXT` in hwloc's syntax, a file of hwloc XML (`FILE.xml`, `xml:FILE`) or
    one of `nodewise machine --json` (`FILE.json`). `system` is where the live state is read (tests give another root).
    Raises InputError for what cannot be read, or an `allow` that leaves nothing.
    """
    machine = _load(spec, system or System())
    if allow is None:
        return machine
    asked = parse_processors(allow)
    missing = sorted(set(asked) - set(machine.allowed))
    if missing:
        raise InputError(
            f"processors {format_processors(missing)} are not there or not allowed: {allow!r}",
            f"this process may use {format_processors(machine.allowed)}",
        )
    return replace(machine, limits=replace(machine.limits, processors=asked))


def machine_xml(machine: Machine) -> str:
    """The machine as hwloc XML, which `lstopo` and `--machine FILE.xml` read. Raises InputError for a saved JSON file."""
    if machine.source.startswith("json:"):
        raise InputError("a machine read from JSON cannot be written as hwloc XML", "save it as JSON: --save FILE.json")
    return str(_topology(machine.source).xml)


def _topology(source: str) -> _core.Topology:
    try:
        from nodewise import _core as core
    except ImportError as problem:
        raise UnavailableError("nodewise's native part is not built", "install with: pip install .") from problem
    kind, text = core.Source.live, ""
    if source.startswith(_SYNTHETIC):
        kind, text = core.Source.synthetic, source.removeprefix(_SYNTHETIC)
    elif source.startswith(_XML):
        kind, text = core.Source.xml_file, source.removeprefix(_XML)
    try:
        return core.load_topology(kind, text)
    except RuntimeError as problem:
        hint = {
            core.Source.synthetic: "hwloc's syntax is such as 'synthetic:pack:2 core:8 pu:2'",
            core.Source.xml_file: "write one with `lstopo FILE.xml` or `nodewise machine --save FILE.xml`",
        }.get(kind)
        raise InputError(f"cannot read the machine {source!r}: {problem}", hint) from problem


def _load(spec: str | None, system: System) -> Machine:
    if spec is None or spec == "live":
        topology = _topology("live")
        return _build("live", topology, system.limits(topology.allowed), system)
    if spec.startswith(_SYNTHETIC):
        topology = _topology(spec)
        return _build(spec, topology, Limits(tuple(sorted(topology.root.pus))), None)
    path = Path(spec.removeprefix(_XML))
    if not path.is_file():
        raise InputError(
            f"no such machine: {spec!r}", "give synthetic:TEXT, FILE.xml or FILE.json; without --machine it is this one"
        )
    if path.suffix == ".json":
        return _from_json(path)
    topology = _topology(f"{_XML}{path}")
    return _build(f"{_XML}{path}", topology, Limits(tuple(sorted(topology.allowed))), None)


def _from_json(path: Path) -> Machine:
    try:
        machine = machine_from_json(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(
            f"cannot read the machine {str(path)!r}: {problem}", "write one with `nodewise machine --save FILE.json`"
        ) from problem
    return replace(machine, source=f"json:{path}")


def _walk(node: _core.Object) -> Iterator[_core.Object]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _tree(node: _core.Object) -> Node:
    children = tuple(_tree(c) for c in node.children)
    return Node(node.kind, node.logical, node.os_index, tuple(node.pus), children, node.size_bytes)


def _build(source: str, topology: _core.Topology, limits: Limits, system: System | None) -> Machine:
    infos = topology.infos
    processor = system.processor() if system else Processor()
    if not processor.model:
        processor = replace(processor, model=infos.get("CPUModel", ""), vendor=infos.get("CPUVendor", ""))
    objects = list(_walk(topology.root))
    nodes = tuple(NumaNode(n.os_index, n.size_bytes, tuple(n.pus), n.subtype) for n in topology.memory_nodes)
    kinds = _kinds(topology)
    return Machine(
        source=source,
        tree=_tree(topology.root),
        cores=_cores(objects, nodes, kinds),
        caches=tuple(
            Cache(o.cache_level, o.cache_content, o.size_bytes, o.line_bytes, tuple(o.pus))
            for o in objects
            if o.cache_level
        ),
        numa_nodes=nodes,
        distances=tuple(tuple(row) for row in topology.distances),
        kinds=kinds,
        processor=processor,
        limits=limits,
        memory_bytes=sum(n.size_bytes for n in nodes),
        kernel=infos.get("OSRelease", "") if not source.startswith(_SYNTHETIC) else "",
        hostname=infos.get("HostName", ""),
        transparent_huge_pages=system.transparent_huge_pages() if system else None,
        hypervisor=system.hypervisor() if system else None,
    )


def _kinds(topology: _core.Topology) -> tuple[CoreKind, ...]:
    """Kinds of cores, fastest last as hwloc ranks them; one kind alone is no kind."""
    if len(topology.kinds) < 2:
        return ()
    names = ["efficiency"] + ["middle"] * (len(topology.kinds) - 2) + ["performance"]
    return tuple(
        CoreKind(dict(k.infos).get("CoreType", name), k.efficiency, tuple(k.pus), dict(k.infos))
        for name, k in zip(names, topology.kinds, strict=True)
    )


def _cores(objects: list[_core.Object], nodes: tuple[NumaNode, ...], kinds: tuple[CoreKind, ...]) -> tuple[Core, ...]:
    """The cores in the tree's order; where hwloc shows none, each processor counts as one."""
    package = {p: o.logical for o in objects if o.kind == "package" for p in o.pus}
    # of several nodes near a processor (DDR and fast memory) the first is its own
    node = {p: n.os_index for n in reversed(nodes) for p in n.pus}
    kind = {p: i for i, k in enumerate(kinds) for p in k.pus}
    found = [o for o in objects if o.kind == "core"] or [o for o in objects if o.kind == "pu"]
    return tuple(
        Core(i, o.os_index, tuple(o.pus), package.get(o.pus[0], 0), node.get(o.pus[0], 0), kind.get(o.pus[0]))
        for i, o in enumerate(found)
    )
