# SPDX-License-Identifier: BSD-3-Clause
"""k-means: all variants give the plain loop's result to the bit, and the check distinguishes near ties from mistakes."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.studies.commands import simd_targets, worker_command
from nodewise.studies.discovery import find_study

KMEANS = find_study("kmeans")
OUTPUTS = ("labels", "used", "centres")


def _run(folder: Path, variant: str, point: Mapping[str, str], *options: str) -> dict[str, Any]:
    command = [*worker_command(KMEANS, variant, KMEANS.study.point(point)), "--dump", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: np.load(folder / f"{name}.npy") for name in OUTPUTS}


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", ["rgb", "uniform", "ties", "wide"])
@pytest.mark.parametrize("seed", ["3", pytest.param("4", marks=pytest.mark.long)])
def test_all_variants_agree_to_the_bit(kind: str, seed: str, tmp_path: Path) -> None:
    # of wide ones boxes rule out no centre, and each iteration takes longer
    point = {"points": "7001", "clusters": "191", "iterations": "5" if kind == "wide" else "12", "input": kind}
    plain = _run(tmp_path, "loop", point, "--seed", seed)
    others = [("split", None), ("split-int", None), ("split-unsigned", None)]
    others += [(name, target) for name in ("simd", "boxes") for target in simd_targets(KMEANS)]
    for variant, target in others:
        got = _run(tmp_path, variant, point, "--seed", seed, *(("--simd", target) if target else ()))
        for name in OUTPUTS:
            np.testing.assert_array_equal(got[name], plain[name], err_msg=f"{variant} {target} {name}")


def test_equal_centres_leave_the_later_ones_empty_and_in_place(tmp_path: Path) -> None:
    point = {"points": "5000", "clusters": "200", "input": "ties", "iterations": "1"}
    got = _run(tmp_path, "boxes", point)
    used = got["used"].reshape(-1, 3)
    assert len(np.unique(used, axis=0)) == 64
    first = {tuple(row): i for i, row in reversed(list(enumerate(used)))}
    assert set(got["labels"]) == set(first.values())
    empty = np.setdiff1d(np.arange(200), got["labels"])
    np.testing.assert_array_equal(got["centres"].reshape(-1, 3)[empty], used[empty])


def test_most_centres_are_never_looked_at() -> None:
    command = [*worker_command(KMEANS, "boxes", KMEANS.study.point({"points": "200000"})), "--threads", "2"]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert answer["flops"] < 0.1 * 200000 * 1000 * 10 * 6


@pytest.mark.some(2)
@pytest.mark.parametrize("name", OUTPUTS)
def test_one_wrong_number_is_noticed_anywhere(name: str) -> None:
    point = KMEANS.study.point({"points": "3000", "clusters": "20", "iterations": "2"})
    count = 3000 if name == "labels" else 60
    for index in range(0, count, 1 if count == 60 else 331):
        command = [*worker_command(KMEANS, "boxes", point), "--corrupt", f"{name}:{index}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1, index
        assert "wrong result" in done.stderr
