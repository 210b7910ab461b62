# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest: the processes of a suite share the rewriting of its assertions.

Each collects all tests, at the same time, so that on a clean checkout each would rewrite every file: that is two thirds of what a
first collection takes, as often as there are processes. Here each first rewrites every nth file into the cache that pytest keeps, where the others find it.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


class _KeptError(Exception):
    """The file is in the cache: it need not be run."""


class _Module:
    """What a file would be made of, until its code is to be run."""

    def __init__(self, path: Path):
        self.__name__ = path.stem
        self.__spec__ = importlib.util.spec_from_file_location(path.stem, path)

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__":
            raise _KeptError
        return super().__getattribute__(name)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Rewrite this process's share; with one process there is nothing to share."""
    worker = getattr(session.config, "workerinput", None)
    hook = next((one for one in sys.meta_path if type(one).__name__ == "AssertionRewritingHook"), None)
    if worker is None or session.config.rootpath != ROOT or not isinstance(hook, importlib.abc.Loader):
        return
    number, count = int(worker["workerid"].removeprefix("gw")), int(worker["workercount"])
    for path in sorted((ROOT / "tests").rglob("test_*.py"))[number::count]:
        # what cannot be read or parsed is reported where it is collected
        with contextlib.suppress(_KeptError, OSError, SyntaxError, ValueError):
            hook.exec_module(_Module(path))  # type: ignore[arg-type]
