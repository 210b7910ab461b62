# SPDX-License-Identifier: BSD-3-Clause
"""KMP_HW_SUBSET and the older KMP_PLACE_THREADS: which part of the machine the OpenMP runtime may use.

Both are read by one grammar, as Intel's and LLVM's runtimes do: `15c@30,4t`, `1s,7c,2t`, `15Cx4T,30O`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.placement.layers import CORES, Layers, Row
from nodewise.placement.scan import Scanner

#: Each layer's name in a subset, with the fewest characters that distinguish it from the others.
_NAMES = (
    ("socket", "socket", 1),
    # of Windows; also what is meant for a package is taken for one
    ("proc_group", "proc_group", 1),
    ("package", "proc_group", 1),
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
#: What stands between two items: the ampersand is for kinds of cores, and no different.
_MARKS = (",", "x", "&")
_WHAT = "a layer: s(ocket), d(ie), n(uma), l3, l2, ti(le), c(ore) or t(hread)"


@dataclass(frozen=True)
class Item:
    """So many objects of a layer within each of the next outer one, from `offset` on; `count` None is all.

    `cores` names cores of one kind: `intel_core`, `intel_atom` or `effN`; empty takes them all.
    """

    kind: str
    count: int | None
    offset: int = 0
    cores: str = ""


@dataclass(frozen=True)
class Subset:
    """A subset as read: at most one item a layer, but for cores of several kinds."""

    items: tuple[Item, ...]
    absolute: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ":" * self.absolute + ",".join(
            f"{'' if i.count is None else i.count}{i.kind}"
            + (f":{i.cores}" if i.cores else "")
            + (f"@{i.offset}" if i.offset else "")
            for i in self.items
        )


def read_subset(text: str, what: str = "KMP_HW_SUBSET") -> Subset:
    """Read a subset. Raises InputError with the column."""
    scanner = Scanner(what, text)
    absolute = scanner.take(":")
    items: list[Item] = []
    while True:
        scanner.skip_space()
        start = scanner.at
        item = _item(scanner, items)
        if item is not None:
            if item.kind != "core" and any(item.kind == other.kind for other in items):
                raise scanner.error(f"another layer than {item.kind}, which was given", start)
            items.append(item)
        if scanner.done:
            break
        if not any(map(scanner.take, _MARKS)):
            raise scanner.error("',', 'x' or '&'")
        if scanner.done:
            raise scanner.error(_WHAT)
    notes: tuple[str, ...] = ()
    cores = [item for item in items if item.kind == "core"]
    if len(cores) > 1 and not any(item.cores for item in cores):
        # the runtime takes the first of them without a warning
        notes = (f"cores are named {len(cores)} times: the first counts",)
        items = [item for item in items if item.kind != "core" or item is cores[0]]
    return Subset(tuple(items), absolute, notes)


def _item(scanner: Scanner, before: list[Item]) -> Item | None:
    count: int | None = None
    if scanner.peek().isdigit():
        start = scanner.at
        count = scanner.number()
        offset_alone = scanner.peek().lower() == "o" and bool(before)
        if offset_alone and scanner.what == "KMP_PLACE_THREADS":
            # the oldest form: an offset by itself counts cores
            scanner.at += 1
            at = next((i for i, item in enumerate(before) if item.kind == "core" and not item.offset), None)
            if at is None:
                raise scanner.error("cores before an offset, and one offset", start)
            before[at] = replace(before[at], offset=count)
            return None
        if count == 0:
            raise scanner.error("a count of at least 1", start)
        if offset_alone or scanner.done or scanner.peek() in ",&":
            # today's reader takes a number without a layer for sockets, also before the O that once was an offset
            if offset_alone:
                scanner.take("o")
            return Item("socket", count)
    else:
        scanner.take("*")
    kind = _kind(scanner)
    cores = ""
    if scanner.peek() == ":":
        scanner.take(":")
        cores = scanner.word(f"(?i:{CORES})").lower()
        if not cores:
            raise scanner.error("intel_core, intel_atom or effN")
        if kind != "core":
            raise scanner.error("no attribute: only cores have kinds")
    offset = 0
    if scanner.take("@") or (scanner.peek().lower() == "o" and scanner.peek(2)[1:].isdigit() and scanner.take("o")):
        offset = scanner.number("an offset")
    return Item(kind, count, offset, cores)


def _kind(scanner: Scanner) -> str:
    start = scanner.at
    word = scanner.word(
        r"(?:[lL][123lL](?:_[cC](?:[aA](?:[cC](?:[hH][eE]?)?)?)?[sS]?)?)|[A-WYZa-wyz_]+?(?=[oO]\d|[^A-Za-z_]|[xX]|$)"
    ).lower()
    for name, kind, fewest in _NAMES:
        one = word.removesuffix("s") or word
        # a t with an s is neither a thread nor a tile
        if len(one) >= fewest and word != "ts" and (name.startswith(word) or name.startswith(one)):
            return kind
    scanner.at = start
    raise scanner.error(_WHAT)


def apply_subset(layers: Layers, subset: Subset, strict: bool = False) -> tuple[Layers, tuple[str, ...]]:
    """The layers that are left, and what to know of it; where the runtime would ignore the subset, all of them.

    Where the machine has sockets (or the text starts with `:`) an item counts objects within the next outer layer that
    the subset names, sockets and cores counting as named, and one that asks for more than there are gets what there is.
    Without sockets it counts within the next outer layer of the machine, and asking for too much undoes it all; so it does
    always where `strict`, as in LLVM's runtimes 14 and 16 (19 is as Intel's). Cores of a kind are counted among those of
    that kind; a machine of one kind leaves out a single kind's name.
    """
    kind = next((item.cores for item in subset.items if item.cores.startswith("intel")), "")
    if strict and kind:
        return layers, (f"LLVM 14's runtime does not know {kind}: it ignores the whole subset {subset}",)
    items, notes = _by_kinds(layers, subset)
    levels, why = _by_level(layers, subset, items)
    if not levels:
        return layers, tuple(notes if why is None else [why])
    if strict or (not subset.absolute and layers.level("socket") < 0):
        for level, asked in levels.items():
            for item in asked:
                if item.count is not None and item.count + item.offset > layers.ratios[level]:
                    return layers, (
                        f"the subset asks for {_words(item)}, and there are {layers.ratios[level]}: "
                        "the runtime ignores the whole subset",
                    )
        numbers = {level: [row.sub[level] for row in layers.rows] for level in levels}
    else:
        if not subset.absolute:
            for kind in ("socket", "core"):
                levels.setdefault(layers.level(kind), [Item(kind, None)])
        numbers = _numbers_within(layers, sorted(levels), [item.cores for item in items if item.cores])
    left = {
        row.processor
        for i, row in enumerate(layers.rows)
        if all(any(_takes(layers, item, row, numbers[level][i]) for item in asked) for level, asked in levels.items())
    }
    if not left:
        return layers, ("the subset leaves no processor: the runtime ignores it",)
    return layers.restricted(left), (*notes, *_too_many(layers, levels, numbers))


def _by_level(layers: Layers, subset: Subset, items: Sequence[Item]) -> tuple[dict[int, list[Item]], str | None]:
    """The items of each layer; none, and why, where the whole subset is ignored."""
    levels: dict[int, list[Item]] = {}
    for item in items:
        level = layers.level(item.kind)
        if level < 0:
            return {}, f"this machine has no layer {item.kind}: the runtime ignores the whole subset {subset}"
        if level in levels and not (item.cores and levels[level][0].kind == item.kind):
            both = f"{levels[level][0].kind} and {item.kind}"
            return {}, f"{both} are one layer here: the runtime ignores the whole subset {subset}"
        levels.setdefault(level, []).append(item)
    return levels, None


def _too_many(layers: Layers, levels: dict[int, list[Item]], numbers: dict[int, list[int]]) -> list[str]:
    """A note for each item that asks for more than there is."""
    notes = []
    for level, asked in levels.items():
        for item in asked:
            counted = zip(numbers[level], layers.rows, strict=True)
            most = max(number for number, row in counted if layers.is_of(row, item.cores)) + 1
            if item.count is not None and item.count + item.offset > most:
                notes.append(f"the subset asks for {_words(item)}, and there are {most}: it gets what there is")
    return notes


def _by_kinds(layers: Layers, subset: Subset) -> tuple[list[Item], list[str]]:
    """The items as they hold on a machine with these kinds of cores; none where the whole subset is ignored."""
    named = [item.cores for item in subset.items if item.kind == "core" and item.cores]
    cores = [item for item in subset.items if item.kind == "core"]
    if not named:
        return list(subset.items), list(subset.notes)
    ignored = "the runtime ignores the whole subset"
    if len(layers.core_kinds) < 2:
        if len(cores) > 1:
            return [], [f"all cores of this machine are of one kind, and the subset names several: {ignored} {subset}"]
        note = f"all cores of this machine are of one kind: {named[0]} is ignored"
        return [replace(item, cores="") for item in subset.items], [*subset.notes, note]
    if len({name.startswith("eff") for name in named}) > 1:
        return [], [f"the subset names cores by type and by efficiency: {ignored} {subset}"]
    if len(named) < len(cores) or len(set(named)) < len(named):
        return [], [f"the subset names cores of one kind twice, or of a kind and of any: {ignored} {subset}"]
    missing = next((name for name in named if not any(layers.is_of(row, name) for row in layers.rows)), None)
    if missing is not None:
        return [], [f"this machine has no cores of the kind {missing}: {ignored} {subset}"]
    return list(subset.items), list(subset.notes)


def _takes(layers: Layers, item: Item, row: Row, number: int) -> bool:
    inside = item.offset <= number and (item.count is None or number < item.offset + item.count)
    return inside and layers.is_of(row, item.cores)


def _words(item: Item) -> str:
    return f"{item.count} of {item.kind}" + (f" from number {item.offset} on" if item.offset else "")


def _numbers_within(layers: Layers, levels: list[int], named: list[str]) -> dict[int, list[int]]:
    """For each of the levels, outermost first, each row's object counted within that of the level before in the list.

    Where kinds of cores are named, those of each kind are counted by themselves.
    """
    found: dict[int, list[int]] = {}
    outer = -1
    core = layers.level("core")
    for level in levels:
        parent: tuple[int, ...] | None = None
        own: tuple[int, ...] | None = None
        numbers: dict[str, int] = {}
        found[level] = []
        for row in layers.rows:
            kind = next((name for name in named if layers.is_of(row, name)), "") if level == core else ""
            if row.ids[: outer + 1] != parent:
                parent, own, numbers = row.ids[: outer + 1], None, {}
            if row.ids[: level + 1] != own:
                own = row.ids[: level + 1]
                numbers[kind] = numbers.get(kind, -1) + 1
            found[level].append(numbers[kind])
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
