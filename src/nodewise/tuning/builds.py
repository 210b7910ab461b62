# SPDX-License-Identifier: BSD-3-Clause
"""Builds: a program made once for each set of flags, each kept in a place of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nodewise.base.errors import InputError, StoreError
from nodewise.base.masking import Masks
from nodewise.runner.commands import run_whole, will
from nodewise.runner.launch import quoted
from nodewise.tuning.custom import put_in

_KEPT = 2000


class Builder:
    """Makes a program by a shell command, and keeps what it made in `folder` by the command's text.

    A command with `{out}` in it is given the place to write the program. One without writes `program` as always: that file is
    then moved to its own place, and the one that was there before is put back.
    """

    def __init__(self, folder: Path, program: str, cwd: Path | None, environment: Mapping[str, str]):
        self._folder = folder
        self._program = program
        self._cwd = cwd or Path.cwd()
        self._environment = dict(environment)
        self._made: dict[str, tuple[Path, str]] = {}
        #: How the text of a build is kept along with what it made; secrets in it are not.
        self.written: Callable[[str], str] = Masks().masked

    def __call__(self, text: str) -> tuple[Path, str]:
        """The program's file, and why it could not be made with what was printed (empty where it was)."""
        if text not in self._made:
            try:
                self._made[text] = self._make(text)
            except OSError as problem:
                raise StoreError(
                    f"cannot keep what --build makes: {problem}", "make room, or choose --out"
                ) from problem
        return self._made[text]

    def _make(self, text: str) -> tuple[Path, str]:
        name = Path(self._program).name if self._program != "{out}" else "program"
        target = (self._folder / hashlib.sha256(os.fsencode(text)).hexdigest()[:12] / name).absolute()
        if target.exists():
            return target, ""
        target.parent.mkdir(parents=True, exist_ok=True)
        (target.parent / "command.txt").write_bytes(os.fsencode(self.written(text) + "\n"))
        if "{out}" in text:
            part = target.with_name(target.name + ".part")
            problem = self._run(put_in(text, {"out": quoted(str(part))}))
            if not problem and not part.is_file():
                problem = f"the build made no {name}: {text}"
            if not problem:
                part.replace(target)
            return target, problem
        return target, self._make_in_place(text, target)

    def _make_in_place(self, text: str, target: Path) -> str:
        program = Path(self._cwd, self._program).resolve()
        if "/" not in self._program and shutil.which(self._program):
            raise InputError(
                f"--build does not say which file it makes for {self._program}, which is found on PATH",
                "write the command with a path (./app), or {out} in both: --build 'cc {flags} -o {out} app.c' … -- {out}",
            )
        with _put_back(program, program.with_name(f".{program.name}.nodewise-kept")) as guard:
            problem = self._run(text, guard)
            if not problem and not program.is_file():
                problem = f"the build made no {self._program}: {text}"
            if not problem:
                part = target.with_name(target.name + ".part")
                shutil.copy2(program, part)
                part.replace(target)
        return problem

    def _run(self, text: str, guard: Callable[[str], None] = lambda _: None) -> str:
        build = run_whole(
            ["sh", "-c", text], begun=guard, cwd=self._cwd, env=self._environment, stderr=subprocess.STDOUT
        )
        if build.returncode == 0:
            return ""
        return f"the build failed with exit code {build.returncode}: {text}\n{build.stdout[-_KEPT:]}"


@contextmanager
def _put_back(program: Path, kept: Path) -> Iterator[Callable[[str], None]]:
    """Whatever is made of `program` inside, the file that was there before is there afterwards, also after a kill.

    Gives what names the guard the process group of a build, and `-` once it has ended. Where there was no file before
    there is nothing to keep.
    """
    if kept.exists():
        # of a guard that was killed, too
        kept.replace(program)
    if not program.exists():
        yield lambda _: None
        return
    part = kept.with_name(kept.name + ".part")
    shutil.copy2(program, part)
    part.replace(kept)
    with will('[ ! -e "$1" ] || mv -f -- "$1" "$2"', str(kept), str(program)) as follow:
        try:
            yield follow
        finally:
            kept.replace(program)
