# SPDX-License-Identifier: BSD-3-Clause
"""Placements written in each dialect, in full, with the reasons of those that cannot express one."""

from dataclasses import replace

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.openmp.gnu_text import read_gnu_places
from nodewise.placement.openmp.lengths import longest, overlong
from nodewise.placement.openmp.places import read_places
from nodewise.placement.openmp.runtimes import RUNTIMES
from nodewise.placement.registry import writers
from nodewise.placement.render import common_openmp, launch_rendering, place_rank_script, render
from nodewise.placement.rendering import NotExpressibleError, Rendering
from nodewise.placement.resolve import Request, resolve
from tests.placement.whole import hold

TWO = "synthetic:pack:2 numa:1 l3:2 core:2 pu:2(indexes=" + ",".join(f"{i},{i + 8}" for i in range(8)) + ")"
ONE = "synthetic:core:3 pu:1"
JOBS = [Job(3), Job(2, 2), Job(1, 8, 2), Job(20), Job(8)]
ASKED = [
    {"policy": "compact"},
    {"policy": "scatter"},
    {"policy": "balanced"},
    {"places": "cores", "bind": "close"},
]
ODD = [
    {"gomp": "0-3 8"},
    {"places": "{0,8},{4:2}", "bind": "close"},
    {"taskset": "-c 0-3,9"},
    {"mpich": "-bind-to core:2"},
    {"hwloc": "all"},
    {"hwloc": "package:1 core:0"},
    {"numactl": "-N 0"},
    {"openmpi5": "--map-by package:PE=2"},
    {"openmpi4": "--map-by slot:PE=2 --rank-by slot"},
    {"slurm": "--cpu-bind=cores -m cyclic"},
    {"likwid": "S:scatter"},
]


def _said(text: str, allow: str | None, job: Job, asked: dict[str, str]) -> list[str]:
    machine = load_machine(text, allow)
    head = f"# {text[10:24]} {allow or 'all'} {job.threads}x{job.ranks}/{job.nodes} {asked}"
    try:
        placement = resolve(machine, job, Request(**asked)).placement
    except InputError as problem:
        return [head, f"  {problem.what} | {problem.hint}"]
    found = [head]
    hosts = ("alpha", "beta")[: job.nodes] if job.nodes > 1 else ()
    # that of the mpirun on PATH is one of the other two
    for name in [n for n in writers() if n != "openmpi"]:
        try:
            made = render(name, machine, placement, hosts)
        except InputError as problem:
            found.append(f"  {name}: {problem.what}")
            continue
        files = " ".join(f"<{file}: {content!r}>" for file, content in made.files.items() if not file.endswith(".sh"))
        scripts = sum(len(content) for file, content in made.files.items() if file.endswith(".sh"))
        found.append(f"  {name}: {made.line(['APP'])} {files}{scripts or ''} {'; '.join(made.notes)}".rstrip())
    return found


def test_all_that_is_written() -> None:
    said = [line for asked in ASKED for job in JOBS for line in _said(TWO, None, job, asked)]
    said += [line for asked in ODD for job in JOBS[:2] for line in _said(TWO, None, job, asked)]
    said += [line for asked in ASKED[:3] for job in JOBS[:2] for line in _said(ONE, None, job, asked)]
    said += [line for asked in ASKED[:3] for job in JOBS[:2] for line in _said(TWO, "2-5,10-13", job, asked)]
    # of several nodes, whose ranks have several threads
    for asked in (
        {"policy": "compact"},
        {"openmpi5": "--map-by package:PE=2"},
        {"slurm": "--cpu-bind=cores -m cyclic"},
    ):
        for job in (Job(2, 4, 2), Job(4, 3, 3), Job(1, 12, 2)):
            said += _said(TWO, None, job, asked)
    hold("render", said)


def test_the_script_of_ranks_is_written_whole() -> None:
    machine = load_machine(ONE)
    placement = resolve(machine, Job(1, 2), Request(policy="compact")).placement
    script = render("gomp", machine, placement).files["place-rank.sh"]
    hold("script", [*script.splitlines(), *place_rank_script(((), ()), ((0,), (1, 2)), openmp=False).splitlines()])


def test_what_cannot_be_written_says_why() -> None:
    machine = load_machine(TWO)
    placement = resolve(machine, Job(2, 4, 2), Request(policy="compact")).placement
    with pytest.raises(InputError, match="unknown dialect: 'none'") as caught:
        render("none", machine, placement)
    assert caught.value.hint is not None and caught.value.hint.startswith("known are: ") and "omp" in caught.value.hint
    with pytest.raises(InputError, match="1 host is named for 2 nodes") as caught:
        render("slurm", machine, placement, ["a"])
    assert caught.value.hint == "name one for each node"
    narrow = load_machine(TWO, "0-3")
    with pytest.raises(
        InputError, match="processors 4-15 are outside of what this process may use, where threads are bound only by: "
    ):
        render("omp", narrow, resolve(machine, Job(16), Request(policy="compact")).placement)


def test_what_starts_most_programs() -> None:
    machine = load_machine(TWO)
    one = resolve(machine, Job(2), Request(policy="compact")).placement
    assert launch_rendering(machine, one) == render("omp", machine, one)
    assert launch_rendering(load_machine(TWO, "7"), one).env.keys() | {"words"} != {"OMP_PLACES"}
    spread = resolve(machine, Job(2, 2), Request(places="cores", bind="spread")).placement
    assert common_openmp(machine, spread) == {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"}
    odd = resolve(machine, Job(2, 2), Request(policy="compact")).placement
    assert common_openmp(machine, odd) == {"OMP_PLACES": "threads", "OMP_PROC_BIND": "close"}


@pytest.mark.parametrize(
    ("asked", "threads", "words"),
    [
        ({"policy": "compact"}, 16, ("threads", "close")),
        ({"places": "cores", "bind": "close"}, 8, ("cores", "close")),
        ({"places": "cores", "bind": "spread"}, 4, ("cores", "spread")),
        ({"places": "sockets", "bind": "spread"}, 2, ("sockets", "close")),
        ({"places": "threads", "bind": "spread"}, 8, ("threads", "spread")),
        ({"policy": "scatter"}, 3, None),
        ({"gomp": "3 1"}, 2, None),
    ],
)
def test_one_process_has_the_names_of_places_where_every_runtime_so_places_it(
    asked: dict[str, str], threads: int, words: tuple[str, str] | None
) -> None:
    machine = load_machine(TWO)
    placement = resolve(machine, Job(threads), Request(**asked)).placement
    env = render("omp", machine, placement).env
    assert env["OMP_NUM_THREADS"] == str(threads)
    assert (env["OMP_PLACES"], env["OMP_PROC_BIND"]) == words if words else env["OMP_PLACES"].startswith("{")
    for runtime in RUNTIMES if words else ():
        named = Request(places=env["OMP_PLACES"], bind=env["OMP_PROC_BIND"], runtime=runtime)
        assert resolve(machine, Job(threads), named).placement.places == placement.places


def test_names_of_places_are_not_written_for_a_part_of_a_machine_or_beside_a_launcher() -> None:
    part = load_machine(TWO, "0-3,8-11")
    placement = resolve(part, Job(4), Request(places="cores", bind="close")).placement
    assert render("omp", part, placement).env["OMP_PLACES"] == "{0,8}:4"
    machine = load_machine(TWO)
    ranks = resolve(machine, Job(2, 2), Request(policy="compact")).placement
    script = render("omp", machine, ranks).files["place-rank.sh"]
    assert "OMP_PLACES=threads" not in script and "OMP_PLACES='{0},{8}'" in script
    # a rank that slurm holds to the second socket has other first cores than the machine
    second = resolve(machine, Job(2, 1), Request(policy="compact", zones="share")).placement
    assert render("omp", machine, second, alone=False).env["OMP_PLACES"] == "{0},{8}"


@pytest.mark.parametrize(
    ("text", "runtime", "told"),
    [
        ("core", "", "did you mean cores?"),
        ("Socket", "", "did you mean sockets?"),
        ("thread(2)", "gnu", "did you mean threads?"),
    ],
)
def test_a_name_of_places_that_is_nearly_right_is_asked_about(text: str, runtime: str, told: str) -> None:
    read = read_gnu_places if runtime else read_places
    with pytest.raises(InputError) as caught:
        read(text)
    assert told in caught.value.what


@pytest.mark.parametrize("dialect", ["openmpi4", "openmpi5", "mpich", "slurm", "aprun"])
def test_hosts_that_are_named_are_in_the_line_or_its_files_or_a_note_says_why_not(dialect):
    machine = load_machine("synthetic:pack:2 core:4 pu:1")
    placement = resolve(machine, Job(1, 8, 2), Request(openmpi4="--map-by core -N 4")).placement
    written = render(dialect, machine, placement, ["alpha", "beta"])
    shown = " ".join([*written.words, *written.files.values()])
    assert ("alpha" in shown and "beta" in shown) or any("hosts by name are not written" in n for n in written.notes)
    if dialect.startswith("openmpi"):
        # as many slots as cores: PE counts them, too
        assert "alpha:8,beta:8" in written.words
    for name in ("a\nb", "a b", "a\tb", "\x1b[1m"):
        with pytest.raises(InputError, match="no name of a host"):
            render(dialect, machine, placement, ["alpha", name])


CALLED = {
    "omp": ["openmp", "omp_places", "places", "OMP_PLACES"],
    "gomp": ["libgomp", "gnu", "GNU"],
    "kmp": ["intel", "kmp_affinity", "affinity"],
    "slurm": ["srun", "sbatch"],
    "openmpi": ["mpirun", "orterun", "ompi"],
    "mpich": ["mpiexec", "hydra"],
    "hwloc": ["hwloc-bind"],
    "likwid": ["likwid-pin"],
}


@pytest.mark.parametrize(("dialect", "name"), [(d, name) for d, names in CALLED.items() for name in names])
def test_a_dialect_may_be_meant_by_its_tools_name(dialect: str, name: str) -> None:
    machine = load_machine(ONE)
    placement = resolve(machine, Job(2), Request(policy="compact")).placement
    with pytest.raises(InputError) as caught:
        render(name, machine, placement)
    assert caught.value.what == f"unknown dialect: {name!r}; did you mean {dialect}?"
    assert caught.value.hint == f"known are: {', '.join(writers())}"


def _refused(dialect: str, nodes: int = 1, hosts: tuple[str, ...] = ()) -> tuple[str, str | None]:
    machine = load_machine(TWO)
    placement = resolve(machine, Job(2, 2 * nodes, nodes), Request(policy="compact")).placement
    with pytest.raises(InputError) as caught:
        render(dialect, machine, placement, hosts)
    return caught.value.what, caught.value.hint


def test_each_refusal_in_full() -> None:
    assert _refused("omp,kmp,gomp") == ("'omp,kmp,gomp' are several dialects", "one is written at a time: --to omp")
    name = "name one for each node"
    assert _refused("slurm", 2, ("a",)) == ("1 host is named for 2 nodes", name)
    assert _refused("slurm", 2, ("a", "b", "c")) == ("3 hosts are named for 2 nodes", name)
    assert _refused("slurm", 1, ("a", "b")) == ("2 hosts are named for 1 node", name)
    assert _refused("slurm", 2, ("a", "b c")) == (
        "no name of a host: 'b c'",
        "name hosts without blanks and line feeds",
    )


def test_what_others_hold_is_written_within_taskset() -> None:
    machine = load_machine(TWO)
    held = replace(machine, limits=replace(machine.limits, processors=(0, 1), cpuset=(0, 1, 2, 3)))
    placement = resolve(machine, Job(2), Request(taskset="-c 2-3")).placement
    assert render("numactl", held, placement).words == ("taskset", "-c", "2-3", "numactl", "--physcpubind=2-3")
    assert render("taskset", held, placement).words == ("taskset", "-c", "2-3")
    assert render("hwloc", held, placement).words[0] == "hwloc-bind"
    assert launch_rendering(held, placement).words == ("taskset", "-c", "2-3")
    whole = resolve(machine, Job(2), Request(taskset="-c 0-3")).placement
    assert render("numactl", held, whole).words == ("taskset", "-c", "0-3", "numactl", "--physcpubind=0-3")
    beyond = resolve(machine, Job(2), Request(taskset="-c 3-4")).placement
    with pytest.raises(NotExpressibleError) as caught:
        render("numactl", held, beyond)
    assert caught.value.what == (
        "numactl cannot express this placement: processors 3-4 are outside of what this process may use, where threads are "
        "bound only by: gomp"
    )
    # GNU's runtime alone binds there
    one = resolve(machine, Job(2), Request(gomp="3 4")).placement
    assert launch_rendering(held, one).env == {"OMP_NUM_THREADS": "2", "GOMP_CPU_AFFINITY": "3,4"}


def _ranks(dialect: str, asked: dict[str, str], job: Job = Job(2, 2), runtime: str = "") -> Rendering:  # noqa: B008
    machine = load_machine(TWO)
    request = Request(**asked)
    return render(dialect, machine, resolve(machine, job, request).placement, runtime=runtime)


def test_a_launcher_has_the_threads_of_its_ranks_in_variables_or_a_script() -> None:
    count = {"OMP_NUM_THREADS": "2"}
    spread = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"}
    # threads that float need none
    assert dict(_ranks("mpich", {"policy": "os"}).env) == count
    assert dict(_ranks("mpich", {"places": "cores", "bind": "spread"}).env) == count | spread
    primary = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "primary"}
    assert dict(_ranks("mpich", {"places": "cores", "bind": "primary"}).env) == count | primary
    whole = _ranks("mpich", {"policy": "scatter"}, Job(3, 2))
    assert whole.files.keys() == {"place-rank.sh"} and whole.words[-1] == "./place-rank.sh"
    assert whole.notes[-1] == (
        "no single OpenMP setting places the threads of all ranks: each is started through place-rank.sh"
    )


def test_what_inner_teams_have_is_written_by_one_dialect_alone() -> None:
    asked = {"places": "cores", "bind": "spread,close"}
    machine = load_machine(TWO)
    placement = resolve(machine, Job(2), Request(**asked)).placement
    assert render("kmp", machine, placement).notes[-1] == (
        "what OMP_PROC_BIND says of inner teams is written by --to omp alone"
    )
    assert render("omp", machine, placement).env["OMP_PROC_BIND"] == "spread,close"
    assert render("omp", machine, placement).notes == ()
    nested = resolve(machine, Job(4), Request(places="cores", bind="spread,close").nested((2, 2))).placement
    assert render("omp", machine, nested).env["OMP_NUM_THREADS"] == "2,2"
    for dialect in ("gomp", "kmp", "aprun"):
        with pytest.raises(
            NotExpressibleError, match="it places the threads of one team, and these are of teams within teams"
        ):
            render(dialect, machine, nested)
    # a mask holds all of them
    whole = resolve(machine, Job(4), Request(policy="os").nested((2, 2))).placement
    assert render("taskset", machine, whole).words == ("taskset", "-c", "0-15")
    ranks = resolve(machine, Job(4, 2), Request(places="cores", bind="spread,close").nested((2, 2))).placement
    written = render("mpich", machine, ranks)
    assert written.files and "OMP_MAX_ACTIVE_LEVELS" in written.files["place-rank.sh"]
    floating = resolve(machine, Job(4, 2), Request(policy="os").nested((2, 2))).placement
    assert dict(render("mpich", machine, floating).env) == {"OMP_NUM_THREADS": "2,2", "OMP_MAX_ACTIVE_LEVELS": "2"}


def test_values_that_intels_runtime_cuts_off_are_told_of() -> None:
    """A value of 4096 characters with its name and the sign between is read whole."""
    most = {"OMP_PLACES": 4085, "OMP_PROC_BIND": 4082, "KMP_AFFINITY": 4083, "KMP_HW_SUBSET": 4082}
    for name, length in most.items():
        assert longest(name) == length and overlong({name: "x" * length}) == []
        assert overlong({name: "x" * (length + 1)}) == [
            f"{name} is {length + 1} characters long, of which Intel's runtime reads the first {length}"
        ]
    assert longest("GOMP_CPU_AFFINITY") is None and overlong({"GOMP_CPU_AFFINITY": "x" * 9999}) == []
