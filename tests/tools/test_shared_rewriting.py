# SPDX-License-Identifier: BSD-3-Clause
"""Processes of a suite share the rewriting of its assertions: each puts its part of the files into the cache, and runs none."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools import shared_rewriting


def test_a_process_rewrites_every_nth_file_and_runs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_rewriting, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    (tmp_path / "tests").mkdir()
    for name in "abcd":
        (tmp_path / f"tests/test_{name}.py").write_text("raise SystemExit('it was run')\n")
    (tmp_path / "tests/test_broken.py").write_text("def (\n")

    def kept() -> set[str]:
        folder = Path(importlib.util.cache_from_source(str(tmp_path / "tests/test_a.py"))).parent
        return {path.name.partition(".")[0] for path in folder.glob("test_*.pyc")}

    def started(worker: dict[str, Any], of: Path = tmp_path) -> None:
        shared_rewriting.pytest_sessionstart(SimpleNamespace(config=SimpleNamespace(rootpath=of, **worker)))  # type: ignore[arg-type]

    started({})
    # tests of another folder, that use the plugin, too
    started({"workerinput": {"workerid": "gw0", "workercount": 1}}, tmp_path / "tests")
    assert kept() == set()
    # in the order of names: a, b, broken, c, d
    started({"workerinput": {"workerid": "gw1", "workercount": 2}})
    assert kept() == {"test_b", "test_c"}
    started({"workerinput": {"workerid": "gw0", "workercount": 2}})
    assert kept() == {"test_a", "test_b", "test_c", "test_d"}
