# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise submit` and `suite run --on slurm`: any experiment as a job, by stand-ins for Slurm's commands and by a real Slurm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodewise.api.fleet import ask_fleet
from nodewise.jobs.submission import LOG
from nodewise.records.experiment import read_experiment
from tests.jobs.test_submission import every_run_once, here, nodewise
from tests.slurm_cluster import SlurmCluster, slurm_cluster

__all__ = ["here"]
SUITE = '[defaults]\nruns = 6\nwarmup = 0\n[command.a]\nrun = "./program 4"\n[command.b]\nrun = "./program 1"\n'
COMPARE = ("compare", "--accept-disturbed", "-r", "40", "./program 4", "./program 1")


def _job(folder: Path, task: int | None = None) -> subprocess.CompletedProcess[str]:
    own = {} if task is None else {"SLURM_ARRAY_TASK_ID": str(task)}
    environment = {**os.environ, "SLURM_JOB_ID": "7", **own}
    return subprocess.run(
        ["sh", "job.sh"], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=200
    )


@pytest.mark.long
def test_a_comparison_is_a_job_that_goes_on_where_it_was(here: Path) -> None:
    exports = ("--export-csv", "rows.csv", "--fail-if-slower", "5%")
    done = nodewise(here, "submit", "--sbatch", "time=5", COMPARE[0], "--out", "kept", *exports, *COMPARE[1:])
    assert done.returncode == 0 and "job       7, one for the whole compare" in done.stdout, done.stderr
    assert (here / "sbatch").read_text().splitlines() == ["--parsable", f"--output={here}/kept/{LOG}", "--time=5"]
    job = subprocess.Popen(["sh", "job.sh"], env={**os.environ, "SLURM_JOB_ID": "7"}, stdout=-3, stderr=-3)
    samples = here / "kept/samples.jsonl"
    while not samples.exists() or samples.stat().st_size < 800:
        assert job.poll() is None
        time.sleep(0.005)
    job.send_signal(signal.SIGUSR1)
    job.wait(timeout=60)
    assert (here / "requeued").read_text() == "requeue 7\n"
    assert "--export-csv=rows.csv" in (here / "job.sh").read_text().partition("question.json")[2].partition("else")[0]
    before = samples.read_bytes()
    again = _job(here)
    assert again.returncode == 0, again.stderr
    assert samples.read_bytes().startswith(before) and (here / "rows.csv").exists()
    every_run_once(here / "kept")
    assert json.loads((here / "kept/verdict.json").read_text())["stopped"] == "runs"


def test_each_task_of_an_array_is_an_experiment_of_its_own(here: Path) -> None:
    done = nodewise(here, "submit", "--array", "2%1", "run", "--out", "kept", "--runs", "3", "--", "./program", "--out")
    assert "an array of 2 times run, at most 1 at once" in done.stdout, done.stderr
    assert "--array=1-2%1" in (here / "sbatch").read_text()
    for task in (1, 2):
        ended = _job(here, task)
        assert ended.returncode == 0, ended.stderr
        question = read_experiment(here / f"kept/task-{task}").question
        # what follows -- is the program's
        assert " ".join(question["command"]) == "./program --out"
    assert nodewise(here, "submit", "run", "--out", "kept", "--", "true").returncode == 2
    for words, said in (
        ((), "no experiment is named that"),
        (("tun", "--", "true"), "tun does not become a job; did you mean tune?"),
    ):
        assert said in nodewise(here, "submit", *words).stderr


@pytest.mark.long
def test_a_suite_is_an_array_by_on_slurm_and_by_submit(here: Path) -> None:
    (here / "nodewise.toml").write_text(SUITE)
    words = ("suite", "run", "--accept-disturbed")
    done = nodewise(here, *words, "--out", "kept", "--on", "slurm", "--array", "2")
    assert "an array of 2 runs of the suite, as many at once as there is room for" in done.stdout, done.stderr
    for task in (1, 2):
        ended = _job(here, task)
        assert ended.returncode == 0, ended.stderr
        for name in "ab":
            assert len(read_experiment(here / f"kept/task-{task}/{name}").records) == 6
    # the nodes side by side, one command of the suite
    assert ask_fleet([here / "kept/task-1/a", here / "kept/task-2/a"], 0.01).nodes
    assert nodewise(here, *words, "--out", "kept", "--on", "slurm", "--array", "2").returncode == 2
    by_submit = nodewise(here, "submit", *words, "--out", "other")
    assert by_submit.returncode == 0 and "one for the whole suite run" in by_submit.stdout, by_submit.stderr
    assert _job(here).returncode == 0 and (here / "other/b/verdict.json").exists()


def test_what_is_in_a_folder_goes_on_as_a_job(here: Path) -> None:
    assert nodewise(here, *COMPARE[:1], "--out", "kept", "--max-runs", "6", *COMPARE[4:]).returncode == 0
    done = nodewise(here, "submit", "--resume", "kept")
    assert done.returncode == 0 and "which goes on with the compare in kept" in done.stdout, done.stderr
    assert f"compare --resume {here}/kept" in (here / "job.sh").read_text()
    assert nodewise(here, "submit", "--resume", "none").returncode == 2


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "no experiment is named that becomes a job"),
        (["place", "compact"], "place does not become a job"),
        (["suite", "list"], "suite list does not become a job"),
        (["tune", "--budgte", "3s", "--", "true"], "--budgte"),
        (["tune", "--submit", "--", "true"], "--submit of tune cannot be a job's"),
        (["compare", "--resume", "x", "true", "true"], "--resume of compare cannot be a job's"),
        (["tune"], "there is no command to tune"),
        (["tune", "--max-runs", "14", "--", "true"], "14 runs are too few for a verdict"),
        (["run"], "there is no command to run"),
        (["scale"], "there is no command to scale"),
        (["run", "--", "./nope"], "no such program: ./nope"),
        (["tune", "--", "OMP_NUM_THREADS=2", "no-such-program"], "no such program on PATH: no-such-program"),
        (["compare", "true", "./nope 3"], "no such program: ./nope"),
        (["study", "no-such-study"], "no-such-study"),
        (["--array", "0", "run", "--", "true"], "no number of tasks"),
        (["--sbatch", "partition long", "run", "--", "true"], "no options of sbatch"),
        (["--resume", "x", "run"], "run would do nothing"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_a_job_is_said_before_one_is_handed_in(words: list[str], what: str, here: Path) -> None:
    done = nodewise(here, "submit", *words)
    assert done.returncode == 2 and what in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (here / "sbatch").exists()


def test_a_program_that_a_build_makes_need_not_be_there_yet(here: Path) -> None:
    done = nodewise(here, "submit", "tune", "--build", "cp program made", "--max-runs", "20", "--", "./made")
    assert done.returncode == 0, done.stderr
    assert nodewise(here, "tune", "--submit", "--", "./nope").returncode == 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    with slurm_cluster() as started:
        yield started


@pytest.mark.long
def test_a_real_slurm_runs_a_suite_on_several_nodes(cluster: SlurmCluster, tmp_path: Path) -> None:
    (tmp_path / "nodewise.toml").write_text('[command.nap]\nrun = "sleep 0.02"\nruns = 6\n')
    words = ("suite", "run", "--accept-disturbed", "--out", "kept", "--on", "slurm", "--array", "3%2")
    done = cluster.ask(sys.executable, "-m", "nodewise", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folders = [tmp_path / f"kept/task-{task}/nap" for task in (1, 2, 3)]
    end = time.monotonic() + 300
    while not all((folder / "verdict.json").exists() for folder in folders):
        assert time.monotonic() < end
        time.sleep(0.5)
    assert all(len(read_experiment(folder).records) >= 6 for folder in folders)
