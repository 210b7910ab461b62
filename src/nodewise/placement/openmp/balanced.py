# SPDX-License-Identifier: BSD-3-Clause
"""KMP_AFFINITY=balanced: threads spread over the cores, those with neighbouring numbers on the same core."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.placement.layers import Layers

Places = tuple[tuple[int, ...], ...]


def balanced(layers: Layers, threads: int, fine: bool) -> Places | None:
    """Places of the threads, single hardware threads where `fine`, else cores; None where the runtime refuses."""
    if layers.depth <= 1:
        return None
    return _uniform(layers, threads, fine) if layers.uniform else _uneven(layers, threads, fine)


def _uniform(layers: Layers, threads: int, fine: bool) -> Places:
    processors = _in_order(layers)
    cores = layers.counts[layers.level("core")]
    socket = layers.level("socket")
    sockets = layers.counts[socket] if socket >= 0 else 1
    width = len(processors) // cores
    if sockets > 1 and width <= 1:
        # cores of one hardware thread: the sockets are what is balanced over
        cores, width = sockets, len(processors) // sockets
    each, larger = divmod(threads, cores)
    places: list[tuple[int, ...]] = []
    for core in range(cores):
        mine = processors[core * width : (core + 1) * width]
        whole = tuple(sorted(mine))
        places += [(mine[i % width],) if fine else whole for i in range(each + (core < larger))]
    return tuple(places)


def _in_order(layers: Layers) -> list[int]:
    """The processors by their numbers on the layers, which is the tree's order unless layers were dropped."""
    return [r.processor for r in sorted(layers.rows, key=lambda r: (r.ids, r.processor))]


def _core_level(layers: Layers) -> int:
    """The deepest layer above one that has an object other than its parent's first."""
    deepest = max((level for row in layers.rows for level in range(1, layers.depth) if row.ids[level] > 0), default=1)
    return deepest - 1


def _cores(layers: Layers, level: int) -> list[list[int]]:
    found: list[list[int]] = []
    previous: tuple[int, ...] | None = None
    for row in layers.rows:
        if row.sub[: level + 1] != previous:
            found.append([])
            previous = row.sub[: level + 1]
        found[-1].append(row.processor)
    return found


def _uneven(layers: Layers, threads: int, fine: bool) -> Places | None:
    """Cores with different numbers of hardware threads (some may not be used)."""
    level = _core_level(layers)
    cores = _cores(layers, level)
    width = layers.ratio(layers.level("thread"), level)
    available = len(layers.rows)
    if width * len(cores) < max(2, available):
        return None
    if threads == available:
        whole = {p: tuple(sorted(core)) for core in cores for p in core}
        return tuple((p,) if fine else whole[p] for p in _in_order(layers))
    if threads <= len(cores):
        return tuple((core[0],) if fine else tuple(sorted(core)) for core in cores[:threads])
    shares = _shares([len(c) for c in cores], width, threads)
    return tuple(
        (core[slot],) if fine else tuple(sorted(core))
        for core, slots in zip(cores, shares, strict=True)
        for slot, count in enumerate(slots)
        for _ in range(count)
    )


def _shares(sizes: Sequence[int], width: int, threads: int) -> list[list[int]]:
    """How many threads each slot of each core gets.

    Round j hands one thread to as many cores as have at least j slots, taking them in order: first to free slots; once
    all have been gone through, to the first slot of each.
    """
    taken = [[0] * size for size in sizes]
    left = threads
    again = False
    while left:
        for least in range(1, width + 1):
            due = sum(size >= least for size in sizes)
            for slots in taken:
                if not due or not left:
                    break
                slot = 0 if again and slots else next((i for i, count in enumerate(slots) if not count), None)
                if slot is not None:
                    slots[slot] += 1
                    due -= 1
                    left -= 1
        again = True
    return taken
