# SPDX-License-Identifier: BSD-3-Clause
"""Records: what goes in comes out, in little room."""

import math
import random
import tracemalloc
from typing import Any

from nodewise.records.columns import Records
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
    told = records.column("metrics", "m")
    assert math.isnan(told[1])
    assert [v for i, v in enumerate(told) if i != 1] == [v for i, v in enumerate(values) if i != 1]
    assert records[2].sample.metrics == {"m": 0.1}
    assert records[1].sample.metrics == {}


def test_marks_errors_and_sources_come_back() -> None:
    records = Records()
    records.append(_line(0, source="program", marks=("steal: 3%", "heat: ä")))
    records.append(_line(1, error="exit code 1", output="told\n", cut_off=True))
    records.append(_line(2))
    first, second, third = (r.sample for r in records)
    assert (first.source, first.marks) == ("program", ("steal: 3%", "heat: ä"))
    assert (second.source, second.error, second.output, second.cut_off) == ("wall", "exit code 1", "told\n", True)
    assert third == Sample(1 / 3, 1.0, 1.8e9 + 2, usage=third.usage)
    assert records.marks(0) == first.marks
    assert records.marks(2) == ()


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
