# SPDX-License-Identifier: BSD-3-Clause
"""What the schedules are known to do: how uneven they are where it can be worked out, and what is reported."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nodewise.studies.commands import worker_command
from nodewise.studies.discovery import find_study

SCHEDULE = find_study("schedule")
VARIANTS = ("static", "dynamic", "monotonic", "guided", "auto", "runtime", "taskloop", "by_work")


def answer(variant: str, point: dict[str, str], threads: int = 2, **env: str) -> dict[str, float]:
    command = [*worker_command(SCHEDULE, variant, point), "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | env)
    return json.loads(done.stdout.splitlines()[0])


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_thread_is_even(variant: str) -> None:
    assert answer(variant, {"n": "65", "load": "triangular"}, 1)["imbalance"] == pytest.approx(1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_imbalance_lies_between_even_and_one_thread_alone(variant: str) -> None:
    # one thread may do all of it; its sum is rounded
    assert 1 <= answer(variant, {"n": "101", "load": "random"}, 3)["imbalance"] <= 3 + 1e-12


def test_work_is_that_of_the_elements_that_are_not_zero() -> None:
    n = 65
    assert answer("static", {"n": str(n), "load": "square"})["flops"] == 2 * n**3
    assert answer("static", {"n": str(n), "load": "triangular"})["flops"] == n * n * (n + 1)
    assert n * n * 2 <= answer("static", {"n": str(n), "load": "random"})["flops"] < 2 * n**3


def test_a_random_load_has_few_long_rows(tmp_path: Path) -> None:
    command = [*worker_command(SCHEDULE, "static", {"n": "513", "load": "random"}), "--dump", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    lengths = np.sort((np.load(tmp_path / "a.npy").reshape(513, 513) != 0).sum(axis=1))
    assert lengths[0] >= 8
    assert np.median(lengths) < 513 / 16
    assert lengths[-513 // 10 :].sum() > lengths.sum() / 4


@pytest.mark.parametrize("name", ["static", "static,1", "dynamic,4", "guided", "auto"])
def test_runtime_follows_the_environment(name: str) -> None:
    assert answer("runtime", {"n": "65"}, OMP_SCHEDULE=name)["verified"] is True


def _result(load: str, threads: int, **rows: tuple[float, float]) -> dict[str, object]:
    return {
        "threads": threads,
        "point": {"load": load},
        "rows": [
            {"contender": name, "kind": "variant", "seconds": seconds, "metrics": {"imbalance": imbalance}}
            for name, (seconds, imbalance) in rows.items()
        ],
    }


def test_the_reason_is_given_in_words() -> None:
    advise = SCHEDULE.study.advise
    assert advise is not None
    text = advise(_result("triangular", 2, static=(1.5, 1.5), dynamic=(1.0, 1.01)))
    assert text[-2] == "load=triangular: dynamic is 1.50 times as fast as static"
    assert "1.50 times the mean, so 33.3% of" in text[-1] and "under dynamic it is 1.01" in text[-1]
    text = advise(_result("square", 2, static=(1.0, 1.01), dynamic=(0.99, 1.0)))
    assert text[-1] == "load=square: no schedule is more than 3% faster than static"
    text = advise(_result("square", 2, static=(1.1, 1.01), dynamic=(1.0, 1.0)))
    assert "not the balance" in text[-1]
    assert "one thread" in advise(_result("square", 1, static=(1.1, 1.0), dynamic=(1.0, 1.0)))[-1]
    assert advise(_result("square", 1, dynamic=(1.0, 1.0))) == []
