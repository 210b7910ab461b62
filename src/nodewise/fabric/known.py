# SPDX-License-Identifier: BSD-3-Clause
"""What is known of libfabric's providers: what each is for, how far it reaches, how it is built in, and its traps.

Switches and what they need are those of libfabric's README and of its manual pages fi_NAME(7).
"""

from __future__ import annotations

from enum import StrEnum

from nodewise.base.frozen import dataclass


class Reach(StrEnum):
    """How far a provider carries: between processes of a node, between nodes by its own hardware, or by the kernel's network."""

    NODE = "node"
    FABRIC = "fabric"
    NETWORK = "network"


@dataclass(frozen=True)
class Known:
    """A provider, and what building it in `needs`.

    `gone` says since when there is none, `last` that an MPI between nodes had better not take it.
    """

    name: str
    about: str
    reach: Reach
    needs: str = ""
    note: str = ""
    gone: str = ""
    last: bool = False

    @property
    def built_by(self) -> str:
        """The word for libfabric's configure, which takes no, auto, dl (a file of its own) and a folder as well."""
        return f"--enable-{self.name}=yes"


_PSM = "datagrams alone: no connected endpoints; FI_CONTEXT is asked for, progress is manual"
KNOWN = {
    one.name: one
    for one in (
        Known(
            *("verbs", "InfiniBand, RoCE, iWARP", Reach.FABRIC),
            needs="libibverbs 1.1.8 and librdmacm 1.0.16 or newer",
            note="connected endpoints of its own, datagrams by a layer (verbs;ofi_rxm); one version of libfabric on all nodes",
        ),
        Known("psm3", "RoCE and Ethernet, by Intel", Reach.FABRIC, "libuuid, libnuma, libibverbs"),
        Known(
            "psm2", "Omni-Path", Reach.FABRIC, "libpsm2 10.2 or newer", f"{_PSM}; remote data and source are reported"
        ),
        Known("psm", "True Scale", Reach.FABRIC, "libpsm_infinipath", _PSM),
        Known("opx", "Omni-Path, by Cornelis", Reach.FABRIC, "the headers of the hfi1 driver, libuuid"),
        Known("efa", "Elastic Fabric Adapter", Reach.FABRIC, "libibverbs with libefa"),
        Known("cxi", "Slingshot", Reach.FABRIC, "libcxi and its headers"),
        Known("ucx", "InfiniBand and RoCE by UCX", Reach.FABRIC, "libucp", "libfabric 2.1 or newer"),
        Known("mlx", "InfiniBand by UCX, in Intel MPI's own libfabric", Reach.FABRIC, "Intel MPI"),
        Known("usnic", "Cisco VIC", Reach.FABRIC, "libnl, libibverbs", gone="libfabric 2"),
        Known("gni", "Aries and Gemini", Reach.FABRIC, "GCC 4.9, CLE 5.2 UP04", gone="libfabric 2"),
        Known("mxm", "InfiniBand by MXM", Reach.FABRIC, "MXM", gone="libfabric 1.5"),
        Known(
            "tcp",
            "TCP",
            Reach.NETWORK,
            note="connected endpoints; datagrams by a layer (tcp;ofi_rxm) or, since 1.18, its own",
        ),
        Known("net", "TCP, the trial of what tcp is since 1.18", Reach.NETWORK, gone="libfabric 1.18"),
        Known(
            "udp",
            "UDP",
            Reach.NETWORK,
            "libnl 1 or 3",
            "unreliable datagrams; reliable by a layer (udp;ofi_rxd)",
            last=True,
        ),
        Known(
            "sockets",
            "TCP, for developing",
            Reach.NETWORK,
            "libnl 1 or 3",
            "not made to be fast: tcp took its place",
            last=True,
        ),
        Known("shm", "shared memory", Reach.NODE),
        Known("sm2", "shared memory, another one", Reach.NODE),
        Known("lnx", "several providers as one: shared memory within a node, another between nodes", Reach.FABRIC),
    )
}


def known(name: str) -> Known | None:
    """What is known of a provider, by its whole name such as `tcp;ofi_rxm`."""
    return KNOWN.get(name.partition(";")[0])
