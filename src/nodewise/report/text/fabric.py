# SPDX-License-Identifier: BSD-3-Clause
"""What carries messages, for a terminal: providers and proofs, MPIs and lines to set, ports, translations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from nodewise.base.escaping import painted, visible
from nodewise.base.lists import listed
from nodewise.base.units import format_seconds
from nodewise.fabric.lines import Line
from nodewise.fabric.mpis import MpiTransport
from nodewise.fabric.ports import FabricPort
from nodewise.fabric.proof import Outcome, Proof
from nodewise.fabric.providers import TRANSFERS
from nodewise.fabric.rails import Rails
from nodewise.fabric.result import Fabric, Offer, Ports
from nodewise.fabric.translate import Translation
from nodewise.quiet.finding import Finding
from nodewise.report.text.links import links_text
from nodewise.report.text.severity import CODES

__all__ = ["fabric_text", "links_text", "ports_text", "translation_text"]


def fabric_text(found: Fabric, width: int = 100, colour: bool = False, everything: bool = False) -> str:
    """All of it; with `everything` also capabilities, remarks, and what could be built in."""
    lines: list[str] = []
    if found.libfabric:
        tried = any(o.proof.outcome is not Outcome.NOT_TRIED for o in found.offers)
        lines.append(
            f"libfabric {found.libfabric}: "
            + ("a ping-pong between two processes of this node" if tried else "nothing was proved")
        )
        lines += _offers(found.offers, width, everything)
        best = f"for an MPI between nodes: {found.best or 'none that works'}"
        lines += [f"  {best}", ""]
    for mpi in found.mpis:
        lines += [*_mpi(mpi, width), ""]
    lines += _ports(found.ports, width)
    for finding in found.findings:
        lines += _finding(finding, width, colour)
    if found.findings:
        lines.append("")
    if found.missing and everything:
        lines.append("not in this libfabric")
        lines += [
            _wrapped(f"{m.name:<8} {m.about}: {m.built_by}" + (f", needs {m.needs}" if m.needs else ""), width, "  ")
            for m in found.missing
        ]
        lines.append("")
    elif found.missing:
        names = ", ".join(m.name for m in found.missing)
        lines += [_wrapped(f"not in this libfabric: {names} (--all: what builds them in)", width, ""), ""]
    lines += [f"not here  {visible(one)}" for one in found.absent]
    return "\n".join(lines).rstrip()


def _offers(offers: Iterable[Offer], width: int, everything: bool) -> list[str]:
    every = list(offers)
    name = max((len(o.provider.name) for o in every), default=0)
    kinds = max((len(" ".join(o.provider.endpoints)) for o in every), default=0)
    lines = []
    for one in every:
        p = one.provider
        lines.append(f"  {visible(p.name):<{name}}  {' '.join(p.endpoints):<{kinds}}  {_proof(one.proof)}".rstrip())
        if not everything:
            continue
        has = [c.lower().replace("_", "-") for c in TRANSFERS if c in p.capabilities]
        progress = f"progress {'/'.join(p.progress).lower()}" if p.progress else ""
        modes = f"asks for {', '.join((*p.modes, *p.memory_modes))}" if p.modes or p.memory_modes else ""
        order = f"order {', '.join(p.order[:4])}{' …' * (len(p.order) > 4)}" if p.order else ""
        where = f"on {', '.join(p.domains[:8])}" if p.domains else ""
        parts = [one.about, ", ".join(has), progress, modes, order, where, one.note]
        lines.append(_wrapped("; ".join(filter(None, parts)), width, " " * (name + 4)))
    return lines


def _proof(proof: Proof) -> str:
    if proof.outcome is Outcome.WORKS:
        return f"works    {_transfers(proof)}"
    return f"{proof.outcome:<8} {visible(proof.reason)}".rstrip()


def _transfers(proof: Proof) -> str:
    small, *rest = proof.transfers
    text = f"{small.size} B in {format_seconds(small.half_round_trip_s)}"
    return text + "".join(f", 1 MiB at {t.bytes_per_s / 1e9:.2g} GB/s" for t in rest)


def _mpi(mpi: MpiTransport, width: int) -> list[str]:
    takes = mpi.transport + (f", libfabric's {mpi.provider}" if mpi.provider else "")
    lines = [
        f"{mpi.title} {mpi.version} ({mpi.launcher})",
        f"  takes   {takes}" if takes else f"  takes   unknown: {mpi.unknown}",
    ]
    lines += [_wrapped(f"why     {one}", width, "  ", 10) for one in mpi.why]
    return [*lines, *_lines(mpi.lines)]


def _lines(lines: Iterable[Line]) -> list[str]:
    found = []
    for one in lines:
        # what is copied is never broken
        found.append(f"  set     {one.purpose}")
        found += [f"          {export}" for export in one.exports]
    return found


def ports_text(found: Ports, width: int = 100, colour: bool = False) -> str:
    """Ports with their links, the rails that they make, and what is wrong."""
    lines = _ports(found, width)
    for finding in found.findings:
        lines += _finding(finding, width, colour)
    if found.absent:
        lines.append(f"not here  {found.absent}")
    elif not found.findings:
        lines.append("nothing found")
    return "\n".join(lines).rstrip()


def _ports(found: Ports, width: int) -> list[str]:
    if not found.ports:
        return []
    name = max(len(p.name) for p in found.ports)
    state = max(len(p.state) for p in found.ports)
    lines = ["ports"]
    lines += [f"  {visible(p.name):<{name}}  {visible(p.state):<{state}}  {_speed(p)}".rstrip() for p in found.ports]
    return [*lines, "", *(_rails(found.rails, width) if found.rails else [])]


def _speed(port: FabricPort) -> str:
    if port.link is not None:
        one = port.link
        return f"{one.label:<8}  {one.data_gbits:.4g} Gb/s of data, {one.signalling_gbits:.4g} signalled"
    if port.data_gbits is not None:
        return f"{visible(port.layer):<8}  {port.data_gbits:.4g} Gb/s"
    return f"rate unknown: {visible(port.printed)}" if port.printed else "rate not reported"


def _rails(rails: Rails, width: int) -> list[str]:
    speed = f", {rails.data_gbits:.4g} Gb/s of data together" if rails.data_gbits else ""
    unequal = "; they differ, and the slowest holds up what is sent in equal parts" if rails.unequal else ""
    return [
        _wrapped(f"rails: {rails.cables} cables on {listed(rails.adapters)}{speed}{unequal}", width, ""),
        *_lines((*rails.shared, *rails.bundled)),
        "",
    ]


def _finding(one: Finding, width: int, colour: bool) -> list[str]:
    label = f"{one.severity!s:<8}"
    shown = painted(label, CODES[one.severity]) if colour else label
    lines = [f"{shown}  {one.name}", _wrapped(one.summary, width, " " * 10)]
    for name, text in (("why", one.effect), ("do", one.do)):
        if text:
            lines.append(_wrapped(f"{name}: {text}", width, " " * 10))
    return lines


def translation_text(found: Translation, width: int = 100) -> str:
    """Each setting with what takes its place, then all of it to copy."""
    lines = []
    for one in found.settings:
        lines.append(f"{visible(one.given)}  →  {visible(' '.join(one.becomes)) or 'nothing'}")
        lines.append(_wrapped(one.note, width, "    "))
    lines += [f"{visible(one)}  →  no setting of OFA, DAPL or TMI" for one in found.unknown]
    if found.rails is not None:
        lines += ["", _wrapped(f"rails: {found.rails.cables} cables: {found.rails.note}", width, "")]
    if found.exports:
        lines += ["", *map(visible, found.exports)]
    return "\n".join(lines) or "no setting of a fabric is in what was given"


def _wrapped(text: str, width: int, indent: str, more: int = 0) -> str:
    behind = " " * (more or len(indent) + 2)
    return textwrap.fill(
        visible(text), max(60, width), initial_indent=indent, subsequent_indent=behind, break_on_hyphens=False
    )
