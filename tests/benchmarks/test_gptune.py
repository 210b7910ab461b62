# SPDX-License-Identifier: BSD-3-Clause
"""GPTune stands beside the tunes that start from history where it is installed, and is named in a line where it is not."""

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import _gptune, transfer
from nodewise.records.earlier import Width
from nodewise.search.space import Axis, Point, Space

THREADS = Axis("threads", (1, 2, 4, 8), (4, 8), 8, ordered=True)
SCHEDULE = Axis("schedule", ("unset", "static", 16), ("static",), "unset")
SPACE = Space((THREADS, Axis("one", ("only",), ("only",), "only"), SCHEDULE), identity=lambda p: p)


class Made(SimpleNamespace):
    """What GPTune, or this stand-in, would make a dimension of."""


def stand_in() -> Any:
    return SimpleNamespace(
        Integer=lambda low, high, **more: Made(low=low, high=high, **more),
        Category=lambda texts, **more: Made(texts=texts, **more),
    )


@pytest.mark.long
def test_without_it_a_line_says_how_to_install_it_and_the_table_is_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_gptune, "_NEEDED", "pytest GPTune-that-nobody-has")
    transfer.main("--seeds", "1", "--only", "effects stretch")
    lines = capsys.readouterr().out.splitlines()
    (said,) = [line for line in lines if "GPTune" in line]
    assert said.startswith("GPTune is left out, GPTune-that-nobody-has not installed: pip install ")
    assert len([line for line in lines if line.startswith("effects stretch")]) == 4 and lines[-1].endswith("s in all")


def test_a_space_becomes_its_parameters_and_its_rows_points_again() -> None:
    threads, schedule = _gptune.parameters(SPACE, stand_in())
    assert threads == Made(low=1, high=8, transform="normalize", name="threads")
    assert schedule == Made(texts=["unset", "static", "16"], transform="onehot", name="schedule")
    for point in (SPACE.default, Point({"threads": 2, "schedule": 16})):
        assert _gptune.point_of(_gptune.row_of(point, SPACE), SPACE) == point
    assert _gptune.point_of([7, "static"], SPACE) == Point({"threads": 8, "schedule": "static"})


def test_threads_of_another_machine_are_the_same_share_of_this_one() -> None:
    measured = [(Point({"threads": 32, "schedule": "static"}), -0.5), (Point({"threads": 1, "schedule": 16}), 0.1)]
    found = transfer._moved(measured, Width(16, 32), SPACE, Width(4, 8))
    assert found == [(Point({"threads": 8, "schedule": "static"}), -0.5), (Point({"threads": 1, "schedule": 16}), 0.1)]


@pytest.mark.skipif(bool(_gptune.absent()), reason="GPTune is not installed")
def test_gptune_itself_tunes_from_an_earlier_task_and_spends_the_runs_that_it_has() -> None:
    ran: list[Point] = []

    def measure(point: Point) -> float:
        ran.append(point)
        return 10 / point["threads"] + (point["schedule"] != "static")

    wide = Space((Axis("threads", tuple(range(1, 65)), (64,), 64, ordered=True), SCHEDULE), identity=lambda p: p)
    earlier = _gptune.multitask(wide, measure, 36, 1)
    ran.clear()
    measured = _gptune.multitask(wide, measure, 36, 2, [earlier])
    assert [p for p, _ in measured] == ran[::3] and len(ran) == 36 and measured[0] == (wide.default, 0.0)
    assert len({p for p, _ in measured[-2:]} - {p for p, _ in measured[:-2]}) == 2
    assert measured == _gptune.multitask(wide, measure, 36, 2, [earlier])
