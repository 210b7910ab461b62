# SPDX-License-Identifier: BSD-3-Clause
"""Commits of one repository, each checked out and built in a folder of its own, so that they can be run beside each other.

The folders are clones that share the repository's objects: it is left as it is, and learns nothing of them. They are kept
below NODEWISE_CACHE or ~/.cache by commit and build, so that a commit is built once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from nodewise.base.errors import InputError, StoreError, UnavailableError
from nodewise.base.files import make_directory
from nodewise.base.frozen import dataclass
from nodewise.experiments.contenders import needs_shell
from nodewise.runner.launch import quoted
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher

#: How many builds of a repository are kept; the one that was used the longest ago goes first.
_KEPT = 12
#: What stands beside a checkout once it is built.
_BUILT = "built"
_SHOWN = 2000


@dataclass(frozen=True)
class Checkout:
    """A commit as `name` was typed for it, and the directory in it that answers to the one that it was asked for in."""

    name: str
    commit: str
    folder: Path

    def command(self, text: str) -> str:
        """A command, as for a shell, in that directory; `records.commit.of_checkout` reads it back."""
        into = quoted(str(self.folder))
        return f"cd {into} && {{ {text}\n}}" if needs_shell(text) else f"env --chdir={into} {text}"


def check_out(names: Sequence[str], build: str | None, cwd: Path) -> list[Checkout]:
    """Commits of the repository that `cwd` is in, each checked out and built there by a shell command.

    Raises InputError for what is no commit, for equal ones, and where a build fails, UnavailableError where there is no git.
    """
    if shutil.which("git") is None:
        raise UnavailableError("there is no git here, which has the commits to compare", "apt-get install git")
    top = Path(_git(cwd, "rev-parse", "--show-toplevel") or "")
    if not top.is_absolute():
        raise InputError(f"{cwd} is in no git repository", "begin in the repository whose commits are to be compared")
    inside = _git(cwd, "rev-parse", "--show-prefix") or ""
    commits = {name: _commit(cwd, name) for name in names}
    if len({*commits.values()}) < len(names):
        raise InputError(f"{' and '.join(names)} are the same commit, {names and commits[names[0]][:12]}")
    place = _cache() / hashlib.sha256(os.fsencode(top)).hexdigest()[:12]
    found = []
    for name, commit in commits.items():
        folder = place / f"{commit[:12]}-{hashlib.sha256(os.fsencode(build or '')).hexdigest()[:8]}"
        _make(folder, top, commit, inside, build, name)
        found.append(Checkout(name, commit, folder / "tree" / inside))
    _forget_old(place, {c.folder for c in found})
    return found


def _cache() -> Path:
    return Path(os.environ.get("NODEWISE_CACHE") or Path.home() / ".cache" / "nodewise") / "refs"


def _git(cwd: Path, *words: str) -> str | None:
    """What git prints, without its last line end; None where it fails."""
    done = subprocess.run(["git", "-C", str(cwd), *words], capture_output=True, text=True, check=False)
    return done.stdout.removesuffix("\n") if done.returncode == 0 else None


def _commit(cwd: Path, name: str) -> str:
    found = _git(cwd, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not found:
        raise InputError(f"--git: there is no commit {name!r} in this repository", "name a branch, a tag or a commit")
    return found


def _make(folder: Path, top: Path, commit: str, inside: str, build: str | None, name: str) -> None:
    if (folder / _BUILT).exists():
        (folder / _BUILT).touch()
        return
    shutil.rmtree(folder, ignore_errors=True)
    make_directory(folder)
    tree = folder / "tree"
    for words in (
        ("clone", "--quiet", "--shared", "--no-checkout", "--", str(top), str(tree)),
        ("-C", str(tree), "checkout", "--quiet", "--detach", commit),
        ("-C", str(tree), "submodule", "--quiet", "update", "--init", "--recursive"),
    ):
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError(f"git cannot check out {name}: {done.stderr.strip()[-_SHOWN:]}")
    where = tree / inside
    if not where.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        raise InputError(f"{name} has no directory {inside}", "begin where both commits have what is to be run")
    if build is not None:
        _build(folder, where, build, name)
    try:
        (folder / _BUILT).touch()
    except OSError as problem:
        raise StoreError(f"cannot keep the build of {name}: {problem}", "make room in ~/.cache") from problem


def _build(folder: Path, where: Path, build: str, name: str) -> None:
    with LocalLauncher(RunOptions(cwd=where), os.environ) as launcher:
        ended = launcher.carry_out(("/bin/sh", "-c", 'exec 2>&1; exec sh -c "$1"', "sh", build))
    if ended.exit_code != 0:
        shutil.rmtree(folder, ignore_errors=True)
        how = f"was killed by signal {ended.signal}" if ended.signal else f"failed with exit code {ended.exit_code}"
        raise InputError(f"the build of {name} {how}: {build}\n{ended.output[-_SHOWN:].rstrip()}")


def _forget_old(place: Path, used: set[Path]) -> None:
    """Keep the builds that were used last."""
    mine = {folder for folder in place.iterdir() if not any(path.is_relative_to(folder) for path in used)}
    built = sorted(mine, key=lambda f: (f / _BUILT).stat().st_mtime if (f / _BUILT).exists() else 0.0)
    for folder in built[: max(0, len(mine) + len(used) - _KEPT)]:
        shutil.rmtree(folder, ignore_errors=True)
