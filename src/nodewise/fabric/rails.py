# SPDX-License-Identifier: BSD-3-Clause
"""Rails: several adapters and ports of a node, shared out over ranks, or all of them for each.

Variables are those of UCX's ucx_info -c, Intel MPI's Developer Reference (NIC Pinning), PSM2's Programmer's Guide and fi_mrail(7).
"""

from __future__ import annotations

from collections.abc import Iterable

from nodewise.base.frozen import dataclass
from nodewise.fabric.lines import Line
from nodewise.fabric.ports import FabricPort


@dataclass(frozen=True)
class Rails:
    """The active ports of a node as rails: adapters and their ports, `cables` in all, `data_gbits` of them together in one direction.

    `shared` are command lines that give each set of ranks an adapter, `bundled` what has each rank send over all.
    """

    adapters: tuple[str, ...]
    cables: int
    data_gbits: float | None
    shared: tuple[Line, ...]
    bundled: tuple[Line, ...]
    unequal: bool


def rails_of(ports: Iterable[FabricPort], listed: Iterable[str] = ()) -> Rails | None:
    """The rails of a node; None where fewer than two ports carry traffic. `listed` are libfabric's providers and layers that are built in."""
    active = [p for p in ports if p.active]
    if len(active) < 2:
        return None
    rates = [p.data_gbits for p in active]
    return Rails(
        adapters=tuple(dict.fromkeys(p.adapter for p in active)),
        cables=len(active),
        data_gbits=sum(r for r in rates if r) if all(rates) else None,
        shared=tuple(_shared(active)),
        bundled=tuple(_bundled(active, set(listed))),
        unequal=len(set(rates)) > 1,
    )


def _device(port: FabricPort) -> str:
    return port.name.replace("/", ":")


def _shared(ports: list[FabricPort]) -> Iterable[Line]:
    of_open_mpi = " : ".join(f"-n 2 -x UCX_NET_DEVICES={_device(p)} ./app" for p in ports)
    of_others = " : ".join(f"-n 2 -env UCX_NET_DEVICES {_device(p)} ./app" for p in ports)
    adapters = list(dict.fromkeys(p.adapter for p in ports))
    yield Line("Open MPI over UCX, a port for each set of ranks", (f"mpirun {of_open_mpi}",))
    yield Line("MPICH over UCX", (f"mpiexec {of_others}",))
    if len(adapters) > 1:
        verbs = " : ".join(f"-n 2 -env FI_VERBS_DEVICE_NAME {a} ./app" for a in adapters)
        yield Line("over libfabric's verbs, an adapter for each set of ranks", (f"mpiexec {verbs}",))
        yield Line("Intel MPI, by itself: each rank the adapter that is nearest to it", ("export I_MPI_MULTIRAIL=1",))


def _bundled(ports: list[FabricPort], built: set[str]) -> Iterable[Line]:
    devices = ",".join(_device(p) for p in ports)
    yield Line(
        "over UCX, large messages in parts over all ports",
        (f"export UCX_NET_DEVICES={devices}", f"export UCX_MAX_RNDV_RAILS={len(ports)}"),
    )
    if any(p.adapter.startswith("hfi1") for p in ports):
        yield Line("over PSM2", ("export PSM2_MULTIRAIL=1",))
    if "ofi_mrail" in built:
        yield Line(
            "over libfabric's layer mrail, which is a trial; an address of each rail",
            ("export FI_PROVIDER=ofi_mrail", "export FI_OFI_MRAIL_ADDR=ADDRESS,ADDRESS"),
        )
