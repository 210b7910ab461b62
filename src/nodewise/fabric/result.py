# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a node's fabric, as values."""

from __future__ import annotations

from nodewise.base.frozen import dataclass
from nodewise.fabric.known import Known
from nodewise.fabric.mpis import MpiTransport
from nodewise.fabric.ports import FabricPort
from nodewise.fabric.proof import Proof
from nodewise.fabric.providers import Provider
from nodewise.fabric.rails import Rails
from nodewise.fabric.rates import Link
from nodewise.quiet.finding import Finding


@dataclass(frozen=True)
class Ports:
    """The ports below a root, what is wrong with them, and the rails that they make (null: fewer than two are active).

    `absent` says why there are none.
    """

    root: str
    ports: tuple[FabricPort, ...]
    findings: tuple[Finding, ...]
    rails: Rails | None
    absent: str


@dataclass(frozen=True)
class Offer:
    """A provider with what it is for, and what came of its ping-pong."""

    provider: Provider
    about: str
    note: str
    proof: Proof


@dataclass(frozen=True)
class Missing:
    """A provider that this libfabric is built without: what builds it in, and what that needs."""

    name: str
    about: str
    built_by: str
    needs: str


@dataclass(frozen=True)
class Fabric:
    """What carries messages here: libfabric's providers with their proofs, what each MPI takes and what to set, ports and rails.

    `best` is the provider for an MPI between nodes, empty where none was proved; `absent` says in one line each what is not here.
    """

    libfabric: str
    offers: tuple[Offer, ...]
    best: str
    missing: tuple[Missing, ...]
    mpis: tuple[MpiTransport, ...]
    ports: Ports
    findings: tuple[Finding, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True)
class Links:
    """Links that were asked for; `between` is what comes up where two were given, `store_and_forward` whether a switch between them has to store frames."""

    links: tuple[Link, ...]
    between: Link | None
    store_and_forward: bool


def missing_of(known: Known) -> Missing:
    """What is missing, in words."""
    return Missing(known.name, known.about, known.built_by, known.needs)
