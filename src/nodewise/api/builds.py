# SPDX-License-Identifier: BSD-3-Clause
"""Builds: a program made once for each set of flags, each kept in a place of its own."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.search.custom import put_in

_KEPT = 2000


class Builder:
    """Makes a program by a shell command, and keeps what it made in `folder` by the command's text.

    A command with `{out}` in it is told where to write the program. One without writes `program` as always: that file is
    then moved to its own place, and the one that was there before is put back.
    """

    def __init__(self, folder: Path, program: str, cwd: Path | None, environment: Mapping[str, str]):
        self._folder = folder
        self._program = program
        self._cwd = cwd or Path.cwd()
        self._environment = dict(environment)
        self._made: dict[str, tuple[Path, str]] = {}

    def __call__(self, text: str) -> tuple[Path, str]:
        """The program's file, and why it could not be made with what was printed (empty where it was)."""
        if text not in self._made:
            self._made[text] = self._make(text)
        return self._made[text]

    def _make(self, text: str) -> tuple[Path, str]:
        name = Path(self._program).name if self._program != "{out}" else "program"
        target = (self._folder / hashlib.sha256(text.encode()).hexdigest()[:12] / name).absolute()
        if target.exists():
            return target, ""
        target.parent.mkdir(parents=True, exist_ok=True)
        (target.parent / "command.txt").write_text(text + "\n")
        if "{out}" in text:
            part = target.with_name(target.name + ".part")
            problem = self._run(put_in(text, {"out": str(part)}))
            if not problem and not part.is_file():
                problem = f"the build made no {name}: {text}"
            if not problem:
                part.replace(target)
            return target, problem
        return target, self._make_in_place(text, target)

    def _make_in_place(self, text: str, target: Path) -> str:
        program = Path(self._cwd, self._program)
        if "/" not in self._program and shutil.which(self._program):
            raise InputError(
                f"--build cannot tell which file it makes for {self._program}, which is found on PATH",
                "write the command with a path (./app), or {out} in both: --build 'cc {flags} -o {out} app.c' … -- {out}",
            )
        kept = target.with_name(target.name + ".kept")
        if program.exists():
            shutil.copy2(program, kept)
        try:
            problem = self._run(text)
            if not problem and not program.is_file():
                problem = f"the build made no {self._program}: {text}"
            if not problem:
                shutil.copy2(program, target)
        finally:
            if kept.exists():
                kept.replace(program)
        return problem

    def _run(self, text: str) -> str:
        done = subprocess.run(
            ["sh", "-c", text],
            cwd=self._cwd,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == 0:
            return ""
        return f"the build failed with exit code {done.returncode}: {text}\n{done.stdout[-_KEPT:]}"
