# SPDX-License-Identifier: BSD-3-Clause
"""How long a placement takes after start-up, on 2 × 192 cores × 2; and for 10 000 nodes of 256 ranks, with its rank files.

Each time is of a machine that nothing has been asked of before; medians of interleaved rounds. The job is placed in a
process of its own, whose largest size is reported. `hwloc-distrib`, where it is installed, is a whole process for one
placement of the same machine, started as its users start it; the same of nodewise stands beside it.
"""

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

from nodewise.base.units import format_seconds
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.render import render
from nodewise.placement.resolve import Request, resolve
from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.summary import mad, median

MACHINE = "pack:2 numa:4 l3:3 l2:16 l1d:1 core:1 pu:2"
ROUNDS = 15
REQUESTS = {
    "policy compact": Request(policy="compact"),
    "policy scatter": Request(policy="scatter"),
    "policy balanced": Request(policy="balanced"),
    "KMP_AFFINITY compact": Request(affinity="granularity=fine,compact"),
    "KMP_AFFINITY balanced": Request(affinity="granularity=fine,balanced"),
    "KMP_HW_SUBSET, scatter": Request(subset="2s,48c,1t", affinity="scatter"),
    "OMP_PLACES cores, spread": Request(places="cores", bind="spread"),
    "likwid S:scatter": Request(likwid="S:scatter"),
}
NODES, RANKS_A_NODE = 10_000, 256


def _placed(request: Request) -> float:
    machine = load_machine(f"synthetic:{MACHINE}")
    begin = time.perf_counter()
    placement = resolve(machine, Job(768), request).placement
    took = time.perf_counter() - begin
    assert placement.threads == 768
    return took


def _job() -> dict[str, float]:
    """Place the job and write it for launchers; seconds of each, and this process's largest size in bytes."""
    machine = load_machine(f"synthetic:{MACHINE}")
    found = {}

    def timed(name: str, work: Callable[[], object]) -> object:
        begin = time.perf_counter()
        result = work()
        found[name] = time.perf_counter() - begin
        return result

    job = Job(3, NODES * RANKS_A_NODE, NODES)
    resolved = timed(
        "place",
        lambda: resolve(machine, job, Request(policy="compact", slurm="--cpu-bind=threads -m cyclic:block:block")),
    )
    placement = resolved.placement  # type: ignore[attr-defined]
    hosts = [f"node{i}" for i in range(NODES)]
    assert timed("seats", lambda: sum(1 for _ in placement.seats())) == job.ranks
    lines = timed(
        "rank file for Open MPI", lambda: render("openmpi", machine, placement, hosts).files["rankfile"].count("\n")
    )
    assert lines == job.ranks
    timed("host file for Slurm", lambda: render("slurm", machine, placement, hosts))
    timed("user list for MPICH", lambda: render("mpich", machine, placement, hosts))
    found["bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return found


def _process(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    """Print both, with what they should be below."""
    times: dict[str, list[float]] = {name: [] for name in REQUESTS}
    for _ in range(ROUNDS):
        for name, request in REQUESTS.items():
            times[name].append(_placed(request))
    print(f"768 threads on {MACHINE}, after start-up; to be below 5 ms")
    for name, taken in times.items():
        print(f"  {name:<28}{format_seconds(median(taken)):>10}  MAD {format_seconds(mad(taken))}")
    done = subprocess.run([sys.executable, "-c", "from benchmarks.placement import _job; import json; print(json.dumps(_job()))"], capture_output=True, text=True, check=True)  # fmt: skip
    found = json.loads(done.stdout)
    size = found.pop("bytes")
    print(f"{NODES} nodes × {RANKS_A_NODE} ranks × 3 threads; to be below 5 s and 500 MB")
    for name, taken in found.items():
        print(f"  {name:<28}{format_seconds(taken):>10}")
    print(f"  {'together':<28}{format_seconds(sum(found.values())):>10}, {size / 1e6:.0f} MB at most")
    peer = shutil.which("hwloc-distrib")
    if peer is None:
        print("hwloc-distrib is not installed: no peer (package hwloc-nox)")
        return
    ours = [
        sys.executable,
        "-m",
        "nodewise",
        "place",
        "compact",
        "--threads",
        "768",
        "--machine",
        f"synthetic:{MACHINE}",
        "--json",
    ]
    theirs = [peer, "--input", MACHINE, "768", "--taskset"]
    pairs = [(_process(theirs), _process(ours)) for _ in range(ROUNDS)]
    theirs_s, ours_s = ([pair[i] for pair in pairs] for i in (0, 1))
    r = ratio_interval(theirs_s, ours_s)
    print(
        f"a whole process: nodewise {format_seconds(median(ours_s))}, hwloc-distrib {format_seconds(median(theirs_s))}"
    )
    print(f"hwloc-distrib's time over nodewise's: {r.ratio:.2f}x ({r.low:.2f}-{r.high:.2f})")


if __name__ == "__main__":
    main()
