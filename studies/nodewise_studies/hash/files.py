# SPDX-License-Identifier: BSD-3-Clause
"""Digests of many files, printed as md5sum(1) and sha256sum(1) do, by the study's own program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.studies.contract import Used
from nodewise.studies.discovery import program_of


def hash_files(given: Mapping[str, Sequence[str]], threads: int) -> Used:
    """`--files WHERE…`: each a file, a folder or, as `@FILE`, a list of files; `--function` chooses the hash.

    `nodewise-hash` prints them. Exit code 1 where a file could not be read, as md5sum has it. Raises InputError for
    anything else that is given.
    """
    if set(given) - {"files", "function"}:
        raise InputError("files are hashed by --files and --function alone", "functions: md5, sha1, sha256, sha512")
    program = str(program_of(Path(__file__).parent))
    words = [program, f"--function={given.get('function', ['sha256'])[-1]}", f"--threads={threads}", "--"]
    child = os.posix_spawn(program, [*words, *given["files"]], os.environ)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Used(b"", (), code if code >= 0 else 128 - code)
