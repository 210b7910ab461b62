# SPDX-License-Identifier: BSD-3-Clause
"""Standstill: srun starts nothing, as one of its job's nodes is gone or a step before has not ended. That is no time of a program."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.base.errors import ProgramError
from nodewise.runner.mpi import asked
from nodewise.runner.ranks import Seen
from nodewise.runner.sample import Sample

#: What srun says where a node does not answer it (slurm_errno.h, srun/libsrun).
_GONE = re.compile(
    "node fail|timed out|connection failure|connection refused|launch failed|unable to contact|zero bytes were transmitted|"
    "temporarily (disabled|unable)|job/step already completing",
    re.IGNORECASE,
)
#: What it says where its job is over.
_OVER = re.compile(
    "invalid job id|allocation (has been )?revoked|unable to confirm allocation|credential expired", re.IGNORECASE
)
_STARTED = "nodewise-started"
#: Slurm takes a node for gone after SlurmdTimeout, by default 300 s, and then ends its job or has it queued again.
_WAIT_S, _PAUSE_S = 360.0, 2.0
_SHOWN = 300


def stands_still(sample: Sample, seen: Sequence[Seen], ranks: int) -> bool:
    """Whether a run failed as ranks had not begun, or were lost with what reports them, and none of them failed by itself."""
    if sample.ok or any(one.failure for one in seen):
        return False
    if sample.cut_off or len(seen) < ranks:
        return len(seen) < ranks and (sample.cut_off or _GONE.search(sample.output) is not None)
    return not all(one.line.get("ended", False) for one in seen)


def wait_for_start(head: Sequence[str], ranks: int, environment: Mapping[str, str], cwd: Path | None) -> bool:
    """Wait until these words start so many ranks again; False where they say another reason why they do not.

    Raises ProgramError where that takes longer than Slurm needs to end the job, or the job is over.
    """
    until = time.monotonic() + _WAIT_S
    while True:
        printed = asked([*head, "echo", _STARTED], environment, cwd)
        if printed.count(_STARTED) >= ranks:
            return True
        over = _OVER.search(printed) is not None
        if printed and not over and not _GONE.search(printed):
            return False
        if over or time.monotonic() > until:
            break
        time.sleep(_PAUSE_S)
    said = [line for line in printed.splitlines() if "error" in line] or printed.splitlines() or ["it does not end"]
    raise ProgramError(
        f"{head[0]} starts no ranks any more: {said[-1].strip()[:_SHOWN]}",
        "see sinfo and squeue; finished runs are kept: go on in another job, by --resume",
    )
