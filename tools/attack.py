# SPDX-License-Identifier: BSD-3-Clause
"""Attack nodewise: kills, signals, full disks, damaged stores, hostile programs and command lines, made up from a seed.

    ./dev attack [--seed N] [--minutes 10] [--only kills,signals,disks,stores,children,inputs] [--cases N] [--number N]

Goes on for so many minutes (or N cases of each kind), in as many processes as there are processors, and ends with how many
faults and inputs there were and what was wrong after them; each finding with the line that makes it again. As root each
process has mounts of its own; without, disks are left full by /dev/full alone.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nodewise.runner.proc_files import children_of  # noqa: E402
from tests.attack import children, disks, inputs, kills, stores  # noqa: E402
from tests.attack.place import DEFECT, LEFT, LONG, LOST, Finding, Place, stretched  # noqa: E402

#: Each kind's attack, and its share of the time.
KINDS = {
    "kills": (kills.attack, 0.2),
    "signals": (kills.attack_by_signals, 0.14),
    "disks": (disks.attack, 0.11),
    "stores": (stores.attack, 0.16),
    "children": (children.attack, 0.13),
    "inputs": (inputs.attack, 0.26),
}
#: One attack takes no longer, in seconds.
LIMITS = {"inputs": 40.0}
LIMIT_S = 300.0
_MOST_BYTES = 8 << 30
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Worker:
    """A process that makes attacks, and the one it makes now."""

    pid: int
    orders: BinaryIO
    told: BinaryIO
    folder: Path
    now: tuple[str, int] | None = None
    since: float = 0.0


@dataclass
class Campaign:
    """What is to be made, and what came of it."""

    seed: int
    kinds: list[str]
    until: float
    cases: int | None
    spent: dict[str, float] = field(default_factory=dict)
    begun: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    found: list[tuple[str, int, Finding]] = field(default_factory=list)

    def next(self) -> tuple[str, int] | None:
        """The kind that is furthest behind its share, and its number; None where enough was made."""
        open_ = [k for k in self.kinds if self.cases is None or self.begun[k] < self.cases]
        if not open_ or time.monotonic() > self.until:
            return None
        kind = min(open_, key=lambda k: (self.spent.get(k, 0.0) / KINDS[k][1], self.begun[k]))
        self.begun[kind] += 1
        # so that those that are being made count; what they take is put right at their end
        self.spent[kind] = self.spent.get(kind, 0.0) + self._usual(kind)
        return kind, self.begun[kind] - 1

    def _usual(self, kind: str) -> float:
        return self.spent.get(kind, 0.0) / self.made[kind] if self.made[kind] else 0.01

    def take(self, kind: str, number: int, seconds: float, findings: list[Finding]) -> None:
        """Count an attack that was made."""
        self.spent[kind] += seconds - self._usual(kind)
        self.made[kind] += 1
        for finding in findings:
            self.found.append((kind, number, finding))
            print(f"\n{finding.kind}: {finding.what}\n  again: {self.again(kind, number)}", flush=True)

    def again(self, kind: str, number: int) -> str:
        """The line that makes an attack again."""
        return f"./dev attack --seed {self.seed} --only {kind} --number {number}"

    def told(self) -> str:
        """What came of it all, in a line."""
        count = Counter(finding.kind for _, _, finding in self.found)
        faults = sum(n for kind, n in self.made.items() if kind != "inputs")
        known = {DEFECT: "exit 70", LEFT: "left-overs", LOST: "lost samples"}
        parts = [f"{count[kind]} {words}" for kind, words in known.items()]
        parts += [f"{n} {kind}" for kind, n in count.items() if kind not in known]
        return f"{faults} faults, {self.made['inputs']} inputs: {', '.join(parts)}"


def attacked(seed: int, kind: str, number: int, place: Place) -> list[Finding]:
    """Make one attack."""
    return KINDS[kind][0](random.Random(f"{seed} {kind} {number}"), place)


def start_worker(seed: int, folder: Path, others: list[Worker]) -> Worker:
    """A worker with a folder of its own."""
    folder.mkdir()
    orders, order = os.pipe()
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        for one in others:
            one.orders.close()
            one.told.close()
        os.close(order)
        os.close(told)
        _work(seed, folder, orders, tell)
    os.close(orders)
    os.close(tell)
    return Worker(pid, os.fdopen(order, "wb", buffering=0), os.fdopen(told, "rb", buffering=0), folder)


def _work(seed: int, folder: Path, orders: int, tell: int) -> NoReturn:
    code = 1
    try:
        os.setsid()
        # not of addresses: the engine that draws takes many more than it fills
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # what programs print here is nobody's
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        place = Place(folder)
        with os.fdopen(orders) as lines:
            for line in lines:
                kind, number = json.loads(line)
                findings = _tidied(place) if kind == "end" else attacked(seed, kind, number, place)
                os.write(tell, json.dumps([[f.kind, f.what[:6000]] for f in findings]).encode() + b"\n")
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _tidied(place: Place) -> list[Finding]:
    """Whether the next experiment clears up what killed ones have left for their neighbours."""
    if not place.mounts:
        return []
    time.sleep(1.2)
    place.start(["run", "-r", "1", "-w", "0", "--out", "x", "--", "true"], place.fresh()).wait()
    running = Path("/dev/shm/nodewise-running")
    old = [p.name for p in running.iterdir() if p.name != "turn" and p.stat().st_mtime < time.time() - 5]
    return [Finding(LEFT, f"{running}: {', '.join(old)}")] if old else []


def order(worker: Worker, what: tuple[str, int]) -> None:
    """Have a worker make an attack."""
    worker.now, worker.since = what, time.monotonic()
    # one that has died meanwhile is noticed by what it does not report
    with contextlib.suppress(OSError):
        worker.orders.write(json.dumps(what).encode() + b"\n")


def replaced(campaign: Campaign, worker: Worker, why: str, others: list[Worker]) -> Worker:
    """Take down a worker that died or is stuck, which is a finding, and start another."""
    kind, number = worker.now or ("end", 0)
    _take_down(worker, others)
    if kind in KINDS:
        campaign.take(kind, number, time.monotonic() - worker.since, [Finding(LONG if why == LONG else DEFECT, why)])
    return start_worker(campaign.seed, worker.folder.with_name(f"{worker.folder.name}+"), others)


def _take_down(worker: Worker, others: list[Worker]) -> None:
    """End a worker and all that it started, which then are this process's children."""
    kept = {other.pid for other in others}
    until = time.monotonic() + 5
    with contextlib.suppress(OSError):
        os.kill(worker.pid, signal.SIGKILL)
    while time.monotonic() < until and (left := [p for p in children_of(os.getpid()) if p not in kept]):
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    worker.orders.close()
    worker.told.close()


def run(campaign: Campaign, folder: Path, workers: int) -> None:
    """Make the attacks, each by a worker that has nothing to do."""
    team: list[Worker] = []
    for number in range(workers):
        team.append(start_worker(campaign.seed, folder / f"w{number}", team))
    busy = [w for w in team if (what := campaign.next()) is not None and order(w, what) is None]
    idle = [w for w in team if w not in busy]
    shown = time.monotonic()
    while busy:
        ready, _, _ = select.select([w.told for w in busy], [], [], 1.0)
        for worker in [*busy]:
            kind, number = worker.now or ("end", 0)
            line = b""
            if worker.told in ready:
                line = _line(worker.told)
            late = time.monotonic() - worker.since > stretched(LIMITS.get(kind, LIMIT_S))
            if worker.told not in ready and not late:
                continue
            busy.remove(worker)
            if not line:
                why = LONG if late else f"the process that it was made in has died: {kind} {number}"
                others = [*busy, *idle]
                worker = replaced(campaign, worker, why, others)  # noqa: PLW2901 - in its place
            else:
                findings = [Finding(*one) for one in json.loads(line)]
                campaign.take(kind, number, time.monotonic() - worker.since, findings)
            if (what := campaign.next()) is not None:
                order(worker, what)
                busy.append(worker)
            else:
                idle.append(worker)
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            print(f"… {campaign.told()}", flush=True)
    for worker in idle:
        order(worker, ("end", 0))
        for one in json.loads(_line(worker.told) or b"[]"):
            campaign.found.append(("end", 0, Finding(*one)))
            print(f"\n{one[0]}: {one[1]}", flush=True)
        worker.orders.close()
        os.waitpid(worker.pid, 0)


def _line(stream: BinaryIO) -> bytes:
    parts = b""
    while not parts.endswith(b"\n"):
        part = stream.read(1 << 16)
        if not part:
            return b""
        parts += part
    return parts


def main() -> int:
    """The campaign; exit code 1 where anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--cases", type=int, help="so many of each kind, however long they take")
    parser.add_argument("--number", type=int, help="this one alone, of the kind that --only names")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    kinds = [k for k in options.only.split(",") if k]
    if unknown := [k for k in kinds if k not in KINDS]:
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    until = float("inf") if options.cases or options.number is not None else time.monotonic() + 60 * options.minutes
    campaign = Campaign(options.seed, kinds, until, options.cases)
    folder = Path(tempfile.mkdtemp(prefix="nodewise-attack-"))
    print(f"seed {options.seed}, {', '.join(kinds)}", flush=True)
    try:
        if options.number is not None:
            campaign.cases, campaign.begun[kinds[0]], campaign.kinds = options.number + 1, options.number, kinds[:1]
            options.workers = 1
        run(campaign, folder, max(1, options.workers))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(_summary(campaign))
    return 1 if campaign.found else 0


def _summary(campaign: Campaign) -> str:
    lines: list[Any] = [f"  {f.kind}: {campaign.again(k, n)}" for k, n, f in campaign.found[:50] if k in KINDS]
    return "\n".join([*lines, f"{dict(campaign.made)} with seed {campaign.seed}", campaign.told()])


if __name__ == "__main__":
    sys.exit(main())
