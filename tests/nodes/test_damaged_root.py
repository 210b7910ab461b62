# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots of damaged systems: whatever a file below a root has become, the facts of it are null with a reason, and the others are read."""

import json
import re
import shutil
from pathlib import Path

import pytest

from nodewise.nodes.checked import problem_of
from nodewise.nodes.take import take_snapshot
from tests import systems
from tests.nodes.test_snapshot import _explained, _nulls, _recorded
from tests.systems import write

#: What a file may have become; None is a folder in its place.
JUNK: dict[str, bytes | None] = {
    "empty": b"",
    "binary": bytes(range(256)) * 8,
    "huge": b"9" * 5000,
    "large": b"99999999999999999999999",
    "negative": b"-5",
    "digits": "²٣".encode(),
    "folder": None,
}


def _put(path: Path, content: bytes | None) -> None:
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)


def _variants(text: bytes, name: str) -> list[bytes | None]:
    """The junk itself, and for numbers the file with all of its numbers made so."""
    junk = JUNK[name]
    inside = [re.sub(rb"\d+", junk, text)] if junk is not None and name not in ("binary", "empty") else []
    return [junk, *inside]


@pytest.mark.some(5)
@pytest.mark.parametrize("together", [5, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("system", ["cluster_node", "guest", "virtual"])
@pytest.mark.parametrize("name", sorted(JUNK))
def test_each_file_may_be_damaged(tmp_path: Path, system: str, name: str, together: int) -> None:
    """Alone, or with some others that lie apart."""
    root = tmp_path / "root"
    if hasattr(systems, system):
        write(root, getattr(systems, system)())
    else:
        _recorded(root, system)
    files = [p for p in sorted(root.rglob("*")) if p.is_file() and not p.is_symlink()]
    # processors of one kind have the same files
    chosen = [p for p in files if not any(f"/cpu{n}/" in str(p) for n in range(1, 99))]
    rounds = -(-len(chosen) // together)
    for first in range(rounds):
        before = {path: path.read_bytes() for path in chosen[first::rounds]}
        damages = {path: _variants(text, name) for path, text in before.items()}
        for number in range(max(map(len, damages.values()))):
            for path, variants in damages.items():
                _put(path, variants[number % len(variants)])
            made = take_snapshot(root, "0", node="n1")
            data = json.loads(json.dumps(made.to_json()))
            at = [str(path.relative_to(root)) for path in before]
            assert problem_of(data) is None, (at, problem_of(data))
            assert [p for p in _nulls(made) if not _explained(made, p) and not p.startswith("kernel.modules")] == [], at
            for path, text in before.items():
                if path.is_dir():
                    shutil.rmtree(path)
                path.write_bytes(text)
