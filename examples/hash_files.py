# SPDX-License-Identifier: BSD-3-Clause
"""Digests of many files, printed as md5sum(1) and sha256sum(1) do, many files at once.

    python examples/hash_files.py --function sha256 FILE...
    python examples/hash_files.py --function md5 --files DIR_OR_LIST

The kernels are those of the study `hash`, whose shared object is called. This imports little: with small files, Python's
start is a good part of the time.
"""

import argparse
import ctypes
import os
import sys
from pathlib import Path

from nodewise.base.native import native_path

#: Bytes of a digest.
SIZES = {"md5": 16, "sha1": 20, "sha256": 32, "sha512": 64}


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(native_path("studies/hash.so")))


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
        text = Path(os.fsdecode(where)).read_bytes()
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


def main() -> int:
    """The command; 1 where a file could not be read, as md5sum has it."""
    parser = argparse.ArgumentParser(description="Digests of many files, printed as md5sum and sha256sum do.")
    parser.add_argument("--function", choices=tuple(SIZES), default="sha256")
    parser.add_argument("--files", action="append", default=[], metavar="WHERE", help="a folder, or a list of files")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("file", nargs="*")
    given = parser.parse_args()
    paths = [os.fsencode(name) for name in given.file]
    for where in given.files:
        paths += files_of(os.fsencode(where))
    made, errors = digests(given.function, paths, max(1, given.threads))
    sys.stdout.buffer.write(lines(given.function, paths, made, errors))
    sys.stdout.buffer.flush()
    for path, error in zip(paths, errors, strict=True):
        if error:
            print(f"{given.function}sum: {os.fsdecode(path)}: {os.strerror(error)}", file=sys.stderr)
    return 1 if any(errors) else 0


if __name__ == "__main__":
    sys.exit(main())
