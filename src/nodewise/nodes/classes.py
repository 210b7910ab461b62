# SPDX-License-Identifier: BSD-3-Clause
"""Hardware classes: nodes that can be compared, as their processors, product, devices and size of memory are alike.

One or two nodes that differ in one of these from a larger class are taken for a part of that, and so are more, up to 5% of it, that have
less of it: nodes that lost a device, a socket or a memory module are then found to differ, and are no class of their own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_bytes
from nodewise.nodes.facts import Value

#: What a class is made of, besides the size of memory.
CLASS_PATHS = ("processor.name", "processor.sockets", "firmware.product", "accelerators.*.device")
MEMORY = "memory.total"
#: By what a few nodes are known to be of one large class and not of another.
ALIKE_PATHS = (
    "processor.cores",
    "processor.model",
    "processor.caches",
    "memory.numa.*.processors",
    "firmware.board",
    "fabric.*.rate",
    "network.*.driver",
)
#: Sizes of memory that are nearer to each other than this belong together; kernels differ in what they leave.
_GAP = 0.03
_FEWEST, _SMALL = 3, 0.05
#: Where hardly two nodes are alike nobody looks through all classes for each.
_MOST_LARGE = 20


@dataclass(frozen=True)
class Group:
    """Nodes that are held against each other, by their places in the fleet: `name`, and what they have in common.

    `lesser_than` names a larger class that has more memory, sockets or devices and is alike otherwise: these may have lost some.
    """

    name: str
    about: str
    members: tuple[int, ...]
    lesser_than: str = ""


def _memory_bins(sizes: Sequence[Value]) -> list[int | None]:
    """Each size's bin: a new one begins where the next larger size is more than 3% larger."""
    found: list[int | None] = [None] * len(sizes)
    # a size that is not known tells nobody apart
    order = sorted((s, i) for i, s in enumerate(sizes) if s)
    number, last = 0, None
    for size, i in order:
        number += last is not None and math.log(size / last) > _GAP
        found[i] = number
        last = size
    if order:
        [(usual, _)] = Counter(found[i] for _, i in order).most_common(1)
        found = [usual if f is None else f for f in found]
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
    merged = _adopted(classes, columns)
    ordered = sorted(merged.items(), key=lambda item: (-len(item[1]), str(item[0])))
    largest = [(f"class {n}", key) for n, (key, _) in enumerate(ordered[:_MOST_LARGE], 1)]
    return [
        Group(
            f"class {n}",
            _about(key, columns, members),
            tuple(sorted(members)),
            next((name for name, other in largest[: n - 1] if _differ(key, other) == 1 and _has_less(key, other)), ""),
        )
        for n, (key, members) in enumerate(ordered, 1)
    ]


def _differ(key: tuple[Value, ...], other: tuple[Value, ...]) -> int:
    """In how many things two classes differ; a bin of memory counts within its class alone."""
    differ = sum(bool(a != b) for a, b in zip(key[:-1], other[:-1], strict=True))
    return differ + int(differ == 0 and key[-1] != other[-1])


def _likeness(columns: Mapping[str, Sequence[Value]], one: int, other: int) -> int:
    """In how many facts two nodes are alike, memory's size among them."""
    sizes = [columns[MEMORY][i] for i in (one, other)]
    near = bool(all(sizes) and abs(math.log(sizes[0] / sizes[1])) <= _GAP)
    return near + sum(bool(columns[p][one] == columns[p][other]) for p in ALIKE_PATHS)


def _has_less(key: tuple[Value, ...], other: tuple[Value, ...]) -> bool:
    """Of two that differ in one thing, whether the first has less of it; of names neither has."""
    sockets, others = key[1], other[1]
    if sockets != others:
        return sockets is not None and others is not None and sockets < others
    if key[3] != other[3]:
        return set(key[3]) < set(other[3])
    return key[:-1] == other[:-1] and key[-1] is not None and other[-1] is not None and key[-1] < other[-1]


def _adopted(
    classes: dict[tuple[Value, ...], list[int]], columns: Mapping[str, Sequence[Value]]
) -> dict[tuple[Value, ...], list[int]]:
    kept = {key: list(members) for key, members in classes.items()}
    # where each node is a class of its own none is looked through for each
    several = [(key, members) for key, members in classes.items() if len(members) > 1]
    for key, members in sorted(classes.items(), key=lambda item: len(item[1])):
        best: tuple[tuple[int, int], tuple[Value, ...]] | None = None
        for other, those in several:
            few = len(members) < _FEWEST or (_has_less(key, other) and len(members) <= _SMALL * len(those))
            # two of three are a majority
            small = few and len(members) < len(those) and len(members) + len(those) >= _FEWEST
            if _differ(key, other) != 1 or not small or other not in kept:
                continue
            # of three of the class, as one of them may be broken itself
            some = those[:: max(1, len(those) // 3)][:3]
            rank = max(_likeness(columns, members[0], i) for i in some), len(those)
            if best is None or rank > best[0]:
                best = rank, other
        if best is not None:
            kept[best[1]] += kept.pop(key)
    return kept


def _about(key: tuple[Value, ...], columns: Mapping[str, Sequence[Value]], members: Sequence[int]) -> str:
    name, sockets, product, devices, _ = key
    sizes = sorted(s for i in members if (s := columns[MEMORY][i]))
    parts = [f"{name or 'processor not known'}" + (f" × {sockets}" if sockets else "")]
    parts += [str(product)] if product else []
    parts += [", ".join(devices)] if devices else []
    parts += [format_bytes(sizes[len(sizes) // 2])] if sizes else []
    return ", ".join(parts)
