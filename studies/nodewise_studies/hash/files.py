# SPDX-License-Identifier: BSD-3-Clause
"""Digests of many files, printed as md5sum(1) and sha256sum(1) do, many files at once, by the study's own kernels."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.studies.contract import Used
from nodewise.studies.discovery import binary_of

#: Bytes of a digest.
SIZES = {"md5": 16, "sha1": 20, "sha256": 32, "sha512": 64}


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(binary_of(Path(__file__).parent)))


def digests(function: str, paths: list[bytes], threads: int = 1) -> tuple[bytes, list[int]]:
    """The digests one after the other, and for each file 0 or the system's error. Raises ValueError for no function."""
    made = ctypes.create_string_buffer(max(1, SIZES.get(function, 1) * len(paths)))
    errors = (ctypes.c_int32 * len(paths))()
    joined = b"\0".join([*paths, b""])
    status = _library().nodewise_hash_files(
        function.encode(), joined, ctypes.c_size_t(len(paths)), made, errors, ctypes.c_int(threads)
    )
    if status != 0:
        raise ValueError(f"there is no function {function}")
    return made.raw, list(errors)


def files_of(where: bytes) -> list[bytes]:
    """The files below a folder, sorted; or the lines of a list, which ends each with a zero where it holds any."""
    if not Path(os.fsdecode(where)).is_dir():
        try:
            text = Path(os.fsdecode(where)).read_bytes()
        except OSError as problem:
            raise InputError(f"the list {os.fsdecode(where)} cannot be read: {problem.strerror}") from problem
        end = b"\0" if b"\0" in text else b"\n"
        return [line for line in text.split(end) if line]
    found = []
    folders = [where]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    found.append(entry.path)
    return sorted(found)


def lines(function: str, paths: list[bytes], made: bytes, errors: list[int]) -> bytes:
    """What md5sum prints: a digest, two spaces, the name; names with a backslash or a line's end are marked."""
    size = SIZES[function]
    hexadecimal = made.hex().encode()
    out = []
    for i, path in enumerate(paths):
        if errors[i]:
            continue
        digest = hexadecimal[2 * size * i : 2 * size * (i + 1)]
        if b"\\" in path or b"\n" in path or b"\r" in path:
            name = path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
            out.append(b"\\" + digest + b"  " + name + b"\n")
        else:
            out.append(digest + b"  " + path + b"\n")
    return b"".join(out)


def hash_files(given: Mapping[str, Sequence[str]], threads: int) -> Used:
    """`--files WHERE…`: each a file, a folder or, as `@FILE`, a list of files; `--function` chooses the hash.

    Exit code 1 where a file could not be read, as md5sum has it. Raises InputError for anything else that is given.
    """
    function = given.get("function", ["sha256"])[-1]
    if function not in SIZES or set(given) - {"files", "function"}:
        raise InputError("files are hashed by --files and --function alone", f"functions: {', '.join(SIZES)}")
    paths: list[bytes] = []
    for where in given["files"]:
        listed = where.startswith("@")
        name = os.fsencode(where[1:] if listed else where)
        paths += files_of(name) if listed or Path(where).is_dir() else [name]
    made, errors = digests(function, paths, threads)
    wrong = [
        f"{function}sum: {os.fsdecode(path)}: {os.strerror(error)}"
        for path, error in zip(paths, errors, strict=True)
        if error
    ]
    return Used(lines(function, paths, made, errors), tuple(wrong), 1 if wrong else 0)
