# SPDX-License-Identifier: BSD-3-Clause
"""From a setting to the words by which nodewise-isolate starts it, and what has to be kept open meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.native import native_path
from nodewise.base.units import format_bytes
from nodewise.isolation.image import read_image
from nodewise.isolation.kind import Kind, Request, Start, Volume, all_kinds, kind_of
from nodewise.runner.isolation import Isolation, volume_of

#: What is memory inside: whatever a program needs of these folders is shown to it as a volume.
_MEMORY = ("/tmp", "/run")
#: In less than this no guest's kernel unpacks its first files and starts a program.
LEAST_MEMORY = 64 << 20


class InMemory:
    """A file that has no name and ends with this process; `path` is how others of the same user open it."""

    def __init__(self, data: bytes = b"", *, inherited: bool = False):
        """With `inherited` what this process becomes keeps it, and finds it by `path`."""
        self._file = os.memfd_create("nodewise", 0 if inherited else os.MFD_CLOEXEC)
        with open(self._file, "wb", closefd=False) as file:
            file.write(data)
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"

    def lines(self) -> list[dict[str, Any]]:
        """The lines of JSON in it; what is none is left out."""
        found = []
        text = os.pread(self._file, os.fstat(self._file).st_size, 0).decode(errors="replace")
        for line in text.splitlines():
            with suppress(ValueError):
                data = json.loads(line)
                if isinstance(data, dict):
                    found.append(data)
        return found

    def close(self) -> None:
        """Give it up."""
        os.close(self._file)


def request_of(
    isolation: Isolation,
    kind: Kind,
    way: str,
    *,
    program: str = "",
    cwd: Path | None = None,
    processors: tuple[int, ...] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Request:
    """What `kind` is asked for. Raises UnavailableError where a program of the kind is missing."""
    variables = dict(os.environ if environment is None else environment)
    volumes = [Volume(str(path), writable) for path, writable in map(volume_of, isolation.volumes)]
    # the directory that it runs in and the program's own are always seen
    wanted = [str(cwd or Path.cwd()), *([os.path.realpath(program)] if program else [])]
    for path in _hidden(wanted):
        if not any(_below(path, one.path) for one in volumes):
            volumes.append(Volume(path, False))
    # one inside another is mounted after it
    volumes.sort(key=lambda one: one.path)
    return Request(
        runtime=kind.runtime(variables.get("PATH")),
        way=way,
        volumes=tuple(volumes),
        network=isolation.network,
        memory=isolation.memory,
        processors=processors,
        environment=variables,
        root=isolation.root,
        program=program,
        cwd=wanted[0],
    )


def _hidden(paths: Iterable[str]) -> list[str]:
    """Those that are below a folder which is memory inside."""
    return [path for path in paths if any(_below(path, folder) and path != folder for folder in _MEMORY)]


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def start_of(kind: Kind, request: Request) -> Start:
    """The start of a request. Raises InputError for a kind that isolates nothing, UnavailableError where something is missing."""
    if kind.start is None:
        raise InputError(f"{kind.name} isolates nothing", "name another kind")
    return kind.start(request)


class Prepared:
    """Words that start a program isolated, to stand before its own; what they need is open until `close`."""

    def __init__(self, start: Start, request: Request, *, reported: bool = True):
        """`reported`: a report is kept; else this process is about to become what it starts."""
        self._report = InMemory() if reported else None
        self._initrd = InMemory(start.initrd, inherited=not reported) if start.initrd else None
        spec = {
            "report": self._report.path if self._report is not None else "",
            "words": list(start.words),
            "scratch": start.scratch,
            "config": start.config,
            "hidden": list(start.hidden),
            "volumes": [{"path": one.path, "writable": one.writable} for one in request.volumes],
            "initrd": self._initrd.path if self._initrd is not None else "",
            "guest": start.guest or {},
        }
        self.words = (str(native_path("nodewise-isolate")), "run", json.dumps(spec))

    def report(self) -> dict[str, Any]:
        """What was reported of the run so far, as one."""
        found: dict[str, Any] = {}
        for line in self._report.lines() if self._report is not None else ():
            found |= line
        return found

    def close(self) -> None:
        """Give up what was kept open."""
        for one in (self._report, self._initrd):
            if one is not None:
                one.close()


def words_around(
    isolation: Isolation, program: str, processors: tuple[int, ...] | None, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The words before those of the file `program`, which this process is about to become: no report is kept.

    Raises UnavailableError where the kind does not work here.
    """
    from nodewise.isolation.probe import working_way

    kind = isolation_kind(isolation)
    way = working_way(kind, isolation.way)
    request = request_of(isolation, kind, way.name, program=program, processors=processors, environment=environment)
    return Prepared(start_of(kind, request), request, reported=False).words


def check_rankable(isolation: Isolation | None) -> None:
    """Whether times in it can be held against others here, by a start where none was kept.

    Raises InputError where it is emulated, UnavailableError where it does not work.
    """
    from nodewise.isolation.probe import working_way

    if isolation is not None and working_way(isolation_kind(isolation), isolation.way).emulated:
        raise InputError(
            f"{isolation.kind} is emulated here: its times mean nothing, so that they are not compared",
            "`nodewise run --isolation` runs it all the same, and marks its runs",
        )


def isolation_kind(isolation: Isolation) -> Kind:
    """The kind of an isolation, with its options checked against it. Raises InputError."""
    kind = kind_of(isolation.kind)
    if isolation.way:
        kind.way(isolation.way)
    if isolation.memory and not kind.guest:
        raise InputError(f"--isolation {isolation.text}: memory is of virtual machines", "leave it out")
    if 0 < isolation.memory < LEAST_MEMORY:
        raise InputError(
            f"--isolation {isolation.text}: no guest boots in {format_bytes(isolation.memory)} of memory",
            f"give {format_bytes(LEAST_MEMORY)} or more, with K, M or G behind the number: memory=2G",
        )
    if isolation.root:
        if not kind.mapped:
            having = " and ".join(sorted(name for name, one in all_kinds().items() if one.mapped))
            raise InputError(f"--isolation {isolation.text}: root=IMAGE is of {having}", "leave it out")
        read_image(Path(isolation.root))
    return kind
