# SPDX-License-Identifier: BSD-3-Clause
"""Isolation from the command line: run, compare, tune, place, and the line that is handed back."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.isolation.runtimes import needs
from tests.started import started

_BUSY = ("--accept-disturbed",)


def test_a_run_shows_what_lies_around_it(tmp_path: Path) -> None:
    needs("bwrap")
    told = started("run", "-r", "2", "--isolation", "bwrap", "--out", "r", *_BUSY, "--", "true", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "startup_s" in told.stdout and "teardown_s" in told.stdout
    line = (tmp_path / "r" / "samples.jsonl").read_text()
    assert '"isolation": {"kind": "bwrap"' in line or '"isolation":{"kind":"bwrap"' in line
    again = started("run", "--resume", "r", cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_start_up_may_be_what_decides(tmp_path: Path) -> None:
    needs("bwrap")
    words = ("run", "-r", "2", "--isolation", "bwrap", "--minimize", "startup_s", "--json", "--out", "r", *_BUSY)
    told = started(*words, "--", "true", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["metrics"]["startup_s"] > 0


def test_each_command_is_compared_in_each_kind(tmp_path: Path) -> None:
    needs("bwrap")
    kinds = ("--isolation", "process", "--isolation", "bwrap")
    told = started("compare", "-r", "3", *kinds, *_BUSY, "--json", "--out", "c", "true", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert [one["name"] for one in json.loads(told.stdout)["contenders"]] == ["true (process)", "true (bwrap)"]


def test_the_axis_is_tried_where_it_is_named_and_its_line_starts_it_so(tmp_path: Path) -> None:
    needs("bwrap")
    words = ("--axes", "isolation", "--isolation", f"bwrap,volume={tmp_path}", "--max-runs", "20", *_BUSY, "--out", "t")
    told = started("tune", *words, "--json", "--", "sh", "-c", "echo x", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    question = json.loads((tmp_path / "t" / "question.json").read_text())
    assert question["axes"] == {"isolation": ["process", f"bwrap,volume={tmp_path}"]}
    usual = started("tune", "--dry-run", "--", "true", cwd=tmp_path)
    assert "isolation" not in usual.stdout


def test_the_line_that_is_printed_isolates(tmp_path: Path) -> None:
    needs("bwrap")
    line = f"nodewise place --isolation bwrap,volume={tmp_path} -- sh -c 'echo $PPID > {tmp_path}/n; exit 5'"
    words = [sys.executable, "-m", *shlex.split(line)]
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 5, told.stderr
    # its parent is the first process inside
    assert int((tmp_path / "n").read_text()) < 10


def test_what_cannot_be_is_one_message(tmp_path: Path) -> None:
    for words, code, said in (
        (("run", "--isolation", "jail", "--", "true"), 2, "there is no kind of isolation 'jail'"),
        (("run", "--isolation", "bwrap", "--isolation", "runc", "--", "true"), 2, "given more than once"),
        (("place", "--isolation", "bwrap,x=1", "--", "true"), 2, "'x=1' is no option"),
        (("place", "compact", "--isolation", "bwrap"), 2, "--isolation"),
        (("run", "--isolation", "kata", "--", "true"), 3, "kata"),
        (
            ("tune", "--isolation", "bwrap", "--isolation", "process", "--max-runs", "9", "--", "true"),
            2,
            "several kinds",
        ),
    ):
        told = started(*words, cwd=tmp_path)
        assert told.returncode == code and said in told.stderr and "Traceback" not in told.stderr, (words, told)


@pytest.mark.parametrize("inside", [(), ("--isolation", "bwrap")])
def test_a_program_that_is_there_and_cannot_be_executed_is_told_why(inside: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "noexec").write_text("#!/bin/sh\n")
    (tmp_path / "noexec").chmod(0o644)
    (tmp_path / "folder").mkdir()
    for program, said in (
        ("./noexec", "./noexec is not executable"),
        ("./folder", "./folder is a directory"),
        ("./gone", "no such program: ./gone"),
    ):
        told = started("place", *inside, *(() if inside else ("compact",)), "--", program, cwd=tmp_path)
        assert told.returncode != 0 and said in told.stderr and "Traceback" not in told.stderr, (program, told)
