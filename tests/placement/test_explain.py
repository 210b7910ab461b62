# SPDX-License-Identifier: BSD-3-Clause
"""What --explain says of the result of a placement, in full, on machines whose numbers run in other ways, up to each plural."""

from nodewise.machine.sources import load_machine
from nodewise.placement.explain import explain
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from tests.placement.whole import hold

#: Processors numbered as they lie; second hardware threads behind all first ones; processor 0 on the last core, as on a
#: Xeon Phi, in two ways; NUMA nodes without sockets; caches shared by two; one core; sockets of a core each.
MACHINES = {
    "lying": "pack:2 l3:2 core:2 pu:2",
    "apart": "pack:2 numa:1 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)",
    "zero last": "core:4 pu:2(indexes=1,2,3,4,5,6,0,7)",
    "zero last of four": "core:3 pu:4(indexes=1,2,3,4,5,6,7,8,0,9,10,11)",
    "zero last apart": "core:3 pu:2(indexes=1,4,2,5,0,6)",
    "nodes": "numa:3 core:2 pu:1",
    "caches": "pack:1 l2:17 core:1 pu:1",
    "sixteen caches": "pack:1 l2:16 core:1 pu:1",
    "one core": "core:1 pu:2",
    "sockets": "pack:3 core:1 pu:2",
}
ASKED: list[tuple[str, Job, dict[str, str]]] = [
    *(
        (name, Job(threads), {"policy": policy})
        for name in MACHINES
        for threads in (1, 2, 3)
        for policy in ("scatter",)
    ),
    *(("lying", Job(threads), {"policy": policy}) for threads in (4, 15, 16, 17) for policy in ("compact", "scatter")),
    *(("apart", Job(threads), {"policy": policy}) for threads in (2, 9, 16, 18) for policy in ("balanced", "os")),
    *(("caches", Job(threads), {"policy": "compact"}) for threads in (16, 17, 18)),
    *(("nodes", Job(threads), {"policy": "compact"}) for threads in (5, 6, 7)),
]
#: Of ranks, and of texts by each runtime.
TEXTS: list[tuple[str, Job, dict[str, str]]] = [
    ("lying", Job(2, 1), {"policy": "compact"}),
    ("lying", Job(1, 2), {"policy": "compact"}),
    ("lying", Job(1, 8), {"policy": "compact"}),
    ("lying", Job(1, 9), {"policy": "compact"}),
    ("lying", Job(1, 10), {"policy": "os"}),
    ("lying", Job(2, 4, 2), {"policy": "compact"}),
    ("lying", Job(2, 5, 2), {"policy": "compact"}),
    ("lying", Job(1, 8, 2), {"slurm": "--cpu-bind=cores -m cyclic"}),
    ("lying", Job(1, 8, 2), {"slurm": "--cpu-bind=cores -m plane=2"}),
    ("lying", Job(1, 8, 2), {"slurm": "--cpu-bind=cores -m block"}),
    ("lying", Job(3), {"gomp": "0 0 1"}),
    ("lying", Job(2), {"gomp": "0 0"}),
    ("lying", Job(15), {"gomp": "0-13 0"}),
    ("lying", Job(2), {"gomp": "0 2", "runtime": "intel"}),
    ("lying", Job(2), {"gomp": "0x0 2"}),
    ("lying", Job(2), {"gomp": "0,,2"}),
    ("lying", Job(3), {"taskset": "-c 0-2,9"}),
    ("lying", Job(2), {"taskset": "-c 0-3", "places": "cores", "bind": "close"}),
    ("lying", Job(9), {"places": "cores", "bind": "close"}),
    ("lying", Job(10), {"places": "cores", "bind": "close"}),
    ("lying", Job(10), {"places": "cores", "bind": "close", "runtime": "gnu"}),
    ("lying", Job(10), {"places": "cores", "bind": "close", "runtime": "llvm"}),
    ("lying", Job(3), {"places": "threads", "bind": "true"}),
    ("lying", Job(3), {"places": "cores(2:3)", "bind": "close"}),
    ("lying", Job(3), {"places": "{0:4}:4:4", "bind": "spread"}),
    ("lying", Job(3), {"places": "threads", "affinity": "compact"}),
    ("lying", Job(3), {"places": "threads", "subset": "1s,2c,1t"}),
    ("lying", Job(3), {"max_active_levels": "2"}),
    ("lying", Job(2, 2), {"places": "threads", "bind": "spread", "slurm": "--cpu-bind=cores -c 4"}),
]


def _said(name: str, allow: str | None, job: Job, levels: tuple[int, ...], asked: dict[str, str]) -> list[str]:
    machine = load_machine(f"synthetic:{MACHINES[name]}", allow)
    request = Request(**asked).nested(levels)  # type: ignore[arg-type]
    placed = resolve(machine, job, request).placement
    head = f"# {name} {allow or 'all'} {job.threads}x{job.ranks}/{job.nodes} {levels} {asked}"
    return [head, *(f"  {sentence}" for sentence in explain(machine, placed, request))]


def test_all_that_is_said_of_results() -> None:
    hold("explain", [line for name, job, asked in ASKED for line in _said(name, None, job, (), asked)])


def test_all_that_is_said_of_ranks_and_texts() -> None:
    hold("explain texts", [line for name, job, asked in TEXTS for line in _said(name, None, job, (), asked)])


def test_all_that_is_said_of_parts_of_a_machine_and_of_teams() -> None:
    said: list[str] = []
    for threads in (1, 2, 4, 5):
        said += _said("lying", "1-3,9", Job(threads), (), {"policy": "compact"})
    said += _said("lying", None, Job(4), (2, 2), {"places": "cores", "bind": "spread,close"})
    said += _said("lying", None, Job(9), (3, 3), {"places": "threads", "bind": "spread,close"})
    hold("explain teams", said)
