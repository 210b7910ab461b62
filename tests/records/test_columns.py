# SPDX-License-Identifier: BSD-3-Clause
"""Records: what goes in comes out, in little room."""

import math
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nodewise.base.shapes import ShapeError
from nodewise.records.columns import Record, Records
from nodewise.runner.objective import SECONDS, Objective, value_of
from nodewise.runner.sample import Sample

NAMES = [f"count{n}" for n in range(20)]


def _line(number: int, **more: Any) -> dict[str, Any]:
    dice = random.Random(number)
    usage = {name: float(dice.randrange(5000)) for name in NAMES[:10]} | {name: dice.random() for name in NAMES[10:]}
    sample = Sample(1 / (number + 1), 1.0, 1.8e9 + number, usage=usage, **more)
    place = {"setting": f"s{number % 7}", "phase": "search", "block": number, "position": 0, "spent_s": 0.1}
    return {"type": "sample", **place, **sample.to_json()}


def test_no_digit_is_lost_where_a_column_turns_out_to_need_more_room() -> None:
    values = [0.0, 3.0, 0.1, 1e300, 2.0**24 + 1, 5.0]
    records = Records()
    for number, value in enumerate(values):
        records.append({**_line(number), "metrics": {"m": value} if number != 1 else {}})
    reported = records.column("metrics", "m")
    assert math.isnan(reported[1])
    assert [v for i, v in enumerate(reported) if i != 1] == [v for i, v in enumerate(values) if i != 1]
    assert records[2].sample.metrics == {"m": 0.1}
    assert records[1].sample.metrics == {}


def test_marks_errors_and_sources_come_back() -> None:
    records = Records()
    records.append(_line(0, source="program", marks=("steal: 3%", "heat: ä")))
    records.append(_line(1, error="exit code 1", output="printed\n", cut_off=True))
    records.append(_line(2))
    first, second, third = (r.sample for r in records)
    assert (first.source, first.marks) == ("program", ("steal: 3%", "heat: ä"))
    assert (second.source, second.error, second.output, second.cut_off) == ("wall", "exit code 1", "printed\n", True)
    assert third == Sample(1 / 3, 1.0, 1.8e9 + 2, usage=third.usage)
    assert records.marks(0) == first.marks
    assert records.marks(2) == ()


def test_a_number_is_read_of_all_records_as_of_one() -> None:
    records = Records()
    counted = {"user_s": 0.5, "system_s": 0.25}
    for number, metrics in enumerate(
        ({"user_s": 9.0, "items": 3.0}, {}, {"items": 4.0, "wall_s": 7.0}, {"cpu_s": 1.0})
    ):
        sample = Sample(0.5 + number, 2.0, 1.8e9, metrics=metrics, usage=counted, conditions={"energy_j": 5.0})
        records.append({**_line(number), **sample.to_json()})
    for metric in ("seconds", "wall_s", "cpu_s", "user_s", "items", "energy_j", "items/s", "user_s/s", "nothing"):
        reported = [None if math.isnan(v) else v for v in records.values(metric).tolist()]
        assert reported == [value_of(r.sample, metric) for r in records], metric


def test_a_failed_run_and_a_number_that_is_not_above_zero_cost_nothing_that_counts() -> None:
    records = Records()
    for number, (more, items) in enumerate((({}, 2.0), ({"error": "exit code 1"}, 2.0), ({}, 0.0), ({}, 4.0))):
        records.append({**_line(number, **more), "metrics": {"items": items}})
    assert [math.isnan(c) for c in records.costs(SECONDS)] == [False, True, False, False]
    assert records.costs(Objective("items", maximise=True))[[0, 3]].tolist() == [0.5, 0.25]
    assert np.isnan(records.costs(Objective("items")))[[1, 2]].all()


def test_a_record_takes_up_little_more_than_its_numbers() -> None:
    count = 4000
    lines = [_line(n, marks=("steal: the hypervisor took 3% of the processor time",)) for n in range(count)]
    tracemalloc.start()
    records = Records()
    for line in lines:
        records.append(line)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 24 numbers, half of them of half the room, places, and 70 letters of marks, with room to grow
    assert size / count < 350


def _room(value: Callable[[int], float]) -> int:
    """The bytes of a thousand records with 60 numbers of that kind each."""
    lines = [{**_line(n), "usage": {}, "metrics": {f"m{i}": value(n + i) for i in range(60)}} for n in range(1000)]
    tracemalloc.start()
    records = Records()
    for line in lines:
        records.append(line)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size


def test_counts_take_half_the_room_of_other_numbers() -> None:
    assert _room(float) < 0.75 * _room(lambda n: (n + 1) / 7)


def test_of_phases_and_sources_there_are_a_hundred_at_most() -> None:
    for field in ("phase", "source"):
        records = Records()
        for n in range(100):
            records.append({**_line(n), field: f"k{n}"})
        # one that is known has room
        records.append({**_line(0), field: "k99"})
        with pytest.raises(ShapeError, match=f"{field}.*more than 100"):
            records.append({**_line(0), field: "k100"})
        assert len(records) == 101


def test_codes_are_whole_numbers_of_the_width_that_is_promised() -> None:
    records = Records()
    for n in range(3):
        records.append({**_line(n), "phase": ("search", "confirm", "search")[n]})
    assert records.codes.tolist() == [0, 1, 2] and records.phase_codes.tolist() == [0, 1, 0]
    assert records.blocks.tolist() == [0, 1, 2]
    assert {a.dtype for a in (records.codes, records.phase_codes, records.blocks)} == {np.dtype(np.int64)}


def test_nothing_is_spent_where_nothing_is_said() -> None:
    assert Record("s", "search", 0, 0, Sample(1.0, 1.0, 0.0)).spent_s == 0.0
