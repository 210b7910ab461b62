# SPDX-License-Identifier: BSD-3-Clause
"""Probe: whether a kind of isolation works here, by starting `true` in it; asked once and kept until something changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.cache import cache_folder
from nodewise.base.errors import NodewiseError, UnavailableError
from nodewise.base.files import write_whole
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path
from nodewise.isolation.guest_kernel import guest_kernels
from nodewise.isolation.kind import Kind, Way
from nodewise.isolation.prepare import Prepared, request_of, start_of
from nodewise.runner.isolation import Isolation

#: What does not start `true` within this time does not work.
LIMIT_S = 10.0
#: What is said to whoever asked for a kind that does not work, and nothing is known to bring it.
ELSEWHERE = "`nodewise doctor` lists the kinds of isolation that do; docs/isolation.md says what each needs"
#: How much of what a runtime said is kept.
_SAID = 300
_KEPT, _MOST_KEPT = "isolation.json", 4
#: A shell above what is tried: once nobody holds the other end of its input, as this process was killed, it ends their group.
_GUARD = (
    'exec 3<&0 </dev/null; "$@" 3<&- & tried=$!; { read -r _; kill -9 0; } <&3 >/dev/null 2>&1 & watch=$!; '
    "exec 3<&-; wait $tried; code=$?; kill -9 $watch; exit $code"
)
#: So many threads for each processor make a start slow by themselves.
_BUSY = 2.0


@dataclass(frozen=True)
class Answer:
    """Whether a way of a kind works; where it does not, `refused` are the runtime's own words, `timed_out` says that it was ended, and `remedy` what brings what is missing."""

    works: bool
    refused: str = ""
    timed_out: bool = False
    remedy: str = ""


def probe(kind: Kind, way: Way, limit_s: float = LIMIT_S) -> Answer:
    """Start `true` in it. Raises nothing for what is missing: that is an answer."""
    true = shutil.which("true") or "/bin/true"
    if (why := kind.missing() or way.missing()) is not None:
        return Answer(False, why)
    try:
        request = request_of(Isolation(kind.name), kind, way.name, program=true, cwd=Path("/"))
        prepared = Prepared(start_of(kind, request), request)
    except NodewiseError as problem:
        return Answer(False, problem.what, remedy=problem.hint or "")
    try:
        code, said = _ended([*prepared.words, true], limit_s)
        reached = prepared.report().get("exit_code") == 0
    finally:
        prepared.close()
    if reached and code == 0:
        return Answer(True)
    if code is None:
        why = f"it did not start `true` within {limit_s:g} s" + (f": {said}" if said else ", and said nothing")
        return Answer(False, why, timed_out=True)
    return Answer(False, said or f"it ended with exit code {code}, and said nothing")


def _ended(words: list[str], limit_s: float) -> tuple[int | None, str]:
    """How it ended, None where it did not within the limit; and the end of what it said."""
    ours, alive = os.pipe()
    try:
        return _watched(words, limit_s, ours)
    finally:
        os.close(ours)
        os.close(alive)


def _watched(words: list[str], limit_s: float, ours: int) -> tuple[int | None, str]:
    process = subprocess.Popen(
        ["sh", "-c", _GUARD, "nodewise-guard", *words],
        cwd="/",
        stdin=ours,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    try:
        out, _ = process.communicate(timeout=limit_s)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        _end(process)
        out, _ = process.communicate()
        code = None
    except BaseException:
        _end(process)
        raise
    text = " ".join(out.decode(errors="replace").split())
    return code, text[-_SAID:]


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def known(kind: Kind, way: Way, ask: Callable[[Kind, Way], Answer] = probe) -> Answer:
    """The answer that was kept while the runtime, the kernel and this boot were the same; else the one that `ask` gives."""
    state = _state(kind)
    name = f"{kind.name}/{way.name}"
    kept = _read()
    several = kept.get(name)
    # another nodewise of this user, or another kernel for guests, has an answer of its own
    several = [a for a in several if isinstance(a, dict)] if isinstance(several, list) else []
    found = next((a for a in several if a.get("state") == state), {})
    if isinstance(found.get("works"), bool):
        return Answer(found["works"], str(found.get("refused", "")), remedy=str(found.get("remedy", "")))
    answer = ask(kind, way)
    if answer.timed_out and os.getloadavg()[0] > _BUSY * (os.cpu_count() or 1):
        # so busy a machine may start it another time
        return answer
    with suppress(OSError, RuntimeError, NodewiseError):
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        several = [{"state": state, **asdict(answer)}, *(a for a in several if a.get("state") != state)][:_MOST_KEPT]
        write_whole(folder / _KEPT, json.dumps({**kept, name: several}, indent=1) + "\n")
    return answer


def _read() -> dict[str, object]:
    with suppress(OSError, RuntimeError, ValueError, NodewiseError):
        data = parse_json(read_bounded(cache_folder() / _KEPT))
        if isinstance(data, dict):
            return data
    return {}


def _state(kind: Kind) -> str:
    """What an answer depends on: the programs' files, nodewise's own, the kernel since its boot, the user, a guest's kernel."""
    parts = [os.uname().release, str(os.geteuid()), os.environ.get("NODEWISE_GUEST_KERNEL", "")]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(NodewiseError):
        # what a guest boots may come later, as its absence is answered with
        kernels = guest_kernels() if kind.guest else []
        files = [native_path("nodewise-isolate"), Path(kind.runtime()), *kernels]
        for path in files:
            with suppress(OSError):
                about = path.stat()
                parts.append(f"{path} {about.st_size} {about.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def working_way(kind: Kind, wanted: str = "", emulated: bool = True) -> Way:
    """The way in which a kind works here: the `wanted` one, or the first; one that emulates, which takes seconds to start, only where it may be `emulated`.

    Raises UnavailableError with the runtime's own words.
    """
    ways = (kind.way(wanted),) if wanted else kind.ways
    kind.runtime()
    refused = []
    remedy = ""
    for way in ways:
        if way.emulated and not emulated:
            refused.append(f"{way.name}: left out, as its times mean nothing")
            continue
        answer = known(kind, way)
        if answer.works:
            return way
        remedy = answer.remedy or remedy
        refused.append(f"{way.name}: {answer.refused}" if way.name else answer.refused)
    raise UnavailableError(
        f"{kind.name} does not work here: {'; '.join(refused)}",
        remedy or ELSEWHERE,
    )
