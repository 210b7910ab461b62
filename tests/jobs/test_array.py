# SPDX-License-Identifier: BSD-3-Clause
"""Arrays: as many tunes as were asked for, each in its own folder, by stand-ins and by a real Slurm."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nodewise.api.fleet import ask_fleet
from nodewise.api.submit import submit_array
from nodewise.base.errors import InputError
from nodewise.cli.job_options import without
from nodewise.jobs.submission import Array, array_text, job_text, read_array, task_folder
from tests.slurm_cluster import slurm_cluster

PROGRAM = """#!/bin/sh
printf '{"nodewise": 1, "seconds": 1.%04d}\\n' $(( (NODEWISE_RUN * 7919) % 101 + 100 * $1 ))
"""


@pytest.mark.parametrize(("text", "array"), [("8", Array(8)), ("8%2", Array(8, 2)), ("1", Array(1))])
def test_an_array_is_read_and_written(text: str, array: Array) -> None:
    assert read_array(text) == array and array.option == f"--array=1-{text}"


@pytest.mark.parametrize("text", ["0", "", "8%", "8%0", "-1", "1-4", "٣", "1000000", "8%2%1"])
def test_what_is_no_array_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no number of tasks"):
        read_array(text)


@pytest.mark.parametrize("name", ["plain", "a b", "it's", "$x"])
def test_each_task_has_its_own_folder_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    own = task_folder(tmp_path / name)
    text = array_text(job_text(own, name, str(tmp_path), ("printf", "%s", str(own)), ("false",)))
    task_folder(tmp_path / name, 3).mkdir(parents=True)
    done = subprocess.run(
        ["sh"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={"SLURM_ARRAY_TASK_ID": "3", "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout == str(tmp_path / name / "task-3"), done.stderr


def test_options_of_the_array_are_left_out_of_its_tasks() -> None:
    words = [
        "tune",
        "--out",
        "x",
        "--array=4%2",
        "--submit=time=1",
        "--seed",
        "3",
        "--array",
        "4",
        "--submit",
        "--out=y",
    ]
    assert without(words, ("--array", "--out"), ("--submit",)) == ["tune", "--seed", "3"]


def test_a_folder_with_experiments_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x/task-1").mkdir(parents=True)
    (tmp_path / "x/task-1/question.json").write_text("{}")
    with pytest.raises(InputError, match="holds experiments already"):
        submit_array(tmp_path / "x", lambda own: ("tune", "--out", str(own)), (), "", Array(2))


def test_a_real_slurm_runs_every_task_and_no_more_at_once_than_asked_for(tmp_path: Path) -> None:
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "program").chmod(0o755)
    words = (
        "--accept-disturbed",
        "--max-runs",
        "24",
        "--axes",
        "n",
        "-P",
        "n=4,1",
        "--submit",
        "--array",
        "3%2",
        "--out",
        "x",
    )
    with slurm_cluster() as cluster:
        done = cluster.ask(sys.executable, "-m", "nodewise", "tune", *words, "--", "./program", "{n}", cwd=tmp_path)
        assert done.returncode == 0 and "an array of 3 tunes, at most 2 at once" in done.stdout, done.stderr
        most, end = 0, time.monotonic() + 90
        while states := cluster.ask("squeue", "-h", "-r", "-o", "%T").stdout.split():
            most = max(most, sum(s in ("RUNNING", "COMPLETING") for s in states))
            logs = [p.read_text() for p in tmp_path.glob("x/*/job.log")]
            assert time.monotonic() < end, (states, logs)
            time.sleep(0.1)
    verdicts = [json.loads((tmp_path / f"x/task-{i}/verdict.json").read_text()) for i in (1, 2, 3)]
    assert len(verdicts) == 3 and 1 <= most <= 2
    fleet = ask_fleet([tmp_path / "x"], 0.01)
    assert len(fleet.nodes) == 3 and fleet.tables
