# SPDX-License-Identifier: BSD-3-Clause
"""One start in a kind of isolation, for who measures starts themselves; and what a report says of its times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.base.errors import UnavailableError
from nodewise.isolation.kind import PROGRAM, Kind, Start, Way, kind_of
from nodewise.isolation.prepare import Prepared, request_of, start_of
from nodewise.isolation.probe import working_way
from nodewise.runner.isolation import Isolation
from nodewise.runner.proc_files import children_of


def why_not(name: str, emulated: bool = True) -> str | None:
    """Why a kind does not work here, with what brings it; None where it does. Raises InputError for one that is not known.

    One that only works by emulating a processor works only where it may be `emulated`; else that is not tried.
    """
    kind = kind_of(name)
    if kind.start is None:
        return None
    try:
        working_way(kind, emulated=emulated)
    except UnavailableError as problem:
        return f"{problem.what} ({problem.hint})" if problem.hint else problem.what
    return None


def way_of(kind: Kind) -> Way:
    """The way in which a kind works here. Raises UnavailableError."""
    return working_way(kind) if kind.start is not None else kind.ways[0]


def prepared_once(kind: Kind, way: Way, program: str, shown: Sequence[Path] = (), root: str = "") -> Prepared:
    """What starts the file `program` in the root folder, with the files `shown` inside.

    A plain process is started and timed by the same program, without a runtime. `root` is the image of a mapped root, which
    then may have the program (empty: it has). Raises UnavailableError, and InputError for what is no such image.
    """
    volumes = tuple(f"{path}:ro" for path in shown if path.is_relative_to("/tmp") or path.is_relative_to("/run"))
    request = request_of(Isolation(kind.name, volumes, root=root), kind, way.name, program=program, cwd=Path("/"))
    return Prepared(Start((PROGRAM,)) if kind.start is None else start_of(kind, request), request)


def around(report: Mapping[str, Any]) -> tuple[float, float | None]:
    """From a report of a run that ended: seconds from the runtime's start to the program's, and from its end to the runtime's.

    The latter is None where the runtime was ended before.
    """
    begin, end = report["begin"], report["end"]
    if not report["opened"] <= begin:
        # a clock of its own inside: what it says was seen by ours, too
        begin, end = report.get("seen_begin", begin), report.get("seen_end", end)
    return begin - report["opened"], report["closed"] - end if "closed" in report else None


def tree_of(pid: int) -> list[int]:
    """A process and all that it started, the runtime's processes and those inside among them."""
    found = [pid]
    for one in found:
        found += [child for child in children_of(one) if child not in found]
    return found
