# SPDX-License-Identifier: BSD-3-Clause
"""What texts of each dialect come to, in full: places, zones, notes, traps, what --explain says, and what is refused."""

from typing import Any

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.explain import explain
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, fitting_threads, resolve
from nodewise.placement.traps import environment_traps, find_traps
from tests.placement.whole import hold

TWO = "synthetic:pack:2 numa:1 l3:2 core:2 pu:2(indexes=" + ",".join(f"{i},{i + 8}" for i in range(8)) + ")"
#: By the name of a dialect's text, texts that it takes and that it refuses.
TEXTS: dict[str, list[str]] = {
    "affinity": [
        *(
            "compact",
            "scatter",
            "balanced",
            "granularity=fine,compact",
            "granularity=core,compact,1,0",
            "disabled",
            "none",
        ),
        *("explicit,proclist=[0,2,{4,5},8-11:2]", "verbose,granularity=fine,scatter,0,2", "granularity=tile,compact"),
        *(
            "explicit",
            "compact,x",
            "granularity=pear,compact",
            "explicit,proclist=[9-]",
            "explicit,proclist=[99]",
            "",
            "logical",
        ),
    ],
    "places": [
        *(
            "cores",
            "threads",
            "sockets",
            "ll_caches",
            "numa_domains",
            "cores(3)",
            "{0:4}",
            "{0:2}:4:2",
            "{0,8},{1,9},!{1,9}",
        ),
        *("{0}:8", "{0:4:-1}", "{99}", "cores(0)", "{0", "pears", "", "{0}:0", "{0:2}:2:-1", "threads(99)"),
    ],
    "gomp": ["0-3", "0 2 4", "0-7:2", "3-0", "0-15", "99", "", "0-", "0,8,99", "x"],
    "likwid": [
        "0-3",
        "E:N:4",
        "E:S0:4:1:2",
        "S:scatter",
        "S0:0-1@S1:0",
        "M:scatter:2",
        "C0:0",
        "L:N:2,0",
        "E:X:1",
        "E:N",
        "9-",
    ],
    "taskset": ["-c 0-3", "0-3", "0xff", "-c 0,99", "-c 2-5", "-c 99", "-c 3-1", "x", ""],
    "hwloc": [
        "package:0",
        "core:0-1",
        "all ~core:0",
        "pu:odd",
        "numa:1",
        "l3:1",
        "core",
        "pear:0",
        "core:99",
        "--physical pu:8",
    ],
    "numactl": [
        "-C 0-3",
        "--cpunodebind=1",
        "-N 0 --membind=1",
        "-C +0-1",
        "-C !0",
        "--shm",
        "-C 99",
        "--interleave=all",
        "-p 1",
    ],
    "slurm": [
        *(
            "--cpu-bind=cores",
            "--cpu-bind=sockets -m block:block",
            "--cpu-bind=map_cpu:0,1",
            "--cpu-bind=mask_cpu:3,c",
            "-c 4",
        ),
        *(
            "--cpu-bind=threads -m plane=2",
            "--cpu-bind=none",
            "--hint=nomultithread",
            "--ntasks-per-node=2",
            "--cpu-bind=pears",
            "--gres=x",
        ),
    ],
    "openmpi4": [
        *(
            "--map-by core",
            "--map-by socket:PE=2",
            "--map-by ppr:1:socket",
            "--bind-to none",
            "--map-by slot --bind-to hwthread",
        ),
        *(
            "--map-by node",
            "--rank-by core --map-by socket",
            "--map-by pear",
            "--map-by core:PE=99",
            "-np 3",
            "--bind-to core:x",
            "--cpu-set 0-3",
        ),
    ],
    "openmpi5": [
        *(
            "--map-by core",
            "--map-by package:PE=2",
            "--map-by ppr:1:package",
            "--bind-to none",
            "--map-by pe-list=0,2,4,6",
        ),
        *(
            "--map-by l3cache --bind-to core",
            "--rank-by span --map-by package",
            "--map-by pear",
            "--map-by core:PE=99",
            "--bind-to x",
        ),
    ],
    "mpich": [
        *(
            "-bind-to core",
            "-bind-to socket -map-by socket",
            "-bind-to user:0,1,2,3",
            "-bind-to core:2",
            "-bind-to none",
            "-bind-to numa",
        ),
        *("-bind-to pear", "-map-by core", "-bind-to user:99", "-bind-to core:99", "-bind-to"),
    ],
    "aprun": [
        "-n 2 -d 2",
        "-n 2 -d 2 -cc depth",
        "-n 2 -cc 0,1:8",
        "-n 2 -S 1",
        "-n 2 -j 1 -d 4",
        "-d 2",
        "-n 99",
        "-n 2 -cc 1-",
        "-n 1 -cc none",
    ],
    "subset": ["1c", "2s,1c", "1c@1", "2c,1t", ":1c", "9c", "x", "1s@1,2c,1t"],
    "place_threads": ["2c,2t", "1s,2c", "9c", "x", "1c,1t,1o"],
}
JOBS = {"slurm": Job(2, 4), "openmpi4": Job(2, 4), "openmpi5": Job(2, 4), "mpich": Job(2, 4), "aprun": Job(2)}
BESIDE: dict[str, dict[str, str]] = {"places": {"bind": "close"}, "subset": {"affinity": "compact"}}


def _said(job: Job, allow: str | None = None, **asked: Any) -> list[str]:
    machine = load_machine(TWO, allow)
    head = f"# {allow or 'all'} {job.threads}x{job.ranks}/{job.nodes} {asked}"
    try:
        request = Request(**asked)
        found = resolve(machine, job, request)
    except InputError as problem:
        return [head, f"  {problem.what} | {problem.hint}"]
    placed = found.placement
    lines = [head, f"  {placed.policy} {placed.order} {placed.size} {placed.by_rank} in {placed.zones}"]
    lines += [f"  note: {note}" for note in (*found.notes, *found.memory)]
    lines += [f"  trap: {trap.name}: {trap}" for trap in find_traps(machine, placed, request)]
    lines += [f"  {sentence}" for sentence in explain(machine, placed, request)]
    return lines


def test_all_that_texts_come_to() -> None:
    said = []
    for name, texts in TEXTS.items():
        for text in texts:
            said += _said(JOBS.get(name, Job(4)), **{name: text}, **BESIDE.get(name, {}))
    hold("resolve", said)


def test_all_that_comes_of_jobs_runtimes_and_parts_of_a_machine() -> None:
    said = []
    for runtime in ("intel", "gnu"):
        for asked in (
            {"places": "cores", "bind": "spread"},
            {"places": "{0:4}:2:4", "bind": "primary"},
            {"places": "sockets", "bind": "false"},
        ):
            for job in (Job(3), Job(20), Job(3, 2)):
                said += _said(job, runtime=runtime, **asked)
    for policy in ("compact", "scatter", "balanced", "os"):
        for zones in ("share", "packed", "none"):
            for job in (Job(2, 8, 2), Job(5, 3)):
                said += _said(job, policy=policy, zones=zones)
        said += [*_said(Job(3), "2-5,10", policy=policy), *_said(Job(9), "2-5,10", policy=policy)]
    for text in ("--map-by node", "--map-by socket:SPAN --bind-to core", "--map-by slot:PE=2"):
        said += _said(Job(1, 8, 2), openmpi4=text)
    for text in ("-m cyclic", "-m plane=2", "-m block:cyclic"):
        said += _said(Job(1, 8, 2), slurm=f"--cpu-bind=cores {text}")
    for pair in (
        {"slurm": "--cpu-bind=cores", "mpich": "-bind-to core"},
        {"taskset": "-c 0", "hwloc": "pu:0"},
        {"affinity": "compact", "gomp": "0"},
        {"policy": "compact", "likwid": "0"},
        {"subset": "1c", "place_threads": "1c"},
        {"affinity": "compact", "runtime": "gnu"},
        {"affinity": "scatter", "places": "threads", "bind": "close"},
        {"openmpi4": "--map-by socket --bind-to socket", "places": "cores", "bind": "spread"},
        {"taskset": "-c 0-3", "places": "cores", "bind": "close"},
        {"numactl": "-N 0", "policy": "scatter"},
        {"policy": "pear"},
        {"bind": "pear", "places": "cores"},
        {"bind": "close"},
        {"none": "x"},
    ):
        said += _said(Job(2, 2), **pair)
    hold("resolve jobs", said)


def test_how_many_threads_fit_where_nobody_says() -> None:
    machine = load_machine(TWO)

    def fits(job: Job = Job(1), allow: str | None = None, **asked: str) -> int:  # noqa: B008
        return fitting_threads(load_machine(TWO, allow), job, Request(**asked))

    assert fits() == 16 and fits(allow="0-4") == 5
    assert fits(gomp="0-3") == 4 and fits(taskset="-c 0-2") == 3 and fits(likwid="0,1") == 2
    assert fits(Job(1, 4)) == 4 and fits(Job(1, 2), policy="compact") == 8
    assert fits(slurm="--cpu-bind=cores -n 4 -c 2") == 2
    assert fits(subset="1s,2c", affinity="compact") == 4
    assert fits(Job(1, 99), openmpi4="--map-by core") == 1
    assert fitting_threads(machine, Job(1), Request(place_threads="2c,2t")) == 8


def test_variables_that_are_ignored_or_fight() -> None:
    said = []
    for environment in (
        {"OMP_PLACES": "pears"},
        {"KMP_AFFINITY": "pear", "OMP_PROC_BIND": "close"},
        {"GOMP_CPU_AFFINITY": "0-", "OMP_PLACES": "cores"},
        {"KMP_HW_SUBSET": "x"},
        {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"},
    ):
        said += [f"# {environment}", *(f"  {t.name}: {t}" for t in environment_traps(environment))]
    hold("environment", said)
