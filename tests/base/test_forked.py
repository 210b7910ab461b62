# SPDX-License-Identifier: BSD-3-Clause
"""Pipes end with the process that made them, whoever was forked from it meanwhile."""

import os
import select
import signal

from nodewise.base.forked import not_inherited


def _forked() -> int:
    child = os.fork()
    if not child:
        signal.pause()
    return child


def test_a_fork_holds_no_end_of_a_pipe_that_is_not_for_it() -> None:
    kept, given = os.pipe()
    with os.fdopen(kept, "rb", buffering=0) as reader, os.fdopen(given, "wb", buffering=0) as writer:
        not_inherited(writer, None)
        child = _forked()
        try:
            writer.close()
            assert select.select([reader], [], [], 5)[0] and reader.read(1) == b""
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_others_are_inherited_as_ever() -> None:
    kept, given = os.pipe()
    with os.fdopen(kept, "rb", buffering=0) as reader, os.fdopen(given, "wb", buffering=0) as writer:
        child = _forked()
        try:
            writer.close()
            assert not select.select([reader], [], [], 0.2)[0]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
