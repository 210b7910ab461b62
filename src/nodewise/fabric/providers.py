# SPDX-License-Identifier: BSD-3-Clause
"""libfabric's providers, as fi_info lists them: endpoints, capabilities, modes, progress, order. No address is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from nodewise.base.frozen import dataclass

#: What of the capabilities says which transfers there are; the others say how.
TRANSFERS = ("MSG", "TAGGED", "RMA", "ATOMIC", "COLLECTIVE", "MULTICAST", "MULTI_RECV", "TRIGGER")
#: Types of endpoints, the most useful to a program of many ranks first.
ENDPOINTS = ("RDM", "MSG", "DGRAM")
_MOST_ENTRIES = 4096
_FIELD = re.compile(r"^(\s*)(\w+): ?(.*)$")


@dataclass(frozen=True)
class Provider:
    """A provider and what it offers, in libfabric's words without `FI_`; what several entries of it say is put together.

    `endpoints` are RDM (reliable datagrams), MSG (connected) and DGRAM; `capabilities` hold for some endpoint; `modes` are demands on the program;
    `progress` is that of data: `AUTO`, or `MANUAL` where the program's own calls move it; `multi_receive` whether one buffer takes several
    messages; `order` what of sends and transfers stays in order; `domains` the devices or interfaces that it reaches.
    """

    name: str
    version: str
    endpoints: tuple[str, ...]
    capabilities: tuple[str, ...]
    modes: tuple[str, ...]
    progress: tuple[str, ...]
    control_progress: tuple[str, ...]
    memory_modes: tuple[str, ...]
    order: tuple[str, ...]
    multi_receive: bool
    domains: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether it can be used here: it offers an endpoint."""
        return bool(self.endpoints)


@dataclass(frozen=True)
class _Entry:
    """One `fi_info:` of the list, its values by the path of their names."""

    values: Mapping[str, str]

    def word(self, name: str) -> str:
        return self.values.get(name, "").strip().removeprefix("FI_")

    def words(self, name: str) -> list[str]:
        inside = self.values.get(name, "").strip().strip("[]").strip()
        return [w.strip().removeprefix("FI_") for w in inside.split(",") if w.strip()]


def parse_verbose(text: str) -> tuple[Provider, ...]:
    """The providers that `fi_info -v` prints, in its order."""
    by_name: dict[str, list[_Entry]] = {}
    for entry in _entries(text):
        if name := entry.word("fi_info.fi_fabric_attr.prov_name"):
            by_name.setdefault(name, []).append(entry)
    return tuple(_provider(name, entries) for name, entries in by_name.items())


def parse_list(text: str) -> dict[str, str]:
    """By name the version of what `fi_info -l` prints: all that is built in, whether it finds a device or not."""
    found = {}
    for block in re.finditer(r"^([\w;-]+):\s*\n\s+version: (\S+)", text, re.MULTILINE):
        found[block[1]] = block[2]
    return found


def parse_version(text: str) -> str:
    """libfabric's version, of what `fi_info --version` prints; empty where it says none."""
    match = re.search(r"^libfabric: (\S+)", text, re.MULTILINE)
    return match[1] if match else ""


def with_listed(providers: Iterable[Provider], listed: Mapping[str, str]) -> tuple[Provider, ...]:
    """The providers, and behind them those that are built in and found nothing to run on; layers and hooks are none."""
    there = tuple(providers)
    named = {part for one in there for part in one.name.split(";")}
    bare = [n for n in listed if n not in named and not n.startswith("ofi_")]
    return (*there, *(_provider(name, [], listed[name]) for name in bare))


def _entries(text: str) -> Iterable[_Entry]:
    values: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    seen = 0
    for line in text.splitlines():
        if (match := _FIELD.match(line)) is None:
            continue
        depth, name, value = len(match[1].expandtabs()), match[2], match[3]
        if name == "fi_info" and depth == 0:
            if values:
                yield _Entry(values)
            values, above, seen = {}, [], seen + 1
            if seen > _MOST_ENTRIES:
                return
        while above and above[-1][0] >= depth:
            above.pop()
        above.append((depth, name))
        values[".".join(part for _, part in above)] = value
    if values:
        yield _Entry(values)


def _all(entries: Sequence[_Entry], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for entry in entries for word in entry.words(f"fi_info.{name}")))


def _each(entries: Sequence[_Entry], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (entry.word(f"fi_info.{name}") for entry in entries))))


def _provider(name: str, entries: Sequence[_Entry], version: str = "") -> Provider:
    capabilities = _all(entries, "caps")
    progress = "fi_domain_attr.data_progress", "fi_domain_attr.control_progress"
    data, control = (tuple(w.removeprefix("PROGRESS_") for w in _each(entries, one)) for one in progress)
    return Provider(
        name=name,
        version=version or next(iter(_each(entries, "fi_fabric_attr.prov_version")), ""),
        endpoints=tuple(e for e in ENDPOINTS if f"EP_{e}" in _each(entries, "fi_ep_attr.type")),
        capabilities=capabilities,
        modes=_all(entries, "mode"),
        progress=data,
        control_progress=control,
        memory_modes=_all(entries, "fi_domain_attr.mr_mode"),
        order=tuple(w.removeprefix("ORDER_") for w in _all(entries, "fi_tx_attr.msg_order") if w != "ORDER_NONE"),
        multi_receive="MULTI_RECV" in capabilities,
        domains=_each(entries, "fi_domain_attr.name"),
    )
