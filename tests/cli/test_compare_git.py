# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise compare --git`: two commits of a repository, checked out and built apart."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@pytest.fixture
def nodewise(nodewise_here: Command, tmp_path: Path) -> Command:
    """The command line, in this process and the repository's folder part/."""
    return lambda *words: nodewise_here(*words, cwd=tmp_path / "my repository" / "part")


def git(folder: Path, *words: str) -> str:
    own = {
        **os.environ,
        **{f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, env=own)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of two commits, which say in a file `ran` which of them ran; what they run is made of template.sh, in a folder part/."""
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "my repository"
    (folder / "part").mkdir(parents=True)
    git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
    for tag in ("old", "new"):
        text = f"#!/bin/sh\necho {tag} >> '{tmp_path}/ran'\n[ -z \"$1\" ] || echo $1\n"
        (folder / "part" / "template.sh").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", tag)
        git(folder, "tag", tag)
    return folder


BUILD = "echo x >> ../../builds; cp template.sh bench && chmod +x bench"


def test_two_commits_are_built_and_compared(nodewise: Command, repository: Path, tmp_path: Path) -> None:
    asked = ("compare", "--git", "old", "HEAD", "--build", BUILD, "-r", "6", "--json", "--accept-disturbed")
    done = nodewise(*asked, "--out", str(tmp_path / "kept"), "--", "./bench", "it's here")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["name"] for row in found["contenders"]] == ["old", "HEAD"]
    assert found["contenders"][1]["against_reference"]["ratio"] > 0
    ran = (tmp_path / "ran").read_text().split()
    assert ran.count("old") == ran.count("new") >= 6
    assert f"old is {git(repository, 'rev-parse', 'old')[:12]}" in done.stderr
    # what is here is as it was, and knows of nothing
    assert git(repository, "status", "--porcelain") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert not (repository / "part" / "bench").exists()


def test_a_commit_is_built_once_for_a_build(nodewise: Command, repository: Path, tmp_path: Path) -> None:
    counted = f"echo x >> '{tmp_path}/builds'; cp template.sh bench && chmod +x bench"
    for _ in range(2):
        asked = ("compare", "--git", "old", "new", "--build", counted, "-r", "1", "-w", "0", "--", "./bench")
        assert nodewise(*asked).returncode == 0
    assert (tmp_path / "builds").read_text() == "x\nx\n"


def test_the_shells_syntax_works_there(nodewise: Command, repository: Path) -> None:
    asked = ("compare", "--git", "old", "new", "--build", BUILD, "-r", "1", "-w", "0", "./bench a | grep a")
    assert nodewise(*asked).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--git", "old", "none", "./bench"), "there is no commit 'none' in this repository"),
        (("--git", "new", "HEAD", "./bench"), "new and HEAD are the same commit"),
        (("--git", "HEAD", "HEAD", "./bench"), "HEAD and HEAD are the same commit"),
        (("--git", "old", "new"), "--git compares one COMMAND in two commits"),
        (("--git", "old", "new", "-n", "one", "./bench"), "--git gives two commands their names"),
        (
            ("--git", "old", "new", "--build", "echo no compiler; false", "./bench"),
            "the build of old failed with exit code 1",
        ),
        (("--build", "make", "a", "b"), "--build would do nothing"),
        (("--git", "old", "--output=x", "./bench"), "there is no commit '--output=x'"),
    ],
)
def test_what_cannot_be_compared_is_said(
    nodewise: Command, repository: Path, words: tuple[str, ...], told: str
) -> None:
    done = nodewise("compare", *words)
    assert done.returncode == 2, done.stderr
    assert told in " ".join(done.stderr.split())


def test_what_nobody_built_is_said_to_be_missing(nodewise: Command, repository: Path) -> None:
    done = nodewise("compare", "--git", "old", "new", "--", "./no-such-bench")
    assert done.returncode == 2 and "--build COMMAND makes the rest in each commit" in done.stderr
    assert "--accept-codes" not in done.stderr


def test_a_build_that_fails_leaves_nothing(nodewise: Command, repository: Path, tmp_path: Path) -> None:
    done = nodewise("compare", "--git", "old", "new", "--build", "echo the reason; exit 3", "./bench")
    assert "the reason" in done.stderr
    assert not list((tmp_path / "cache").rglob("tree"))


def test_outside_of_a_repository_it_says_so(
    nodewise_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    done = nodewise_here("compare", "--git", "a", "b", "./bench")
    assert done.returncode == 2 and "is in no git repository" in " ".join(done.stderr.split())


def test_in_history_the_working_directorys_commit_is_the_program_and_another_has_its_name(
    nodewise: Command, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODEWISE_HISTORY", str(tmp_path / "h.sqlite"))
    asked = ("compare", "--git", "old", "HEAD", "--build", BUILD, "-r", "6", "--accept-disturbed")
    assert nodewise(*asked, "--out", str(tmp_path / "kept"), "--", "./bench").returncode == 0
    found = json.loads(nodewise("history", "bench", "--json").stdout)
    old = git(repository, "rev-parse", "old")[:12]
    assert sorted(trend["name"] for trend in found["trends"]) == ["./bench", f"./bench (commit {old})"]
    commits = {trend["name"]: trend["points"][0]["commit"] for trend in found["trends"]}
    assert commits == {"./bench": git(repository, "rev-parse", "HEAD").strip(), f"./bench (commit {old})": old}
