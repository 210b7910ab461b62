# SPDX-License-Identifier: BSD-3-Clause
"""Ports of InfiniBand, Omni-Path and RoCE below a root, read from sysfs, with the slot that feeds each."""

from __future__ import annotations

import re
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.fabric.rates import Link, parse_printed, printed_gbits
from nodewise.machine.files import read_number, read_text

_MOST, _LONGEST = 64, 80
#: By how fast a lane of PCI Express is clocked in GT/s, what of it is data (PCI Express Base Specification 6.0).
_PCIE = {2.5: 0.8, 5.0: 0.8, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 236 / 256}
INFINIBAND = "InfiniBand"


@dataclass(frozen=True)
class FabricPort:
    """A port: `name` is adapter and number, `model` the adapter's, `state` and `physical` the kernel's words.

    `printed` is sysfs's `rate` as it stands, `link` what it means; of a network that is no InfiniBand the link is null and `data_gbits` the number
    itself. `slot_gbits` is what the adapter's slot carries, in Gb/s. Empty or null where the system does not say.
    """

    name: str
    model: str
    layer: str
    state: str
    physical: str
    printed: str
    link: Link | None
    data_gbits: float | None
    slot: str
    slot_gbits: float | None

    @property
    def active(self) -> bool:
        """Whether it carries traffic."""
        return self.state == "ACTIVE"

    @property
    def adapter(self) -> str:
        """The adapter's name."""
        return self.name.partition("/")[0]


def read_ports(root: Path) -> tuple[FabricPort, ...] | None:
    """All ports of class/infiniband below a root, by name; None where there is no such folder. `root` may be a system's, or its sys."""
    folder = next((f for f in (root / "sys/class/infiniband", root / "class/infiniband") if f.is_dir()), None)
    if folder is None:
        return None
    try:
        adapters = sorted(folder.iterdir(), key=_in_order)
    except OSError:
        return None
    ports = [p for a in adapters for p in sorted((a / "ports").glob("[0-9]*"), key=_in_order)]
    return tuple(_port(path.parent.parent, path) for path in ports[:_MOST])


def _in_order(path: Path) -> tuple[str | int, ...]:
    """By name, numbers in it by their size, so that mlx5_10 stands behind mlx5_9."""
    parts = re.split(r"(\d+)", path.name)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts))


def _said(path: Path) -> str:
    return (read_text(path) or "")[:_LONGEST]


def _port(adapter: Path, port: Path) -> FabricPort:
    printed, layer = _said(port / "rate"), _said(port / "link_layer") or INFINIBAND
    # of Ethernet the label is the kernel's nearest, and the number the network's own
    link = parse_printed(printed) if layer == INFINIBAND else None
    slot, slot_gbits = _slot(adapter / "device")
    return FabricPort(
        name=f"{adapter.name}/{port.name}",
        model=_said(adapter / "hca_type") or _said(adapter / "board_id"),
        layer=layer,
        # the kernel writes "4: ACTIVE"
        state=_said(port / "state").partition(": ")[2],
        physical=_said(port / "phys_state").partition(": ")[2],
        printed=printed,
        link=link,
        data_gbits=link.data_gbits if link else None if layer == INFINIBAND else printed_gbits(printed),
        slot=slot,
        slot_gbits=slot_gbits,
    )


def _slot(device: Path) -> tuple[str, float | None]:
    """The slot of an adapter in words, and what it carries in one direction in Gb/s, packets' heads not counted off."""
    lanes, speed = read_number(device / "current_link_width"), _said(device / "current_link_speed")
    clock = re.match(r"\d+(\.\d+)?", speed)
    if not lanes or clock is None or float(clock[0]) not in _PCIE:
        return "", None
    rate = float(clock[0])
    return f"PCI Express x{lanes} at {rate:g} GT/s", rate * _PCIE[rate] * lanes
