# SPDX-License-Identifier: BSD-3-Clause
"""What BLAS promises of dgemm beyond the product; some libraries do not keep it, so only the variants are asked."""

import subprocess

import pytest

from nodewise.studies.commands import native_contenders, worker_command
from nodewise.studies.discovery import find_study

DGEMM = find_study("dgemm")
VARIANTS = [c.name for c in native_contenders(DGEMM, {}) if c.kind == "variant" and c.not_run is None]
SIZE = {"n": "33", "m": "65", "k": "17", "pad": "1"}


def run(variant: str, **knobs: str) -> subprocess.CompletedProcess[str]:
    command = [*worker_command(DGEMM, variant, DGEMM.study.point({**SIZE, **knobs})), "--threads", "2"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.some(14)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("transa", ["N", "T"])
@pytest.mark.parametrize("transb", ["N", "T"])
def test_not_a_number_does_not_leave_what_must_not_be_read(variant: str, transa: str, transb: str) -> None:
    for knobs in ({"alpha": "0", "beta": "0"}, {"k": "0", "beta": "0"}, {"alpha": "0", "beta": "3"}, {"beta": "0"}):
        done = run(variant, unread="nan", transa=transa, transb=transb, **knobs)
        assert done.returncode == 0, (knobs, done.stderr)


@pytest.mark.parametrize("index", range(0, 66 * 33, 97))
def test_a_wrong_element_is_noticed_wherever_it_lies(index: int) -> None:
    command = [*worker_command(DGEMM, "naive", DGEMM.study.point(SIZE)), "--corrupt", f"C:{index}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "wrong result" in done.stderr
