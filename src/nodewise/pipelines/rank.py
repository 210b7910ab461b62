# SPDX-License-Identifier: BSD-3-Clause
"""The process that a launcher starts as a rank: above the devices of that rank, and below `nodewise pipeline`, with which it ends.

`python -m nodewise.pipelines.rank PORT ADDRESS…`, the key in a variable. It tells what its devices do twenty times a second.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import nodewise
from nodewise.base.errors import NodewiseError, ProgramError
from nodewise.pipelines.hosted import Hosted
from nodewise.pipelines.page import ASKED, Page
from nodewise.pipelines.wire import KEY, LostError, Wire, connected

#: By which variables launchers number ranks, the innermost launcher first: a job of Slurm may start another.
_NUMBERS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "ALPS_APP_PE", "SLURM_PROCID")
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
#: How long it is tried to reach each address, and how often is told what devices do, in seconds.
_REACH_S, _TELL_S = 5.0, 0.05


def main() -> None:
    """Connect, carry out what is asked, and leave nothing behind."""
    port, *addresses = sys.argv[1:]
    key = os.environ.pop(KEY, "")
    if not key:
        print(f"{_place()}: the launcher did not hand on {KEY}: have it do so (mpirun -x {KEY})", file=sys.stderr)
        sys.exit(1)
    try:
        wire = connected(addresses, int(port), bytes.fromhex(key), _REACH_S)
    except LostError as problem:
        print(f"{_place()} cannot reach nodewise pipeline: {problem}", file=sys.stderr)
        sys.exit(1)
    # what a terminal or a batch system says to all is said once, above
    heard: list[int] = []
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    code = 0
    try:
        _Rank(wire, heard).run()
    except LostError:
        pass
    except (NodewiseError, OSError) as problem:
        code = 1
        print(f"{_place()}: {problem}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(code)


def _number() -> int:
    return next((int(os.environ[n]) for n in _NUMBERS if os.environ.get(n, "").isdigit()), -1)


def _host() -> str:
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def _place() -> str:
    return f"rank {_number()} on {_host()}"


def _machine() -> str:
    """The same text for processes that share memory and a network, and none other."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{Path('/proc/self/ns/net').stat().st_ino}:{os.getuid()}"


class _Rank:
    def __init__(self, wire: Wire, heard: list[int]):
        self._wire, self._heard = wire, heard
        self._page: Page | None = None
        self._hosted: Hosted | None = None
        self._words: list[tuple[int, int]] = []
        self._texts: dict[int, str] = {}
        self._told_of_end = False
        self._above = os.getppid()

    def run(self) -> None:
        """Until the one above says so. Raises ProgramError where that is gone."""
        self._wire.send(
            {
                "rank": _number(),
                "size": next((int(os.environ[n]) for n in _SIZES if os.environ.get(n, "").isdigit()), 1),
                "host": _host(),
                "machine": _machine(),
                "version": nodewise.__version__,
                "pid": os.getpid(),
            }
        )
        try:
            while True:
                waited: list[Wire | Hosted] = [self._wire, *([self._hosted] if self._hosted else [])]
                ready = select.select(waited, [], [], _TELL_S)[0]
                # a launcher does not always see that what it started ranks by was killed
                if os.getppid() != self._above:
                    raise ProgramError("what started it is gone")
                if self._wire in ready and not self._obey(self._wire.receive()[0]):
                    return
                self._tell(self._hosted.ended(0.0) if self._hosted in ready and self._hosted else [])
        finally:
            if self._hosted is not None:
                self._hosted.__exit__()

    def _obey(self, said: dict[str, Any]) -> bool:
        """Do what is said; false where that is to end."""
        if "clock" in said:
            self._wire.send({"clock": time.monotonic_ns()})
        elif "places" in said:
            self._wire.send(_placed(said["places"]))
        elif "parts" in said:
            self._begin(said)
        elif "ask" in said:
            assert self._page is not None
            for at, text in said["addresses"]:
                self._page.write_text(at, text)
            self._page.words[ASKED] = said["ask"]
        return "end" not in said

    def _begin(self, said: dict[str, Any]) -> None:
        descriptor = os.memfd_create("nodewise-pipeline")
        os.ftruncate(descriptor, said["size"])
        self._page = Page(descriptor, said["size"])
        self._words = [(at, count) for at, count in said["words"]]
        self._texts = dict.fromkeys(said["texts"], "")
        self._hosted = Hosted(descriptor, tell=False)
        self._hosted.begin(said["parts"])

    def _tell(self, ended: list[tuple[int, int]]) -> None:
        """What the devices have done; who has ended is told with it, so that nothing is told after that."""
        said: dict[str, Any] = {}
        if self._heard and not self._told_of_end:
            said["asked"] = self._told_of_end = True
        data = b""
        if self._page is not None:
            now = self._page.copy()
            data = b"".join(now[at : at + count].tobytes() for at, count in self._words)
            said["ended"] = ended
            found = {at: self._page.read_text(at) for at in self._texts}
            said["texts"] = [[at, text] for at, text in found.items() if text != self._texts[at]]
            self._texts = found
        if said:
            self._wire.send(said, data)


def _placed(asked: list[dict[str, Any]]) -> dict[str, Any]:
    """The processors of instances on this node, or what is wrong with what is asked for."""
    from nodewise.machine.given import machine
    from nodewise.pipelines.places import Asked, places_on

    try:
        return {"cpus": places_on(machine(), [Asked(**one) for one in asked])}
    except NodewiseError as problem:
        return {"problem": f"{problem.what} ({_host()})", "hint": problem.hint}


if __name__ == "__main__":
    main()
