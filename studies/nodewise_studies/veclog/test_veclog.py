# SPDX-License-Identifier: BSD-3-Clause
"""The product's accuracy on every instruction set: two logarithms of at most one ulp, and a rounding."""

import json
import subprocess

import pytest

from nodewise.studies.commands import simd_targets, worker_command
from nodewise.studies.discovery import find_study

VECLOG = find_study("veclog")


@pytest.mark.parametrize("simd", simd_targets(VECLOG))
@pytest.mark.parametrize("arguments", ["unit", "signed", "wide", "special"])
def test_the_accuracy_that_is_stated(simd: str, arguments: str) -> None:
    command = worker_command(VECLOG, "simd", {"n": "65536", "input": arguments})
    done = subprocess.run([*command, "--simd", simd, "--threads", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0.5 < json.loads(done.stdout.splitlines()[0])["ulp"] <= 2.5
