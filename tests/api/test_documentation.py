# SPDX-License-Identifier: BSD-3-Clause
"""docs/python.md, block by block as it is written there."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import nodewise

TEXT = (Path(__file__).parent.parent.parent / "docs/python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


# one by itself shows that nothing has to be imported besides; the others need not load nodewise again
def test_the_first_block_works_as_a_program(tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(BLOCKS[0])
    done = subprocess.run(
        [sys.executable, "block.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_works_as_written(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "block.py").write_text(block)
    monkeypatch.chdir(tmp_path)
    runpy.run_path("block.py", run_name="__main__")
    out, err = capfd.readouterr()
    assert out and not err


def test_every_question_has_a_block() -> None:
    questions = [name for name in nodewise.__all__ if name.islower()]
    assert "tune" in questions
    for name in questions:
        assert any(f"nodewise.{name}(" in block for block in BLOCKS), name


def test_every_public_name_is_reported() -> None:
    named = {*re.findall(r"nodewise\.(?!toml)(\w+)", TEXT)}
    assert named <= {*nodewise.__all__, "machine"}
