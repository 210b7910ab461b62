# SPDX-License-Identifier: BSD-3-Clause
"""What the equations have to show: their order, who hears whom, and that all ways give the same numbers."""

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.studies.commands import native_contenders, worker_command
from nodewise.studies.discovery import find_study
from nodewise.studies.rules import LAUNCHERS, launcher_here, run_ranks

WAVE = find_study("wave")
GRID = __import__(WAVE.study.reference.__module__.rpartition(".")[0] + ".grid", fromlist=["grid"])


def run(variant: str, point: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [*worker_command(WAVE, variant, WAVE.study.point(point)), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def result(variant: str, point: dict[str, str], folder: Path, threads: str = "2") -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    done = run(variant, point, "--threads", threads, "--dump", str(folder))
    assert done.returncode == 0, done.stderr
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


def last_field(point: dict[str, str], arrays: dict[str, Any]) -> Any:
    full = WAVE.study.point(point)
    return GRID.grid_of(full).inside(arrays["even" if int(full["steps"]) % 2 == 0 else "odd"])


def after(r: Any, steps: int, courant: float, width: float) -> Any:
    """The Gaussian that begins at rest, exact in space, by the leapfrog in time: an integral over its waves."""
    k = np.linspace(1e-6, 8 / width, 4001)
    spectrum = (2 * np.pi) ** 1.5 * width**3 * np.exp(-((k * width) ** 2) / 2)
    turn = np.arccos(1 - (courant * k) ** 2 / 2)
    # of a step before the beginning the field is cos(courant k), not cos(turn)
    waves = np.cos(steps * turn) + (np.cos(turn) - np.cos(courant * k)) / np.sin(turn) * np.sin(steps * turn)
    radial = np.sinc(np.outer(r, k) / np.pi) * (spectrum * waves * k**2)
    return np.trapezoid(radial, k, axis=1) / (2 * np.pi**2)


def error_on_a_line(order: str, n: int, steps: int, courant: float, folder: Path) -> float:
    """From the middle of the grid along x, as far as no face is heard of."""
    point = {
        "n": str(n),
        "order": order,
        "steps": str(steps),
        "courant": str(courant),
        "model": "uniform",
        "start": "pulse",
        "sponge": "0",
        # a source of next to nothing before its time
        "source_z": "0",
    }
    field = last_field(point, result("blocked", point, folder))
    middle = (n - 1) // 2
    r = np.arange(0, (n + 1) // 5, dtype=float)
    due = after(r, steps, courant, (n + 1) / 16)
    return float(np.abs(field[middle, middle, middle : middle + len(r)] - due).max())


@pytest.mark.parametrize(
    ("order", "sizes"), [("2", (31, 47, 63)), ("4", (31, 47, 63)), ("6", (23, 31, 47)), ("8", (19, 23, 31))]
)
def test_the_error_falls_with_the_order(order: str, sizes: tuple[int, ...], tmp_path: Path) -> None:
    """At a Courant number that is the same for all, the time that passes in parts of the grid's length is, too."""
    errors = [error_on_a_line(order, n, (n + 1) // 2, 0.25, tmp_path / str(n)) for n in sizes]
    slope = -np.polyfit(np.log(np.array(sizes) + 1.0), np.log(errors), 1)[0]
    assert abs(slope - int(order)) < 0.2 * int(order), (errors, slope)


def test_the_analytic_solution_is_met_with_second_order_in_time(tmp_path: Path) -> None:
    errors = []
    for n in (31, 47, 63):
        steps, courant = (n + 1) // 2, 0.25
        point = {"n": str(n), "order": "8", "steps": str(steps), "courant": str(courant), "model": "uniform"}
        point |= {"start": "pulse", "sponge": "0", "source_z": "0"}
        field = last_field(point, result("temporal", point, tmp_path / str(n)))
        middle = (n - 1) // 2
        r = np.arange(0, (n + 1) // 5, dtype=float)
        due = GRID.spreading(r, courant * steps, (n + 1) / 16)
        errors.append(float(np.abs(field[middle, middle, middle : middle + len(r)] - due).max()))
    slopes = [
        np.log(a / b) / np.log(m / n) for (a, b), (n, m) in zip(pairwise(errors), pairwise((32, 48, 64)), strict=True)
    ]
    assert all(1.7 < slope < 2.6 for slope in slopes), (errors, slopes)


@pytest.mark.parametrize("variant", ["plain", "temporal"])
def test_a_source_and_a_receiver_may_change_places(variant: str, tmp_path: Path) -> None:
    here, there = {"z": "9", "y": "11", "x": 13}, {"z": "21", "y": "8", "x": 22}
    heard = []
    for i, (source, receiver) in enumerate(((here, there), (there, here))):
        point = {"n": "33", "steps": "90", "order": "8", "start": "rest", "sponge": "6"}
        point |= {"source_z": source["z"], "source_y": source["y"], "source_x": str(source["x"])}
        point |= {"receiver_z": receiver["z"], "receiver_y": receiver["y"]}
        heard.append(result(variant, point, tmp_path / str(i))["traces"].reshape(90, 33)[:, receiver["x"]])
    loudest = np.abs(heard[0]).max()
    assert loudest > 1e-4
    np.testing.assert_allclose(heard[1], heard[0], atol=2e-6 * loudest)


@pytest.mark.some(2)
@pytest.mark.parametrize("order", ["2", "4", "8", "16"])
def test_all_ways_by_vectors_give_the_same_bits(order: str, tmp_path: Path) -> None:
    point = {"nz": "43", "ny": "61", "nx": "37", "steps": "13", "order": order, "sponge": "7"}
    due = result("simd", point, tmp_path / "simd")
    for variant, more in (
        ("blocked", {"tile_y": "5", "tile_z": "3"}),
        ("temporal", {}),
        ("temporal", {"levels": "1"}),
        ("temporal", {"levels": "3"}),
        ("temporal", {"levels": "40"}),
    ):
        for threads in ("1", "3"):
            other = result(variant, {**point, **more}, tmp_path / "other", threads)
            for name in ("even", "odd", "traces"):
                np.testing.assert_array_equal(other[name], due[name], err_msg=f"{variant} {more} {threads} {name}")


@pytest.mark.some(2)
@pytest.mark.parametrize("variant", ["plain", "simd", "blocked", "temporal"])
def test_ranks_give_the_bits_of_one(variant: str, tmp_path: Path) -> None:
    launcher = next(filter(launcher_here, LAUNCHERS), None)
    if launcher is None:
        pytest.skip("no MPI is here: mpich or openmpi-bin is needed")
    point = {"nz": "43", "ny": "31", "nx": "37", "steps": "13", "order": "4", "sponge": "7"}
    full = WAVE.study.point(point)
    alone = result(variant, point, tmp_path / "alone")
    assert WAVE.study.joined is not None
    contender = next(c for c in native_contenders(WAVE, full) if c.name == variant)
    for ranks in (2, 3):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        done = run_ranks(WAVE, contender, full, launcher, ranks, "--dump", str(folder))
        assert done.returncode == 0, done.stderr
        parts = [{p.stem: np.load(p) for p in (folder / str(rank)).glob("*.npy")} for rank in range(ranks)]
        together = WAVE.study.joined(parts, full)
        for name in ("even", "odd", "traces"):
            np.testing.assert_array_equal(together[name], alone[name], err_msg=f"{ranks} ranks, {name}")


def test_the_sponge_absorbs(tmp_path: Path) -> None:
    point = {"n": "48", "steps": "260", "order": "4", "start": "rest", "model": "uniform"}
    left = []
    for width in ("0", "16"):
        done = run("simd", {**point, "sponge": width}, "--threads", "2", "--dump", str(tmp_path))
        assert done.returncode == 0, done.stderr
        left.append(float(np.abs(np.load(tmp_path / "even.npy")).max()))
    assert left[1] < 0.1 * left[0]


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"courant": "0.6"}, "with a Courant number of 0.6 the field grows without bound"),
        ({"courant": "0"}, "with a Courant number of 0 the field grows"),
        ({"source_x": "20"}, "the source at source_x=20 lies outside the grid"),
        ({"source_z": "20"}, "the source at source_z=20 lies outside the grid"),
        ({"receiver_y": "99"}, "the row of receivers at receiver_y=99 lies outside the grid"),
    ],
)
def test_what_cannot_be_run_is_refused(knobs: dict[str, str], said: str) -> None:
    done = run("plain", {"n": "20", "steps": "1", **knobs})
    assert done.returncode == 1
    assert said in done.stderr and "hint: give " in done.stderr


def test_the_largest_courant_number_that_is_named_is_stable() -> None:
    for order in ("2", "16"):
        refused = run("plain", {"n": "20", "steps": "1", "order": order, "courant": "2", "sponge": "4"})
        largest = refused.stderr.split("courant=")[1].split(",")[0]
        done = run("simd", {"n": "20", "steps": "400", "order": order, "courant": largest, "sponge": "4"})
        assert done.returncode == 0 and json.loads(done.stdout)["verified"], done.stderr
