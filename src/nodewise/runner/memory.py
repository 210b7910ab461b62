# SPDX-License-Identifier: BSD-3-Clause
"""Memory of programs: a policy set on this process before it becomes a program, pools of huge pages, and the weights of interleaving."""

from __future__ import annotations

import os
from pathlib import Path

from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.placement.memory import MODES, MemoryPolicy

#: Numbers of the call set_mempolicy, by processor (the kernel's tables of system calls).
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "s390x": 270, "loongarch64": 237}
_PR_SET_THP_DISABLE = 41


def apply_memory(policy: MemoryPolicy | None, no_huge_pages: bool = False) -> None:
    """Set a policy on this process, which a program that it becomes keeps.

    Raises InputError where the kernel refuses it, UnavailableError on a processor whose call is not known.
    """
    # neither is loaded quickly, and most who ask for this module ask for the rest of it
    import ctypes
    import platform

    library = ctypes.CDLL(None, use_errno=True)
    if policy is not None:
        number = _SET_MEMPOLICY.get(platform.machine())
        if number is None:
            raise UnavailableError(f"how a memory policy is set on {platform.machine()} is not known", "use numactl")
        count = (max(policy.nodes, default=0) // 64 + 1) * 64
        words = (ctypes.c_uint64 * (count // 64))()
        for node in policy.nodes:
            words[node // 64] |= 1 << node % 64
        mask, bits = (words, count + 1) if policy.nodes else (None, 0)
        if library.syscall(number, MODES[policy.mode], mask, ctypes.c_ulong(bits)) != 0:
            raise InputError(f"the system refuses the memory policy {policy}: {os.strerror(ctypes.get_errno())}")
    if no_huge_pages and library.prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0:
        raise InputError(f"the system refuses to forbid huge pages: {os.strerror(ctypes.get_errno())}")


@dataclass(frozen=True)
class HugePagePool:
    """Pages of one size that are set aside (hugetlbfs), on one node or (None) on all."""

    page_bytes: int
    node: int | None
    total: int
    free: int


def huge_page_pools(root: Path = Path("/")) -> list[HugePagePool]:
    """The pools that the system keeps, read below `root`; empty where there is no hugetlbfs."""
    found = []
    for folder, node in [
        (root / "sys/kernel/mm/hugepages", None),
        *((p / "hugepages", int(p.name[4:])) for p in sorted(root.glob("sys/devices/system/node/node[0-9]*"))),
    ]:
        for pool in sorted(folder.glob("hugepages-*kB")):
            try:
                size = int(pool.name.removeprefix("hugepages-").removesuffix("kB")) * 1024
                total, free = (int((pool / name).read_text()) for name in ("nr_hugepages", "free_hugepages"))
            except (OSError, ValueError):
                continue
            found.append(HugePagePool(size, node, total, free))
    return found


def interleave_weights(root: Path = Path("/")) -> dict[int, int]:
    """The system's weights of weighted interleaving by node; empty before Linux 6.9."""
    found = {}
    for file in root.glob("sys/kernel/mm/mempolicy/weighted_interleave/node[0-9]*"):
        try:
            found[int(file.name[4:])] = int(file.read_text())
        except (OSError, ValueError):
            continue
    return found
