# SPDX-License-Identifier: BSD-3-Clause
"""What is loaded to answer the quick questions, which is most of the time that they take."""

import subprocess
import sys

import pytest

SHOWN = "import sys; from nodewise.__main__ import start; code = start(); sys.stderr.write(' '.join(sys.modules)); sys.exit(code)"


@pytest.mark.parametrize(
    ("words", "not_needed"),
    [
        (["--version"], ["click", "nodewise.cli"]),
        (["--help"], ["numpy", "nodewise.records", "nodewise.verdicts", "nodewise.report"]),
        (["place", "--help"], ["numpy", "nodewise.records"]),
        (["place", "compact", "--machine", "synthetic:core:2 pu:1"], ["numpy", "nodewise.records"]),
    ],
    ids=" ".join,
)
def test_what_takes_long_to_load_is_loaded_where_it_is_needed(words: list[str], not_needed: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", SHOWN, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr
    assert set(not_needed) & set(done.stderr.split()) == set()


def test_a_version_that_cannot_be_written_is_one_clear_message() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        command = [sys.executable, "-m", "nodewise", "--version"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("error: cannot write to standard output: No space left")
