# SPDX-License-Identifier: BSD-3-Clause
"""What the methods differ in: how orthogonal the vectors are, of a basis that is nearly dependent."""

import json
import subprocess

import pytest

from nodewise.studies.commands import native_contenders, worker_command
from nodewise.studies.discovery import find_study

GRAMSCHMIDT = find_study("gramschmidt")
VARIANTS = [c.name for c in native_contenders(GRAMSCHMIDT, {}) if c.kind == "variant" and c.not_run is None]


def loss(variant: str, condition: str, **knobs: str) -> float:
    point = GRAMSCHMIDT.study.point({"n": "20011", "vectors": "17", "condition": condition, **knobs})
    command = [*worker_command(GRAMSCHMIDT, variant, point), "--threads", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["orthogonality"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_vectors_stay_orthogonal_to_the_last_digits(variant: str) -> None:
    assert loss(variant, "1") < 1e-14


@pytest.mark.parametrize("condition", ["1e4", "1e6", "1e8"])
def test_what_the_modified_method_keeps_the_own_one_keeps(condition: str) -> None:
    modified = loss("modified", condition)
    assert max(loss("panels", condition, panel=panel) for panel in ("0", "1", "4", "1024")) < 3 * modified
    # Björck 1967: as the rounding times the condition
    assert modified < 100 * float(condition) * 1.2e-16


def test_the_classic_method_loses_with_the_square_of_the_condition() -> None:
    assert loss("classic", "1e8") > 1e3 * loss("modified", "1e8")
    assert loss("classic-twice", "1e8") < 1e-13


def test_vectors_that_cannot_be_independent_are_refused() -> None:
    command = [*worker_command(GRAMSCHMIDT, "classic", {"n": "3", "vectors": "4"})]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "of 3 elements no 4 vectors are independent" in done.stderr


def test_a_condition_below_one_is_refused() -> None:
    command = [*worker_command(GRAMSCHMIDT, "classic", {"n": "30", "vectors": "4", "condition": "0.5"})]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "a condition of 0.5 is below that of equal singular values" in done.stderr
