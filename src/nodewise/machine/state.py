# SPDX-License-Identifier: BSD-3-Clause
"""State: what the running system says of itself in /proc and /sys. What it does not say is None or empty, never a guess."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed
from nodewise.machine.cgroups import read_limits
from nodewise.machine.files import first_match, read_number, read_text
from nodewise.machine.model import Device, Limits, Processor

#: Arm's "CPU implementer" codes of machines that compute (Linux, arch/arm64/include/asm/cputype.h).
_IMPLEMENTERS = {
    0x41: "Arm",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x61: "Apple",
    0xC0: "Ampere",
}

#: What virtual machines put into the DMI tables, and the hypervisor that it shows.
_VENDORS = {
    "QEMU": "QEMU/KVM",
    "VMware": "VMware",
    "innotek": "VirtualBox",
    "Microsoft": "Hyper-V",
    "Xen": "Xen",
    "Google": "Google",
    "Amazon": "Amazon EC2",
    "Firecracker": "Firecracker",
}


@dataclass(frozen=True)
class State:
    """The part of a Machine that the system reports."""

    processor: Processor
    limits: Limits
    memory_bytes: int
    kernel: str
    hostname: str
    transparent_huge_pages: str | None
    hypervisor: str | None


def _clock_directories(root: Path) -> list[Path]:
    return sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq"))


def _same(values: Iterable[str | None]) -> str | None:
    """The one value, or all of them where processors differ."""
    known = sorted({v for v in values if v})
    return listed(known) or None


def _median(values: Sequence[float]) -> float:
    """The median of at least one number; Python's module for it takes longer to load than all files here to read."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def read_processor(root: Path) -> Processor:
    """Model and clocks. Frequencies come from cpufreq (in kHz there); without it, the current one from /proc/cpuinfo (MHz)."""
    cpuinfo = read_text(root / "proc/cpuinfo") or ""
    clocks = _clock_directories(root)
    now = [n for d in clocks if (n := read_number(d / "scaling_cur_freq")) is not None]
    top = [n for d in clocks if (n := read_number(d / "cpuinfo_max_freq")) is not None]
    stated = first_match(r"^(?:cpu MHz|clock)\s*:\s*([\d.]+)", cpuinfo)
    implementer = first_match(r"^CPU implementer\s*:\s*(0x[0-9a-fA-F]+)", cpuinfo)
    vendor = first_match(r"^vendor_id\s*:\s*(\S.*)$", cpuinfo)
    if not vendor and implementer:
        vendor = _IMPLEMENTERS.get(int(implementer, 16))
    # x86 says "flags", Arm "Features"; processors of one machine that differ in them are described by the first
    flags = first_match(r"^(?:flags|Features)\s*:\s*(\S.*)$", cpuinfo) or ""
    return Processor(
        model=" ".join((first_match(r"^(?:model name|cpu|uarch)\s*:\s*(\S.*)$", cpuinfo) or "").split()),
        vendor=vendor or "",
        frequency_hz=_median(now) * 1e3 if now else float(stated) * 1e6 if stated else None,
        max_frequency_hz=max(top) * 1e3 if top else None,
        governor=_same(read_text(d / "scaling_governor") for d in clocks),
        driver=_same(read_text(d / "scaling_driver") for d in clocks),
        flags=tuple(sorted(set(flags.split()))),
    )


def read_hypervisor(root: Path) -> str | None:
    """The hypervisor under this system: its name, `unnamed` where only the processor's flag shows one, None on bare metal."""
    kind = read_text(root / "sys/hypervisor/type")
    flags = first_match(r"^flags\s*:\s*(.*)$", read_text(root / "proc/cpuinfo") or "")
    # Arm has no such flag; there the DMI tables of a virtual machine are the only witness.
    if not kind and flags is not None and "hypervisor" not in flags.split():
        return None
    vendor = read_text(root / "sys/class/dmi/id/sys_vendor") or ""
    product = read_text(root / "sys/class/dmi/id/product_name") or ""
    named = next((name for start, name in _VENDORS.items() if vendor.startswith(start)), None)
    if flags is None and not kind:
        # Some vendors' names are on their real machines too.
        return named if named == "QEMU/KVM" or re.search(r"virtual|kvm", product, re.IGNORECASE) else None
    return named or kind or "unnamed"


def read_state(root: Path, affinity: Iterable[int]) -> State:
    """Read everything below `root` (`/`, or a recorded tree); `affinity` are the processors that the scheduler grants."""
    meminfo = read_text(root / "proc/meminfo") or ""
    memory = int(first_match(r"^MemTotal:\s*(\d+) kB", meminfo) or 0) * 1024
    pages = read_text(root / "sys/kernel/mm/transparent_hugepage/enabled") or ""
    name = read_text(root / "proc/sys/kernel/ostype") or ""
    release = read_text(root / "proc/sys/kernel/osrelease") or ""
    return State(
        processor=read_processor(root),
        limits=read_limits(root, affinity, memory),
        memory_bytes=memory,
        kernel=f"{name} {release}".strip(),
        hostname=read_text(root / "proc/sys/kernel/hostname") or "",
        transparent_huge_pages=first_match(r"\[(\w+)\]", pages),
        hypervisor=read_hypervisor(root),
    )


def named_by_driver(root: Path, device: Device) -> Device:
    """The device with the model that NVIDIA's driver gives it, where that has it: it needs no list of PCI's numbers."""
    if device.kind != "gpu" or not device.bus:
        return device
    told = read_text(root / "proc/driver/nvidia/gpus" / device.bus / "information")
    model = first_match(r"^Model:\s+(\S.*)$", told or "")
    return replace(device, model=model) if model else device
