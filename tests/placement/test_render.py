# SPDX-License-Identifier: BSD-3-Clause
"""Placements written in each dialect, in full, with the reasons of those that cannot express one."""

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.openmp.gnu_text import read_gnu_places
from nodewise.placement.openmp.places import read_places
from nodewise.placement.openmp.runtimes import RUNTIMES
from nodewise.placement.registry import writers
from nodewise.placement.render import common_openmp, launch_rendering, place_rank_script, render
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
