# SPDX-License-Identifier: BSD-3-Clause
"""Integer sort against the benchmark's published ranks."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nodewise.base.errors import InputError
from nodewise.studies.commands import worker_command
from nodewise.studies.discovery import find_study

IS = find_study("is")


@pytest.mark.some(8)
@pytest.mark.parametrize("variant", ["bucketed", "counting", "narrow"])
@pytest.mark.parametrize(
    ("size", "threads"),
    [
        *(("S", "1"), ("S", "2"), ("S", "7"), ("W", "1"), ("W", "2"), ("W", "7")),
        # eight million keys, by every variant: once by more threads than divide them
        pytest.param("A", "1", marks=pytest.mark.long),
        pytest.param("A", "2", marks=pytest.mark.long),
        ("A", "7"),
    ],
)
def test_the_published_ranks_of_a_class_are_met(variant: str, size: str, threads: str) -> None:
    command = [*worker_command(IS, variant, {"class": size}), "--threads", threads]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    keys = {"S": 2**16, "W": 2**20, "A": 2**23}[size]
    assert json.loads(done.stdout)["items"] == 10 * keys


def test_the_keys_are_the_benchmarks_own(tmp_path: Path) -> None:
    command = [*worker_command(IS, "counting", {"class": "S"}), "--dump", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    keys = np.load(tmp_path / "keys.npy")
    x, want = 314159265, []
    for _ in range(keys.size):
        total = 0.0
        for _ in range(4):
            x = x * 5**13 % 2**46
            total += x / 2**46
        want.append(int(2**11 / 4 * total))
    # the keys 1 to 20 are those that the iterations change
    assert list(keys[21:]) == want[21:]
    assert keys[0] == want[0]
    assert list(keys[1:11]) == list(range(1, 11))


def test_placing_the_keys_by_their_ranks_sorts_them(tmp_path: Path) -> None:
    command = [*worker_command(IS, "narrow", {"class": "W"}), "--dump", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    keys = np.load(tmp_path / "keys.npy")
    ranks = np.load(tmp_path / "ranks.npy")
    by_key = np.argsort(keys, kind="stable")
    first_of = np.concatenate([[0], ranks[:-1]])
    ordinal = np.empty(keys.size, dtype=np.int64)
    ordinal[by_key] = np.arange(keys.size) - first_of[keys[by_key]]
    placed = np.full(keys.size, -1)
    placed[first_of[keys] + ordinal] = keys
    assert (np.diff(placed) >= 0).all() and (placed >= 0).all()


def test_an_unknown_class_or_size_is_refused() -> None:
    for point in ({"class": "Z"}, {"class": "SW"}, {"keys": "0"}, {"keys": "many"}, {"max_key": "9999999999"}):
        with pytest.raises(InputError, match="knob"):
            IS.study.point(point)
