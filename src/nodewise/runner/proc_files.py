# SPDX-License-Identifier: BSD-3-Clause
"""What Linux reports of processes and threads in /proc (proc_pid_stat(5), proc_pid_status(5)): readers of single files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import parse_processors

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Stat:
    """Of /proc/PID/stat or a thread's: `processor` is where it last ran, `cpu_s` its time in user and kernel mode."""

    pid: int
    name: str
    state: str
    parent: int
    processor: int
    cpu_s: float


def read_stat(text: str) -> Stat:
    """Read a line of stat; the name may hold blanks and parentheses. Raises InputError where it is no such line."""
    opening, closing = text.find("("), text.rfind(")")
    rest = text[closing + 1 :].split()
    try:
        if not 0 < opening < closing:
            raise ValueError
        return Stat(
            pid=int(text[:opening]),
            name=text[opening + 1 : closing],
            state=rest[0],
            parent=int(rest[1]),
            processor=int(rest[36]),
            cpu_s=(int(rest[11]) + int(rest[12])) / _TICKS,
        )
    except (ValueError, IndexError) as problem:
        raise InputError(f"not a line of /proc/PID/stat: {text[:80]!r}") from problem


@dataclass(frozen=True, slots=True)
class Status:
    """Of /proc/PID/status: the processors and NUMA nodes that a thread may use, and whether huge pages are off for it."""

    allowed: tuple[int, ...]
    nodes: tuple[int, ...]
    huge_pages: bool = True


def read_status(text: str) -> Status:
    """Read a status file. Raises InputError where it does not say what may be used."""
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if "Cpus_allowed_list" not in fields:
        raise InputError("a status file of /proc without Cpus_allowed_list")
    nodes = fields.get("Mems_allowed_list", "").strip()
    return Status(
        parse_processors(fields["Cpus_allowed_list"]),
        parse_processors(nodes) if nodes else (),
        fields.get("THP_enabled", "1").strip() != "0",
    )


def read_environment(data: bytes) -> dict[str, str]:
    """Read /proc/PID/environ; entries without `=` are left out, of a name given twice the first counts."""
    found: dict[str, str] = {}
    for entry in data.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if equals:
            found.setdefault(name.decode(errors="replace"), value.decode(errors="replace"))
    return found


def rank_of(environment: Mapping[str, str]) -> int | None:
    """The rank that a launcher gave a process in the job; None where there is none."""
    # of all that is read here this alone needs to know launchers, and what stands above others reads here as it starts
    from nodewise.placement.registry import rank_variables

    for name in rank_variables():
        text = environment.get(name, "")
        if text.isdecimal() and len(text) < 10:
            return int(text)
    return None


def executable_of(pid: int) -> str:
    """The file that a process runs; empty where that cannot be known."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def children_of(pid: int) -> list[int]:
    """The processes that a process's threads have started and that are still there; none where it has gone."""
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    except OSError:
        pass
    return found


def threads_of(pid: int) -> list[int]:
    """The numbers of a process's threads, in the order of their creation; none where it has gone.

    The kernel lists them so. Their numbers need not ascend: counting starts over at the largest.
    """
    try:
        return [int(p.name) for p in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
