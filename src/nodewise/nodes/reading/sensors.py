# SPDX-License-Identifier: BSD-3-Clause
"""Temperatures, power, fans, and the faults that hardware reports."""

from __future__ import annotations

from pathlib import Path

from nodewise.machine.files import first_match, integer, read_number, read_text
from nodewise.nodes.reading.reader import Reader
from nodewise.nodes.snapshot import Errors, Sensors

_OF_PROCESSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "x86_pkg_temp", "fam15h_power")
_MOST = 64
#: Below and above this no chip works; what says so has no sensor attached.
_LEAST_C, _MOST_C = -40.0, 150.0


def _readings(chip: Path, pattern: str, scale: float) -> list[float]:
    return [n * scale for f in sorted(chip.glob(pattern)) if (n := read_number(f)) is not None]


def read_sensors(r: Reader) -> Sensors:
    """By chip, counted from 0 where several have one name; thermal zones where no chip reports processors."""
    chips = r.folders("sensors.temperatures", "sys/class/hwmon")
    hottest: dict[str, float] = {}
    watts: dict[str, float] = {}
    fans: dict[str, int] = {}
    counts: dict[str, int] = {}
    for chip in r.cut("sensors", chips or [], _MOST):
        kind = (read_text(chip / "name") or chip.name)[:40]
        name = f"{kind} {counts.get(kind, 0)}"
        counts[kind] = counts.get(kind, 0) + 1
        celsius = [t for t in _readings(chip, "temp*_input", 1e-3) if _LEAST_C < t < _MOST_C]
        power = _readings(chip, "power*_average", 1e-6) or _readings(chip, "power*_input", 1e-6)
        turning = [int(n) for n in _readings(chip, "fan*_input", 1) if n > 0]
        hottest |= {name: max(celsius)} if celsius else {}
        watts |= {name: sum(power)} if power else {}
        fans |= {name: min(turning)} if turning else {}
    if not any(name.rpartition(" ")[0] in _OF_PROCESSORS for name in hottest):
        for zone in sorted((r.root / "sys/class/thermal").glob("thermal_zone*"))[:_MOST]:
            kind, value = read_text(zone / "type") or zone.name, read_number(zone / "temp")
            if kind in _OF_PROCESSORS and value is not None and _LEAST_C < value / 1000 < _MOST_C:
                name = f"{kind} {counts.get(kind, 0)}"
                counts[kind] = counts.get(kind, 0) + 1
                hottest[name] = value / 1000
    own = [t for name, t in hottest.items() if name.rpartition(" ")[0] in _OF_PROCESSORS]
    why = r.absent.get("sensors.temperatures", "sys/class/hwmon: no chip reports it")
    for fact, there in (("processor", own), ("temperatures", hottest), ("watts", watts), ("fans", fans)):
        if there:
            r.absent.pop(f"sensors.{fact}", None)
        else:
            r.lack(f"sensors.{fact}", why)
    return Sensors(max(own, default=None), hottest or None, watts or None, fans or None)


def _aer(device: Path, kind: str) -> int | None:
    """The sum that PCI's advanced error reporting keeps, its last line."""
    found = first_match(r"^TOTAL_ERR_\w+ (\d+)", read_text(device / f"aer_dev_{kind}") or "")
    return integer(found)


def read_errors(r: Reader) -> Errors:
    """Memory's from EDAC, processors' from the count of machine checks, PCI's from its error reporting."""
    controllers = r.folders("errors.dimms", "sys/devices/system/edac/mc", "mc[0-9]*")
    dimms = corrected = uncorrected = None
    if controllers:
        dimms = sum(len([*c.glob("dimm[0-9]*"), *c.glob("rank[0-9]*")]) for c in controllers)
        corrected = sum(read_number(c / "ce_count") or 0 for c in controllers)
        uncorrected = sum(read_number(c / "ue_count") or 0 for c in controllers)
    else:
        why = r.absent.get("errors.dimms", "sys/devices/system/edac/mc: no memory controller is watched")
        for fact in ("dimms", "corrected", "uncorrected"):
            r.lack(f"errors.{fact}", why)
    interrupts, reason = r.raw("proc/interrupts")
    line = first_match(r"^\s*MCE:\s+([\d ]+)", interrupts or "")
    if line is None:
        r.lack("errors.machine_checks", reason or "proc/interrupts: no line MCE")
    devices = r.folders("errors.pci_corrected", "sys/bus/pci/devices")
    seen = {kind: [n for d in devices or () if (n := _aer(d, kind)) is not None] for kind in ("correctable", "fatal")}
    why = r.absent.get("errors.pci_corrected", "sys/bus/pci/devices: no device reports errors")
    for fact, kind in (("pci_corrected", "correctable"), ("pci_fatal", "fatal")):
        if not seen[kind]:
            r.lack(f"errors.{fact}", why)
    return Errors(
        dimms=dimms,
        corrected=corrected,
        uncorrected=uncorrected,
        machine_checks=None if line is None else sum(integer(n) or 0 for n in line.split()),
        pci_corrected=sum(seen["correctable"]) if seen["correctable"] else None,
        pci_fatal=sum(seen["fatal"]) if seen["fatal"] else None,
    )
