# SPDX-License-Identifier: BSD-3-Clause
"""Launchers' answers, recorded from the real ones on machines that exist only as hwloc describes them.

Open MPI 4.1.4 was given each machine as its topology file, and what it asked the kernel to bind each rank to was noted; 5.0.11
too, and printed its map (tools/launchers.py; where it starts more ranks than were asked for, those are left out);
the Hydra of MPICH 4.0.2 and of 5.0.2 reported its bindings itself (HYDRA_TOPO_DEBUG; both the same; where the system's numbers have gaps, what it asked
the kernel for was noted, as its report ends with as many digits as there are processors), and so did Slurm 22.05.8's srun (--cpu-bind=verbose), for
steps with --cpus-per-task on a node allocated whole, and for whole lines. `zones` is null where the launcher refused.
"""

import json
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.render import render
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes.mpirun5 import machine_of

FOLDER = Path(__file__).parent / "recorded"
FILES = {
    "openmpi-4.1.4.jsonl": "openmpi4",
    "openmpi-4.1.4-lines.jsonl": "openmpi4",
    "openmpi-5.0.11.jsonl": "openmpi5",
    "openmpi-5.0.11-lines.jsonl": "openmpi5",
    "mpich-4.0.2.jsonl": "mpich",
    "mpich-5.0.2.jsonl": "mpich",
    "mpich-5.0.2-lines.jsonl": "mpich",
    "slurm-22.05.8.jsonl": "slurm",
}


def _cases(file):
    return [json.loads(line) for line in (FOLDER / file).read_text().splitlines()]


def _unlike(name, case, job):
    """What nodewise reads of a launcher's words, where that is not what was recorded: places, or the error's words; None where it is."""
    try:
        placement = resolve(machine_of(case["machine"]), job, Request(**{name: case["options"]})).placement
        found = [list(zone) for zone in placement.zones]
    except InputError as problem:
        return None if case["zones"] is None else str(problem)
    return None if found == case["zones"] else found


# hundreds of cases a file, each of which takes less than pytest needs for a test
@pytest.mark.some(4)
@pytest.mark.parametrize("file", FILES)
def test_ranks_are_bound_as_the_launcher_bound_them(file):
    cases = _cases(file)
    assert cases
    found = [(case, _unlike(FILES[file], case, Job(case.get("threads", 1), case["ranks"]))) for case in cases]
    assert [(case, unlike) for case, unlike in found if unlike is not None] == []


def test_a_line_for_srun_binds_tasks_as_srun_did():
    """Whole lines of Slurm 22.05.8, with and without --cpus-per-task, as its plugin bound their tasks on a node of that shape."""
    cases = _cases("slurm-22.05.8-lines.jsonl")
    found = [(case, _unlike("slurm", case, Job(1))) for case in cases]
    assert cases and [(case, unlike) for case, unlike in found if unlike is not None] == []


def test_a_line_for_mpich_binds_ranks_where_they_were_placed():
    """Lines of --to mpich, which the Hydra of MPICH 5.0.2 (PyPI mpich) was given, and what it bound to."""
    for case in (cases := _cases("mpich-5.0.2-written.jsonl")):
        machine = machine_of(case["machine"])
        placement = resolve(machine, Job(case["threads"], case["ranks"]), Request(**case["request"])).placement
        assert [list(zone) for zone in placement.zones] == case["zones"], case
        assert [w for w in render("mpich", machine, placement).words if not w.endswith(".sh")] == case["words"], case
    assert cases


def test_a_rank_file_for_open_mpi_5_binds_ranks_where_they_were_placed():
    """Lines and rank files of --to openmpi5 for machines of uneven cores, and what the mpirun of 5.0.11 made of them."""
    for case in (cases := _cases("openmpi-5.0.11-written.jsonl")):
        machine = machine_of(case["machine"])
        placement = resolve(machine, Job(case["threads"], case["ranks"]), Request(**case["request"])).placement
        assert [list(zone) for zone in placement.zones] == case["zones"], case
        written = render("openmpi5", machine, placement)
        assert [w for w in written.words if not w.endswith(".sh")] == case["words"], case
        assert written.files["rankfile"] == case["rankfile"], case
    assert cases
