# SPDX-License-Identifier: BSD-3-Clause
"""A light virtual machine: QEMU's microvm, without PCI, whose devices are memory-mapped (qemu.org/docs/master/system/i386/microvm.html)."""

from __future__ import annotations

from nodewise.isolation.kind import Kind, Request, Start
from nodewise.isolation.qemu import WAYS, clock_rate, guest_start

_MODULES = ("virtio_mmio", "9pnet_virtio", "9p")


def _start(request: Request) -> Start:
    return guest_start(request, "microvm", "device", _MODULES, clock_rate() if request.way == "emulated" else "")


KIND = Kind(
    "microvm",
    "a light virtual machine of QEMU (microvm)",
    ("qemu-system-x86_64",),
    "qemu-system-x86",
    _start,
    WAYS,
    guest=True,
    mapped=True,
)
