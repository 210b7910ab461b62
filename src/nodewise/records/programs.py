# SPDX-License-Identifier: BSD-3-Clause
"""Whether the files of the programs that run are those that ran before: what is built anew meanwhile is another program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.records.columns import Records
from nodewise.runner.setting import Setting

#: Of one file so many changes are written down; one that is linked again before each run says no more by more of them.
_MOST_CHANGES = 3


class Programs:
    """The files of an experiment's commands, looked at with each run; those that are named by a path alone.

    `earlier` are the runs that an experiment which goes on has already.
    """

    def __init__(self, question: Mapping[str, Any], earlier: Records | None = None):
        self._folder = Path(question.get("cwd") or ".")
        # who has it built before each run means that
        asked = [c.get("steps") for c in question.get("contenders") or () if isinstance(c, Mapping)]
        self._watched = not any(any(steps.values()) for steps in asked if isinstance(steps, Mapping))
        self._seen: dict[str, tuple[int, int, int] | None] = {}
        self._changes: dict[str, int] = {}
        self._earlier: dict[str, float] = {}
        if earlier is not None and len(earlier):
            ended = earlier.plain("started_at") + earlier.plain("wall_s")
            self._earlier = {key: float(ended[earlier.of(key)].max()) for key in earlier.keys}

    def changed(self, setting: Setting) -> str:
        """The command's program where its file is another one than at the run before; else empty."""
        name = setting.command[0]
        if not self._watched or "/" not in name:
            return ""
        try:
            there = os.stat(self._folder / name)  # noqa: PTH116 - once a run
        except OSError:
            return ""
        now = (there.st_ino, there.st_size, there.st_mtime_ns)
        if name in self._seen:
            is_other = self._seen[name] != now
        else:
            # by its change, which a file that was built earlier and moved here has now
            is_other = there.st_ctime > self._earlier.get(setting.key, float("inf"))
        self._seen[name] = now
        if not is_other or self._changes.get(name, 0) == _MOST_CHANGES:
            return ""
        self._changes[name] = self._changes.get(name, 0) + 1
        return name
