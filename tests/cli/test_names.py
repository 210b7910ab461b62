# SPDX-License-Identifier: BSD-3-Clause
"""Names that hold what a terminal acts upon, such as line ends: each is shown in one line, escaped, wherever it stands."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

HOSTILE = "ra\nlaunch    rm\tx\u202e"
SHOWN = r"ra\x0alaunch    rm\x09x\u202e"
_SAYS = """#!/bin/sh
printf '%s\\n' '{"nodewise": 1, "seconds": 0.01, "ra\\nlaunch    rm\\tx\\u202e": 5}'
"""


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    """The command line, in this process."""
    return nodewise_here


def _one_line_each(text: str) -> list[str]:
    assert not any(c in text for c in "\t\u202e\x1b")
    lines = text.splitlines()
    assert not any(line.startswith("launch    rm") for line in lines)
    return lines


def test_a_metric_of_the_program(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "says").write_text(_SAYS)
    (tmp_path / "says").chmod(0o755)
    done = nodewise("run", "-r", "3", "--out", "x", "--maximize", HOSTILE, "--", "./says")
    assert done.returncode == 0, done.stderr
    assert any(line.startswith(SHOWN) for line in _one_line_each(done.stdout))
    assert SHOWN in json.loads(nodewise("report", "x", "--json").stdout)["shown"] or SHOWN in done.stdout
    rows = list(csv.reader(io.StringIO(nodewise("report", "x", "--csv", "-").stdout)))
    assert f"metrics.{SHOWN}" in rows[0] and len({len(row) for row in rows}) == 1


def test_commands_and_metrics_that_users_name(nodewise: Command, tmp_path: Path) -> None:
    names = ("-n", f"one{HOSTILE}", "-n", "two\rline\x0b")
    metric = ("--metric", f"{HOSTILE}=rate ([0-9.]+)", "--metric", f"o{HOSTILE}=rate ([0-9.]+)", "--show", HOSTILE)
    done = nodewise("compare", "-r", "6", "--out", "x", *names, *metric, "echo rate 3", "echo rate 4")
    assert done.returncode == 0, done.stderr
    lines = _one_line_each(done.stdout)
    assert SHOWN in lines[0] and lines[1].startswith(f"one{SHOWN} ") and lines[2].startswith(r"two\x0dline\x0b ")
    assert any(f"o{SHOWN} is read and does not decide" in line for line in lines)
    told = json.loads(nodewise("report", "x", "--json").stdout)
    assert [c["name"] for c in told["contenders"]] == [f"one{SHOWN}", r"two\x0dline\x0b"]
    assert told["shown"] == [SHOWN]
    rows = list(csv.reader(io.StringIO(nodewise("report", "x", "--csv", "-").stdout)))
    assert {row[0] for row in rows[1:]} == {f"one{SHOWN}", r"two\x0dline\x0b"}
    page = (tmp_path / "x/report.html").read_text()
    assert f"<th>{SHOWN}</th>" in page
    # going on finds the same commands
    assert nodewise("compare", "--resume", "x", "--max-runs", "7").returncode == 0


def test_values_of_parameters(nodewise: Command) -> None:
    asked = ("-P", "x=a\tb,c\nd")
    done = nodewise("compare", "-r", "6", "--out", "x", *asked, "echo '{x}'")
    assert done.returncode == 0, done.stderr
    lines = _one_line_each(done.stdout)
    assert lines[1].startswith(r"x=a\x09b ") and lines[2].startswith(r"x=c\x0ad ")
    done = nodewise("tune", "--dry-run", "--axes", "", *asked, "--", "echo", "{x}")
    assert r"try       x: a\x09b (now), c\x0ad" in done.stdout.splitlines()


def test_a_record_whose_names_were_made_hostile(nodewise: Command, tmp_path: Path) -> None:
    assert nodewise("compare", "-r", "6", "--out", "x", "-n", "first", "true", "true").returncode == 0
    for name in ("samples.jsonl", "question.json", "verdict.json"):
        path = tmp_path / "x" / name
        path.write_text(path.read_text().replace('"first"', json.dumps(HOSTILE)))
    said = nodewise("report", "x", "--text")
    assert said.returncode == 0 and any(line.startswith(SHOWN) for line in _one_line_each(said.stdout)), said
