# SPDX-License-Identifier: BSD-3-Clause
"""py-spy, which sees the functions of a Python that cannot name them to perf: how a program is recorded, and what was."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import ProgramError
from nodewise.base.frozen import dataclass
from nodewise.profile.samples import Frame, Life, Recorded, Taken

#: What is said to have been sampled.
EVENT = "py-spy"
_MOST_BYTES = 1 << 30
#: py-spy ends with its own code and not the program's, so a shell below it keeps that; what py-spy says is kept apart from what the program does.
_BELOW = 'kept=$0; "$@" >&4 2>&3 3>&- 4>&-; printf %s $? >"$kept"'
_ABOVE = f"""
f=$0; spy=$1; rate=$2; shift 2
"$spy" record --format speedscope --full-filenames --subprocesses --rate "$rate" --output "$f" -- sh -c '{_BELOW}' "$f.code" "$@" 3>&2 4>&1 >"$f.said" 2>&1
code=$?
[ ! -s "$f.code" ] || code=$(cat "$f.code")
rm -f "$f.code"
exit "$code"
"""
_THREAD = re.compile(r"(?:Process (?P<pid>\d+) )?Thread (?P<tid>\d+)(?: \"(?P<name>.*)\")?$")


@dataclass(frozen=True)
class PySpy:
    """How a Python program is recorded: by which py-spy, into which file, how often in a second."""

    path: str
    into: Path
    rate: int

    @property
    def version(self) -> str:
        """What it says of itself, such as `py-spy 0.4.3`."""
        try:
            return subprocess.run(
                [self.path, "--version"], capture_output=True, text=True, check=False, timeout=10
            ).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            return EVENT

    def words(self, command: Sequence[str]) -> list[str]:
        """The command that records `command`; the program's exit code is its own."""
        return ["sh", "-c", _ABOVE.strip(), str(self.into), self.path, str(self.rate), *command]


def read_spied(path: Path) -> Recorded:
    """What py-spy recorded. Times are counted from each thread's first sample, without those in which it waited. Raises ProgramError."""
    try:
        data: Any = parse_json(read_bounded(path, _MOST_BYTES))
    except OSError as problem:
        raise ProgramError(f"{path} cannot be read: {problem.strerror}", "profile again") from problem
    except ValueError as problem:
        raise ProgramError(f"{path} is damaged: {problem}", "profile again") from problem
    try:
        return _spied(data)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as problem:
        raise ProgramError(f"{path} is damaged, or not what py-spy writes", "profile again") from problem


def _spied(data: Any) -> Recorded:
    """The recording that speedscope's format describes. Raises the errors of what is not there, or of another type."""
    frames = [
        Frame(_text(f["name"]), _text(f.get("file") or ""), int(f.get("line") or 0)) for f in data["shared"]["frames"]
    ]
    found = Recorded(event=EVENT)
    for profile in data["profiles"]:
        match = _THREAD.match(profile["name"])
        tid = int(match["tid"]) if match else len(found.threads)
        key = (int(match["pid"]) if match and match["pid"] else tid, tid)
        time = 0.0
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            if not weight >= 0:
                raise ValueError(weight)
            time += weight
            # outermost are processes, which have no file
            chain = tuple(frames[i] for i in reversed(stack) if frames[i].object)
            found.samples.append(Taken(*key, time, chain))
        found.threads[key] = Life((match["name"] if match else "") or "python", 0.0, time)
    found.samples.sort(key=lambda one: one.time)
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def lines_as_recorded(file: str, lines: Sequence[int]) -> dict[int, tuple[str, int]]:
    """The place of each line of a file: py-spy's frames have lines where perf's have addresses."""
    return {line: (file, line) for line in lines if line}


def what_it_said(path: Path) -> str:
    """py-spy's last words where it recorded nothing."""
    try:
        lines = path.with_name(f"{path.name}.said").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line.strip() and "py-spy>" not in line), "")
