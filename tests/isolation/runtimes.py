# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of isolation for tests: those that work on this machine, and what may be left on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nodewise.base.errors import UnavailableError
from nodewise.isolation.kind import kind_of
from nodewise.isolation.probe import working_way

#: Kinds whose programs run on this system's kernel, or on one that is made up in user space: they start in well under a second.
CONTAINERS = ("bwrap", "runc", "crun", "gvisor")
GUESTS = ("microvm", "vm")


def needs(name: str) -> None:
    """Skip the test where that kind does not work here, with its own words."""
    try:
        working_way(kind_of(name))
    except UnavailableError as problem:
        pytest.skip(f"{name}: {problem.what}")


def state_of_the_system() -> dict[str, set[str]]:
    """Mounts, control groups, and what lies where a room is made, all of which others may have, too."""
    mounts = set(Path("/proc/self/mounts").read_text().splitlines())
    groups = {str(path) for path in Path("/sys/fs/cgroup").rglob("*nodewise*")}
    folders = {str(path) for folder in ("/run", "/mnt") if Path(folder).is_dir() for path in Path(folder).iterdir()}
    return {"mounts": mounts, "groups": groups, "folders": folders}


def left(before: dict[str, set[str]]) -> dict[str, set[str]]:
    """What is there now and was not before; empty where there is nothing."""
    after = state_of_the_system()
    return {name: after[name] - before[name] for name in after if after[name] - before[name]}


def bearing(word: str) -> list[int]:
    """The processes that have `word` in a variable of theirs or among their own words, but for this one."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            data = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in data:
            found.append(int(folder.name))
    return found
