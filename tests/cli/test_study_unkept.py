# SPDX-License-Identifier: BSD-3-Clause
"""A study whose answer finds no room: it is told all the same, and going on judges the same runs again."""

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Command

#: A nodewise whose disk is full exactly when the verdict is written.
FULL = """
import errno, os, sys
from nodewise.base.files import store_error
from nodewise.records import experiment
real = experiment.write_within
def full(folder, name, content):
    if name == "verdict.json":
        raise store_error(folder / name, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    return real(folder, name, content)
experiment.write_within = full
from nodewise.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
WORDS = ("study", "is", "--class", "S", "--blocks", "1", "--only", "counting,read", "--accept-disturbed")


def _full(folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", FULL, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=100
    )
    return done.returncode, done.stdout, done.stderr


def test_a_disk_that_is_full_at_the_very_end_costs_no_answer(nodewise_here: Command, tmp_path: Path) -> None:
    code, out, err = _full(tmp_path, *WORDS, "--out", "x")
    assert code == 2 and "counting" in out and "1 block in" in out
    assert "cannot write x/verdict.json: No space left on device" in err and "nodewise study --resume x" in err
    code, out, err = _full(tmp_path, *WORDS, "--json", "--out", "y")
    told = json.loads(out)
    assert code == 2 and told["report"] is None and "counting" in {row["contender"] for row in told["rows"]}
    samples = (tmp_path / "x/samples.jsonl").read_text().count('"type": "sample"')
    assert nodewise_here("study", "--resume", "x").returncode == 0
    assert (tmp_path / "x/verdict.json").is_file() and (tmp_path / "x/report.html").is_file()
    assert (tmp_path / "x/samples.jsonl").read_text().count('"type": "sample"') == samples
