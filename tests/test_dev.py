# SPDX-License-Identifier: BSD-3-Clause
"""What `./dev test` makes of tests that fail among others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Fails in a process in which others run, and passes alone.
RACES = "import os\n" + "".join(
    f"def test_race_{n}(): assert 'PYTEST_XDIST_WORKER' not in os.environ\n" for n in range(4)
)


def _run(folder: Path, *words: str) -> tuple[int, str, str]:
    (folder / "test_some.py").write_text(RACES + "def test_well(): pass\ndef test_wrong(): assert False\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "venv/bin").mkdir(parents=True)
    (folder / "venv/bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "venv/bin/python").chmod(0o755)
    function = re.search(r"^run_suite\(\) \{.*?^\}", (ROOT / "dev").read_text(), re.MULTILINE | re.DOTALL)
    assert function
    script = f'venv=venv; say() {{ printf "%s\\n" "$*" >&2; }}\n{function[0]}\nrun_suite "$@"'
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    # what other plugins load would take most of the time
    env |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    command = ["bash", "-euo", "pipefail", "-c", script, "dev", "-n", "1", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_what_fails_among_others_and_passes_alone_is_named_and_does_not_decide(tmp_path: Path) -> None:
    code, _, said = _run(tmp_path, "-k", "race_1 or race_2 or well")
    assert code == 0
    assert "alone: test_some.py::test_race_1 test_some.py::test_race_2: a fault of the test or a race" in said


@pytest.mark.long
def test_what_fails_alone_too_decides(tmp_path: Path) -> None:
    code, _, said = _run(tmp_path, "-k", "race_1 or wrong or well")
    assert code == 1
    assert "alone: test_some.py::test_race_1: a fault" in said


@pytest.mark.parametrize(
    "words",
    [pytest.param(["-k", "race"], id="many"), pytest.param(["-x"], id="not all were run", marks=pytest.mark.long)],
)
def test_many_failures_and_a_suite_that_was_cut_short_are_what_they_are(tmp_path: Path, words: list[str]) -> None:
    code, printed, said = _run(tmp_path, *words)
    assert code in (1, 2) and "failed" in printed
    assert "once more" not in said and "alone" not in said
