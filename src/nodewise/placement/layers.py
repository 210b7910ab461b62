# SPDX-License-Identifier: BSD-3-Clause
"""Layers: a machine as the OpenMP runtimes of Intel and LLVM see it, on which their placement rules are defined.

The rules are those of openmp/runtime/src/kmp_affinity.cpp of LLVM 17 to 20, on which Intel's libiomp5 2024 to 2026 is
built; a differential test asks the real runtime.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine, Node

#: What a node of the machine's tree is called there.
_KINDS = {
    "package": "socket",
    "die": "die",
    "l3cache": "l3_cache",
    "l2cache": "l2_cache",
    "l1cache": "l1_cache",
    "core": "core",
    "pu": "thread",
}

#: Of two layers with the same objects the one with the higher number here keeps its name.
_PREFERENCE = {
    "socket": 110,
    "core": 95,
    "thread": 90,
    "numa_domain": 85,
    "die": 80,
    "tile": 75,
    "module": 73,
    "l3_cache": 70,
    "l2_cache": 65,
    "l1_cache": 60,
}
_MAIN = {"socket", "core", "thread"}
#: The layers that LLVM's runtime distinguishes by itself; where the system has no sockets, all of it is one.
_NATIVE = {*_MAIN, "die"}

#: How a setting names the cores of one kind.
CORES = r"intel_core|intel_atom|eff\d{1,6}"

#: All names of layers that a setting may use.
KINDS = (*_PREFERENCE, "ll_cache")


class Row(NamedTuple):
    """A hardware thread: `ids` number its object on each layer within the parent, of all that the machine has.

    `sub` numbers it within the parent among those with a processor allowed.
    """

    processor: int
    ids: tuple[int, ...]
    sub: tuple[int, ...]
    core_kind: int = -1


@dataclass(frozen=True)
class Layers:
    """`kinds` from the outermost layer to `thread`; `rows` in the tree's order; `same` maps a kind to the layer it equals.

    `beyond` are the processors that the runtime takes into a place by excluding others, whether or not they are among the
    rows; empty where those of the rows are all. `core_kinds` names each kind of cores, by its type and its efficiency, as a subset may: `("intel_atom", "eff0")`.
    """

    kinds: tuple[str, ...]
    rows: tuple[Row, ...]
    same: dict[str, str]
    core_kinds: tuple[tuple[str, str], ...] = ()
    beyond: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(self.kinds)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many objects each layer has."""
        return self._enumerated[0]

    @cached_property
    def ratios(self) -> tuple[int, ...]:
        """The most objects that each layer has within one object of the layer above."""
        return self._enumerated[1]

    @cached_property
    def uniform(self) -> bool:
        """Whether every object of a layer has equally many of the next."""
        product = 1
        for ratio in self.ratios:
            product *= ratio
        return product == self.counts[-1]

    @cached_property
    def _enumerated(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        depth = self.depth
        counts, inside, ratios = [0] * depth, [0] * depth, [0] * depth
        previous: tuple[int, ...] = ()
        for row in self.rows:
            level = _first_difference(previous, row.ids)
            if level == depth:
                continue
            inside[level] += 1
            counts[level] += 1
            for below in range(level + 1, depth):
                ratios[below] = max(ratios[below], inside[below])
                inside[below] = 1
                counts[below] += 1
            previous = row.ids
        return tuple(counts), tuple(map(max, ratios, inside))

    def level(self, kind: str) -> int:
        """Which layer a kind is, itself or by being equal; -1 where the machine has none."""
        real = self.equivalent(kind)
        return -1 if real is None else self.kinds.index(real)

    def equivalent(self, kind: str) -> str | None:
        """The layer that a kind is or equals; None where the machine has none."""
        if kind == "ll_cache":
            found = (self.equivalent(k) for k in ("l3_cache", "l2_cache", "l1_cache", "socket", "core"))
            return next((k for k in found if k is not None), None)
        real = self.same.get(kind, kind)
        return real if real in self.kinds else None

    def is_of(self, row: Row, cores: str) -> bool:
        """Whether a hardware thread's core is of the kind that is named so; an empty name takes all."""
        return not cores or (0 <= row.core_kind < len(self.core_kinds) and cores in self.core_kinds[row.core_kind])

    def ratio(self, below: int, above: int) -> int:
        """How many objects of layer `below` one of layer `above` has at most."""
        product = 1
        for level in range(below, above, -1):
            product *= self.ratios[level]
        return product

    def restricted(self, processors: Collection[int]) -> Layers:
        """The same layers with only these processors; positions within parents stay what they were."""
        return replace(self, rows=tuple(r for r in self.rows if r.processor in processors))

    def sorted(self, permute: int) -> list[Row]:
        """Rows in the order of `compact` with its permutation: the innermost `permute` layers vary slowest."""
        depth = self.depth
        order = [depth - 1 - i for i in range(permute)] + list(range(depth - permute))
        position = itemgetter(*order)
        return sorted(self.rows, key=lambda row: position(row.sub))

    def groups(self, levels: int) -> list[list[Row]]:
        """Rows that share all but the innermost `levels` layers, in the tree's order: the places of a granularity."""
        kept = max(0, self.depth - levels)
        found: list[list[Row]] = []
        previous: tuple[int, ...] | None = None
        for row in self.rows:
            if row.ids[:kept] != previous:
                found.append([])
                previous = row.ids[:kept]
            found[-1].append(row)
        return found


def _first_difference(a: Sequence[int], b: Sequence[int]) -> int:
    if not a:
        return 0
    if a[:-1] == b[:-1]:
        return len(b) - (a[-1] != b[-1])
    for level, number in enumerate(b):
        if number != a[level]:
            return level
    return len(b)


def _paths(machine: Machine, native: bool) -> Iterator[tuple[int, dict[str, int], int]]:
    """For each hardware thread, in the tree's order, its objects from the outermost (one dict for a core's) and its number."""
    memory = {n.pus: n.os_index for n in machine.numa_nodes if n.pus and not native}
    kinds = {kind: name for kind, name in _KINDS.items() if name in _NATIVE or not native}
    stack: list[tuple[Node, dict[str, int]]] = [(machine.tree, {"socket": 0} if native else {})]
    while stack:
        node, path = stack.pop()
        # an only child goes on with its parent's dict, which nobody else has
        while True:
            kind = kinds.get(node.kind)
            if kind == "thread":
                yield node.os_index if node.os_index >= 0 else node.pus[0], path, node.logical
                break
            if kind is not None:
                path[kind] = node.logical
            # a NUMA node that the whole machine shares is no layer there
            if node is not machine.tree and node.pus in memory and "numa_domain" not in path:
                path["numa_domain"] = memory[node.pus]
            if len(node.children) != 1:
                # hardware threads of a core share its dict, and do not change it
                leaves = bool(node.children) and not node.children[0].children
                stack += [(child, path if leaves else path.copy()) for child in reversed(node.children)]
                break
            node = node.children[0]


def layers_of(machine: Machine, respect: bool = True, native: bool = False) -> Layers:
    """The layers of the processors allowed, or of all where `respect` is false.

    `native` are those that the runtime finds without hwloc, as LLVM's is built by Debian.
    """
    allowed = set(machine.allowed if respect else machine.pus)
    found = list(_paths(machine, native))
    _, first, _ = min((item for item in found if item[0] in allowed), key=itemgetter(0))
    kinds = [*first, "thread"]
    kind_of = {p: i for i, kind in enumerate(machine.kinds) for p in kind.pus}
    table: list[tuple[int, ...]] = []
    outer: tuple[int, ...] = ()
    last: dict[str, int] | None = None
    for _, path, number in found:
        if path is not last:
            last, outer = path, tuple(path.get(kind, -1) for kind in first)
        table.append((*outer, number))
    positions = _positions(table)
    mine = [(item[0], ids) for item, ids in zip(found, positions, strict=True) if item[0] in allowed]
    if native:
        # /proc/cpuinfo does not number a core's hardware threads: the runtime counts those that it may use
        seen: Counter[tuple[int, ...]] = Counter()
        for i, (processor, ids) in enumerate(mine):
            mine[i] = (processor, (*ids[:-1], seen[ids[:-1]]))
            seen[ids[:-1]] += 1
    columns = list(zip(*(ids for _, ids in mine), strict=True))
    same, counted_anew = _drop_equal_layers(kinds, columns)
    kept = list(zip(*columns, strict=True)) if same else [ids for _, ids in mine]
    # where all is allowed the positions are what they were, but for layers that took others' numbers with them
    subs = _positions(kept) if counted_anew or len(kept) < len(found) else iter(kept)
    rows = tuple(
        Row(processor, ids, sub, kind_of.get(processor, -1))
        for (processor, _), ids, sub in zip(mine, kept, subs, strict=True)
    )
    names = {"IntelCore": "intel_core", "IntelAtom": "intel_atom"}
    core_kinds = tuple(
        (names.get(kind.info.get("CoreType", ""), ""), f"eff{kind.efficiency}") for kind in machine.kinds
    )
    return Layers(tuple(kinds), rows, same, core_kinds, machine.pus if native else ())


def _drop_equal_layers(kinds: list[str], columns: list[tuple[int, ...]]) -> tuple[dict[str, str], bool]:
    """Take out each layer that has the objects of its neighbour; socket, core and thread all stay. A column is a layer.

    Gives what each layer taken out equals, and whether one had numbers of its own.

    As in the runtime, numbers within parents are compared from row to row, which takes two layers for equal in some
    machines of which only parts are allowed, though they are not; threads then go where they go there.
    """
    same: dict[str, str] = {}
    numbered = False
    upper = 0
    while upper + 1 < len(kinds):
        lower = upper + 1
        a, b = kinds[upper], kinds[lower]
        pairs = zip(columns[upper], columns[lower], strict=True)
        if {a, b} <= _MAIN or any(x == u and y != v for (x, y), (u, v) in pairwise(pairs)):
            upper = lower
            continue
        gone, real = (lower, a) if _PREFERENCE[a] > _PREFERENCE[b] else (upper, b)
        only = len(set(columns[lower])) == 1
        numbered |= not only
        del columns[lower if only else gone]
        name = kinds.pop(gone)
        same = {k: real if v == name else v for k, v in same.items()} | {name: real}
    return same, numbered


def _positions(table: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """For each row where its objects stand within their parents."""
    previous: Sequence[int] = ()
    at = [-1] * (len(table[0]) if table else 0)
    for ids in table:
        level = _first_difference(previous, ids)
        if level < len(at):
            at[level] += 1
            if level + 1 < len(at):
                at[level + 1 :] = [0] * (len(at) - level - 1)
        previous = ids
        yield tuple(at)
