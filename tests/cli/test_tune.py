# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise tune` from outside, as its users type it."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

#: What keeps this machine busy is of no account where seconds are a formula.
KNC = ("--accept-disturbed", "--machine", "synthetic:core:61 pu:4")
SORT = "100 / (threads * slowest * (1 + 0.08 * near)) + 0.0005 * threads"


@pytest.mark.long
def test_the_published_best_of_the_many_core_sort_is_found(nodewise: Command, pretend: Callable[[str], str]) -> None:
    done = nodewise("tune", *KNC, "--max-runs", "250", "--out", "x", "--json", "--", pretend(SORT))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["best"]["threads"] == 183
    assert result["best"]["placement"] == "balanced"
    assert result["verdict"] == "faster"
    assert 1 < result["low"] < result["ratio"] < result["high"]
    assert set(result) >= {
        "best",
        "baseline",
        "ratio",
        "low",
        "high",
        "verdict",
        "runs",
        "seconds_spent",
        "axes",
        "experiment",
    }
    assert set(result["best"]) >= {"env", "command", "placement", "threads"}
    assert set(result["axes"]) == {"threads", "placement", "hugepages"}
    assert result["runs"] <= 250
    assert Path(result["report"]).is_absolute() or result["report"].startswith("x/")


@pytest.mark.long
def test_where_nothing_matters_no_difference_is_found(nodewise: Command, pretend: Callable[[str], str]) -> None:
    done = nodewise("tune", *KNC, "--max-runs", "150", "--json", "--", pretend("2.0"))
    assert json.loads(done.stdout)["verdict"] == "no difference"


def test_people_get_the_answer_in_words(nodewise: Command, pretend: Callable[[str], str], tmp_path: Path) -> None:
    done = nodewise("tune", *KNC, "--max-runs", "150", "--out", "x", "--", pretend(SORT))
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line and line[0].isalpha()}
    assert lines.keys() >= {"program", "axes", "baseline", "best", "ratio", "gain", "launch", "report"}
    assert "95% interval" in lines["ratio"] and "faster" in lines["ratio"]
    assert "OMP_NUM_THREADS=183" in lines["launch"]
    assert (tmp_path / lines["report"].split()[1]).exists()
    assert "leader" in done.stderr


def test_on_this_machine_a_real_program_is_bound_and_timed(nodewise: Command, tmp_path: Path) -> None:
    code = "import os; os.sched_getaffinity(0); sum(range(300000))"
    done = nodewise("tune", "--max-runs", "40", "--out", "x", "--json", "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "x/samples.jsonl").read_text().splitlines()]
    masks = [r["mask"] for r in records if r["type"] == "setting"]
    assert any(m is not None and set(m) <= os.sched_getaffinity(0) for m in masks)


def test_only_named_axes_are_tried(nodewise: Command, pretend: Callable[[str], str]) -> None:
    done = nodewise("tune", *KNC, "--axes", "placement", "--max-runs", "60", "--json", "--", pretend(SORT))
    result = json.loads(done.stdout)
    assert set(result["axes"]) == {"placement"}
    assert all(set(s["values"]) <= {"placement"} for s in result["settings"])


def test_a_study_is_tuned_like_any_program(nodewise: Command) -> None:
    done = nodewise("tune", "--max-runs", "30", "--json", "study:is", "class=S")
    assert done.returncode == 0, done.stderr
    # which counter is best is decided among other tests, where either may be
    *_, knob, counter = json.loads(done.stdout)["best"]["command"]
    assert knob == "class=S" and counter in ("counter=8", "counter=16")


def test_ctrl_c_ends_with_the_best_so_far(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "nodewise",
        "tune",
        "--budget",
        "60s",
        "--out",
        "x",
        "--json",
        "--",
        "sleep",
        "0.1",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    samples = tmp_path / "x/samples.jsonl"
    while not samples.exists() or len(samples.read_text().splitlines()) < 12:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    result = json.loads(out)
    assert result["stopped"] == "interrupted"
    assert result["best"]["command"] == ["sleep", "0.1"]
    assert (tmp_path / "x/report.html").exists()


def _fails(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert any(line.startswith("error: ") for line in done.stderr.splitlines())
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error:") == 1
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--", "nonexistent-program"), ("no such program", "nonexistent-program")),
        (("--", "./plain.txt"), ("is not a program", "name the program first")),
        (("--", "false"), ("exit code 1",)),
        (("--", "sh", "-c", "echo out of bounds; exit 7"), ("exit code 7", "out of bounds")),
        (("--expect", "converged", "--", "echo", "diverged"), ("wrong result", "converged")),
        (("--", "sh", "-c", 'echo \'{"nodewise": 1, "seconds": 1, "verified": false}\''), ("wrong result",)),
        (("--metric", "seconds=time: (.*)", "--", "echo", "time: fast"), ("no number",)),
        (("--axes", "threads,colour", "--", "true"), ("colour", "placement")),
        (("--budget", "soon", "--", "true"), ("duration",)),
        (("--budget", "0s", "--", "true"), ("above zero",)),
        (("--max-runs", "3", "--", "true"), ("too few",)),
        (("--budget", "1s", "--", "sleep", "0.4"), ("too small", "--budget")),
        (("--within", "lots", "--", "true"), ("not a share",)),
        (("--machine", "synthetic:wings:2", "--", "true"), ("wings",)),
        (("--machine", "broken.xml", "--", "true"), ("broken.xml",)),
        (("--machine", "missing.xml", "--", "true"), ("missing.xml",)),
        (("--allow", "9999", "--", "true"), ("9999",)),
        (("--cwd", "gone", "--", "true"), ("no such directory",)),
        (("--input", "gone", "--", "true"), ("gone",)),
        (("--timeout", "100ms", "--", "sleep", "5"), ("cut off",)),
        (("--limit", "WINGS=1", "--", "true"), ("WINGS",)),
        (("--env", "novalue", "--", "true"), ("novalue",)),
        (("study:none-such",), ("none-such", "is")),
        (("study:is", "class=Z"), ("class",)),
        (("study:is", "wings=2"), ("wings",)),
        ((), ("no program to run",)),
    ],
    ids=lambda v: " ".join(v)[:40] if isinstance(v, tuple) else "",
)
def test_bad_input_is_one_clear_message(
    nodewise: Command, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (tmp_path / "plain.txt").write_text("no program\n")
    (tmp_path / "broken.xml").write_text("<topology><object")
    _fails(nodewise("tune", *arguments), *words)
    assert not (tmp_path / "nodewise-experiments").exists() or not list((tmp_path / "nodewise-experiments").iterdir())


def test_an_unwritable_directory_is_one_clear_message(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _fails(nodewise("tune", "--out", "file/x", "--", "true"), "file/x", "--out")
    _fails(nodewise("tune", "--out", "/proc/x", "--", "true"), "/proc/x")


def test_a_full_disk_is_one_clear_message_and_the_samples_stay(nodewise: Command, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, before[1]))
    try:
        done = nodewise("tune", "--max-runs", "400", "--out", "x", "--", "true")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    _fails(done, "cannot write", "x/samples.jsonl")
    lines = (tmp_path / "x/samples.jsonl").read_text().splitlines()
    assert len(lines) > 5
    assert all(json.loads(line) for line in lines)


def test_a_directory_that_holds_an_experiment_is_not_overwritten(nodewise: Command) -> None:
    first = nodewise("tune", "--max-runs", "20", "--out", "x", "--json", "--", "true")
    assert first.returncode == 0
    _fails(nodewise("tune", "--out", "x", "--", "true"), "holds an experiment already")


@pytest.mark.parametrize("wrong", [("--axes", "nonsense"), ("--max-runs", "3")])
def test_what_was_asked_wrongly_is_said_alone(nodewise: Command, wrong: tuple[str, ...]) -> None:
    done = nodewise("tune", *wrong, "--", "true")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("error: ")
