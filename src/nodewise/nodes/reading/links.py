# SPDX-License-Identifier: BSD-3-Clause
"""What connects a node: fabric ports, network interfaces, and accelerators on PCI; never an address."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path

from nodewise.machine.files import read_number, read_text
from nodewise.nodes.reading.reader import LONGEST, Reader
from nodewise.nodes.snapshot import Accelerator, Interface, Port

_MOST = 64
#: Counters of InfiniBand's PortCounters that a sound link does not raise.
_ERRORS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)
#: PCI classes of displays and of processing accelerators.
_COMPUTES = ("0x03", "0x12")


def _short(path: Path) -> str | None:
    text = read_text(path)
    return text[:LONGEST] if text else None


def _node(path: Path) -> int | None:
    """The NUMA node of a device; the kernel writes -1 where firmware does not say."""
    number = read_number(path / "numa_node")
    return None if number is None or number < 0 else number


def read_fabric(r: Reader) -> dict[str, Port] | None:
    """The ports of the system's RDMA devices, by adapter and number such as `mlx5_0/1`."""
    adapters = r.folders("fabric", "sys/class/infiniband")
    if adapters is None:
        return None
    found = {}
    ports = [(adapter, port) for adapter in adapters for port in sorted((adapter / "ports").glob("[0-9]*"))]
    for adapter, port in r.cut("fabric", ports, _MOST):
        counters = {n: v for n in _ERRORS if (v := read_number(port / "counters" / n)) is not None}
        made = Port(
            adapter=_short(adapter / "board_id") or _short(adapter / "hca_type"),
            firmware=_short(adapter / "fw_ver"),
            layer=_short(port / "link_layer"),
            # the kernel writes "4: ACTIVE"
            state=(_short(port / "state") or "").partition(": ")[2] or None,
            physical=(_short(port / "phys_state") or "").partition(": ")[2] or None,
            rate=_short(port / "rate"),
            errors=counters or None,
            numa_node=_node(adapter / "device"),
        )
        name = f"{adapter.name}/{port.name}"
        found[name] = made
        _lack_fields(r, f"fabric.{name}", made, f"sys/class/infiniband/{adapter.name}: does not say")
    return found


def _lack_fields(r: Reader, at: str, made: object, reason: str) -> None:
    for name, value in vars(made).items():
        if value is None:
            r.lack(f"{at}.{name}", reason)


def read_network(r: Reader) -> dict[str, Interface] | None:
    """Interfaces that a device stands behind: no loopback, bridge or virtual pair."""
    interfaces = r.folders("network", "sys/class/net")
    if interfaces is None:
        return None
    found: dict[str, Interface] = {}
    for one in r.cut("network", [i for i in interfaces if (i / "device").exists()], _MOST):
        # the kernel counts what has a wrong checksum among rx_errors
        errors = [read_number(one / "statistics" / n) for n in ("rx_errors", "tx_errors")]
        speed = read_number(one / "speed")
        try:
            driver: str | None = (one / "device/driver").resolve(strict=True).name
        except OSError:
            driver = None
        made = Interface(
            driver=driver,
            state=_short(one / "operstate"),
            speed=speed if speed is not None and speed > 0 else None,
            duplex=_short(one / "duplex"),
            mtu=read_number(one / "mtu"),
            errors=None if None in errors else sum(e for e in errors if e),
        )
        name = _name_without_address(one.name, found)
        found[name] = made
        _lack_fields(r, f"network.{name}", made, f"sys/class/net/{name}: does not say")
    return found


def _name_without_address(name: str, taken: Mapping[str, object]) -> str:
    """Where an interface is called by its address, as systemd does it with those on USB, its kind and a number."""
    match = re.fullmatch(r"(en|wl|ww|ib)x[0-9a-f]{12,}", name)
    if match is None:
        return name
    return next(free for n in itertools.count(1) if (free := f"{match[1]}x-{n}") not in taken)


def _link(device: Path, which: str) -> str | None:
    width, speed = read_text(device / f"{which}_link_width"), read_text(device / f"{which}_link_speed")
    return f"x{width} {speed}" if width and speed and width != "0" else None


def read_accelerators(r: Reader) -> dict[str, Accelerator] | None:
    """Graphics and compute devices, by their place on PCI."""
    devices = r.folders("accelerators", "sys/bus/pci/devices")
    if devices is None:
        return None
    found: dict[str, Accelerator] = {}
    for device in devices:
        # 0x0300 with vendor 102b, 1a03 … are a server's own screens, which compute nothing
        if not (read_text(device / "class") or "").startswith(_COMPUTES):
            continue
        vendor, kind = (read_text(device / n) or "" for n in ("vendor", "device"))
        if vendor not in ("0x10de", "0x1002", "0x8086", "0x1da3", "0x1e52"):
            continue
        try:
            driver: str | None = (device / "driver").resolve(strict=True).name
        except OSError:
            driver = None
        made = Accelerator(
            device=f"{vendor.removeprefix('0x')}:{kind.removeprefix('0x')}",
            driver=driver,
            numa_node=_node(device),
            link=_link(device, "current"),
            link_could=_link(device, "max"),
        )
        found[device.name] = made
        _lack_fields(r, f"accelerators.{device.name}", made, f"sys/bus/pci/devices/{device.name}: does not say")
    return dict(r.cut("accelerators", list(found.items()), _MOST))
