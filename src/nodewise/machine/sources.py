# SPDX-License-Identifier: BSD-3-Clause
"""Where a Machine comes from: this one, an hwloc XML file, hwloc's synthetic text, or JSON that nodewise wrote."""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import InputError, NodewiseError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors, parse_processors
from nodewise.base.shapes import ShapeError, shown
from nodewise.machine.hwloc import Hardware, hardware
from nodewise.machine.in_child import ChildError, in_child
from nodewise.machine.model import (
    MACHINE_VERSION,
    Limits,
    Machine,
    NumaNode,
    Processor,
    check_machine,
    machine_from_json,
)
from nodewise.machine.state import named_by_driver, read_state

if TYPE_CHECKING:
    from nodewise import _core

FORMS = "give a file that hwloc or `nodewise machine --save` wrote (.xml, .json), or synthetic:TEXT such as 'synthetic:core:61 pu:4'"

_Made = TypeVar("_Made")
#: More hardware threads than any one machine has; hwloc would build them all before anyone could see that it is a slip.
MOST_PROCESSORS = 1 << 16

#: Variables that make hwloc load another machine than the one asked for.
_DIVERTING = ("HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_THISSYSTEM", "HWLOC_CPUID_PATH")


#: The variables are the whole process's, whichever thread asks; a copy of the process has those of the thread that made it.
_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True)
class Source:
    """A machine's origin: `kind` is `live`, `xml`, `synthetic` or `json`; `text` is the path or the synthetic text."""

    kind: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.text}" if self.text else self.kind


def parse_source(spec: str | None) -> Source:
    """Read a machine's specification; None is this machine. Raises InputError where it is of no known form."""
    if spec is None or spec == "live":
        return Source("live")
    kind, colon, text = spec.partition(":")
    if colon and kind in ("xml", "json", "synthetic"):
        if not text.strip():
            raise InputError(f"nothing follows {spec!r}", FORMS)
        return Source(kind, text.strip())
    if spec.endswith((".xml", ".json")):
        return Source(spec.rpartition(".")[2], spec)
    raise InputError(f"not a machine: {spec!r}", FORMS)


@contextmanager
def _quiet_hwloc() -> Iterator[None]:
    """Keep hwloc's own reports off the terminal and the user's hwloc variables from replacing the machine asked for."""
    with _ONE_AT_A_TIME:
        kept = {name: os.environ.pop(name) for name in (*_DIVERTING, "HWLOC_HIDE_ERRORS") if name in os.environ}
        os.environ["HWLOC_HIDE_ERRORS"] = "2"
        try:
            yield
        finally:
            del os.environ["HWLOC_HIDE_ERRORS"]
            os.environ.update(kept)


def _check_size(text: str) -> int:
    """The number of hardware threads that a synthetic text declares."""
    levels = re.sub(r"\([^)]*\)|\[[^]]*\]", " ", text)
    declared = math.prod(int(count) for count in re.findall(r":\s*(\d{1,9})", levels))
    if declared > MOST_PROCESSORS:
        raise InputError(
            f"the synthetic machine {text!r} has {declared} processors; {MOST_PROCESSORS} is the most that nodewise takes",
            "multiply its numbers: each level is inside the one before",
        )
    return declared


def _check_synthetic(text: str, declared: int, found: tuple[int, ...]) -> None:
    """Refuse indexes that hwloc passes over in silence, since the machine would not be the one described."""
    given = re.search(r"pu:\d+\s*\([^)]*?indexes=(\d[\d,]*)(?![\d*:,])", text, re.IGNORECASE)
    wanted = sorted(int(i) for i in given[1].split(",") if i) if given else sorted(found)
    if len(found) != declared or wanted != sorted(found):
        raise InputError(
            f"the processor indexes in the synthetic machine {text!r} do not number its {declared} processors",
            "give as many different indexes as it has processors",
        )


def _topology(source: Source, devices: bool = True) -> _core.Topology:
    try:
        from nodewise import _core
    except ImportError as problem:
        raise UnavailableError("nodewise's native part is not built", "install with: pip install .") from problem
    try:
        with _quiet_hwloc():
            if source.kind == "xml":
                # hwloc reads whatever it is given, and waits where nothing comes
                read_bounded(Path(source.text))
                return _core.Topology.from_xml(source.text)
            if source.kind == "synthetic":
                # no description has another sign than those of ASCII
                return _core.Topology.from_synthetic(source.text.encode("ascii", "replace").decode())
            if source.kind == "live":
                return _core.Topology.live(devices)
    except OSError as problem:
        raise InputError(f"cannot read {source.text or 'this machine'}: {problem.strerror or problem}") from problem
    except ValueError as problem:
        raise InputError(f"cannot read {source.text or 'this machine'}: {problem}") from problem
    except _core.TopologyError as problem:
        raise _refusal(source, problem) from problem
    raise InputError(f"hwloc has no machine of the kind {source.kind!r}: {source}", FORMS)


def _refusal(source: Source, problem: Exception) -> NodewiseError:
    if source.kind == "xml":
        return InputError(
            f"{source.text} is no hwloc XML that can be read, or it is damaged",
            "write it again with `nodewise machine --save FILE.xml` or `lstopo FILE.xml`",
        )
    if source.kind == "synthetic":
        return InputError(
            f"hwloc cannot make a machine of {source.text!r}",
            "name levels from the outside in, the last of them pu: 'synthetic:package:2 core:14 pu:2'",
        )
    return UnavailableError(f"hwloc cannot read this machine: {problem}")


def _apart(source: Source, work: Callable[[], _Made]) -> _Made:
    """What is made of a source; a file is read in a child, since hwloc may crash on one that is damaged."""
    if source.kind != "xml":
        return work()
    try:
        with _ONE_AT_A_TIME:
            return in_child(work)
    except (ChildError, RecursionError, MemoryError, ValueError, LookupError) as problem:
        raise InputError(
            f"{source.text} is no hwloc XML that can be read, or it is damaged: {problem}",
            "write it again with `nodewise machine --save FILE.xml` or `lstopo FILE.xml`",
        ) from problem


def _load_hardware(source: Source, devices: bool = True) -> Hardware:
    declared = _check_size(source.text) if source.kind == "synthetic" else 0
    found = _apart(source, lambda: hardware(_topology(source, devices).describe()))
    if len(set(found.tree.pus)) != len(found.tree.pus):
        raise InputError(f"{source} has two processors of the same index")
    if declared:
        _check_synthetic(source.text, declared, found.tree.pus)
        if "memory=" not in source.text.lower():
            # hwloc invents a size where the text gives none.
            found = replace(found, numa_nodes=tuple(replace(n, size_bytes=0) for n in found.numa_nodes))
    return found


def _planned(source: Source) -> Machine:
    """A machine that is described, not here: what may be planned for it is limited by its cpuset alone, where hwloc has written that."""
    found = _load_hardware(source)
    allowed = tuple(sorted(found.allowed))
    if not allowed:
        raise InputError(f"{source} allows none of its processors", "write it again with `lstopo FILE.xml`")
    infos = found.infos
    machine = Machine(
        source=str(source),
        tree=found.tree,
        cores=found.cores,
        caches=found.caches,
        numa_nodes=found.numa_nodes,
        distances=found.distances,
        kinds=found.kinds,
        devices=found.devices,
        processor=Processor(model=infos.get("CPUModel", ""), vendor=infos.get("CPUVendor", "")),
        limits=Limits(allowed, cpuset=allowed if len(allowed) < len(found.tree.pus) else ()),
        memory_bytes=sum(n.size_bytes for n in found.numa_nodes),
        kernel=" ".join(infos[k] for k in ("OSName", "OSRelease") if k in infos),
        hostname=infos.get("HostName", ""),
    )
    try:
        check_machine(machine)
    except ShapeError as problem:
        raise InputError(
            f"{source} is no machine: {problem}", "its parts do not belong together: write it again"
        ) from problem
    return machine


def _live(root: Path, devices: bool) -> Machine:
    found = _load_hardware(Source("live"), devices)
    state = read_state(root, os.sched_getaffinity(0))
    return Machine(
        source="live",
        tree=found.tree,
        cores=found.cores,
        caches=found.caches,
        numa_nodes=whole_memory(found.numa_nodes, state.memory_bytes),
        distances=found.distances,
        kinds=found.kinds,
        devices=tuple(named_by_driver(root, d) for d in found.devices),
        processor=state.processor
        if state.processor.model
        else replace(state.processor, model=found.infos.get("CPUModel", "")),
        limits=state.limits,
        memory_bytes=state.memory_bytes or sum(n.size_bytes for n in found.numa_nodes),
        kernel=state.kernel,
        hostname=state.hostname,
        transparent_huge_pages=state.transparent_huge_pages,
        hypervisor=state.hypervisor,
    )


def whole_memory(nodes: tuple[NumaNode, ...], memory_bytes: int) -> tuple[NumaNode, ...]:
    """The nodes, an only one with all memory of the machine: of what a guest was given while it ran its node may not know."""
    return (replace(nodes[0], size_bytes=memory_bytes),) if len(nodes) == 1 and memory_bytes else nodes


def _from_json(path: str) -> Machine:
    """A machine that nodewise wrote, with the limits of the process that wrote it."""
    try:
        data = parse_json(read_bounded(Path(path)))
        version = data.get("nodewise_machine") if isinstance(data, dict) else None
        if version not in (1, MACHINE_VERSION):
            raise ValueError(f"its version is {shown(version)}, this nodewise reads 1 and {MACHINE_VERSION}")
        machine = machine_from_json(data)
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(
            f"{path} is no machine that nodewise wrote, or it is damaged: {problem}",
            "write it again with `nodewise machine --json > FILE.json`",
        ) from problem
    return replace(machine, source=f"json:{path}")


def restrict(machine: Machine, allow: str) -> Machine:
    """The same machine with fewer processors allowed. Raises InputError where `allow` names one that it has not, or may not use."""
    wanted = parse_processors(allow)
    for permitted, reason in ((machine.pus, "has no"), (machine.limits.processors, "does not let this process use")):
        missing = sorted(set(wanted) - set(permitted))
        if missing:
            noun = "processor" if len(missing) == 1 else "processors"
            raise InputError(
                f"{'this machine' if machine.live else machine.source} {reason} {noun} {format_processors(missing)}",
                f"those that may be used are {format_processors(machine.limits.processors)}",
            )
    # what is not to be used, no mask widens to
    cpuset = tuple(p for p in machine.limits.cpuset if p in set(wanted))
    narrowed = machine.narrowed or set(wanted) < set(machine.allowed)
    return replace(machine, limits=replace(machine.limits, processors=wanted, cpuset=cpuset), narrowed=narrowed)


def load_machine(spec: str | None = None, allow: str | None = None, devices: bool = True) -> Machine:
    """The machine that `spec` names: None for this one, `xml:PATH`, `json:PATH` (or a path so ending), `synthetic:TEXT`.

    `allow` narrows the processors that may be used, as a list such as `0-3,8`. Of this machine, `devices` may be left out:
    it is then read in half the time. Raises InputError where either cannot be used, UnavailableError where the native part
    is missing.
    """
    source = parse_source(spec)
    if source.kind == "live":
        machine = _live(Path("/"), devices)
    elif source.kind == "json":
        machine = _from_json(source.text)
    else:
        machine = _planned(source)
    return machine if allow is None else restrict(machine, allow)


def hwloc_xml(spec: str | None = None) -> str:
    """The machine that `spec` names as hwloc's XML, for other programs. Raises InputError, also for a machine from JSON."""
    source = parse_source(spec)
    if source.kind == "json":
        raise InputError(
            f"{source.text} holds too little for hwloc's XML",
            "save it as .json, or write the XML on the machine itself: nodewise machine --save FILE.xml",
        )
    return _apart(source, lambda: _topology(source).xml())
