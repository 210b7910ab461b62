# SPDX-License-Identifier: BSD-3-Clause
"""What MPIs say of the transports that they take: ompi_info, mpichversion, and the first lines of a run of one rank."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed

#: Frameworks of Open MPI that carry messages: the one that matches them, and those that carry them for it.
FRAMEWORKS = ("pml", "mtl", "btl")


@dataclass(frozen=True)
class Taken:
    """What an MPI took: `transport` in its own words, libfabric's `provider` where it is one, `why` in sentences, `others` that it has and
    did not take. `seen` are libfabric's providers that it has, `adapters` those that it pins ranks to.
    """

    transport: str
    provider: str = ""
    why: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()


@dataclass(frozen=True)
class OmpiInfo:
    """What ompi_info says: version, by framework the components that are built, and by framework what is asked for and where that stands."""

    version: str
    components: Mapping[str, tuple[str, ...]]
    asked: Mapping[str, tuple[str, str]]


def parse_ompi_info(text: str) -> OmpiInfo:
    """Reads `ompi_info --parsable --all`."""
    components: dict[str, dict[str, None]] = {name: {} for name in FRAMEWORKS}
    values: dict[str, str] = {}
    sources: dict[str, str] = {}
    for line in text.splitlines():
        if built := re.match(r"mca:(\w+):(\w+):version:", line):
            if built[1] in components:
                components[built[1]][built[2]] = None
        elif (asked := re.match(r"mca:(\w+):base:param:\1:(value|source):(.*)", line)) and asked[1] in components:
            (values if asked[2] == "value" else sources)[asked[1]] = asked[3].strip().strip('"')
    version = re.search(r"^ompi:version:full:(\S+)", text, re.MULTILINE)
    given = {name: (value, _file_of(sources.get(name, ""))) for name, value in values.items() if value}
    return OmpiInfo(version[1] if version else "", {n: tuple(c) for n, c in components.items()}, given)


def _file_of(source: str) -> str:
    """The file and line of `file (/etc/…:69)`, another source as it stands."""
    match = re.fullmatch(r"file \((.*)\)", source)
    return match[1] if match else source


def parse_open_mpi(text: str, info: OmpiInfo | None = None) -> Taken | None:
    """Reads what a rank of Open MPI prints with pml_base_verbose, mtl_base_verbose and btl_base_verbose 10; None where it says nothing."""
    lines = [re.sub(r"^\[[^\]]*\]\s*", "", line.strip()) for line in text.splitlines()]
    chosen = _last(r"select: component (\w+) selected", lines)
    if not chosen:
        return None
    best = _last(rf"selected {chosen} best priority (\d+)", lines)
    mtl = _last(r"mca:base:select:\(\s*mtl\) Selected component \[(\w+)\]", lines)
    loaded = _all(r"found loaded component (\w+)", lines)
    failed = _all(r"select: init returned failure for component (\w+)", lines)
    unusable = _all(r"select: init of component (\w+) returned failure", lines)
    closed = [c for c in _closed_when_opened(lines) if c not in failed]
    carriers = [c for c in _all(r"select: init of component (\w+) returned success", lines) if c != "self"]
    why = [f"{chosen} has the highest priority of what works{f' ({best})' if best else ''}"]
    if chosen == "ob1":
        why.append(
            f"between nodes it sends over {listed(carriers) or 'nothing'}; one rank has nobody to share memory with"
        )
    if failed:
        why.append(
            f"no device for {listed(failed)}, which were tried" if len(failed) > 1 else f"no device for {failed[0]}"
        )
    if closed:
        why.append(f"closed as they were opened, so without a device: {listed(closed)}")
    if info is not None:
        why += _left_out(info, loaded)
    carrier = mtl if chosen == "cm" else "+".join(carriers) if chosen == "ob1" else ""
    by_ofi = chosen == "cm" and mtl == "ofi"
    provider = _last(r"mtl:ofi:prov: (\S+)", lines) if by_ofi else ""
    domain = _last(r"mtl:ofi:provider: (\S+)", lines) if by_ofi else ""
    excluded = _last(r"mtl:ofi:provider_exclude = \"([^\"]+)\"", lines)
    if excluded and not by_ofi:
        why.append(f"ofi takes none of {excluded} unless mtl_ofi_provider_include names it")
    transport = f"{chosen} over {carrier}" if carrier else chosen
    others = tuple(dict.fromkeys([*failed, *unusable, *closed]))
    return Taken(transport, provider, tuple(why), others, adapters=(domain,) if domain else ())


def _left_out(info: OmpiInfo, loaded: Sequence[str]) -> list[str]:
    """What is built and was not looked at, since a file or a variable says so."""
    said = []
    for name in FRAMEWORKS:
        value, source = info.asked.get(name, ("", ""))
        missing = [c for c in info.components[name] if c not in loaded]
        if value and missing:
            said.append(
                f"built and left out: {listed(missing)} ({name} = {value}, {source or 'its source is not reported'})"
            )
    return said


def _closed_when_opened(lines: Sequence[str]) -> list[str]:
    """Components that were closed before any was chosen, right after they were opened."""
    found = []
    for line, after in pairwise(lines):
        opened = re.search(r"components_open: found loaded component (\w+)", line)
        if opened and re.search(rf"close: component {opened[1]} closed", after):
            found.append(opened[1])
    return list(dict.fromkeys(found))


def _all(pattern: str, lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(m[1] for line in lines if (m := re.search(pattern, line))))


def _last(pattern: str, lines: Sequence[str]) -> str:
    return next((m[1] for line in reversed(lines) if (m := re.search(pattern, line))), "")


@dataclass(frozen=True)
class MpichBuild:
    """What mpichversion says: version, `device` such as ch4, and its netmods, the first of which is taken."""

    version: str
    device: str
    netmods: tuple[str, ...]


def parse_mpichversion(text: str) -> MpichBuild | None:
    """Reads `mpichversion`; None where it names no device."""
    version = re.search(r"^MPICH Version:\s*(\S+)", text, re.MULTILINE)
    device = re.search(r"^MPICH Device:[ \t]*(\w+)(?::(.*))?$", text, re.MULTILINE)
    if device is None:
        return None
    netmods = re.split(r"[\s,]+", (device[2] or "").strip())
    return MpichBuild(version[1] if version else "", device[1], tuple(n for n in netmods if n))


def parse_mpich(text: str, build: MpichBuild) -> Taken | None:
    """Reads what a rank of MPICH prints with MPIR_CVAR_DEBUG_SUMMARY=1; None where it says nothing of a netmod."""
    provider = re.search(r"^libfabric provider: (\S+)", text, re.MULTILINE)
    scores: dict[str, int] = {}
    for name, score in re.findall(r"^provider: ([^\s,]+), score = (-?\d+)", text, re.MULTILINE):
        scores[name] = max(int(score), scores.get(name, int(score)))
    if provider:
        best = max(scores.values(), default=0)
        why = [f"built with {listed(build.netmods)}: the first is taken where MPIR_CVAR_CH4_NETMOD names none"]
        if provider[1] in scores:
            alike = [n for n, s in scores.items() if s == best and n != provider[1]]
            why.append(
                f"{provider[1]} has the score {scores[provider[1]]} for what it can do"
                + (f", as {listed(alike)}, which came later" if alike and scores[provider[1]] == best else "")
                + ": how fast it is was not asked"
            )
        others = tuple(n for n in scores if n != provider[1])
        return Taken("ofi", provider[1], tuple(why), others, tuple(scores))
    if re.search(r"UCX netmod", text):
        lanes = re.findall(r"UCX\s+INFO\s+.*?(?:ep_cfg|inter-node cfg)[^:]*: (.*)$", text, re.MULTILINE)
        why = [
            "built with ucx alone: FI_PROVIDER means nothing to it"
            if build.netmods == ("ucx",)
            else f"built with {listed(build.netmods)}: the first is taken where MPIR_CVAR_CH4_NETMOD names none"
        ]
        if lanes:
            why.append(f"UCX took, for a rank to itself: {lanes[-1].strip()[:200]}")
        return Taken("ucx", "", tuple(why), tuple(n for n in build.netmods if n != "ucx"))
    return None


def parse_intel_mpi(text: str) -> Taken | None:
    """Reads what a rank of Intel MPI prints with I_MPI_DEBUG=4 and I_MPI_FABRICS=ofi; None where it names no provider."""
    said = [line.partition("MPI startup(): ")[2].strip() for line in text.splitlines()]
    provider = _last(r"^libfabric provider: (\S+)", said)
    if not provider:
        return None
    version = _last(r"^libfabric version: (\S+)", said)
    tuned = _last(r"^Load tuning file: \"(?:.*/)?([^/\"]+)\"", said)
    nics = _last(r"^Number of NICs:\s*(\d+)", said)
    heads = [i for i, line in enumerate(said) if line.startswith("=====")]
    nic_rows = next((slice(i, j) for i, j in pairwise([*heads, len(said)]) if "NIC pinning" in said[i]), slice(0))
    pinned = [m[1] for line in said[nic_rows] if (m := re.match(r"\d+\s+(?:\d+\s+)?([A-Za-z]\S*)", line))]
    why = [f"libfabric {version or 'of its own'} lists it first of what Intel MPI takes"]
    if nics:
        why.append(f"{nics} adapter{'s' * (nics != '1')} in use" + (f": {listed(pinned)}" if pinned else ""))
    if tuned:
        why.append(f"tuned by {tuned}")
    return Taken("ofi", provider, tuple(why), adapters=tuple(dict.fromkeys(pinned)))
