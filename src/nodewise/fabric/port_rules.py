# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with ports: down, degraded, mixed, faster than their slot; each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nodewise.base.lists import listed
from nodewise.base.units import format_percent
from nodewise.fabric.ports import INFINIBAND, FabricPort
from nodewise.fabric.rates import Link, facing, link
from nodewise.quiet.finding import Finding, Severity, worst_first

#: The fastest link of adapters, by the name that the driver gives the model; a board of it may be sold for less.
_FASTEST = {
    "MT25408": (4, "DDR"),
    "MT25418": (4, "DDR"),
    "MT26428": (4, "QDR"),
    "MT4099": (4, "FDR"),
    "MT4103": (4, "FDR"),
    "MT4113": (4, "FDR"),
    "MT4115": (4, "EDR"),
    "MT4119": (4, "EDR"),
    "MT4121": (4, "EDR"),
    "MT4123": (4, "HDR"),
    "MT4129": (4, "NDR"),
    "MT4131": (4, "XDR"),
}
_STATES = {
    "INIT": ("no subnet manager has set it up", "start one: opensm on a node, or the switch's own; then: sminfo"),
    "ARMED": ("a subnet manager has not finished with it", "wait, or look at its log"),
    "DOWN": ("nothing answers", "look at cable and switch: iblinkinfo, ibstat; enable it: ibportstate"),
}
_PHYSICAL = {
    "Polling": "no other port answers: no cable, a loose one, or a peer that is off",
    "Disabled": "it was disabled",
    "Sleep": "it sleeps",
    "PortConfigurationTraining": "it does not get through training: cable or peer",
    "LinkErrorRecovery": "it recovers from errors again and again: cable or transceiver",
}


def port_findings(ports: Sequence[FabricPort]) -> tuple[Finding, ...]:
    """What is wrong with them, the worst first."""
    found = [f for p in ports for f in (*_down(p), *_unreadable(p), *_slow_slot(p), *_degraded(p, ports))]
    return tuple(worst_first([*found, *_mixed(ports)]))


def _down(port: FabricPort) -> Iterator[Finding]:
    if port.active or not port.state:
        return
    what, do = _STATES.get(port.state, ("it does not carry traffic", "ibstat says more"))
    physical = _PHYSICAL.get(port.physical, "")
    evidence = tuple(filter(None, (f"state {port.state}", port.physical and f"phys_state {port.physical}")))
    yield Finding(
        "port-down",
        Severity.WRONG,
        f"{port.name} is {port.state}: {physical or what}",
        evidence,
        "jobs on this node take another port, TCP, or do not start",
        do,
    )


def _unreadable(port: FabricPort) -> Iterator[Finding]:
    if not port.state:
        yield Finding(
            "port-state-unknown",
            Severity.UNKNOWN,
            f"{port.name}: the system does not tell its state",
            effect="it is not known whether it carries traffic",
        )
    if port.printed and port.data_gbits is None:
        yield Finding(
            "port-rate-unknown",
            Severity.UNKNOWN,
            f"{port.name}: its rate is none that is known",
            (f"rate {port.printed}",),
            "it is not known whether it is degraded",
        )


def _slow_slot(port: FabricPort) -> Iterator[Finding]:
    if port.active and port.data_gbits and port.slot_gbits and port.slot_gbits < port.data_gbits:
        yield Finding(
            "port-slot",
            Severity.WRONG,
            f"{port.name}: the slot carries {port.slot_gbits:.4g} Gb/s, the port {port.data_gbits:.4g}",
            (port.slot, f"rate {port.printed}"),
            "the port is never filled",
            "move the adapter to a faster slot, or look at why this one came up slow: lspci -vv",
        )


def _degraded(port: FabricPort, ports: Iterable[FabricPort]) -> Iterator[Finding]:
    if not port.active or port.link is None:
        return
    best = _best(port, ports)
    if best is None:
        return
    could, why, sure = best
    if could.data_gbits <= port.link.data_gbits:
        return
    fewer = port.link.width < could.width
    yield Finding(
        "port-degraded",
        Severity.WRONG if sure or fewer else Severity.NOTE,
        f"{port.name} came up as {port.link.label}, {port.link.data_gbits:.4g} Gb/s of data, and {why} {could.label}, {could.data_gbits:.4g}",
        (f"rate {port.printed}",),
        _store_and_forward(port.link.width, could.width)
        if fewer
        else f"at most {format_percent(port.link.data_gbits / could.data_gbits)} of it",
        f"what it faces is a port of {port.link.width} lane{'s' * (port.link.width > 1)}, or lanes fail: reseat the cable, try another; ibportstate"
        if fewer
        else "the peer is slower, or the cable: iblinkinfo shows both ends",
    )


def _best(port: FabricPort, ports: Iterable[FabricPort]) -> tuple[Link, str, bool] | None:
    """The fastest link of its model that is known, why it is thought of, and whether a port of that model has it here."""
    alike = [p for p in ports if p.model == port.model and p.model and p.active and p.link and p.name != port.name]
    here = max(alike, key=lambda p: p.data_gbits or 0.0, default=None)
    if here is not None and here.link and port.link and here.link.data_gbits > port.link.data_gbits:
        return here.link, f"{here.name}, of the same model, as", True
    if port.model in _FASTEST:
        return link(*_FASTEST[port.model]), f"adapters of model {port.model} can do up to", False
    return None


def _store_and_forward(fewer: int, more: int) -> str:
    return (
        f"between {more}X and {fewer}X a switch stores each frame whole before it sends it on, where it else cuts through: more latency, "
        "and queues where many send to it"
    )


def _mixed(ports: Iterable[FabricPort]) -> Iterator[Finding]:
    active = [p for p in ports if p.active and p.layer == INFINIBAND and p.link]
    links = list(dict.fromkeys(p.link for p in active if p.link))
    if len(links) < 2:
        return
    slowest, *_, fastest = sorted(links, key=lambda one: one.data_gbits)
    named = [f"{one.label} ({', '.join(p.name for p in active if p.link == one)})" for one in links]
    widths = {one.width for one in links}
    met = facing(fastest, slowest)
    yield Finding(
        "ports-mixed",
        Severity.WRONG if len(widths) > 1 else Severity.NOTE,
        f"active ports differ in {'width' if len(widths) > 1 else 'rate'}: {listed(named)}",
        tuple(f"{p.name} rate {p.printed}" for p in active),
        _store_and_forward(min(widths), max(widths))
        if len(widths) > 1
        else f"traffic from {fastest.label} to {slowest.label} goes at {met.data_gbits:.4g} Gb/s, and queues before it",
        "ports that are meant to differ belong to fabrics of their own; else look at the slower one's cable and peer",
    )
