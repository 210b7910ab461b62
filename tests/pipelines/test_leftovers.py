# SPDX-License-Identifier: BSD-3-Clause
"""What killed processes leave in shared memory is removed, and what is in use or another's is not."""

import fcntl
import os
import random
import subprocess
from pathlib import Path

import pytest

from nodewise.pipelines.leftovers import remove_left_in_shared_memory
from tests.kernel_symbols import no_kernel_symbols
from tests.pipelines.kills import Counted, kill_one

__all__ = ["no_kernel_symbols"]

SHARED = Path("/dev/shm")


def test_only_what_nobody_uses_any_more_is_removed() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    tail = f"{random.getrandbits(128):032x}"
    left, held = SHARED / f"nodewise-transport-{gone.pid}-{tail}:0:1", SHARED / f"nodewise-transport-{gone.pid}-{tail}"
    own, other = SHARED / f"nodewise-transport-{os.getpid()}-{tail}:0:1", SHARED / f"nodewise-transport-x-{tail}"
    try:
        for path in (left, held, own, other):
            path.touch()
        with held.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            remove_left_in_shared_memory()
            assert [path.exists() for path in (left, held, own, other)] == [False, True, True, True]
        remove_left_in_shared_memory()
        assert not held.exists()
    finally:
        for path in (left, held, own, other):
            path.unlink(missing_ok=True)


@pytest.mark.long
@pytest.mark.usefixtures("no_kernel_symbols")
def test_a_pipeline_of_which_one_process_is_killed_leaves_nothing() -> None:
    """More of them, over ranks, too: `python -m tests.pipelines.kills`."""
    chance, counted = random.Random(5), Counted()
    for _ in range(3):
        kill_one(chance, "", "ofi+shm", counted)
    assert counted.kills.total() == 3 and counted.faults == []
