# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of isolation for tests: those that work on this machine, and what may be left on it."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pytest

from nodewise.base.errors import UnavailableError
from nodewise.isolation.guest_kernel import find_kernel
from nodewise.isolation.kind import Kind, Way, kind_of
from nodewise.isolation.probe import probe, working_way

#: Kinds whose programs run on this system's kernel, or on one that is made up in user space: they start in well under a second.
CONTAINERS = ("bwrap", "runc", "crun", "gvisor")
GUESTS = ("microvm", "vm")
_LIMIT_S = 240.0
#: Modules of a guest's kernel, each with those that it needs.
_MODULES = {
    "9p": "9pnet,netfs",
    "9pnet_virtio": "9pnet,virtio",
    "9pnet": "",
    "netfs": "",
    "virtio_mmio": "virtio",
    "virtio": "",
    "virtio_net": "net_failover",
    "net_failover": "failover",
    "failover": "",
    "virtio_pmem": "nd_virtio",
    "nd_virtio": "",
    "nd_e820": "",
    "nd_pmem": "nd_btt",
    "nd_btt": "",
    "crc32c_generic": "",
    "ext4": "jbd2,mbcache",
    "jbd2": "",
    "mbcache": "",
    "erofs": "",
    "overlay": "",
}


def needs(name: str) -> None:
    """Skip the test where that kind does not work here, with its own words."""
    try:
        working_way(kind_of(name))
    except UnavailableError as problem:
        pytest.skip(f"{name}: {problem.what}")


def made_up_kernel(folder: Path, without: Collection[str] = ()) -> Path:
    """A kernel with its modules, as a package that is only unpacked has them; none is real."""
    modules = folder / "lib" / "modules" / "6.1.0-test" / "kernel"
    modules.mkdir(parents=True)
    (folder / "boot").mkdir()
    file = folder / "boot" / "vmlinuz-6.1.0-test"
    file.write_bytes(b"kernel")
    for name, depends in _MODULES.items():
        if name not in without:
            (modules / f"{name}.ko").write_bytes(b"\0depends=" + depends.encode() + b"\0" + name.encode())
    (modules.parent / "modules.builtin").write_text("kernel/drivers/virtio/virtio_pci.ko\n")
    return file


def booted(kind: Kind) -> Way:
    """The first way that boots it, however long that takes among other tests; else the test is skipped in the words of each."""
    refused = []
    for way in kind.ways:
        try:
            kind.runtime()
            find_kernel()
        except UnavailableError as problem:
            pytest.skip(problem.what)
        answer = probe(kind, way, _LIMIT_S)
        if answer.works:
            return way
        refused.append(f"{way.name}: {answer.refused}")
    # where QEMU and a kernel are, an emulated one boots
    pytest.fail(f"{kind.name} does not boot: {'; '.join(refused)}")


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
