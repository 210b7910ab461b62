# SPDX-License-Identifier: BSD-3-Clause
"""An ordinary virtual machine: QEMU's standard machine, with firmware and a PCI bus."""

from __future__ import annotations

from nodewise.isolation.kind import Kind, Request, Start
from nodewise.isolation.qemu import WAYS, guest_start

_MODULES = ("virtio_pci", "9pnet_virtio", "9p")


def _start(request: Request) -> Start:
    return guest_start(request, "q35", "pci", _MODULES)


KIND = Kind(
    "vm",
    "a virtual machine of QEMU (q35)",
    ("qemu-system-x86_64",),
    "qemu-system-x86",
    _start,
    WAYS,
    guest=True,
    mapped=True,
)
