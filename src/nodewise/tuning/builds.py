# SPDX-License-Identifier: BSD-3-Clause
"""Builds: a program made once for each set of flags, each kept in a place of its own."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nodewise.base.errors import InputError, StoreError
from nodewise.base.masking import Masks
from nodewise.base.units import format_seconds
from nodewise.runner.commands import will
from nodewise.runner.launch import quoted
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.tuning.custom import put_in

_KEPT = 2000
#: Waits until nothing is left of a build, whose guard's number is $3, for some seconds at most; then the file is put back.
_PUT_BACK = """n=0
while kill -0 "$3" 2>/dev/null && [ "$n" -lt 100 ]; do n=$((n+1)); sleep 0.05; done
[ ! -e "$1" ] || mv -f -- "$1" "$2"
"""


class Builder:
    """Makes a program by a shell command, and keeps what it made in `folder` by the command's text.

    A command with `{out}` in it is given the place to write the program. One without writes `program` as always: that file is
    then moved to its own place, and the one that was there before is put back.
    """

    def __init__(self, folder: Path, program: str, cwd: str | None, environment: Mapping[str, str]):
        self._folder = folder
        self._program = program
        self._cwd = Path(cwd or Path.cwd())
        self._environment = dict(environment)
        self._made: dict[str, tuple[Path, str]] = {}
        #: How the text of a build is kept along with what it made; secrets in it are not.
        self.written: Callable[[str], str] = Masks().masked
        #: How many seconds the next build may take; infinite where nothing limits it.
        self.allowed_s: Callable[[], float] = lambda: math.inf

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
            with self._launcher() as launcher:
                problem = self._run(put_in(text, {"out": quoted(str(part))}), launcher)
            if not problem and not part.is_file():
                problem = f"the build made no {name}: {text}"
            if not problem:
                part.replace(target)
            return target, problem
        return target, self._make_in_place(text, target)

    def _make_in_place(self, text: str, target: Path) -> str:
        try:
            program = Path(self._cwd, self._program).resolve()
        except (OSError, RuntimeError) as circle:
            # links that lead in a circle are a RuntimeError before Python 3.13
            raise InputError(
                f"--build: {self._program} cannot be followed: {circle}", "name the file that it makes"
            ) from circle
        if "/" not in self._program and shutil.which(self._program):
            raise InputError(
                f"--build does not say which file it makes for {self._program}, which is found on PATH",
                "write the command with a path (./app), or {out} in both: --build 'cc {flags} -o {out} app.c' … -- {out}",
            )
        with self._launcher() as launcher, _put_back(program, launcher):
            problem = self._run(text, launcher)
            if not problem and not program.is_file():
                problem = f"the build made no {self._program}: {text}"
            if not problem:
                part = target.with_name(target.name + ".part")
                shutil.copy2(program, part)
                part.replace(target)
        return problem

    def _launcher(self) -> LocalLauncher:
        return LocalLauncher(RunOptions(cwd=self._cwd), self._environment)

    def _run(self, text: str, launcher: LocalLauncher) -> str:
        """Why the build failed, with the end of what it printed; empty where it did not. Nothing of it is left running."""
        limit = self.allowed_s()
        if limit <= 0:
            return f"the build was not begun, since the budget had ended: {text}"
        # one stream, so that messages stay in order
        ended = launcher.carry_out(
            ("/bin/sh", "-c", 'exec 2>&1; exec sh -c "$1"', "sh", text), None if math.isinf(limit) else limit
        )
        if ended.exit_code == 0 and not ended.timed_out:
            return ""
        printed = f"\n{ended.output[-_KEPT:]}"
        if ended.timed_out:
            return (
                f"the build was stopped after {format_seconds(limit)}, where the budget ended "
                f"(a larger --budget lets it go on): {text}{printed}"
            )
        if ended.signal:
            return f"the build was killed by signal {ended.signal}: {text}{printed}"
        return f"the build failed with exit code {ended.exit_code}: {text}{printed}"


@contextmanager
def _put_back(program: Path, launcher: LocalLauncher) -> Iterator[None]:
    """Whatever `launcher` makes of `program` inside, the file that was there before is there afterwards, also after a kill.

    Where there was no file before there is nothing to keep.
    """
    kept = program.with_name(f".{program.name}.nodewise-kept")
    if kept.exists():
        # of a guard that was killed, too
        kept.replace(program)
    if not program.exists():
        yield
        return
    part = kept.with_name(kept.name + ".part")
    shutil.copy2(program, part)
    part.replace(kept)
    with will(_PUT_BACK, str(kept), str(program), str(launcher.process)):
        try:
            yield
        finally:
            # nothing is to write the file any more
            launcher.close()
            kept.replace(program)
