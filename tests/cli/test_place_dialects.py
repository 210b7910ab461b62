# SPDX-License-Identifier: BSD-3-Clause
"""Dialects that a package outside brings, used by `nodewise place` and `where` as those of the house: docs' own examples."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.outside import examples, nodewise_with, package
from tests.started import installed

GROUP = ("nodewise.dialects", "DIALECT")
TWO = ["--machine", "synthetic:pack:2 core:4 pu:2"]
#: Stands for a dialect in a test of what cannot be loaded.
HEAD = "from nodewise.placement.dialect import Dialect, Outcome, Text, ThreadReader\nfrom nodewise.placement.rendering import Rendering\n"


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    found = examples("adding-a-dialect.md")
    assert sorted(found) == ["blist.py", "flux.py"]
    return package(tmp_path_factory.mktemp("outside"), found, *GROUP)


@pytest.fixture(scope="module")
def asked(outside):
    """The command line where they are installed."""
    with installed(outside) as nodewise:
        yield nodewise


def places(asked, *words):
    done = asked("place", *words, *TWO, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_its_options_stand_in_the_help(asked):
    done = asked("place", "--help")
    assert done.returncode == 0, done.stderr
    assert re.search(r"--blist TEXT +MP_BLIST, such as 3,2,1,0\.", done.stdout)
    assert re.search(r"--flux TEXT +Options of flux run", done.stdout)
    listed = " ".join(done.stdout.split())
    assert "blist, gomp, kmp" in listed and "aprun, flux, mpich" in listed


def test_it_is_read_and_written_in_others(asked):
    assert places(asked, "--blist", "3,2,1,0", "--threads", "4")["places"] == [[3], [2], [1], [0]]
    # as many threads as the list has processors
    assert places(asked, "--blist", "5,1")["threads"] == 2
    found = places(asked, "--blist", "5", "--threads", "2")
    assert found["notes"] == ["the list has 1 processors for 2 threads: it starts over"]
    done = asked("place", "--blist", "3,2", "--to", "likwid", *TWO)
    assert done.stdout == "likwid-pin -c 3,2 PROGRAM\n"


def test_it_is_written_or_refused_with_the_reason(asked):
    done = asked("place", "scatter", "--threads", "4", "--to", "blist", *TWO)
    assert done.stdout == "OMP_NUM_THREADS=4 MP_BIND=yes MP_BLIST=0,8,2,10 PROGRAM\n", done.stderr
    done = asked("place", "--places", "cores", "--threads", "2", "--to", "blist", *TWO)
    assert done.returncode == 2 and "MP_BLIST cannot express this placement" in done.stderr
    done = asked("place", "compact", "--to", "klingon", *TWO)
    assert "known are: blist, gomp" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--blist", "3,x"], "MP_BLIST='3,x', column 3: expected a processor's number"),
        (["--blist", "99"], "processor 99 is not there"),
        (["--blist", "1", "--places", "cores"], "threads are bound twice: by blist and by places"),
        (["--flux", "-n 2", "--slurm", "-n 2"], "two launchers are named: flux and slurm"),
        (["--flux", "-n 2 -o verbose"], "only -o cpu-affinity=map:LIST is modelled"),
        (["compact", "--compare", "colour=red"], "names are affinity, aprun, bind, blist, flux"),
    ],
)
def test_what_is_wrong_is_one_message(asked, words, message):
    done = asked("place", *words, *TWO)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_it_is_explained_compared_and_its_traps_are_named(asked):
    done = asked("place", "--blist", "0,1", "--explain", "--compare", "blist=0,8", *TWO)
    assert "MP_BLIST=0,1: each thread is bound to its processor of the list." in done.stdout
    assert "elsewhere: threads 1" in done.stdout or "elsewhere: thread 1" in done.stdout, done.stdout
    assert "MP_BLIST is set" not in done.stderr
    allowed = str(min(os.sched_getaffinity(0)))
    done = asked("place", "--blist", allowed, MP_BLIST="9")
    assert "warning: MP_BLIST is set, and MP_BIND is not; set MP_BIND=yes" in done.stderr
    done = asked("place", "--blist", allowed, MP_BLIST="9,", MP_BIND="yes")
    assert "warning: a runtime ignores MP_BLIST='9,', column 3" in done.stderr
    done = asked("place", "--flux", "-n 2 -o cpu-affinity=map:0;1", "--taskset", "-c 0", *TWO)
    assert "taskset replaces the mask of every rank: what flux bound it to is lost" in done.stderr


def test_its_variable_is_cleared_where_another_binds(asked):
    allowed = str(min(os.sched_getaffinity(0)))
    show = "import os; print(os.environ.get('MP_BLIST'), os.environ.get('OMP_PLACES'))"
    done = asked("place", "--likwid", allowed, "--", sys.executable, "-c", show, MP_BLIST="7")
    assert done.stdout == f"None {{{allowed}}}\n", done.stderr


def test_where_holds_threads_against_its_variable(outside, asked, tmp_path):
    one = str(max(os.sched_getaffinity(0)))
    work = "import time\nend = time.time() + 0.4\nwhile time.time() < end: pass"
    program = ("--", sys.executable, "-c", work)
    given = {"MP_BLIST": one, "FLUX_TASK_RANK": "3"}
    words = ("where", "--json", *program)
    done = nodewise_with(outside, *words, before=("taskset", "-c", one), **given)
    assert f"Threads were where they were asked to be by MP_BLIST={one}" in done.stderr, done.stderr
    seen = json.loads(done.stdout)
    assert seen["agrees"] is True and seen["processes"][0]["rank"] == 3
    assert seen["processes"][0]["environment"]["MP_BLIST"] == one
    if len(os.sched_getaffinity(0)) > 1:
        done = asked("where", *program, **given)
        assert f"Threads were NOT where they were asked to be by MP_BLIST={one}" in done.stderr, done.stderr


def test_a_launcher_gives_zones_and_is_written(asked):
    found = places(
        asked, "--flux", "-n 2 -o cpu-affinity=map:0-3;8-11", "--threads", "2", "--places", "cores", "--bind", "close"
    )
    assert found["zones"] == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert found["places"] == [[0, 1], [2, 3], [8, 9], [10, 11]]
    done = asked("place", "compact", "--ranks", "4", "--nodes", "2", "--threads", "2", "--to", "flux", *TWO)
    assert "flux run --nodes=2 --ntasks=4 -o 'cpu-affinity=map:0-7;8-15' PROGRAM" in done.stdout, done.stdout
    done = asked("place", "compact", "--ranks", "2", "--threads", "2", "--to", "omp", *TWO)
    assert "FLUX_TASK_LOCAL_ID" in done.stdout
    done = asked("place", "--slurm", "-m cyclic", "--ranks", "4", "--nodes", "2", "--to", "flux", *TWO)
    assert done.returncode == 2 and "ranks are numbered by cyclic" in done.stderr


def test_a_rank_finds_its_number_by_the_launchers_variable(asked):
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("one processor")
    show = "import os; print(min(os.sched_getaffinity(0)))"
    words = ("place", "compact", "--ranks", "2", "--threads", "1", "--", sys.executable, "-c", show)
    seen = {asked(*words, FLUX_TASK_LOCAL_ID=r, SLURM_LOCALID="0").stdout for r in ("0", "1")}
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "the dialect 'odd' of the package more-dialects 1.0 cannot be loaded: ZeroDivisionError"),
        ("DIALECT = 7", "is no Dialect: 7"),
        (HEAD + "DIALECT = Dialect(name='odd', texts=(Text('odd', ''),))", "odd must have one reader"),
        (
            HEAD + "DIALECT = Dialect(name='odd', texts=(Text('memory', ''),), threads=ThreadReader(lambda *a: None))",
            "brings the option --memory, which `nodewise place` has already",
        ),
        (
            HEAD + "DIALECT = Dialect(name='odd', texts=(Text('to', ''),), threads=ThreadReader(lambda *a: None))",
            "brings the option --to, which `nodewise place` has already",
        ),
    ],
)
def test_what_cannot_be_used_is_one_message(tmp_path, text, message):
    done = nodewise_with(package(tmp_path, {"odd.py": text}, *GROUP), "place", "--places", "cores", *TWO)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_command_of_the_launcher_starts_ranks(outside):
    ask = "from nodewise.tuning.ranks import read_ranked; r = read_ranked('flux run -N 1 -n 2 ./app x'.split()); print(r.ranks, r.program, r.command(3))"
    env = {**os.environ, "PYTHONPATH": str(outside)}
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "2 ('./app', 'x') ['flux', 'run', '-N', '1', '-n', '3', './app', 'x']\n"
