# SPDX-License-Identifier: BSD-3-Clause
"""The axis hugepages: in which pages the program's memory lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nodewise.machine.model import Machine
from nodewise.placement.huge_pages import huge_page_environment
from nodewise.runner.binding import program_of
from nodewise.runner.loaded import Loaded
from nodewise.runner.memory import huge_page_pools
from nodewise.search.space import Axis
from nodewise.tuning.known import KnownAxis, Surroundings
from nodewise.tuning.option import Draft, Option

#: The text by which the C library's own allocator is known where it is linked in, and the files of those that can be told to
#: use huge pages.
_GLIBC_MARK = "GLIBC_TUNABLES"
_TOLD_OF_HUGE_PAGES = ("libc.so.6", "libc-2.", "libjemalloc", "libmimalloc")


def _axis(machine: Machine) -> Axis:
    values = ["default"]
    if machine.transparent_huge_pages in ("madvise", "always"):
        values.append("transparent")
    if machine.live and any(pool.free for pool in huge_page_pools() if pool.node is None):
        values.append("reserved")
    if machine.transparent_huge_pages == "always":
        values.append("never")
    return Axis("hugepages", tuple(values), tuple(values), "default")


def _reads_huge_pages(loaded: Loaded | None) -> bool:
    """Whether the program has an allocator that can be told to use huge pages, as far as that was seen."""
    if loaded is None or not loaded.names:
        return loaded is None or loaded.linkage != "static" or _GLIBC_MARK in loaded.marks
    return any(name.startswith(_TOLD_OF_HUGE_PAGES) for name in loaded.names)


def _only(axis: Axis, values: Sequence[str]) -> Axis:
    """The axis with those of its values."""
    kept = tuple(v for v in axis.values if v in values)
    return replace(axis, values=kept, natural=kept)


def _make(around: Surroundings) -> Option:
    axis = _axis(around.machine)

    def set_pages(draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
        other = around.other_malloc(point)
        libraries: tuple[str, ...] = ()
        if other is not None:
            libraries = (other,)
        elif around.machine.live and value != "default":
            libraries = program_of(draft.command, draft.environment).libraries
        draft.no_huge_pages = value == "never"
        # what the kernel refuses anyway need not be refused again, unless the user's variables ask for huge pages
        wanted = "hugetlb" in draft.environment.get("GLIBC_TUNABLES", "")
        if value != "never" or wanted:
            draft.env |= huge_page_environment(value, draft.environment, libraries, glibc=other is None)

    def read(values: Mapping[str, Any]) -> bool:
        """Whether the allocator of a point reads anything of it."""
        other = around.other_malloc(values)
        own_pages = other is None or other in ("jemalloc", "mimalloc")
        return own_pages or values.get("hugepages") not in ("transparent", "reserved")

    kept = axis if _reads_huge_pages(around.loaded) else _only(axis, ("default", "never"))
    # which variables are about huge pages depends on the allocator
    return Option(kept, set_pages, allows=read, last=True)


AXIS = KnownAxis("hugepages", _make, order=50, by_default=True, of_libraries=True)
