# SPDX-License-Identifier: BSD-3-Clause
"""docs/python.md, block by block as it is written there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import nodewise

TEXT = (Path(__file__).parent.parent.parent / "docs/python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_works_as_written(block: str, tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(block)
    done = subprocess.run(
        [sys.executable, "block.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout


def test_every_question_has_a_block() -> None:
    questions = [name for name in nodewise.__all__ if name.islower()]
    assert "tune" in questions
    for name in questions:
        assert any(f"nodewise.{name}(" in block for block in BLOCKS), name


def test_every_public_name_is_reported() -> None:
    named = {*re.findall(r"nodewise\.(?!toml)(\w+)", TEXT)}
    assert named <= {*nodewise.__all__, "machine"}
