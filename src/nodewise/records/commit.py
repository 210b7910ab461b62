# SPDX-License-Identifier: BSD-3-Clause
"""The git commit of a working directory."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

from nodewise.base.frozen import dataclass

#: How long is waited for git: a first look at a large tree takes its time, and an experiment is to begin.
_LIMIT_S = 3.0
#: Nothing is written to the repository, and no program that its configuration names is started.
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
#: A command as `api.refs.Checkout` starts it in the folder of a commit that was checked out for it.
_IN_CHECKOUT = re.compile(
    r"(?:env --chdir=|cd )(?:'[^']*|\S*)/refs/[0-9a-f]{12}/(?P<commit>[0-9a-f]{12})-[0-9a-f]{8}/tree(?:/[^']*'|/\S*|'?)"
    r"(?: && \{ (?P<shell>.*)\n\}| (?P<plain>.*))",
    re.DOTALL,
)


@dataclass(frozen=True)
class Commit:
    """A commit by its `hash`; `changed`: files differed from it (None: that took too long to see).

    `branch` is empty where none was checked out; `repository` is the name of the folder with all of its worktrees' history.
    """

    hash: str
    changed: bool | None
    branch: str
    repository: str


def short_hash(commit: str) -> str:
    """As much of a commit's hash as is shown."""
    return commit[:8]


def of_checkout(command: str) -> tuple[str, str]:
    """A command without the folder of `compare --git` that it runs in, and the beginning of that one's commit; of any other the command and
    nothing."""
    found = _IN_CHECKOUT.fullmatch(command)
    return (found["shell"] or found["plain"] or "", found["commit"]) if found else (command, "")


def in_commit(command: str, commit: str) -> str:
    """A command as it is called where it ran in another commit than the working directory's."""
    return f"{command} (commit {commit})"


def commit_named(name: str) -> str:
    """The beginning of the commit that `in_commit` put into a name; empty where there is none."""
    found = re.search(r" \(commit ([0-9a-f]{12})\)$", name)
    return found[1] if found else ""


def commit_of(folder: Path) -> Commit | None:
    """The commit that is checked out in a folder; None where there is none, or no git."""
    if not _may_be_one(folder):
        return None
    found = _git(folder, "rev-parse", "HEAD", "--git-common-dir", "--abbrev-ref", "HEAD")
    lines = (found or "").splitlines()
    if len(lines) != 3:
        return None
    shared = (folder / lines[1]).resolve()
    name = shared.parent.name if shared.name == ".git" else shared.name.removesuffix(".git")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules")
    return Commit(lines[0], None if changes is None else bool(changes), "" if lines[2] == "HEAD" else lines[2], name)


def _may_be_one(folder: Path) -> bool:
    """Whether git would find a repository from here, as far as names tell: to start it takes longer than to look."""
    if "GIT_DIR" in os.environ:
        return True
    with suppress(OSError):
        whole = folder.absolute()
        return any((p / ".git").exists() or (p / "objects").is_dir() for p in (whole, *whole.parents))
    # one above may not be looked into: git knows better
    return True


def _git(folder: Path, *words: str) -> str | None:
    """What git prints; None where it fails, is not there or takes too long."""
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [*_GIT, *words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout.decode(errors="replace")
    return None
