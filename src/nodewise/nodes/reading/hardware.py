# SPDX-License-Identifier: BSD-3-Clause
"""Firmware, processors, their clocks, and memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors, parse_processors
from nodewise.machine.files import first_match, integer, read_number, read_text
from nodewise.machine.state import read_processor
from nodewise.machine.surroundings import Surroundings
from nodewise.nodes.reading.reader import CPU, Reader, by_value, whole
from nodewise.nodes.snapshot import Clocks, Firmware, Memory, NumaNode, Processor

_DMI = "sys/class/dmi/id"
#: What programs compute with, in Linux's names; a firmware's switch or a hypervisor hides them one by one.
FEATURES = frozenset(
    [
        "ssse3",
        "sse4_1",
        "sse4_2",
        "popcnt",
        "abm",
        "movbe",
        "bmi1",
        "adx",
        "rdseed",
        "pclmulqdq",
        "vpclmulqdq",
        "vaes",
        "gfni",
        "clwb",
        "erms",
        "fsrm",
        "avx",
        "avx2",
        "fma",
        "f16c",
        "bmi2",
        "avx512f",
        "avx512dq",
        "avx512cd",
        "avx512bw",
        "avx512vl",
        "avx512_vnni",
        "avx512_bf16",
        "avx512_fp16",
        "avx_vnni",
        "amx_tile",
        "amx_bf16",
        "amx_int8",
        "aes",
        "sha_ni",
        "pdpe1gb",
        "constant_tsc",
        "nonstop_tsc",
        "rdt_a",
        "cat_l3",
        "mba",
        "asimd",
        "sve",
        "sve2",
        "bf16",
        "i8mm",
        "atomics",
    ]
)
#: Where hwloc-dump-hwdata keeps what firmware says of Xeon Phi's memory (hwloc's manual, "Reading Knights Landing's modes").
_KNL_FILES = ("run/hwloc/knl_memoryside_cache", "var/run/hwloc/knl_memoryside_cache")
_KNL = (6, (87, 133))


def read_firmware(r: Reader) -> Firmware:
    """From the DMI tables; never a serial number, an asset tag or a UUID."""
    return Firmware(
        vendor=r.text("firmware.vendor", f"{_DMI}/sys_vendor"),
        product=r.text("firmware.product", f"{_DMI}/product_name"),
        board=r.text("firmware.board", f"{_DMI}/board_name"),
        bios_version=r.text("firmware.bios_version", f"{_DMI}/bios_version"),
        bios_date=r.text("firmware.bios_date", f"{_DMI}/bios_date"),
        embedded=r.text("firmware.embedded", f"{_DMI}/ec_firmware_release"),
    )


def _microcode(r: Reader, text: str) -> dict[str, str] | None:
    found: dict[str, list[int]] = {}
    for stanza in re.split(r"\n\s*\n", text):
        number, version = first_match(r"^processor\s*:\s*(\d+)", stanza), first_match(r"^microcode\s*:\s*(\S+)", stanza)
        if version and (which := integer(number)) is not None:
            found.setdefault(version, []).append(which)
    if not found:
        r.lack("processor.microcode", "proc/cpuinfo: does not say")
    return by_value(found) or None


def _cores(r: Reader, processors: tuple[int, ...]) -> tuple[int | None, int | None, int | None]:
    """Sockets, cores and the most threads that share one."""
    sockets: set[int] = set()
    cores: dict[tuple[int, int, str], int] = {}
    for p in processors:
        folder = r.root / CPU / f"cpu{p}/topology"
        socket, core = read_number(folder / "physical_package_id"), read_number(folder / "core_id")
        if socket is not None and core is not None:
            sockets.add(socket)
            siblings = read_text(folder / "thread_siblings_list") or str(p)
            cores[socket, core, siblings] = cores.get((socket, core, siblings), 0) + 1
    if not cores:
        for fact in ("sockets", "cores", "threads_per_core"):
            r.lack(f"processor.{fact}", f"{CPU}/cpu*/topology: not there")
        return None, None, None
    return len(sockets), len(cores), max(cores.values())


def _caches(r: Reader, first: int) -> dict[str, int] | None:
    found = {}
    for index in r.folders("processor.caches", f"{CPU}/cpu{first}/cache", "index*") or ():
        level, kind, size = (read_text(index / name) for name in ("level", "type", "size"))
        match = re.fullmatch(r"(\d+)([KMG]?)", size or "")
        number = integer(match[1]) if match else None
        if level and kind and match and number is not None:
            letter = {"Data": "d", "Instruction": "i"}.get(kind, "")
            found[f"L{level}{letter}"] = number << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]
    if not found:
        r.absent.setdefault("processor.caches", f"{CPU}/cpu{first}/cache: does not say")
    return found or None


def read_processors(r: Reader, online: tuple[int, ...]) -> Processor:
    """What they are, and which are switched on: `online` by their numbers."""
    text, reason = r.raw("proc/cpuinfo")
    known = read_processor(r.root)
    for fact, value in (("vendor", known.vendor), ("name", known.model), ("features", known.flags)):
        if not value:
            r.lack(f"processor.{fact}", reason or "proc/cpuinfo: does not say")
    sockets, cores, threads = _cores(r, online)
    offline, why = r.raw(f"{CPU}/offline")
    if offline is None:
        r.lack("processor.offline", why)

    def stated(name: str, pattern: str) -> int | None:
        return whole(r.match(f"processor.{name}", "proc/cpuinfo", pattern))

    shown, missing = r.raw(f"{CPU}/online")
    if not shown:
        r.lack("processor.online", missing or f"{CPU}/online: empty")
    return Processor(
        vendor=known.vendor or None,
        name=known.model or None,
        family=stated("family", r"^(?:cpu family|CPU architecture)\s*:\s*(\d+)"),
        model=stated("model", r"^(?:model|CPU part)\s*:\s*(0x[0-9a-f]+|\d+)"),
        stepping=stated("stepping", r"^(?:stepping|CPU revision)\s*:\s*(\d+)"),
        microcode=_microcode(r, text or ""),
        sockets=sockets,
        cores=cores,
        online=format_processors(online) if shown else None,
        offline=offline,
        smt=r.text("processor.smt", f"{CPU}/smt/control"),
        threads_per_core=threads,
        caches=_caches(r, online[0]),
        features=tuple(f for f in known.flags if f in FEATURES) if known.flags else None,
    )


def clocks_of(r: Reader, s: Surroundings) -> Clocks:
    """The clocks as they were read for `nodewise quiet`, with the reason for each that is not shown."""
    c = s.clocks
    made = Clocks(
        governors=by_value(c.governors) or None,
        drivers=by_value(c.drivers) or None,
        preferences=by_value(c.preferences) or None,
        held_to_hz=c.held_to,
        could_hz=c.could,
        least_hz=c.least,
        boost=c.boost,
        most_percent=c.most_percent,
        idle_driver=c.idle_driver,
        idle_latency_us=c.idle_latency_us,
        throttled=sum(s.throttled.values()) if s.throttled else None,
    )
    files = {
        "governors": "cpu0/cpufreq/scaling_governor",
        "drivers": "cpu0/cpufreq/scaling_driver",
        "preferences": "cpu0/cpufreq/energy_performance_preference",
        "held_to_hz": "cpu0/cpufreq/scaling_max_freq",
        "could_hz": "cpu0/cpufreq/cpuinfo_max_freq",
        "least_hz": "cpu0/cpufreq/scaling_min_freq",
        "boost": "intel_pstate/no_turbo, cpufreq/boost",
        "most_percent": "intel_pstate/max_perf_pct",
        "idle_driver": "cpuidle/current_driver",
        "idle_latency_us": "cpu0/cpuidle",
        "throttled": "cpu*/thermal_throttle",
    }
    for fact, file in files.items():
        if getattr(made, fact) is None:
            r.lack(f"clocks.{fact}", f"{CPU}/{file}: not there")
    return made


def _numa(r: Reader) -> dict[str, NumaNode] | None:
    found = {}
    for folder in r.folders("memory.numa", "sys/devices/system/node", "node[0-9]*") or ():
        if not folder.name.removeprefix("node").isdecimal():
            continue
        total = integer(first_match(r"MemTotal:\s*(\d+) kB", read_text(folder / "meminfo") or ""))
        distances = (read_text(folder / "distance") or "").split()
        found[folder.name.removeprefix("node")] = NumaNode(
            read_text(folder / "cpulist") or "",
            total * 1024 if total else None,
            tuple(n for d in distances if (n := integer(d)) is not None),
        )
        if not total:
            r.lack(
                f"memory.numa.{folder.name.removeprefix('node')}.bytes",
                f"sys/devices/system/node/{folder.name}/meminfo: does not say",
            )
    if not found:
        r.absent.setdefault("memory.numa", "sys/devices/system/node: no node in it")
    return dict(sorted(found.items(), key=lambda item: int(item[0]))) or None


def _xeon_phi_modes(
    r: Reader, numa: Mapping[str, NumaNode] | None, processor: Processor
) -> tuple[str | None, str | None]:
    """Memory and cluster mode: by the service that reads the firmware's tables, else by the NUMA nodes as `numactl -H` shows them."""
    told = next((text for file in _KNL_FILES if (text := r.raw(file)[0])), "")
    mode = first_match(r"^memory_mode:\s*(\S+)", told)
    cluster = first_match(r"^cluster_mode:\s*(\S+)", told)
    phi = processor.family == _KNL[0] and processor.model in _KNL[1]
    if phi and numa and not (mode and cluster):
        bare = [n for n in numa.values() if not n.processors]
        served = len(numa) - len(bare)
        mode = mode or ("Flat or Hybrid" if bare else "Cache")
        cluster = cluster or {2: "SNC2", 4: "SNC4"}.get(served, "All2All, Hemisphere or Quadrant")
    why = f"{_KNL_FILES[0]}: not there" if phi else "only Xeon Phi has such modes"
    for fact, value in (("mode", mode), ("cluster_mode", cluster)):
        if value is None:
            r.lack(f"memory.{fact}", why)
    return mode, cluster


def read_memory(r: Reader, s: Surroundings, processor: Processor) -> Memory:
    """Sizes, NUMA nodes, huge pages, and what moves pages."""
    numa = _numa(r)
    mode, cluster = _xeon_phi_modes(r, numa, processor)
    reserved = {}
    for folder in r.folders("memory.reserved_pages", "sys/kernel/mm/hugepages", "hugepages-*") or ():
        reserved[folder.name.removeprefix("hugepages-")] = read_number(folder / "nr_hugepages") or 0
    swap, _ = r.raw("proc/meminfo")
    total = integer(first_match(r"^SwapTotal:\s*(\d+) kB", swap or ""))
    m, k = s.memory, s.kernel
    known: dict[str, tuple[object, str]] = {
        "total": (m.total or None, "proc/meminfo"),
        "available": (m.available, "proc/meminfo"),
        "swap": (total, "proc/meminfo"),
        "swap_used": (total, "proc/meminfo"),
        "huge_pages": (k.huge_pages, "sys/kernel/mm/transparent_hugepage/enabled"),
        "huge_page_defrag": (k.huge_page_defrag, "sys/kernel/mm/transparent_hugepage/defrag"),
        "same_page_merging": (k.same_page_merging, "sys/kernel/mm/ksm/run"),
        "numa_balancing": (k.numa_balancing, "proc/sys/kernel/numa_balancing"),
        "swappiness": (m.swappiness, "proc/sys/vm/swappiness"),
    }
    for fact, (value, file) in known.items():
        if value is None:
            r.lack(f"memory.{fact}", f"{file}: not there or does not say")
    return Memory(
        total=m.total or None,
        available=m.available,
        swap=None if total is None else total * 1024,
        swap_used=None if total is None else m.swap_used,
        numa=numa,
        mode=mode,
        cluster_mode=cluster,
        huge_pages=k.huge_pages,
        huge_page_defrag=k.huge_page_defrag,
        reserved_pages=None if "memory.reserved_pages" in r.absent else reserved,
        same_page_merging=k.same_page_merging,
        numa_balancing=k.numa_balancing,
        swappiness=m.swappiness,
        overcommit=r.number("memory.overcommit", "proc/sys/vm/overcommit_memory"),
        zone_reclaim=r.number("memory.zone_reclaim", "proc/sys/vm/zone_reclaim_mode"),
    )


#: Kernels are built for fewer; a list of more is damage, and each would be looked at.
_MOST_PROCESSORS = 1 << 15


def online_of(root: Path) -> tuple[int, ...]:
    """The processors that are switched on; where the system does not list them, those in /proc/cpuinfo, and at least the first."""
    text = read_text(root / CPU / "online") or ""
    try:
        found = parse_processors(text)
        if len(found) <= _MOST_PROCESSORS:
            return found
    except InputError:
        pass
    listed = re.findall(r"^processor\s*:\s*(\d{1,7})\s*$", read_text(root / "proc/cpuinfo") or "", re.MULTILINE)
    return tuple(sorted({int(n) for n in listed})[:_MOST_PROCESSORS]) or (0,)
