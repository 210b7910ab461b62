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
#: More of the words that each takes, for a machine of several kinds of objects and jobs of several nodes.
MORE: dict[str, list[str]] = {
    "affinity": [
        *("norespect,compact", "granularity=thread,balanced", "granularity=socket,scatter", "granularity=die,compact"),
        *("noverbose,granularity=l3,compact,0,1", "granularity=numa,scatter,1", "granularity=node,balanced,0,1"),
        *("proclist=[3,1],explicit", "explicit,proclist=[0-7:3],granularity=core", "explicit,proclist=[{0,1},{99}]"),
    ],
    "places": [
        *("numa_domains(2)", "ll_caches(3)", "{0:4:2}", "{0,1,2,3}:2:4", "{0:2},!{1}", "!{0},cores", "{0}:3:5,{1}"),
        *("{0:3}:3:1", "cores(1),{0}", " cores ", "{0:0}", "{-1}", "{0}:-1", "sockets(2)", "{0:99}"),
    ],
    "gomp": ["0,4,8", "0-3:1 5", "15-0:5", " 1 2", "0-3:0", "1,,2", "0 99 1"],
    "likwid": [
        *("E:N:6:2:4", "E:M1:3", "L:S1:0-2", "M0:1@M1:0", "C1:0-1", "N:0-2", "N:balanced:5", "M:cbalanced:6"),
        *("E:C0:3", "S1", "S2:0", "E:N:x", "L:N", "0-2@", "E:N:2:0:2"),
    ],
    "taskset": ["0x0f", "-c 0-6:2", "-c 0,2,4-5", "--cpu-list 1", "10000", "-p 1", "0x", "ff00"],
    "hwloc": [
        *("all", "root", "machine:0", "package:1.core:0.pu:1", "numanode:1.core:odd", "l2:0-2", "l1:0", "die:0"),
        *("core:0-3.pu:0 x core:0", "package:all.l3:1", "core:2:3", "0x3 ^core:0", "--single core:1", "--logical pu:3"),
        *("core:-1", "package:2", "nodeset=0x1", "--no-smt core:0", "--cpubind core:0 --membind numa:1"),
    ],
    "numactl": [
        *("-N 1 -C 1", "--physcpubind=0,2-4", "--cpunodebind=+0", "-N !0", "--preferred=1", "-i 0,1", "-m 2"),
        *("--localalloc", "--weighted-interleave=0", "-l -m 0", "--all", "-N all", "-C 8-3"),
    ],
    "slurm": [
        *(
            "--cpu-bind=ldoms",
            "--cpu-bind=rank",
            "--cpu-bind=map_ldom:1,0",
            "--cpu-bind=mask_ldom:1,2",
            "-m cyclic:cyclic",
        ),
        *(
            "--cpu-bind=rank_ldom",
            "-m block:fcyclic",
            "--cpu-bind=q,cores",
            "--threads-per-core=1",
            "--hint=multithread",
        ),
        *("--ntasks-per-core=1", "--ntasks-per-socket=1", "-m cyclic:block --cpu-bind=threads", "-m arbitrary"),
        *("--cores-per-socket=1", "--hint=memory_bound", "--hint=compute_bound", "-c 3 --cpu-bind=cores", "--exact"),
        *("--cpu-bind=mask_cpu:0x3,0xc0", "--cpu-bind=map_cpu:0x1,99", "-m plane", "-c 0", "-N 2 --cpu-bind=sockets"),
    ],
    "openmpi4": [
        *(
            "--map-by hwthread",
            "--map-by L3cache",
            "--map-by numa --bind-to numa",
            "--map-by socket --rank-by socket:fill",
        ),
        *("--map-by socket:SPAN", "--map-by socket --rank-by span", "--rank-by slot --map-by socket", "--map-by board"),
        *(
            "--map-by slot:PE=3",
            "--map-by slot:PE=2 --bind-to socket",
            "--use-hwthread-cpus --map-by slot:PE=2 --bind-to core",
        ),
        *(
            "--bind-to core --oversubscribe",
            "--map-by core:OVERSUBSCRIBE",
            "--map-by socket:NOOVERSUBSCRIBE --bind-to L2cache",
        ),
        *("--bind-to core:overload-allowed --map-by ppr:9:socket", "--map-by ppr:2:numa:PE=2", "--map-by ppr:0:socket"),
        *(
            "--map-by socket:SPAN:PE=2",
            "--npernode 2",
            "--map-by ppr:1",
            "--rank-by pear",
            "--bind-to board",
            "--nolocal",
        ),
        *("--map-by :PE=2", "--bind-to core:if-supported", "--bind-to hwthread:no-overload", "--map-by socket:x"),
    ],
    "openmpi5": [
        *("--map-by hwthread", "--map-by numa", "--map-by l2cache:PE=1", "--map-by package:SPAN", "--map-by node:PE=2"),
        *("--map-by slot:NOINHERIT", "--map-by core:INHERIT:OVERSUBSCRIBE", "--map-by core:INHERIT:NOINHERIT"),
        *(
            "--map-by core:HWTCPUS",
            "--map-by core:HWTCPUS:CORECPUS",
            "--map-by slot:NOOVERSUBSCRIBE:PE=2",
            "--map-by l1cache",
        ),
        *(
            "--rank-by fill --map-by package",
            "--rank-by node",
            "--rank-by fill",
            "--rank-by pear",
            "--use-hwthread-cpus",
        ),
        *(
            "--bind-to hwthread",
            "--bind-to socket",
            "--bind-to package:overload-allowed",
            "--bind-to core:x",
            "--map-by x:PE=2",
        ),
        *(
            "--map-by ppr:2:l3cache:PE=2",
            "--map-by ppr:0:package",
            "--map-by ppr:9:core",
            "--map-by pe-list=0,1:ORDERED",
        ),
        *("--map-by pe-list=0-2", "--map-by core:NOLOCAL", "--map-by core:PE=0", "--npernode 2 --map-by package"),
    ],
    "mpich": [
        *(
            "-bind-to hwthread",
            "-bind-to l3 -map-by l3",
            "-bind-to socket",
            "-bind-to core -map-by numa",
            "-bind-to board",
        ),
        *(
            "-bind-to numa:2",
            "-bind-to rr",
            "-bind-to user:0+8,1+9",
            "-map-by socket",
            "-bind-to machine",
            "-bind-to l2:3",
        ),
        *(
            "-bind-to hwthread:3 -map-by core",
            "-bind-to user:",
            "-bind-to user:0-",
            "-ppn 2 -bind-to core",
            "-bind-to core:0",
        ),
    ],
    "aprun": [
        *(
            "-n 2 -cc numa_node",
            "-n 2 -d 3 -cc cpu",
            "-n 2 -cc cpus",
            "-n 4 -S 2 -sn 1",
            "-n 2 -S 1 -ss",
            "-n 4 -N 2 -d 2",
        ),
        *("-n 2 -j 2 -d 4 -cc depth", "-n 2 -cc 0-1:8-9", "-n 2 -cc 0,x:1", "-n 2 -j 3", "-n 2 -cc 99:1", "-S 0 -n 2"),
        *("-n 2 -cc pear", "-n 2 -r 1", "-n 3 -S 1", "-n 2 -cc 0:"),
    ],
    "subset": [
        "2n,1c",
        "1l3,2c",
        "1s,1c@1,2t",
        "1s:1c",
        "*s,1c",
        "1d,1c",
        "0c",
        "1c,1s",
        "1numa,1core,1thread",
        "2c@3",
    ],
    "place_threads": ["1s,1c,1t", "4c,1t,2o", "2c@1,1t", "0c", "3s"],
}
FOUR = "synthetic:pack:2 numa:2 l3:1 l2:3 core:1 pu:2(indexes=" + ",".join(f"{i},{i + 12}" for i in range(12)) + ")"
JOBS = {"slurm": Job(2, 4), "openmpi4": Job(2, 4), "openmpi5": Job(2, 4), "mpich": Job(2, 4), "aprun": Job(2)}
BESIDE: dict[str, dict[str, str]] = {"places": {"bind": "close"}, "subset": {"affinity": "compact"}}


def _said(job: Job, allow: str | None = None, text: str = TWO, **asked: Any) -> list[str]:
    machine = load_machine(text, allow)
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


def test_all_that_more_of_their_words_come_to() -> None:
    said = []
    for name, texts in MORE.items():
        launched = name in JOBS
        for i, text in enumerate(texts):
            jobs = (Job(1, 4), Job(2, 6, 2)) if launched else (Job((3, 8)[i % 2]),)
            for job in jobs:
                said += _said(job, None, FOUR, **{name: text}, **BESIDE.get(name, {}))
        # and on a part of the machine
        for text in [*TEXTS[name][:3], *texts[:3]]:
            said += _said(JOBS.get(name, Job(4)), "1-4,12-17", FOUR, **{name: text}, **BESIDE.get(name, {}))
    hold("resolve more", said)


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


#: Words of KMP_AFFINITY that change nothing here, or one thing.
SWITCHES = ("verbose", "noverbose", "nonverbose", "warnings", "nowarnings", "respect", "norespect", "reset", "noreset")
SWITCHES += ("duplicates", "dups", "noduplicates", "nodups", "disabled", "none", "logical", "physical", "logical,1")
#: By dialect options of which the number is none.
NO_NUMBERS = {
    "slurm": ("--threads-per-core=x", "-c x", "-n x", "-N x", "--ntasks-per-node=x", "-m plane=x", "-c -1", "-n 0"),
    "openmpi4": ("-np x", "-N x", "--map-by slot:PE=x", "--map-by ppr:x:core", "-np 0", "--map-by slot:PE=0"),
    "openmpi5": ("-np x", "-N x", "--map-by slot:PE=x", "--map-by ppr:x:core", "-np 0", "--map-by slot:PE=-1"),
    "mpich": ("-ppn x", "-n x", "-bind-to core:x", "-bind-to core -map-by core:x", "-bind-to user:x", "-ppn 0"),
    "aprun": ("-n x", "-N x", "-S x", "-d x", "-j x", "-cc x", "-n 0", "-d 0", "-N 0"),
}


def test_words_without_a_meaning_here_and_numbers_that_are_none() -> None:
    said = []
    for word in SWITCHES:
        # where the threads go, and what is noted
        for found in (
            _said(Job(3), None, FOUR, affinity=f"{word},compact"),
            _said(Job(3), "1-3,12", FOUR, affinity=word),
        ):
            said += [line for i, line in enumerate(found) if i < 2 or line.startswith("  note")]
    for name, texts in NO_NUMBERS.items():
        for text in texts:
            said += _said(JOBS[name], None, FOUR, **{name: text})
    for runtime in ("gnu", "llvm"):
        for text in (*TEXTS["places"], *MORE["places"]):
            said += _said(Job(5), None, FOUR, places=text, bind="close", runtime=runtime)
    hold("resolve words", said)


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
