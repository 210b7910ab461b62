# SPDX-License-Identifier: BSD-3-Clause
"""Files of peers: without a name, as the study's own, so that they are gone with the last process that has them open."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def nameless(folder: str) -> Iterator[int]:
    """The descriptor of a new file in a folder; `path_of` opens it once more."""
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix="nodewise-")
        Path(name).unlink()
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def path_of(descriptor: int) -> str:
    """By which this process, and one that has inherited the descriptor, open the file."""
    return f"/proc/self/fd/{descriptor}"


def forget(descriptor: int, cache: str) -> None:
    """Takes a file out of the page cache as knob `cache` says."""
    if cache == "keep":
        return
    os.fsync(descriptor)
    if cache == "drop":
        Path("/proc/sys/vm/drop_caches").write_text("1", encoding="ascii")
    else:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
