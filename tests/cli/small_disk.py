# SPDX-License-Identifier: BSD-3-Clause
"""A nodewise that sees a small disk of its own, where this user may mount one."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

_MOUNTED = 'mount -t tmpfs -o size="$1" tmpfs "$2" && { [ "$3" = 0 ] || dd if=/dev/zero of="$2/filling" bs=1k count="$3" 2>/dev/null; } && cd "$2" && shift 3 && "$@"; code=$?; ls -R . > "$LISTED"; exit $code'


@functools.cache
def _room() -> tuple[str, ...]:
    for words in (("unshare", "--mount"), ("unshare", "--mount", "--map-root-user")):
        tried = ("sh", "-c", "mount -t tmpfs tmpfs /mnt")
        if subprocess.run([*words, *tried], capture_output=True, check=False).returncode == 0:
            return words
    return ()


def on_small_disk(folder: Path, size: str, filled_k: int, *words: str) -> tuple[int, str, str, str]:
    """Exit code, standard output and error of nodewise in a disk of `size` with `filled_k` KiB taken; and what it holds then."""
    if not _room():
        pytest.skip("nothing may be mounted here")
    disk = folder / "disk"
    disk.mkdir(exist_ok=True)
    listed = folder / "listed"
    command = [*_room(), "sh", "-c", _MOUNTED, "sh", size, str(disk), str(filled_k)]
    done = subprocess.run(
        [*command, sys.executable, "-m", "nodewise", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "LISTED": str(listed)},
    )
    return done.returncode, done.stdout, done.stderr, listed.read_text()
