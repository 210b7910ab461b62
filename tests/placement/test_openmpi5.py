# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5 compared with Open MPI 4: what it does otherwise, refuses, and reads of what is written for it.

Its recorded answers are in test_launchers.
"""

import json
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job, share_zones
from nodewise.placement.openmpi5 import read_openmpi5, write_openmpi5
from tests.placement.runtimes import mpirun5

RECORDED = Path(__file__).parent / "recorded" / "openmpi-5.0.11.jsonl"
CASES = [json.loads(line) for line in RECORDED.read_text().splitlines()]
SMT = "pack:2 numa:1 core:8 pu:2(indexes=" + ",".join(f"{i},{i + 16}" for i in range(16)) + ")"
CORE = [(i, i + 16) for i in range(16)]


@cache
def synthetic(text):
    return load_machine(f"synthetic:{text}")


def test_the_record_has_what_matters():
    """Refusals and answers, partial and overfull machines, uneven ones, each way to map and to bind."""
    assert len(CASES) >= 200
    assert 100 <= sum(case["zones"] is not None for case in CASES) < len(CASES) - 100
    for word in ("ppr:", "PE=", "SPAN", "OVERSUBSCRIBE", "HWTCPUS", "--rank-by", "overload-allowed", "--bind-to none"):
        assert any(word in case["options"] for case in CASES), word
    assert any(case["machine"].startswith("uneven:6 fast") for case in CASES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # filled object by object, where Open MPI 4 goes round them
        ("--map-by package --bind-to core", [CORE[0], CORE[1], CORE[8], CORE[9]]),
        ("--map-by package --bind-to core --rank-by slot", [CORE[0], CORE[8], CORE[1], CORE[9]]),
        ("--map-by package:SPAN --bind-to core", [CORE[0], CORE[8], CORE[1], CORE[9]]),
        ("--map-by package:PE=2", [(0, 1, 16, 17), (2, 3, 18, 19), (8, 9, 24, 25), (10, 11, 26, 27)]),
        # nothing said: by core, where Open MPI 4 takes NUMA nodes
        ("", CORE[:4]),
        ("--bind-to package", [(*range(8), *range(16, 24))] * 2 + [(*range(8, 16), *range(24, 32))] * 2),
    ],
)
def test_what_open_mpi_5_does_otherwise(text, expected):
    assert list(read_openmpi5(synthetic(SMT), text, Job(1, 4))[0].zones) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--map-by core --bind-to package", "which is smaller"),
        ("--map-by core:PE=2", "which has one processor"),
        ("--map-by package:PE=2 --bind-to numa", "binds to processors"),
        ("--rank-by core", "no --rank-by 'core'"),
        ("--map-by node --rank-by fill", "mapped by node"),
        ("--bind-to hwthread", "room for 0"),
        ("--map-by board", "'board' is not known"),
        ("--map-by rankfile:file=x", "rankfile bears on placement, and what it does is not modelled"),
        ("--map-by core -N 4", "ppr:4:node"),
        ("--map-by core:OVERSUBSCRIBE:NOOVERSUBSCRIBE", "contradict"),
    ],
)
def test_what_open_mpi_5_refuses(text, message):
    with pytest.raises(InputError, match=message):
        read_openmpi5(synthetic(SMT), text, Job(1, 4))


def _placements(count):
    """Machines and zones of a node's ranks: shares, whole cores and single threads at random, some of them shared."""
    dice = random.Random("openmpi5")
    for _ in range(count):
        text = mpirun5.question(dice)[0]
        machine = mpirun5.machine_of(text)
        ranks = dice.choice((1, 2, 3, 4, 6))
        cores = [core.pus for core in machine.cores]
        kind = dice.choice(("share", "cores", "threads"))
        if kind == "share":
            zones = share_zones(machine, ranks)
        elif kind == "cores":
            zones = [
                tuple(sorted(sum(dice.sample(cores, dice.randint(1, min(3, len(cores)))), ()))) for _ in range(ranks)
            ]
        else:
            pus = machine.pus
            zones = [tuple(sorted(dice.sample(pus, dice.randint(1, min(3, len(pus)))))) for _ in range(ranks)]
        yield text, Job(1, ranks).floating("any", zones)


@pytest.fixture
def mpirun(tmp_path):
    """The mpirun of Open MPI 5 where it is on PATH."""
    path = shutil.which("mpirun")
    reported = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout if path else ""
    if "(Open MPI) 5." not in reported:
        pytest.skip("the mpirun of Open MPI 5 is not installed here")
    return mpirun5.Asked(path, tmp_path)


def test_what_is_written_for_mpirun_5_it_reads_as_meant(mpirun):
    for text, placement in _placements(60):
        said = write_openmpi5(mpirun5.machine_of(text), placement)
        for name, content in said.files.items():
            (mpirun.folder / name).write_text(content)
        everything = list(range(len(mpirun5.machine_of(text).pus)))
        zones, words = mpirun.zones(text, said.words[3:], placement.size)
        assert zones is not None, words
        assert [zone or everything for zone in zones] == [list(zone) for zone in placement.zones], said.line()


def test_rank_files_of_open_mpi_5_say_when_ranks_share_processors():
    machine = synthetic("pack:1 core:2 pu:2")
    said = write_openmpi5(machine, Job(1, 2).floating("any", [(0, 1), (0, 1, 2, 3)]))
    assert said.line() == "mpirun -n 2 --map-by rankfile:file=rankfile --bind-to core:overload-allowed PROGRAM"
    assert said.files["rankfile"] == "rank 0=localhost slot=0\nrank 1=localhost slot=0-1\n"
    said = write_openmpi5(machine, Job(1, 2).floating("any", [(1,), (2, 3)]))
    assert said.line() == "mpirun -n 2 --use-hwthread-cpus --map-by rankfile:file=rankfile PROGRAM"
    assert said.files["rankfile"] == "rank 0=localhost slot=1\nrank 1=localhost slot=2-3\n"


def test_several_nodes_get_no_option_that_mpirun_5_refuses():
    machine = synthetic("pack:2 core:4 pu:1")
    placement = Job(1, 8, 2).floating("any", [(0, 1), (2, 3), (4, 5), (6, 7)])
    words = write_openmpi5(machine, placement).words
    assert words == ("mpirun", "-n", "8", "--map-by", "ppr:4:node:PE=2", "--bind-to", "core")
