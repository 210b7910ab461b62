# SPDX-License-Identifier: BSD-3-Clause
"""The flags of a file: what a compile database says, and which of any flags bear on how loops are compiled."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass

#: Flags about files and outputs, which a compile of our own chooses itself.
_DROP_WITH_NEXT = {"-o", "-MF", "-MT", "-MQ", "-MJ", "-dumpdir", "-dumpbase", "--serialize-diagnostics"}
_DROP = re.compile(
    r"-c$|-S$|-E$|-M$|-MM$|-MD$|-MMD$|-MP$|-MG$|-MM?D=|-M[FTQ].+|-o.+|-fsyntax-only$|-pipe$|-save-temps|-fopt-info|"
    r"-fsave-optimization-record|-foptimization-record|-Rpass|-fdiagnostics-color|-Werror"
)
#: With it the loops are only compiled when linking.
_LINK_TIME = re.compile(r"-flto|-fno-fat-lto-objects$|-ffat-lto-objects$|-fwhole-program$")
_OPTIMISES = re.compile(r"-O([0-3]|s|z|fast|g)?$")
_PROCESSOR = re.compile(r"-(march|mcpu|mtune)=|-m(avx|sse|fma)")
_WITHOUT = "let the build write it again, or leave -p out and give the flags after --"


@dataclass(frozen=True)
class Command:
    """How a file is compiled: `program` with `flags`, in `folder`; `left_out` are flags that would hide the loops."""

    program: str
    flags: tuple[str, ...]
    folder: Path | None = None
    left_out: tuple[str, ...] = ()


def own_flags(
    words: Sequence[str], file: Path | None = None, folder: Path | None = None
) -> tuple[list[str], list[str]]:
    """The flags that are kept, and those left out because loops would only be compiled when linking."""
    kept: list[str] = []
    left_out: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _DROP_WITH_NEXT:
            skip = True
        elif _LINK_TIME.match(word):
            left_out.append(word)
        elif not _DROP.match(word) and not _is_file(word, file, folder):
            kept.append(word)
    return kept, left_out


def _is_file(word: str, file: Path | None, folder: Path | None) -> bool:
    if file is None or word.startswith("-") or Path(word).suffix != file.suffix:
        return False
    return _resolved(Path(word), folder) == file.resolve()


def _resolved(path: Path, folder: Path | None) -> Path:
    return ((folder or Path.cwd()) / path).resolve()


def says_how(flags: Sequence[str]) -> bool:
    """Whether flags say how much to optimise, or for which processor."""
    return any(_OPTIMISES.match(f) or _PROCESSOR.match(f) for f in flags)


def optimises(flags: Sequence[str]) -> bool:
    """Whether the last -O asks for more than none."""
    levels = [m[1] for f in flags if (m := _OPTIMISES.match(f))]
    return bool(levels) and levels[-1] not in ("0", "g")


def find_command(database: Path, file: Path) -> Command:
    """The command of `file` in a compile database, or in the folder that has one. Raises InputError."""
    path = database / "compile_commands.json" if database.is_dir() else database
    try:
        entries = parse_json(read_bounded(path))
    except OSError as problem:
        raise InputError(
            f"no compile database: {path}",
            "CMake writes one with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; bear -- make, too",
        ) from problem
    except ValueError as problem:
        raise InputError(f"{path} cannot be read: {problem}", _WITHOUT) from problem
    wanted = file.resolve()
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
            continue
        folder = path.parent / str(entry.get("directory", "."))
        if _resolved(Path(entry["file"]), folder) == wanted:
            return _command(entry, folder, file, path)
    raise InputError(
        f"{path} has no command for {file}", "it must be one of the files that are compiled, not a header of them"
    )


def _command(entry: dict[str, object], folder: Path, file: Path, path: Path) -> Command:
    arguments = entry.get("arguments")
    try:
        words = (
            [str(a) for a in arguments] if isinstance(arguments, list) else shlex.split(str(entry.get("command", "")))
        )
    except ValueError as problem:
        raise InputError(f"{path}: the command for {file} cannot be read: {problem}", _WITHOUT) from problem
    while words and Path(words[0]).name in ("ccache", "sccache", "distcc", "icecc"):
        words = words[1:]
    if not words:
        raise InputError(f"{path}: the command for {file} is empty", _WITHOUT)
    kept, left_out = own_flags(words[1:], file, folder)
    return Command(words[0], tuple(kept), folder, tuple(left_out))
