# SPDX-License-Identifier: BSD-3-Clause
"""Findings about memory that a system gives back while a program pauses, and has to fetch again."""

from __future__ import annotations

from collections.abc import Iterator

from nodewise.base.units import format_bytes
from nodewise.machine.surroundings import Surroundings
from nodewise.quiet.finding import KERNEL, Finding, Severity

_PAGE = 4096


def given_back_findings(s: Surroundings) -> Iterator[Finding]:
    """Of free pages that a guest reports to its hypervisor, and of pages that DAMON pages out."""
    yield from _reporting(s)
    yield from _reclaiming(s)


def _reporting(s: Surroundings) -> Iterator[Finding]:
    if not s.memory.reporting:
        return
    order = s.memory.reporting_order
    evidence = [f"{file}: bit 5 is set" for file in s.memory.reporting]
    parts = "free memory"
    # left to itself the kernel takes the largest order that its allocator has
    if order is not None and 0 <= order < 20:
        evidence.append(f"sys/module/page_reporting/parameters/page_reporting_order: {order}")
        parts = f"free memory in pieces of {format_bytes(_PAGE << order)} or more"
    yield Finding(
        "free page reporting",
        Severity.NOTE,
        f"on: {parts} is given back to the hypervisor within seconds",
        tuple(evidence),
        "memory that a program freed, or that the last run had, is taken away meanwhile: the next run's first touches of it "
        "fault in the hypervisor, which takes long and shows neither as a page fault nor as steal; runs after a pause are slower",
        "let a program touch its memory before it measures (warm up, or run without pauses); who starts the machine can turn "
        "it off, in QEMU by free-page-reporting=off of virtio-balloon",
        source="https://docs.oasis-open.org/virtio/virtio/v1.2/virtio-v1.2.html, Free Page Reporting",
    )


def _reclaiming(s: Surroundings) -> Iterator[Finding]:
    if not s.memory.reclaiming:
        return
    first = next(iter(s.memory.reclaiming))
    if first.startswith("sys/module"):
        do, undo = f"echo N > /{first}", f"echo Y > /{first}"
    else:
        state = "/" + first.partition("/contexts/")[0] + "/state"
        do, undo = f"echo off > {state}", f"echo on > {state}"
    yield Finding(
        "DAMON",
        Severity.NOISY,
        "on: the kernel looks for memory that is not touched for a while, and takes it away",
        tuple(f"{file}: {value}" for file, value in s.memory.reclaiming.items()),
        "what a program leaves alone for some seconds, and file pages between two runs, are paged out: the next touch "
        "waits for a disk, or for memory from the hypervisor; looking takes processor time, too",
        do,
        undo,
        root=True,
        source=f"{KERNEL}/admin-guide/mm/damon/reclaim.html",
    )
