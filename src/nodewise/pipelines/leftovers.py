# SPDX-License-Identifier: BSD-3-Clause
"""What processes that were killed have left in shared memory."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

_FOLDER = Path("/dev/shm")
#: What libfabric has there for an endpoint of nodewise-transport, which is named by its process.
_NAMES = re.compile(r"nodewise-transport-(\d+)-[0-9a-f]{32}[0-9a-f:]*")


def remove_left_in_shared_memory() -> None:
    """Remove what of this user belongs to no process any more, and that nobody uses: a living user has it locked."""
    with suppress(OSError), os.scandir(_FOLDER) as entries:
        for entry in entries:
            found = _NAMES.fullmatch(entry.name)
            if found is None or Path("/proc", found[1]).exists():
                continue
            with suppress(OSError):
                _remove(entry.path)


def _remove(path: str) -> None:
    """Raises OSError where it is gone, or in use."""
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if os.fstat(file).st_uid == os.geteuid():
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            Path(path).unlink()
    finally:
        os.close(file)
