# SPDX-License-Identifier: BSD-3-Clause
"""KMP_HW_SUBSET and the older KMP_PLACE_THREADS: which part of the machine the OpenMP runtime may use.

Both are read by one grammar, as Intel's and LLVM's runtimes do: `15c@30,4t`, `1s,7c,2t`, `15Cx4T,30O`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from nodewise.base.errors import InputError
from nodewise.placement.layers import Layers
from nodewise.placement.scan import Scanner

#: Each layer's name in a subset, with the fewest characters that tell it from the others.
_NAMES = (
    ("socket", "socket", 1),
    ("package", "socket", 1),
    ("die", "die", 1),
    ("dice", "die", 2),
    ("module", "module", 1),
    ("tile", "tile", 2),
    ("numa_domain", "numa_domain", 1),
    ("l3_cache", "l3_cache", 2),
    ("l2_cache", "l2_cache", 2),
    ("l1_cache", "l1_cache", 2),
    ("ll_cache", "ll_cache", 2),
    ("core", "core", 1),
    ("thread", "thread", 1),
)
_WHAT = "a layer: s(ocket), d(ie), n(uma), l3, l2, ti(le), c(ore) or t(hread)"


@dataclass(frozen=True)
class Item:
    """So many objects of a layer within each of the next outer one, from `offset` on; `count` None is all."""

    kind: str
    count: int | None
    offset: int = 0


@dataclass(frozen=True)
class Subset:
    """A subset as read: at most one item a layer."""

    items: tuple[Item, ...]
    absolute: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ":" * self.absolute + ",".join(
            f"{'' if i.count is None else i.count}{i.kind}" + (f"@{i.offset}" if i.offset else "") for i in self.items
        )


def read_subset(text: str, what: str = "KMP_HW_SUBSET") -> Subset:
    """Read a subset. Raises InputError with the column."""
    scanner = Scanner(what, text)
    absolute = scanner.take(":")
    items: dict[str, Item] = {}
    while True:
        scanner.skip_space()
        start = scanner.at
        item = _item(scanner, items)
        if item is not None:
            if item.kind in items:
                raise scanner.error(f"another layer than {item.kind}, which was given", start)
            items[item.kind] = item
        if scanner.done:
            break
        if not scanner.take(",") and not scanner.take("x"):
            raise scanner.error("',' or 'x'")
        if scanner.done:
            raise scanner.error(_WHAT)
    return Subset(tuple(items.values()), absolute)


def _item(scanner: Scanner, before: dict[str, Item]) -> Item | None:
    count: int | None = None
    if scanner.peek().isdigit():
        start = scanner.at
        count = scanner.number()
        if scanner.peek().lower() == "o" and before:
            # the oldest form: an offset by itself counts cores
            scanner.at += 1
            if "core" not in before or before["core"].offset:
                raise scanner.error("cores before an offset, and one offset", start)
            before["core"] = Item("core", before["core"].count, count)
            return None
        if count == 0:
            raise scanner.error("a count of at least 1", start)
    else:
        scanner.take("*")
    kind = _kind(scanner)
    if scanner.peek() == ":":
        scanner.take(":")
        if not scanner.word(r"intel_core|intel_atom|eff\d+"):
            raise scanner.error("intel_core, intel_atom or effN")
        if kind != "core":
            raise scanner.error("no attribute: only cores have kinds")
    offset = 0
    if scanner.take("@") or (scanner.peek().lower() == "o" and scanner.peek(2)[1:].isdigit() and scanner.take("o")):
        offset = scanner.number("an offset")
    return Item(kind, count, offset)


def _kind(scanner: Scanner) -> str:
    start = scanner.at
    word = scanner.word(r"(?:[lL][123lL](?:_?[cC]ache[s]?)?)|[A-WYZa-wyz_]+?(?=[oO]\d|[^A-Za-z_]|[xX]|$)").lower()
    for name, kind, fewest in _NAMES:
        plural = f"{name}s"
        if len(word) >= fewest and (name.startswith(word) or plural == word):
            return kind
    scanner.at = start
    raise scanner.error(_WHAT)


def apply_subset(layers: Layers, subset: Subset) -> tuple[Layers, tuple[str, ...]]:
    """The layers that are left, and what to know of it; where the runtime would ignore the subset, all of them.

    Where the machine has sockets (or the text starts with `:`) an item counts objects within the next outer layer that
    the subset names, sockets and cores counting as named, and one that asks for more than there are gets what there is.
    Without sockets it counts within the next outer layer of the machine, and asking for too much undoes it all.
    """
    levels: dict[int, Item] = {}
    for item in subset.items:
        level = layers.level(item.kind)
        if level < 0:
            return layers, (f"this machine has no layer {item.kind}: the runtime ignores the whole subset {subset}",)
        if level in levels:
            both = f"{levels[level].kind} and {item.kind}"
            return layers, (f"{both} are one layer here: the runtime ignores the whole subset {subset}",)
        levels[level] = item
    if subset.absolute or layers.level("socket") >= 0:
        if not subset.absolute:
            for kind in ("socket", "core"):
                levels.setdefault(layers.level(kind), Item(kind, None))
        numbers = _numbers_within(layers, sorted(levels))
    else:
        for level, item in levels.items():
            if item.count is not None and item.count + item.offset > layers.ratios[level]:
                return layers, (
                    f"the subset asks for {_words(item)}, and there are {layers.ratios[level]}: "
                    "the runtime ignores the whole subset",
                )
        numbers = {level: [row.sub[level] for row in layers.rows] for level in levels}
    notes = list(subset.notes)
    for level, item in levels.items():
        most = max(numbers[level]) + 1
        if item.count is not None and item.count + item.offset > most:
            notes.append(f"the subset asks for {_words(item)}, and there are {most}: it gets what there is")
    left = {
        row.processor
        for i, row in enumerate(layers.rows)
        if all(
            item.offset <= numbers[level][i] and (item.count is None or numbers[level][i] < item.offset + item.count)
            for level, item in levels.items()
        )
    }
    if not left:
        return layers, ("the subset leaves no processor: the runtime ignores it",)
    return layers.restricted(left), tuple(notes)


def _words(item: Item) -> str:
    return f"{item.count} of {item.kind}" + (f" from number {item.offset} on" if item.offset else "")


def _numbers_within(layers: Layers, levels: list[int]) -> dict[int, list[int]]:
    """For each of the levels, outermost first, each row's object counted within that of the level before in the list."""
    found: dict[int, list[int]] = {}
    outer = -1
    for level in levels:
        parent: tuple[int, ...] | None = None
        own: tuple[int, ...] | None = None
        number = -1
        found[level] = []
        for row in layers.rows:
            if row.ids[: outer + 1] != parent:
                parent, own, number = row.ids[: outer + 1], None, -1
            if row.ids[: level + 1] != own:
                own, number = row.ids[: level + 1], number + 1
            found[level].append(number)
        outer = level
    return found


def rank_subset(threads: int, rank: int, per_core: int) -> str:
    """The subset of a rank where each takes as many whole cores as its threads fill, one rank after the other.

    Cores are `ceil(threads / per_core)`, the offset is cores times rank. Raises InputError where an argument is below 1.
    """
    if threads < 1 or per_core < 1 or rank < 0:
        raise InputError(f"no zone for rank {rank} of {threads} threads, {per_core} a core", "give numbers from 1")
    cores = ceil(threads / per_core)
    return f"{cores}c@{cores * rank},{per_core}t"
