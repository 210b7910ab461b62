# SPDX-License-Identifier: BSD-3-Clause
"""--show, --cost and --minimize on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    """The command line, in this process."""
    return nodewise_here


def test_a_comparison_shows_what_was_asked_for(nodewise: Command, tmp_path: Path) -> None:
    words = ("compare", "sleep 0.01", "sleep 0.02", "-r", "6", "--show", "context_switches:max", "--cost", "3.2EUR/h")
    done = nodewise(*words, "--out", "x")
    assert done.returncode == 0, done.stderr
    heads = done.stdout.splitlines()[0].split()
    assert heads[-4:] == ["cost", "MAD", "context_switches", "MAD"]
    assert done.stdout.splitlines()[1].count(" EUR") == 2
    verdict = json.loads(nodewise("report", "x", "--json").stdout)
    assert verdict["shown"] == ["cost", "context_switches"]
    assert verdict["pareto"]["cost"] == ["sleep 0.01"]
    row = verdict["contenders"][0]
    assert row["metrics"]["cost"]["median"] == pytest.approx(3.2 / 3600 * row["median"])
    page = (tmp_path / "x" / "report.html").read_text()
    assert "<th>context_switches</th>" in page


def test_the_best_of_a_comparison_may_be_the_cheapest(nodewise: Command) -> None:
    done = nodewise("compare", "sleep 0.01", "sleep 0.05", "--minimize", "cost", "--cost", "1$/h", "-r", "20")
    assert done.returncode == 0, done.stderr
    assert "compared  cost, less is better" in done.stdout
    assert " $ " in done.stdout


def test_a_tune_shows_what_was_asked_for(nodewise: Command, pretend: Callable[[str], str]) -> None:
    program = pretend("100 / (threads * slowest)")
    where = ("--machine", "synthetic:core:61 pu:4", "--axes", "threads,placement", "--max-runs", "60")
    done = nodewise(
        "tune", *where, "--show", "peak_bytes", "--cost", "3/h", "--cost-per-core", "--out", "x", "--", program
    )
    assert done.returncode == 0, done.stderr
    assert "shown     cost: baseline " in done.stdout
    assert "shown     peak_bytes: baseline " in done.stdout and "MiB" in done.stdout
    verdict = json.loads(nodewise("report", "x", "--json").stdout)
    assert verdict["pareto"].keys() >= {"cost", "peak_bytes"}


def test_a_run_reports_its_cost(nodewise: Command) -> None:
    done = nodewise("run", "--runs", "3", "--cost", "0.4 CHF/h", "--show", "minor_faults", "--", "true")
    assert done.returncode == 0, done.stderr
    assert "CHF, MAD" in done.stdout and "minor_faults " in done.stdout


@pytest.mark.parametrize("command", ["tune", "compare", "run"])
def test_energy_that_cannot_be_read_is_one_message_with_the_file(
    nodewise: Command, command: str, tmp_path: Path
) -> None:
    words = {"compare": ["true", "true x"], "tune": ["--", "true"], "run": ["--", "true"]}[command]
    done = nodewise(command, "--minimize", "energy_j", *words)
    if done.returncode == 0:
        pytest.skip("energy can be read here")
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1
    assert "energy_j cannot be measured: /sys/class/powercap" in done.stderr and "hint:" in done.stderr
    assert not list(tmp_path.glob("nodewise-experiments/*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--show", "wings"], "reports no wings"),
        (["--show", "cost"], "what a run costs is not known"),
        (["--minimize", "cost"], "what a run costs is not known"),
        (["--cost-per-core"], "--cost-per-core says how --cost is meant"),
        (["--cost", "cheap"], "not a price for an hour: 'cheap'"),
    ],
)
def test_what_cannot_be_shown_is_reported_at_once(nodewise: Command, words: list[str], said: str) -> None:
    done = nodewise("compare", *words, "true", "sleep 0")
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("kind", ["run", "compare", "tune"])
def test_what_a_program_reports_in_vain_is_one_note(nodewise: Command, tmp_path: Path, kind: str) -> None:
    (tmp_path / "p").write_text('#!/bin/sh\nprintf \'result: {"nodewise": 1, "seconds": 3}\\n\'\n')
    (tmp_path / "p").chmod(0o755)
    words = {
        "run": ["-r", "3", "-w", "0", "--", "./p"],
        "compare": ["-r", "6", "./p", "sleep 0.01"],
        "tune": ["--max-runs", "20", "--axes", "", "-P", "t=1,2", "--", "./p", "{t}"],
    }[kind]
    done = nodewise(kind, "--out", "x", *words)
    assert done.returncode == 0, done.stderr
    notes = [line for line in (done.stdout + done.stderr).splitlines() if "a line was not read" in line]
    assert len(notes) == 1 and 'text stands before {"nodewise": on it: result: {"nodewise": 1' in notes[0]
    page = (tmp_path / "x/report.html").read_text()
    assert "a line was not read" in page


@pytest.mark.parametrize("kind", ["compare", "tune"])
def test_a_metric_that_decides_nothing_is_said_to(kind: str, nodewise: Command) -> None:
    words = [kind, "--metric", "mass=mass: ([0-9.]+)", "--max-runs", "20", "--accept-disturbed", "--out", kind]
    command = ["--", "echo", "mass: 3"] if kind == "tune" else ["echo mass: 3", "echo mass: 4"]
    done = nodewise(*words, *command)
    said = "mass is read and does not decide, seconds does: --maximize mass or --minimize mass lets it decide"
    assert said in done.stdout, done.stdout + done.stderr
    again = nodewise(*words[:-1], f"{kind}-2", "--maximize", "mass", *command)
    assert "does not decide" not in again.stdout
