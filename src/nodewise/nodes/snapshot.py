# SPDX-License-Identifier: BSD-3-Clause
"""Snapshot: what a node is and how it is set, as plain values that can be compared with those of other nodes.

Sizes are bytes, clocks hertz, times seconds, temperatures degrees Celsius. A fact that is not known is None, and `absent` says
why by its path (`clocks.governors`), or by that of the part that it belongs to (`clocks`). No user, serial number, address or value of a
variable is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from nodewise.base.frozen import dataclass
from nodewise.base.shapes import ShapeError, fit

#: Raised with every change after which a reader of the old JSON would be wrong.
SNAPSHOT_VERSION = 1
#: Processors by value, as lists such as `0-63`.
ByValue = Mapping[str, str]


@dataclass(frozen=True)
class System:
    """The operating system. `uptime_s` is how long it has been up; `processes` how many tasks there are,
    the threads of all processes."""

    name: str | None
    version: str | None
    kernel: str | None
    build: str | None
    architecture: str | None
    hypervisor: str | None
    container: str | None
    cgroup_version: int | None
    tainted: int | None
    uptime_s: float | None
    load: float | None
    processes: int | None


@dataclass(frozen=True)
class Firmware:
    """Maker and product of the machine, and the version and date of its firmware."""

    vendor: str | None
    product: str | None
    board: str | None
    bios_version: str | None
    bios_date: str | None
    embedded: str | None


@dataclass(frozen=True)
class Processor:
    """The processors: `microcode` by value, `caches` as sizes by name such as `L2`, `features` those that programs compute with."""

    vendor: str | None
    name: str | None
    family: int | None
    model: int | None
    stepping: int | None
    microcode: ByValue | None
    sockets: int | None
    cores: int | None
    online: str | None
    offline: str | None
    smt: str | None
    threads_per_core: int | None
    caches: Mapping[str, int] | None
    features: tuple[str, ...] | None


@dataclass(frozen=True)
class Clocks:
    """The processors' clocks: governors, drivers and energy preferences by value, limits, and how long an idle processor needs to wake."""

    governors: ByValue | None
    drivers: ByValue | None
    preferences: ByValue | None
    held_to_hz: float | None
    could_hz: float | None
    least_hz: float | None
    boost: bool | None
    most_percent: int | None
    idle_driver: str | None
    idle_latency_us: int | None
    throttled: int | None


@dataclass(frozen=True)
class Time:
    """The clock that programs read, and how far the kernel's own correction says that it is off, at most by `error_s`."""

    source: str | None
    sources: tuple[str, ...] | None
    synchronised: bool | None
    offset_s: float | None
    error_s: float | None


@dataclass(frozen=True)
class NumaNode:
    """One NUMA node: its processors as a list, its memory, and its distance to each node."""

    processors: str
    bytes: int | None
    distances: tuple[int, ...]


@dataclass(frozen=True)
class Memory:
    """Memory and how it is used. `mode` and `cluster_mode` are those of Xeon Phi; `reserved_pages` counts by size, such as `2048kB`."""

    total: int | None
    available: int | None
    swap: int | None
    swap_used: int | None
    numa: Mapping[str, NumaNode] | None
    mode: str | None
    cluster_mode: str | None
    huge_pages: str | None
    huge_page_defrag: str | None
    reserved_pages: Mapping[str, int] | None
    same_page_merging: int | None
    numa_balancing: int | None
    swappiness: int | None
    overcommit: int | None
    zone_reclaim: int | None


@dataclass(frozen=True)
class Kernel:
    """What the kernel was told: `options` by name, with the values of those that are known to hold nothing private, else null."""

    options: Mapping[str, str | None] | None
    isolated: str | None
    tickless: str | None
    no_callbacks: str | None
    mitigations: Mapping[str, str] | None
    aslr: int | None
    perf_paranoid: int | None
    nmi_watchdog: int | None
    autogroups: int | None
    modules: Mapping[str, str | None] | None


@dataclass(frozen=True)
class Limits:
    """What a process that is started here may use; `ulimits` are soft and hard limits by name, null where there is none."""

    processors: str
    cpu_quota: float | None
    memory: int | None
    ulimits: Mapping[str, tuple[int | None, int | None]] | None


@dataclass(frozen=True)
class Mount:
    """A file system: options that can be compared, its size, and the shares of space and of inodes that are free.

    The last three are null, too, where it does not answer within half a second, or is of a recorded system; `answers` is false in the first case.
    `passing` is one that an automounter brings when it is used, and takes away.
    """

    type: str
    options: tuple[str, ...]
    answers: bool | None
    bytes: int | None
    free: float | None
    free_inodes: float | None
    passing: bool = False


@dataclass(frozen=True)
class Port:
    """A port of a fabric's adapter: InfiniBand, RoCE, Omni-Path. `errors` are those counted since its start."""

    adapter: str | None
    firmware: str | None
    layer: str | None
    state: str | None
    physical: str | None
    rate: str | None
    errors: Mapping[str, int] | None
    numa_node: int | None


@dataclass(frozen=True)
class Interface:
    """A network interface with hardware behind it; `speed` in Mbit/s."""

    driver: str | None
    state: str | None
    speed: int | None
    duplex: str | None
    mtu: int | None
    errors: int | None


@dataclass(frozen=True)
class Accelerator:
    """A graphics or compute device on PCI: `device` is vendor:device, `link` and `link_could` are width and speed of its slot."""

    device: str
    driver: str | None
    numa_node: int | None
    link: str | None
    link_could: str | None


@dataclass(frozen=True)
class Sensors:
    """The hottest place of each chip, its power in watts, and the slowest of its fans that turn; `processor` is the hottest of processors."""

    processor: float | None
    temperatures: Mapping[str, float] | None
    watts: Mapping[str, float] | None
    fans: Mapping[str, int] | None


@dataclass(frozen=True)
class Errors:
    """Faults that hardware reported since the system's start: memory's (`dimms` are those that are watched), processors', PCI's."""

    dimms: int | None
    corrected: int | None
    uncorrected: int | None
    machine_checks: int | None
    pci_corrected: int | None
    pci_fatal: int | None


@dataclass(frozen=True)
class Speed:
    """What a test of speed gave: the median rate of its `runs`, more being better, with its 95% interval (None: of too few runs),
    on so many threads. Other load was seen in `disturbed` of the runs. `unit` is that of the rate, such as GB/s. Of one between
    nodes a run is a meeting of two; `unreached` are the nodes with which there was none, and the rate is None where that is all."""

    rate: float | None
    low: float | None
    high: float | None
    unit: str
    threads: int
    runs: int
    disturbed: int
    unreached: str | None = None


@dataclass(frozen=True)
class Snapshot:
    """A node at a moment: `taken` in seconds since 1970 by its own clock, `quiet` what `nodewise quiet` says of how it is set,
    `own` the facts that whoever took it added, `speed` the tests that were asked for."""

    node: str
    taken: float
    made_by: str
    system: System
    firmware: Firmware
    processor: Processor
    clocks: Clocks
    time: Time
    memory: Memory
    kernel: Kernel
    limits: Limits
    mounts: Mapping[str, Mount] | None
    software: Mapping[str, str] | None
    services: Mapping[str, bool] | None
    fabric: Mapping[str, Port] | None
    network: Mapping[str, Interface] | None
    accelerators: Mapping[str, Accelerator] | None
    sensors: Sensors
    errors: Errors
    quiet: Mapping[str, str]
    own: Mapping[str, str | float | bool] = field(default_factory=dict)
    speed: Mapping[str, Speed] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values for JSON; `snapshot_from_json` reads them back."""
        return {"nodewise_snapshot": SNAPSHOT_VERSION, **asdict(self)}


def version_problem(data: Any) -> str | None:
    """Why a plain value is no snapshot of this version, in words; None where it is one by its mark."""
    version = data.get("nodewise_snapshot") if isinstance(data, dict) else None
    if version is None:
        return "it is no snapshot: it lacks `nodewise_snapshot`"
    if version == SNAPSHOT_VERSION and not isinstance(version, bool):
        return None
    shown = version if isinstance(version, int) else "unknown"
    return f"it is a snapshot of version {shown}, this nodewise reads version {SNAPSHOT_VERSION}"


def snapshot_from_json(data: Any) -> Snapshot:
    """Rebuild a Snapshot from `Snapshot.to_json`. Raises ShapeError where it is no such record."""
    problem = version_problem(data)
    if problem:
        raise ShapeError("", problem)
    made: Snapshot = fit(data, Snapshot)
    return made
