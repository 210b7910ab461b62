# SPDX-License-Identifier: BSD-3-Clause
"""The Python that runs a command, seen through scripts, `env` and the shims of pyenv; and what records it by its own functions."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.base.frozen import dataclass

#: From this version on Python names its functions to perf (sys.activate_stack_trampoline), where it was compiled with frame pointers, as
#: its documentation asks for (docs.python.org/3/howto/perf_profiling.html). Compilers for 64-bit Arm keep these by themselves.
PERF_MAPS = (3, 12)
_PYTHON = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)?)?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
#: Options of env that take a word of their own.
_ENV_VALUES = ("-u", "--unset", "-C", "--chdir")
#: A line of a shell's script that becomes the interpreter, pip's for long paths among them.
_EXEC = re.compile(r"^\s*(?:'''exec'|exec)\s+(.+)$", re.MULTILINE)
_MOST_STEPS, _MOST_TEXT, _MOST_SECONDS = 8, 1 << 14, 20
_ASKED = (
    "import os, sys, sysconfig as s; f = ' '.join(str(s.get_config_var(n)) for n in ('CFLAGS', 'PY_CORE_CFLAGS')); "
    "print('version', *sys.version_info[:2], int('-fno-omit-frame-pointer' in f or os.uname()[4] == 'aarch64'))"
)


@dataclass(frozen=True)
class Python:
    """The interpreter's file, its version, and whether it was compiled with frame pointers."""

    path: str
    version: tuple[int, int]
    frame_pointers: bool = True

    @property
    def shows_perf(self) -> bool:
        """Whether perf can be told the names of its functions."""
        return self.version >= PERF_MAPS and self.frame_pointers


def python_of(command: Sequence[str], environment: Mapping[str, str]) -> Python | None:
    """The Python that a command starts; None where it starts none, as far as can be seen without running it."""
    words = list(command)
    for _ in range(_MOST_STEPS):
        found = shutil.which(words[0], path=environment.get("PATH", os.defpath)) if words else None
        if found is None:
            return None
        name = Path(found).name
        if name == "env":
            words = behind_env(words)
        elif _PYTHON.fullmatch(name):
            return _asked(found, environment)
        elif (first := _script(Path(found))) is None:
            return None
        elif (shim := _pyenv(found, first, environment)) is not None:
            words = [shim, *words[1:]]
        else:
            words = _behind_script(first, found, words)
    return None


def behind_env(words: Sequence[str]) -> list[str]:
    """The command that `env` starts; as it is where it is not started by that."""
    if not words or Path(words[0]).name != "env":
        return list(words)
    left = list(words[1:])
    while left:
        word = left[0]
        if word in ("-S", "--split-string") and len(left) > 1:
            left = [*_split(left[1]), *left[2:]]
        elif word.startswith("-S"):
            left = [*_split(word[2:]), *left[1:]]
        elif word in _ENV_VALUES:
            left = left[2:]
        elif word == "--" or word.startswith("-") or _ASSIGNMENT.match(word):
            left = left[1:]
        else:
            break
    return left


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _script(path: Path) -> str | None:
    """The beginning of a script's text; None of what is none."""
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_TEXT)
    except OSError:
        return None
    return text.decode(errors="replace") if text.startswith(b"#!") else None


def _pyenv(path: str, text: str, environment: Mapping[str, str]) -> str | None:
    """What a shim of pyenv stands for."""
    if Path(path).parent.name != "shims" or (match := re.search(r'exec "([^"]*/pyenv)" exec', text)) is None:
        return None
    return _said([match[1], "which", Path(path).name], environment).strip() or None


def _behind_script(text: str, path: str, words: Sequence[str]) -> list[str]:
    """The interpreter of a script; where that is a shell, what the script becomes."""
    line, _, rest = text[2:].partition("\n")
    # the kernel hands on all that follows the interpreter as one word
    first, _, argument = line.strip().partition(" ")
    interpreter = [first, *([argument.strip()] if argument.strip() else [])]
    if Path(first).name in ("sh", "bash", "dash", "ksh", "zsh") or interpreter[1:] in (["bash"], ["sh"]):
        for match in _EXEC.finditer(rest):
            behind = [word for word in _split(match[1].rstrip("\\")) if word != "--"]
            if behind and not behind[0].startswith(("-", "$")):
                return behind
        return []
    return [*interpreter, path, *words[1:]]


def _asked(path: str, environment: Mapping[str, str]) -> Python | None:
    words = _said([path, "-E", "-S", "-c", _ASKED], environment).split()
    if len(words) != 4 or words[0] != "version" or not all(word.isdigit() for word in words[1:]):
        return None
    return Python(path, (int(words[1]), int(words[2])), words[3] == "1")


def _said(words: Sequence[str], environment: Mapping[str, str]) -> str:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            text=True,
            errors="replace",
            check=False,
            timeout=_MOST_SECONDS,
        ).stdout
    return ""


def find_py_spy(environment: Mapping[str, str]) -> str | None:
    """py-spy on PATH or beside this interpreter; None where it is not installed."""
    beside = Path(sys.executable).with_name("py-spy")
    found = shutil.which("py-spy", path=environment.get("PATH", os.defpath))
    return found or (str(beside) if os.access(beside, os.X_OK) else None)
