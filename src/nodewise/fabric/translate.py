# SPDX-License-Identifier: BSD-3-Clause
"""Settings of job scripts from before libfabric: Intel MPI's OFA, DAPL and TMI fabrics, and what takes their place.

What there was is in Intel MPI's Reference Manual 5.1, what there is in its Developer Reference 2021.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence

from nodewise.base.frozen import dataclass
from nodewise.base.lists import listed

_NAME = r"I_MPI_[A-Z0-9_]+|MV2_[A-Z0-9_]+|FI_[A-Z0-9_]+|PSM2?_[A-Z0-9_]+"
#: `NAME=VALUE`, csh's `setenv NAME VALUE` and mpiexec's `-genv NAME VALUE`.
_SET = re.compile(
    rf"(?:\bsetenv\s+|-g?env\s+)({_NAME})\s+(\"[^\"]*\"|'[^']*'|[^\s;|&]+)|\b({_NAME})=(\"[^\"]*\"|'[^']*'|[^\s;|&]*)"
)
_OFI, _NO_EQUIVALENT = "I_MPI_FABRICS=shm:ofi", "no equivalent"
#: By fabric of then libfabric's provider of now.
_PROVIDERS = {"tmi": "psm", "dapl": "verbs", "ofa": "verbs", "tcp": "tcp"}
_DEVICES = {"rdma": "dapl", "rdssm": "shm:dapl", "ssm": "shm:tcp", "sock": "tcp", "shm": "shm"}
_TMI = {"psm": "psm", "psm2": "psm2"}
_ON = ("1", "enable", "yes", "on", "true")


@dataclass(frozen=True)
class Translated:
    """A setting that was given, the variables that take its place (none: leave it out), and what to know of it."""

    given: str
    becomes: tuple[str, ...]
    note: str


@dataclass(frozen=True)
class AdapterSets:
    """Rails as such a script asks for: adapters by name, each for a set of ranks, or adapters and ports in number; `cables` is their product."""

    names: tuple[str, ...]
    adapters: int
    ports: int
    cables: int
    note: str


@dataclass(frozen=True)
class Translation:
    """Settings from before libfabric with what takes their place; `exports` is all of it together, `rails` null where none are asked for."""

    settings: tuple[Translated, ...]
    exports: tuple[str, ...]
    rails: AdapterSets | None
    unknown: tuple[str, ...]


def settings_in(text: str) -> list[tuple[str, str]]:
    """Names and values of all settings of MPIs' fabrics that a script makes, in its order; lines of comments are none."""
    found = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        for match in _SET.finditer(line):
            name, value = match[1] or match[3], match[2] if match[1] else match[4]
            found.append((name, value.strip("\"'")))
    return found


def translate(settings: Iterable[tuple[str, str]]) -> Translation:
    """What to set in place of them."""
    every = list(dict.fromkeys(settings))
    done = [_one(name, value, every) for name, value in every]
    known = [one for one in done if one is not None]
    unknown = tuple(f"{n}={v}" for (n, v), one in zip(every, done, strict=True) if one is None)
    return Translation(tuple(known), _together(known), _rails(every), unknown)


def _one(name: str, value: str, every: Sequence[tuple[str, str]]) -> Translated | None:
    given = f"{name}={value}"
    if (rule := _RULES.get(name)) is not None:
        becomes, note = rule(value, every)
        return Translated(given, becomes, note)
    if re.match(r"I_MPI_(DAPL|OFA|TMI)_", name):
        return Translated(given, (), f"{name.split('_')[2]} is gone, and this with it: leave it out")
    if name.startswith(("FI_", "I_MPI_OFI_")):
        return Translated(given, (given,), "libfabric's already: it stays")
    return None


def _fabrics(value: str, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    words = [w for w in re.split(r"[:,]", value.lower()) if w]
    shared, nets = "shm" in words, [w for w in words if w != "shm"]
    if not nets:
        return (f"I_MPI_FABRICS={value}",), "one node alone: it stays"
    if nets[0] == "ofi":
        return (f"I_MPI_FABRICS={value}",), "libfabric's already: it stays"
    provider = _PROVIDERS.get(nets[0])
    if provider is None:
        return (), f"no fabric {nets[0]} is known: {_NO_EQUIVALENT}"
    if nets[0] == "tmi":
        provider = _TMI.get(dict(every).get("I_MPI_TMI_PROVIDER", "psm"), "psm")
    return (
        _OFI if shared else "I_MPI_FABRICS=ofi",
        f"FI_PROVIDER={provider}",
    ), f"{nets[0].upper()} has gone since Intel MPI 2019: {_ABOUT[nets[0]]}"


_ABOUT = {
    "tmi": "its PSM is libfabric's provider psm (True Scale), PSM2 is psm2 (Omni-Path)",
    "dapl": "libfabric's verbs sends over the same adapters; on Mellanox adapters Intel MPI's mlx goes by UCX",
    "ofa": "libfabric's verbs sends over the same adapters; on Mellanox adapters Intel MPI's mlx goes by UCX",
    "tcp": "libfabric's tcp",
}


def _device(value: str, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    kind, _, dapl = value.partition(":")
    fabrics = _DEVICES.get(kind.lower())
    if fabrics is None:
        return (), f"no device {kind} is known: {_NO_EQUIVALENT}"
    becomes, note = _fabrics(fabrics, every)
    return becomes, note + (f"; {dapl} was a provider of DAPL" if dapl else "")


def _tmi_provider(value: str, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    del every
    if value in _TMI:
        return (f"FI_PROVIDER={_TMI[value]}",), f"TMI's {value} is libfabric's provider {_TMI[value]}"
    return (), f"libfabric has none for TMI's {value}: {_NO_EQUIVALENT}"


def _ofi_provider(value: str, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    del every
    return (f"FI_PROVIDER={value}",), "all that stands on libfabric reads FI_PROVIDER, Intel MPI alone the older name"


def _dapl_ud(value: str, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    del every
    if value.lower() not in _ON:
        return (), "it was off: leave it out"
    return (), (
        f"{_NO_EQUIVALENT}: no provider of libfabric sends an MPI's messages over unreliable datagrams of InfiniBand as DAPL UD did; verbs connects "
        "each pair of ranks that meet, which takes more memory on many nodes"
    )


def _dapl_provider(value: str, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    del every
    # ofa-v2-mlx4_0-1u: an adapter, its port, and u for unreliable datagrams
    match = re.search(r"((?:mlx\d|hfi\d|qib|mthca|cxgb\d|i40iw|bnxt_re|irdma)_?\d+)-(\d)", value)
    if match is None:
        return ("FI_PROVIDER=verbs",), "a name of DAPL's registry, which is gone; verbs takes what adapters there are"
    return (
        "FI_PROVIDER=verbs",
        f"FI_VERBS_DEVICE_NAME={match[1]}",
    ), f"a name of DAPL's registry: adapter {match[1]}, port {match[2]}; libfabric names the adapter"


def _adapter_name(value: str, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    names = list(dict.fromkeys(v for n, v in every if n == "I_MPI_OFA_ADAPTER_NAME"))
    note = "libfabric's verbs takes an adapter by name"
    if len(names) > 1:
        note += "; each set of ranks keeps its own: mpiexec -n 2 -env FI_VERBS_DEVICE_NAME A ./app : -n 2 -env FI_VERBS_DEVICE_NAME B ./app"
    return (f"FI_VERBS_DEVICE_NAME={value}",), note


def _number(value: str, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    del every
    if _count(value) < 2:
        return (), "one is what there is without it: leave it out"
    return ("I_MPI_MULTIRAIL=1",), (
        "libfabric had no rails when OFA went; Intel MPI deals its ranks over all adapters since 2021, as many as there are: the number is not set"
    )


def _count(text: str) -> int:
    """A number of adapters or ports; one where it is none."""
    return max(1, int(text)) if re.fullmatch(r"[0-9]{1,3}", text) else 1


def _none(why: str) -> Callable[[str, Sequence[tuple[str, str]]], tuple[tuple[str, ...], str]]:
    return lambda value, every: ((), why)


_RULES: dict[str, Callable[[str, Sequence[tuple[str, str]]], tuple[tuple[str, ...], str]]] = {
    "I_MPI_FABRICS": _fabrics,
    "I_MPI_DEVICE": _device,
    "I_MPI_TMI_PROVIDER": _tmi_provider,
    "I_MPI_OFI_PROVIDER": _ofi_provider,
    "I_MPI_DAPL_UD": _dapl_ud,
    "I_MPI_DAPL_UD_PROVIDER": _none(f"{_NO_EQUIVALENT}: DAPL UD has none"),
    "I_MPI_DAPL_PROVIDER": _dapl_provider,
    "I_MPI_OFA_ADAPTER_NAME": _adapter_name,
    "I_MPI_OFA_NUM_ADAPTERS": _number,
    "I_MPI_OFA_NUM_PORTS": _number,
    "I_MPI_FALLBACK": _none("there is one fabric left, and nothing to fall back to: leave it out"),
    "I_MPI_FALLBACK_DEVICE": _none("there is one fabric left, and nothing to fall back to: leave it out"),
    "I_MPI_FABRICS_LIST": _none("the order is libfabric's: FI_PROVIDER names one, and fi_info shows it"),
}


def _together(settings: Iterable[Translated]) -> tuple[str, ...]:
    """All that is to be set, each name once: what is said of a provider itself counts more than what follows from a fabric."""
    values: dict[str, str] = {}
    several: set[str] = set()
    for one in sorted(settings, key=lambda s: "_PROVIDER=" in s.given):
        for setting in one.becomes:
            name, _, value = setting.partition("=")
            if name == "FI_VERBS_DEVICE_NAME" and values.get(name, value) != value:
                several.add(name)
            values[name] = value
    return tuple(f"export {n}={shlex.quote(v)}" for n, v in values.items() if n not in several)


def _rails(every: Sequence[tuple[str, str]]) -> AdapterSets | None:
    names = tuple(dict.fromkeys(v for n, v in every if n == "I_MPI_OFA_ADAPTER_NAME"))
    asked = dict(every)
    adapters, ports = (_count(asked.get(f"I_MPI_OFA_NUM_{what}", "1")) for what in ("ADAPTERS", "PORTS"))
    if len(names) < 2 and adapters * ports < 2:
        return None
    adapters = max(adapters, len(names), 1)
    note = f"{adapters} adapters × {ports} port{'s' * (ports > 1)}"
    if len(names) > 1:
        note = f"{listed(names)}, each for its own set of ranks"
        if asked.get("I_MPI_OFA_NUM_ADAPTERS", "1") != "1":
            note += "; a name counted only where I_MPI_OFA_NUM_ADAPTERS was 1"
    return AdapterSets(names, adapters, ports, adapters * ports, note)
