# SPDX-License-Identifier: BSD-3-Clause
"""Surroundings: what is set on a system that makes a program's time vary. Only read, never changed.

Everything is read below a root, `/` or a recorded tree; what the system does not report is None or empty, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import parse_processors
from nodewise.machine.cgroups import read_limits
from nodewise.machine.files import first_match, integer, read_number, read_text
from nodewise.machine.model import Limits
from nodewise.machine.state import read_hypervisor

CPU = "sys/devices/system/cpu"

#: Programs that begin to work by themselves, by their name in /proc/PID/comm (which keeps 15 letters), and what they do.
BUSYBODIES = {
    "updatedb": "indexes files",
    "updatedb.mlocat": "indexes files",
    "updatedb.plocat": "indexes files",
    "tracker-miner-f": "indexes files",
    "tracker-extract": "indexes files",
    "localsearch-3": "indexes files",
    "baloo_file": "indexes files",
    "baloo_file_extr": "indexes files",
    "clamd": "scans for viruses",
    "freshclam": "scans for viruses",
    "clamonacc": "scans for viruses",
    "wdavdaemon": "scans for viruses",
    "mdatp": "scans for viruses",
    "falcon-sensor": "watches every process and file",
    "falcon-sensor-b": "watches every process and file",
    "osqueryd": "asks the system for its state now and then",
    "packagekitd": "looks for updates",
    "unattended-upgr": "installs updates",
    "dnf-automatic": "installs updates",
    "snapd": "installs updates",
    "fwupd": "looks for updates",
    "collectd": "collects figures of the system",
    "telegraf": "collects figures of the system",
    "netdata": "collects figures of the system",
    "node_exporter": "collects figures of the system",
    "sadc": "collects figures of the system",
    "pmdaproc": "collects figures of the system",
    "pmlogger": "collects figures of the system",
    "thermald": "lowers the clock when it gets warm",
    "tuned": "changes settings of the system",
    "power-profiles-": "changes the clock's settings",
    "tlp": "changes the clock's settings",
    "auto-cpufreq": "changes the clock's settings",
}

#: Programs that start others at set times.
STARTERS = ("cron", "crond", "fcron", "anacron", "atd")


@dataclass(frozen=True)
class Clocks:
    """The processors' clocks as cpufreq shows them; all empty where it shows none, as on most virtual machines.

    `governors`, `drivers` and `preferences` (energy against performance) say which processors have which; frequencies
    are the least over the processors, in hertz: `held_to` what is allowed, `could` what the processor can, `least` the
    lowest allowed.
    """

    governors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    drivers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    preferences: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    held_to: float | None = None
    could: float | None = None
    least: float | None = None
    boost: bool | None = None
    boost_file: str = ""
    most_percent: int | None = None
    idle_driver: str | None = None
    idle_latency_us: int | None = None


@dataclass(frozen=True)
class Kernel:
    """What the kernel was told to do: switches by sysctl, its command line, and which processors it leaves alone.

    `autogroup` is the group of sessions that this process is in with its weight, as /proc/self/autogroup says it; None where
    the control group that it is in shares processors out instead. `counters`: whether the processors' events are counted (None: not
    shown).
    """

    command_line: tuple[str, ...] = ()
    aslr: int | None = None
    numa_balancing: int | None = None
    huge_pages: str | None = None
    huge_page_defrag: str | None = None
    same_page_merging: int | None = None
    perf_paranoid: int | None = None
    counters: bool | None = None
    nmi_watchdog: int | None = None
    isolated: tuple[int, ...] = ()
    tickless: tuple[int, ...] = ()
    autogroups: int | None = None
    autogroup: str | None = None
    clock_source: str | None = None
    clock_sources: tuple[str, ...] = ()
    mitigations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Memory:
    """Memory and what moves it, in bytes: `swaps` are the areas by name, `available` is what can be had without paging.

    `reporting` are the balloon devices by file that report free pages to the hypervisor, and `reporting_order` the power of two
    of pages from which on; `reclaiming` what of the kernel pages out memory that is not used, by file with its value.
    """

    total: int = 0
    available: int | None = None
    dirty: int = 0
    swaps: tuple[str, ...] = ()
    swap_used: int = 0
    swappiness: int | None = None
    nodes: int = 1
    reporting: tuple[str, ...] = ()
    reporting_order: int | None = None
    reclaiming: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Surroundings:
    """All of it. `processors` are those that may be used here, `online` all that are on; `siblings` are those among them that share a core.

    `pressure` is the share of the last ten seconds in which some process waited (None: not shown); `throttled` the
    thermal counters since the system's start by file; `timers` are systemd's that are switched on, `running` the names
    of programs that begin to work by themselves with one process number of each.
    """

    processors: tuple[int, ...]
    online: tuple[int, ...]
    limits: Limits
    clocks: Clocks
    kernel: Kernel
    memory: Memory
    smt: str | None = None
    siblings: tuple[tuple[int, ...], ...] = ()
    hypervisor: str | None = None
    container: str | None = None
    container_file: str = ""
    pressure: Mapping[str, float] | None = None
    throttled: Mapping[str, int] = field(default_factory=dict)
    timers: tuple[str, ...] = ()
    running: Mapping[str, int] = field(default_factory=dict)
    systemd: bool = False
    discharging: str | None = None
    has_battery: bool = False
    profile: str | None = None


def _listed(path: Path) -> tuple[int, ...]:
    """A file with a list of processors; empty where there is none."""
    try:
        text = read_text(path)
        return parse_processors(text) if text else ()
    except InputError:
        return ()


def _by_value(root: Path, processors: Iterable[int], name: str) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for p in processors:
        text = read_text(root / CPU / f"cpu{p}" / name)
        if text:
            found.setdefault(text, []).append(p)
    return {value: tuple(which) for value, which in found.items()}


def _least(root: Path, processors: Iterable[int], name: str) -> float | None:
    found = [n for p in processors if (n := read_number(root / CPU / f"cpu{p}/cpufreq/{name}")) is not None]
    return min(found) * 1e3 if found else None


def read_clocks(root: Path, processors: tuple[int, ...]) -> Clocks:
    """Governor, driver, limits, boost and idle states of the processors."""
    boost, boost_file = None, ""
    for name, on in (("intel_pstate/no_turbo", 0), ("cpufreq/boost", 1)):
        value = read_number(root / CPU / name)
        if value is not None:
            boost, boost_file = value == on, f"{CPU}/{name}"
            break
    first = processors[0] if processors else 0
    latencies = [
        n
        for d in (root / CPU / f"cpu{first}/cpuidle").glob("state*")
        if (n := read_number(d / "latency")) is not None and read_number(d / "disable") != 1
    ]
    idle = read_text(root / CPU / "cpuidle/current_driver")
    return Clocks(
        governors=_by_value(root, processors, "cpufreq/scaling_governor"),
        drivers=_by_value(root, processors, "cpufreq/scaling_driver"),
        preferences=_by_value(root, processors, "cpufreq/energy_performance_preference"),
        held_to=_least(root, processors, "scaling_max_freq"),
        could=_least(root, processors, "cpuinfo_max_freq"),
        least=_least(root, processors, "scaling_min_freq"),
        boost=boost,
        boost_file=boost_file,
        most_percent=read_number(root / CPU / "intel_pstate/max_perf_pct"),
        idle_driver=None if idle == "none" else idle,
        idle_latency_us=max(latencies, default=None),
    )


def _counters(root: Path) -> bool | None:
    """Whether the kernel counts a processor's events, None where it does not show what it counts."""
    devices = root / "sys/bus/event_source/devices"
    if not devices.is_dir():
        return None
    # `cpu`, of hybrid ones cpu_core and cpu_atom, on Arm armv8_pmuv3_0 and the like
    return any(re.match(r"cpu(_core|_atom)?$|armv\d|arm_pmu", path.name) for path in devices.iterdir())


def read_kernel(root: Path) -> Kernel:
    """Switches, command line, isolated processors, clock source and mitigations."""
    huge = root / "sys/kernel/mm/transparent_hugepage"
    source = root / "sys/devices/system/clocksource/clocksource0"
    weaknesses = root / CPU / "vulnerabilities"
    sysctl = root / "proc/sys/kernel"
    return Kernel(
        command_line=tuple((read_text(root / "proc/cmdline") or "").split()),
        aslr=read_number(sysctl / "randomize_va_space"),
        numa_balancing=read_number(sysctl / "numa_balancing"),
        huge_pages=first_match(r"\[([\w+]+)\]", read_text(huge / "enabled") or ""),
        huge_page_defrag=first_match(r"\[([\w+]+)\]", read_text(huge / "defrag") or ""),
        same_page_merging=read_number(root / "sys/kernel/mm/ksm/run"),
        perf_paranoid=read_number(sysctl / "perf_event_paranoid"),
        counters=_counters(root),
        nmi_watchdog=read_number(sysctl / "nmi_watchdog"),
        autogroups=read_number(sysctl / "sched_autogroup_enabled"),
        autogroup=_autogroup(root),
        isolated=_listed(root / CPU / "isolated"),
        tickless=_listed(root / CPU / "nohz_full"),
        clock_source=read_text(source / "current_clocksource") or None,
        clock_sources=tuple((read_text(source / "available_clocksource") or "").split()),
        mitigations={p.name: read_text(p) or "" for p in sorted(weaknesses.glob("*"))},
    )


def _autogroup(root: Path) -> str | None:
    """This process's autogroup where it counts: sched(7), only in the root group of the controller of processor time."""
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        controllers, _, group = line.partition(":")[2].partition(":")
        if (controllers == "" or "cpu" in controllers.split(",")) and group != "/":
            return None
    return read_text(root / "proc/self/autogroup") or None


#: A virtio device of this type is a balloon, and this bit of its features says that free pages are reported to it
#: (virtio 1.2, 5.5 Traditional Memory Balloon Device: VIRTIO_BALLOON_F_PAGE_REPORTING).
_BALLOON, _REPORTING_BIT = 5, 5


def _reporting(root: Path) -> tuple[str, ...]:
    """The balloons that report free pages to the hypervisor, by the file that says so."""
    found = []
    for device in sorted((root / "sys/bus/virtio/devices").glob("*")):
        features = read_text(device / "features") or ""
        if (
            integer(read_text(device / "device"), 16) == _BALLOON
            and features[_REPORTING_BIT : _REPORTING_BIT + 1] == "1"
        ):
            found.append(str((device / "features").relative_to(root)))
    return tuple(found)


def _reclaiming(root: Path) -> dict[str, str]:
    """What of DAMON pages out memory that is not used, by file: its module, and threads with a scheme that does."""
    found = {}
    module = "sys/module/damon_reclaim/parameters/enabled"
    if (read_text(root / module) or "").upper() in ("Y", "1"):
        found[module] = "Y"
    for thread in sorted((root / "sys/kernel/mm/damon/admin/kdamonds").glob("[0-9]*")):
        if read_text(thread / "state") != "on":
            continue
        for action in sorted(thread.glob("contexts/*/schemes/*/action")):
            value = read_text(action)
            if value == "pageout":
                found[str(action.relative_to(root))] = value
    return found


def read_memory_state(root: Path) -> Memory:
    """Memory, swap and what waits to be written."""
    meminfo = read_text(root / "proc/meminfo") or ""

    def size(name: str) -> int | None:
        found = integer(first_match(rf"^{name}:\s*(\d+) kB", meminfo))
        return None if found is None else found * 1024

    swaps = [line.split()[0] for line in (read_text(root / "proc/swaps") or "").splitlines()[1:] if line.strip()]
    return Memory(
        total=size("MemTotal") or 0,
        available=size("MemAvailable"),
        dirty=(size("Dirty") or 0) + (size("Writeback") or 0),
        swaps=tuple(swaps),
        swap_used=(size("SwapTotal") or 0) - (size("SwapFree") or 0),
        swappiness=read_number(root / "proc/sys/vm/swappiness"),
        reporting=_reporting(root),
        reporting_order=read_number(root / "sys/module/page_reporting/parameters/page_reporting_order"),
        reclaiming=_reclaiming(root),
        nodes=max(1, len(list((root / "sys/devices/system/node").glob("node[0-9]*")))),
    )


def read_container(root: Path) -> tuple[str, str] | None:
    """The kind of container that this system is in, and what shows it; None where nothing does."""
    if read_text(root / "proc/2/comm") == "kthreadd":
        # the kernel's threads are seen by the first namespace of processes alone
        return None
    named = read_text(root / "run/systemd/container")
    if named:
        return named, f"run/systemd/container: {named}"
    for file, kind in ((".dockerenv", "docker"), ("run/.containerenv", "podman")):
        if (root / file).exists():
            return kind, f"{file}: there"
    kinds = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"))
    for file in ("proc/self/cgroup", "proc/1/cgroup"):
        groups = read_text(root / file) or ""
        found = next((kind for mark, kind in kinds if re.search(rf"[/:.-]{mark}\b", groups)), None)
        if found:
            return found, f"{file}: … {found} …"
    return None


def read_throttled(root: Path, processors: Iterable[int]) -> dict[str, int]:
    """How often heat has lowered the clock since the system's start, by file; siblings and packages count once each."""
    found: dict[str, int] = {}
    cores, sockets = set(), set()
    for p in processors:
        directory = root / CPU / f"cpu{p}"
        socket = read_number(directory / "topology/physical_package_id") or 0
        core = read_number(directory / "topology/core_id")
        wanted = []
        if (socket, core) not in cores or core is None:
            wanted.append("core_throttle_count")
        if socket not in sockets:
            wanted.append("package_throttle_count")
        for name in wanted:
            count = read_number(directory / "thermal_throttle" / name)
            if count is not None:
                found[f"{CPU}/cpu{p}/thermal_throttle/{name}"] = count
                cores.add((socket, core))
                if name.startswith("package"):
                    sockets.add(socket)
    return found


def _pressure(root: Path) -> dict[str, float] | None:
    found = {}
    for what in ("cpu", "memory", "io"):
        share = first_match(r"^some avg10=([\d.]+)", read_text(root / "proc/pressure" / what) or "")
        if share is not None:
            found[what] = float(share) / 100
    return found or None


def _timers(root: Path) -> tuple[str, ...]:
    folders = ("etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
    found = {p.name for f in folders for p in (root / f / "timers.target.wants").glob("*.timer")}
    return tuple(sorted(found))


def _running(root: Path) -> dict[str, int]:
    known = {*BUSYBODIES, *STARTERS, "irqbalance"}
    found: dict[str, int] = {}
    for path in sorted((root / "proc").glob("[0-9]*/comm")):
        name = read_text(path)
        if name in known:
            found.setdefault(name, int(path.parent.name))
    return found


def _battery(root: Path) -> tuple[bool, str | None]:
    """Whether there is a battery that feeds the system, and the name of one that is being used up."""
    has, discharging = False, None
    for supply in sorted((root / "sys/class/power_supply").glob("*")):
        # a mouse's battery says Device
        if read_text(supply / "type") == "Battery" and read_text(supply / "scope") != "Device":
            has = True
            if read_text(supply / "status") == "Discharging":
                discharging = supply.name
    return has, discharging


def _siblings(root: Path, processors: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    allowed = set(processors)
    found = {
        tuple(p for p in _listed(root / CPU / f"cpu{q}/topology/thread_siblings_list") if p in allowed) for q in allowed
    }
    return tuple(sorted(f for f in found if len(f) > 1))


def online_processors(root: Path) -> tuple[int, ...]:
    """The processors that a recorded system had switched on; the first alone where it does not say."""
    return _listed(root / CPU / "online") or (0,)


def read_surroundings(root: Path, affinity: Iterable[int] | None = None) -> Surroundings:
    """Read everything below `root`; `affinity` are the processors that may be used (None: all that are on)."""
    memory = read_memory_state(root)
    online = online_processors(root)
    limits = read_limits(root, online if affinity is None else affinity, memory.total)
    processors = limits.processors
    has_battery, discharging = _battery(root)
    container = read_container(root)
    return Surroundings(
        processors=processors,
        online=online,
        limits=limits,
        clocks=read_clocks(root, processors),
        kernel=read_kernel(root),
        memory=memory,
        smt=read_text(root / CPU / "smt/control"),
        siblings=_siblings(root, processors),
        hypervisor=read_hypervisor(root),
        container=container[0] if container else None,
        container_file=container[1] if container else "",
        pressure=_pressure(root),
        throttled=read_throttled(root, processors),
        timers=_timers(root),
        running=_running(root),
        systemd=read_text(root / "proc/1/comm") == "systemd",
        discharging=discharging,
        has_battery=has_battery,
        profile=read_text(root / "sys/firmware/acpi/platform_profile"),
    )
