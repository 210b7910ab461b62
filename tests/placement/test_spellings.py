# SPDX-License-Identifier: BSD-3-Clause
"""Options under all the names that manuals give them: each means what its usual one does, and those that place nothing change nothing.

The names are those of mpirun(1) of Open MPI 4.1 and 5.0, hwloc-bind(1), numactl(8) and the OpenMP specification, written down
here once more, so that a slip in the code's own tables shows.
"""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.render import render
from nodewise.placement.resolve import Request, resolve
from tests.placement.test_resolve import FOUR, TWO


def _placed(dialect: str, text: str, job: Job, **beside: str) -> tuple[Placement, tuple[str, ...]]:
    found = resolve(load_machine(FOUR if job.ranks else TWO), job, Request(**{dialect: text}, **beside))
    # its policy is the text itself
    return replace(found.placement, policy=""), found.notes


#: By dialect texts that are one and the same.
ALIKE: list[tuple[str, Job, list[str]]] = [
    ("openmpi5", Job(1, 4), ["-n 4 --map-by core", "-np 4 --map-by core", "--np 4 --map-by core", "-c 4 -map-by core"]),
    ("openmpi4", Job(1, 4), ["-n 4 --map-by core", "-np 4 --map-by core", "--np 4 --map-by core", "-c 4 -map-by core"]),
    ("openmpi5", Job(1, 4), ["-N 4 --bind-to core", "--npernode 4 -bind-to core", "-npernode 4 --bind-to core"]),
    ("openmpi5", Job(1, 4), ["--map-by package --rank-by fill", "-map-by package -rank-by fill"]),
    ("openmpi4", Job(1, 4), ["--map-by socket --bind-to numa", "-map-by SOCKET -bind-to NUMA"]),
    ("hwloc", Job(2), ["core:0-1", *(f"{o} core:0-1" for o in ("-q", "--quiet", "-v", "--verbose", "-f", "--force"))]),
    ("hwloc", Job(2), ["core:0-1", "hwloc-bind core:0-1", "--cpubind core:0-1", "nohup hwloc-bind core:0-1"]),
    ("taskset", Job(2), ["-c 0-3", *(f"{s} taskset -c 0-3" for s in ("time", "exec", "nohup", "A=b"))]),
    ("numactl", Job(2), ["-C 0-3", "--physcpubind=0-3", "--physcpubind 0-3", "nohup numactl -C 0-3"]),
]


@pytest.mark.parametrize(("dialect", "job", "texts"), ALIKE, ids=lambda value: value if isinstance(value, str) else "")
def test_spellings_of_one_thing_mean_it(dialect: str, job: Job, texts: list[str]) -> None:
    usual = _placed(dialect, texts[0], job)
    for text in texts[1:]:
        assert _placed(dialect, text, job)[0] == usual[0], text


#: What OMP_PROC_BIND may be, in any case, and which of them are one.
@pytest.mark.parametrize("bind", ["true", "TRUE", "True"])
def test_true_binds_as_an_implementation_does_by_itself(bind: str) -> None:
    plain, _ = _placed("places", "cores", Job(4), bind="true")
    assert _placed("places", "cores", Job(4), bind=bind)[0] == plain
    assert all(len(place) < 8 for place in plain.places)
    unbound, notes = _placed("places", "cores", Job(4), bind="false")
    assert unbound.places != plain.places and "OMP_PROC_BIND is false: nothing is bound" in notes


_FLAGS = [
    "report-bindings",
    "tag-output",
    "timestamp-output",
    "allow-run-as-root",
    "display-map",
    "display-allocation",
    "display-topo",
    "display-devel-map",
    "leave-session-attached",
    "merge-stderr-to-stdout",
    "show-progress",
    "abort-on-non-zero-status",
    "enable-recovery",
    "disable-recovery",
    "continuous",
    "do-not-launch",
    "debug-daemons",
    "debug-daemons-file",
    "noprefix",
    "xml",
    "index-argv-by-rank",
    "get-stack-traces",
]
_VALUED = [
    "wdir",
    "wd",
    "path",
    "output-filename",
    "output",
    "timeout",
    "prefix",
    "tune",
    "am",
    "stdin",
    "xterm",
    "preload-files",
    "display",
    "add-hostfile",
    "add-host",
    "report-uri",
    "report-pid",
    "personality",
    "forward-signals",
]


@pytest.mark.parametrize("dialect", ["openmpi4", "openmpi5"])
def test_options_of_mpirun_that_place_nothing_are_passed_over(dialect: str) -> None:
    job = Job(1, 4)
    usual, _ = _placed(dialect, "--map-by core", job)
    given = [f"{dash}{name}" for dash, name in itertools.product(("-", "--"), _FLAGS)]
    given += [f"{dash}{name} x" for dash, name in itertools.product(("-", "--"), _VALUED)]
    given += ["-q", "--quiet", "-v", "--verbose", "-d", "--debug-devel", "-x A=b", "--max-restarts 1"]
    for words in given:
        assert _placed(dialect, f"{words} --map-by core", job)[0] == usual, words


#: What bears on where ranks go, of mpirun(1) and of older versions of it, and is not modelled in either version.
_NOT_MODELLED = (
    *("rankfile", "rf", "rank-file", "nolocal", "cpu-set", "cpu-list", "bind-to-none", "bysocket", "app", "ppr"),
    *("slot-list", "tv", "dvm", "novm", "ompi-server"),
)
#: What Open MPI 4 calls deprecated, and 5 no longer has.
_DEPRECATED = (
    *("cpus-per-proc", "cpus-per-rank", "npersocket", "bind-to-core", "bind-to-socket", "bycore", "byslot", "bynode"),
    "pernode",
)


@pytest.mark.parametrize("dialect", ["openmpi4", "openmpi5"])
def test_options_of_mpirun_that_place_in_ways_that_are_not_modelled_are_refused(dialect: str) -> None:
    names = [*_NOT_MODELLED, *(_DEPRECATED if dialect == "openmpi5" else ())]
    for word in (f"{dash}{name}" for dash, name in itertools.product(("-", "--"), names)):
        with pytest.raises(InputError) as caught:
            _placed(dialect, f"{word} 2", Job(1, 4))
        assert caught.value.what == f"mpirun: {word} bears on placement, and what it does is not modelled"


def test_deprecated_options_of_mpirun_are_what_it_calls_them() -> None:
    for old, new in (
        ("--bycore", "--map-by core"),
        ("-byslot", "--map-by slot"),
        ("--bind-to-core", "--bind-to core"),
        ("-bind-to-socket", "--bind-to socket"),
        ("--npersocket 2", "--map-by ppr:2:socket"),
        ("--cpus-per-proc 2", "--map-by numa:pe=2"),
        ("-cpus-per-rank 2", "--map-by numa:pe=2"),
    ):
        placed, notes = _placed("openmpi4", old, Job(1, 4))
        assert placed == _placed("openmpi4", new, Job(1, 4))[0], old
        assert any(note.endswith(f"deprecated: it is {new}") for note in notes), notes


_SMT = "synthetic:pack:2 numa:1 core:2 pu:2"


def test_pe_counts_what_ranks_are_bound_to() -> None:
    def zones(text: str) -> tuple[tuple[int, ...], ...]:
        return resolve(load_machine(_SMT), Job(1, 2), Request(openmpi5=text)).placement.zones

    assert zones("--map-by package:pe=2 --bind-to hwthread") == ((0, 1), (4, 5))
    assert (
        zones("--map-by package:pe=2 --bind-to core") == zones("--map-by package:pe=2") == ((0, 1, 2, 3), (4, 5, 6, 7))
    )


def test_nolocal_is_for_hosts_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a slots=2\nb slots=2\n")
    for hosts in (f"--hostfile {tmp_path / 'hosts'}", "--host a:2"):
        found = resolve(load_machine(_SMT), Job(1), Request(openmpi5=f"-n 2 {hosts} --map-by core:NOLOCAL"))
        assert found.placement.zones == ((0, 1), (2, 3))
    with pytest.raises(InputError, match="refuses :NOLOCAL on one node"):
        resolve(load_machine(_SMT), Job(1, 2), Request(openmpi5="--map-by core:NOLOCAL"))


@pytest.mark.parametrize(
    ("dialect", "text", "what"),
    [
        ("openmpi5", "--map-by numa --bind-to package", "bind to package what it maps by NUMA node, which is smaller"),
        (
            "openmpi5",
            "--map-by hwthread --bind-to core",
            "bind to core what it maps by hardware thread, which is smaller",
        ),
        ("openmpi4", "--map-by core:pe=x", "mpirun: --map-by …:PE 'x' is no number from 1 on"),
    ],
)
def test_objects_and_options_have_their_names_in_refusals(dialect: str, text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve(load_machine(_SMT), Job(1, 2), Request(**{dialect: text}))
    assert what in caught.value.what


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-bind-to core -map-by numa", "-bind-to core -map-by numa"),
        ("-bind-to core -map-by socket", "-bind-to core -map-by socket"),
        ("-bind-to hwthread -map-by numa", "-bind-to hwthread -map-by numa"),
        ("-bind-to numa", "-bind-to core:2"),
    ],
)
def test_hydra_is_written_as_it_was_read(text: str, words: str) -> None:
    here = load_machine("synthetic:pack:2 numa:2 core:2 pu:2")
    placed = resolve(here, Job(1, 4), Request(mpich=text)).placement
    written = render("mpich", here, placed).words
    assert written[:3] == ("mpiexec", "-n", "4")
    assert resolve(here, Job(1, 4), Request(mpich=" ".join(written))).placement.zones == placed.zones
    assert " ".join(written[3:]) == words
