# SPDX-License-Identifier: BSD-3-Clause
"""Hardware classes: nodes that can be compared, as their processors, product, devices and size of memory are alike.

A class of few nodes that differs in one of these from a large one is taken for a part of that: a node that lost a device
or a memory module is then found to differ, and is not a class of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodewise.base.units import format_bytes
from nodewise.nodes.facts import Value

#: What a class is made of, besides the size of memory.
CLASS_PATHS = ("processor.name", "processor.sockets", "firmware.product", "accelerators.*.device")
MEMORY = "memory.total"
#: Sizes of memory that are nearer to each other than this belong together; kernels differ in what they leave.
_GAP = 0.03
_FEWEST, _SMALL = 3, 0.05


@dataclass(frozen=True)
class Group:
    """Nodes that are held against each other, by their places in the fleet: `name`, and what they have in common."""

    name: str
    about: str
    members: tuple[int, ...]


def _memory_bins(sizes: Sequence[Value]) -> list[int | None]:
    """Each size's bin: a new one begins where the next larger size is more than 3 % larger."""
    found: list[int | None] = [None] * len(sizes)
    order = sorted((s, i) for i, s in enumerate(sizes) if s)
    number, last = 0, None
    for size, i in order:
        number += last is not None and math.log(size / last) > _GAP
        found[i] = number
        last = size
    return found


def hardware_classes(columns: Mapping[str, Sequence[Value]], places: Sequence[int]) -> list[Group]:
    """The classes of the nodes at those places, largest first."""
    devices = columns["accelerators.*.device"]
    bases: dict[tuple[Value, ...], list[int]] = {}
    for i in places:
        found = tuple(sorted(set((devices[i] or {}).values())))
        bases.setdefault((*(columns[p][i] for p in CLASS_PATHS[:3]), found), []).append(i)
    classes: dict[tuple[Value, ...], list[int]] = {}
    for key, members in bases.items():
        for i, number in zip(members, _memory_bins([columns[MEMORY][i] for i in members]), strict=True):
            # bins are numbered within their class; what tells them apart is a size
            classes.setdefault((*key, number), []).append(i)
    merged = _adopted(classes)
    ordered = sorted(merged.items(), key=lambda item: (-len(item[1]), str(item[0])))
    return [
        Group(f"class {n}", _about(key, columns, members), tuple(sorted(members)))
        for n, (key, members) in enumerate(ordered, 1)
    ]


def _adopted(classes: dict[tuple[Value, ...], list[int]]) -> dict[tuple[Value, ...], list[int]]:
    kept = {key: list(members) for key, members in classes.items()}
    for key, members in sorted(classes.items(), key=lambda item: len(item[1])):
        best: tuple[Value, ...] | None = None
        for other, those in classes.items():
            # a bin of memory counts within its class alone
            differ = sum(a != b for a, b in zip(key[:-1], other[:-1], strict=True))
            differ += differ == 0 and key[-1] != other[-1]
            small = len(members) < max(_FEWEST, _SMALL * len(those)) and len(those) >= _FEWEST
            if differ == 1 and small and other in kept and (best is None or len(those) > len(classes[best])):
                best = other
        if best is not None and key in kept:
            kept[best] += kept.pop(key)
    return kept


def _about(key: tuple[Value, ...], columns: Mapping[str, Sequence[Value]], members: Sequence[int]) -> str:
    name, sockets, product, devices, _ = key
    sizes = sorted(s for i in members if (s := columns[MEMORY][i]))
    parts = [f"{name or 'processor not known'}" + (f" × {sockets}" if sockets else "")]
    parts += [str(product)] if product else []
    parts += [", ".join(devices)] if devices else []
    parts += [format_bytes(sizes[len(sizes) // 2])] if sizes else []
    return ", ".join(parts)
