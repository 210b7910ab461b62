# SPDX-License-Identifier: BSD-3-Clause
"""The lines to set, so that an MPI takes a provider: environment variables, each set with what it is for.

Variables are those of Open MPI's ompi_info, MPICH's README.envvar, Intel MPI's Developer Reference, and fi_NAME(7) of libfabric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodewise.base.frozen import dataclass
from nodewise.fabric.known import Reach, known
from nodewise.fabric.mpi_output import OmpiInfo, Taken
from nodewise.fabric.proof import Proof
from nodewise.fabric.providers import Provider

OPEN_MPI, MPICH, INTEL_MPI = "openmpi", "mpich", "intelmpi"
#: The order in which reaches are wanted between nodes; what does not leave the node is no answer.
_BETWEEN = (Reach.FABRIC, Reach.NETWORK)


@dataclass(frozen=True)
class Line:
    """Variables to export before the launcher, and what for."""

    purpose: str
    exports: tuple[str, ...]


def fitting(providers: Iterable[Provider], proofs: Mapping[str, Proof]) -> Provider | None:
    """The provider for an MPI between nodes: reliable tagged datagrams, proved here, by the fabric's hardware before the kernel's network.

    Among those of one kind the one whose small messages were fastest; without a proof the first.
    """
    able = [p for p in providers if "RDM" in p.endpoints and "TAGGED" in p.capabilities]
    for reach in _BETWEEN:
        there = [p for p in able if (about := known(p.name)) is not None and about.reach is reach and not about.last]
        works = [p for p in there if p.name in proofs and proofs[p.name].works]
        if works:
            return min(works, key=lambda p: proofs[p.name].transfers[0].half_round_trip_s)
        if there and not proofs:
            return there[0]
    return None


def lines_for(
    mpi: str, taken: Taken | None, best: Provider | None, info: OmpiInfo | None, netmods: tuple[str, ...]
) -> tuple[Line, ...]:
    """What to set for an MPI: what it takes by itself said aloud, libfabric's best provider, and UCX where it is built in."""
    if mpi == OPEN_MPI:
        return _open_mpi(taken, best, info)
    if mpi == MPICH:
        return _mpich(taken, best, netmods)
    return _intel_mpi(taken, best)


def _open_mpi(taken: Taken | None, best: Provider | None, info: OmpiInfo | None) -> tuple[Line, ...]:
    found = []
    if taken is not None:
        over = taken.transport.partition(" over ")[2]
        if taken.transport.startswith("ob1"):
            shared = "vader" if info is not None and info.version.startswith("4") else "sm"
            carriers = ",".join(dict.fromkeys(["self", shared, *filter(None, over.split("+"))]))
            found.append(_line("as it is, also where a fabric is added", f"OMPI_MCA_pml=ob1 OMPI_MCA_btl={carriers}"))
        elif over == "ofi" and taken.provider:
            found.append(
                _line(
                    "as it is", f"OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_mtl_ofi_provider_include={taken.provider}"
                )
            )
    if best is not None and info is not None and "ofi" in info.components["mtl"]:
        names = "OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_mtl_ofi_provider_include="
        found.append(_line(f"over libfabric's {best.name}", names + best.name))
    if info is not None and "ucx" in info.components["pml"]:
        found.append(_line("over UCX, which fails where it finds no device", "OMPI_MCA_pml=ucx"))
    return tuple(found)


def _mpich(taken: Taken | None, best: Provider | None, netmods: tuple[str, ...]) -> tuple[Line, ...]:
    found = []
    several = len(netmods) > 1
    if "ofi" in netmods:
        name = _of_its_own(taken, best)
        chosen = "MPIR_CVAR_CH4_NETMOD=ofi " if several else ""
        if name:
            found.append(_line(f"over libfabric's {name}", f"{chosen}FI_PROVIDER={name}"))
    if "ucx" in netmods:
        chosen = "MPIR_CVAR_CH4_NETMOD=ucx " if several else ""
        found.append(_line("over UCX, which then says what it takes", f"{chosen}UCX_LOG_LEVEL=info"))
    return tuple(found)


def _intel_mpi(taken: Taken | None, best: Provider | None) -> tuple[Line, ...]:
    name = (taken.provider if taken else "") or (best.name.partition(";")[0] if best else "")
    return (_line(f"over libfabric's {name}", f"I_MPI_FABRICS=shm:ofi FI_PROVIDER={name}"),) if name else ()


def _of_its_own(taken: Taken | None, best: Provider | None) -> str:
    """The best provider, if the MPI's libfabric has it; else the core of it, else a sound one that it has."""
    if taken is None or not taken.seen:
        return best.name if best else ""
    wanted = [best.name, best.name.partition(";")[0]] if best else []
    natives = [n for n in taken.seen if (about := known(n)) is not None and about.reach is Reach.FABRIC]
    return next((n for n in (*wanted, *natives, "tcp;ofi_rxm", "tcp") if n in taken.seen), "")


def _line(purpose: str, exports: str) -> Line:
    # a layered name holds a semicolon, which ends a command where it stands bare
    return Line(purpose, tuple(_quoted(one) for one in exports.split()))


def _quoted(export: str) -> str:
    name, _, value = export.partition("=")
    return f"export {name}='{value}'" if ";" in value or "^" in value else f"export {export}"
