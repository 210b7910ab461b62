# SPDX-License-Identifier: BSD-3-Clause
"""The commit of a working directory, by real git."""

import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.api.refs import Checkout
from nodewise.records.commit import commit_of, of_checkout

needs_git = pytest.mark.skipif(not shutil.which("git"), reason="no git")


def _git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=trunk")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (made := tmp_path / "solver").mkdir()
    _git(made, "init", "-q")
    (made / "a.c").write_text("1\n")
    _git(made, "add", ".")
    _git(made, "commit", "-qm", "first")
    return made


@needs_git
def test_the_commit_and_whether_files_differ_from_it(repository: Path) -> None:
    found = commit_of(repository)
    assert found is not None
    assert (found.hash, found.changed) == (_git(repository, "rev-parse", "HEAD"), False)
    assert (found.branch, found.repository) == ("trunk", "solver")
    # what git does not know changes nothing that was built of it
    (repository / "result.txt").write_text("new")
    assert commit_of(repository).changed is False
    (repository / "a.c").write_text("2\n")
    assert commit_of(repository).changed is True


@needs_git
def test_what_changed_in_a_submodule_is_no_change_of_its_own(repository: Path, tmp_path: Path) -> None:
    _git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "part")
    _git(repository, "commit", "-qm", "with a part")
    (repository / "part/a.c").write_text("3\n")
    found = commit_of(repository)
    assert found is not None and found.changed is False


@needs_git
def test_a_worktree_is_of_the_same_repository(repository: Path, tmp_path: Path) -> None:
    _git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "elsewhere"))
    found = commit_of(tmp_path / "elsewhere")
    assert found is not None
    assert (found.repository, found.branch) == ("solver", "")


@needs_git
def test_a_program_that_the_repository_names_is_not_started(repository: Path) -> None:
    (repository / "spy").write_text("#!/bin/sh\ntouch spied\n")
    (repository / "spy").chmod(0o755)
    _git(repository, "config", "core.fsmonitor", str(repository / "spy"))
    assert commit_of(repository) is not None
    assert not (repository / "spied").exists()


@needs_git
def test_it_is_found_from_below_from_outside_and_without_files(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "a/b").mkdir(parents=True)
    _git(tmp_path, "clone", "-q", "--bare", "solver", "bare.git")
    for folder in (repository / "a/b", tmp_path / "bare.git"):
        found = commit_of(folder)
        assert found is not None and found.hash == _git(repository, "rev-parse", "HEAD")
    (tmp_path / "other").mkdir()
    assert commit_of(tmp_path / "other") is None
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    assert commit_of(tmp_path / "other") is not None


def test_without_any_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commit_of(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(Path(__file__).parent) is None


def test_a_folder_above_that_may_not_be_looked_into_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refused)
    assert commit_of(tmp_path) is None


@pytest.mark.parametrize("inside", ["", "part", "my part"])
@pytest.mark.parametrize("cache", ["/home/me/.cache/nodewise", "/my cache"])
@pytest.mark.parametrize("text", ["./bench 3", "sh -c 'a; b'", "./a | ./b", "cd x && ./c"])
def test_a_command_in_a_checkout_is_read_back(cache: str, inside: str, text: str) -> None:
    folder = Path(cache) / "refs" / "0123456789ab" / "c0ffee123456-89abcdef" / "tree" / inside
    assert of_checkout(Checkout("HEAD", "c0ffee123456" + "0" * 28, folder).command(text)) == (text, "c0ffee123456")
    assert of_checkout(text) == (text, "")
    other = f"env --chdir=/x/tree {text}"
    assert of_checkout(other) == (other, "")
