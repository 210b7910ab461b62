# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise scale` as its user types it, on a program that says how long it would have taken."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command

PRETEND = """
import json, os, sys
n = int(os.environ.get("OMP_NUM_THREADS", "1"))
work = float(sys.argv[1]) if sys.argv[1:] else 1.0
# a little that differs from run to run, as times do
noise = 1 + (hash(str(os.getpid())) % 1000 / 1000 - 0.5) * 0.04
print(json.dumps({"nodewise": 1, "seconds": work * (0.5 + 9.5 / n) * noise}))
"""
MANY = ("--machine", "synthetic:package:1 core:16 pu:1", "--counts", "1..16*2", "--accept-disturbed")


@pytest.fixture
def program(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "pretend.py").write_text(PRETEND)
    return (sys.executable, "-S", "pretend.py")


def test_a_scaling_from_the_command_line_to_its_reports(
    nodewise_here: Command, tmp_path: Path, program: tuple[str, ...]
) -> None:
    words = ("--blocks", "6", "--to", "64", "--by", "23:59", "--times", "5", "--out", "x")
    done = nodewise_here("scale", *MANY, *words, "--json", "--", *program)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [p["count"] for p in found["points"]] == [1, 2, 4, 8, 16] and found["law"] is not None
    (far,) = found["predictions"]
    assert far["seconds"]["low"] * 0.9 <= 0.5 + 9.5 / 64 <= far["seconds"]["high"] * 1.1
    assert found["deadline"]["surely"]["count"] >= 1
    kept = nodewise_here("report", "x", "--text")
    lines = kept.stdout.splitlines()
    assert lines[0].split() == ["threads", "median", "MAD", "runs", "speedup", "ideal", "efficiency"]
    assert any(line.startswith("expected  64 threads: ") for line in lines)
    page = (tmp_path / "x/report.html").read_text()
    assert "figure-speedup" in page and "figure-efficiency" in page and "a + b / n" in page
    again = nodewise_here("scale", "--resume", "x", "--json")
    assert json.loads(again.stdout)["points"] == found["points"]
    hidden = nodewise_here("report", "x", "--anonymous", "--json", "--html", "hidden.html")
    assert hidden.returncode == 0, hidden.stderr
    assert "pretend.py" not in hidden.stdout + (tmp_path / "hidden.html").read_text()
    assert json.loads(hidden.stdout)["points"] == found["points"]


@pytest.mark.long
def test_weak_scaling_takes_the_number_from_the_command(nodewise_here: Command, program: tuple[str, ...]) -> None:
    done = nodewise_here("scale", *MANY, "--weak", "--blocks", "6", "--json", "--", *program, "{threads}")
    found = json.loads(done.stdout)
    assert found["weak"] and found["points"][-1]["efficiency"] == pytest.approx(10 / (0.5 * 16 + 9.5), rel=0.08)


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        ("", "there is no command to scale", "name it"),
        (
            "--to 8 --allow 0-1 --machine 'synthetic:core:4 pu:1' -- true",
            "--to needs a law, which is fitted to 5 or more numbers",
            "processors for 2",
        ),
        ("--times 10 -- true", "--times would do nothing", "for --by"),
        (
            "-- true {thread}",
            "nothing fills {thread} in '{thread}'; did you mean threads?",
            "{threads}, {ranks} or {nodes}",
        ),
        ("--counts 1,2 --machine 'synthetic:core:1 pu:1' -- true", "2 threads do not run at once here", "up to 1"),
        ("--counts 1,2 --budget 20s -- true", "nothing that nodewise sets changes the number of threads", "{threads}"),
    ],
)
def test_what_cannot_be_answered_is_one_message(nodewise_here: Command, words: str, said: str, hint: str) -> None:
    done = nodewise_here("scale", *shlex.split(words))
    assert "note:" not in done.stderr
    assert done.returncode == 2 and said in done.stderr and hint in done.stderr.partition("hint:")[2], done.stderr


def test_work_that_cannot_grow_with_the_number_is_said(nodewise_here: Command) -> None:
    words = ("--counts", "1,2", "--blocks", "6", "--", "sh", "-c", "sleep 0.01")
    said = "--weak: nothing in the command holds the number of threads"
    assert said in nodewise_here("scale", "--weak", *words).stderr
    assert said not in nodewise_here("scale", *words).stderr
