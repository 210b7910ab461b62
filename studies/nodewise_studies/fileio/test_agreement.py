# SPDX-License-Identifier: BSD-3-Clause
"""When times are said to agree with fio's: by an interval, on what both do, with memory that is alike."""

from typing import Any

import pytest

from nodewise_studies.fileio.agreement import against_fio

POINT = {"folders": "/tmp", "memory": "array"}


def _rows(name: str, own: list[float | None], peer: list[float | None], **metrics: float) -> dict[str, dict[str, Any]]:
    """Our variant's row and fio's; `metrics` are ours, and with `fio_` before them fio's."""
    ours = {k: v for k, v in metrics.items() if not k.startswith("fio_")}
    theirs = {k.removeprefix("fio_"): v for k, v in metrics.items() if k.startswith("fio_")}
    return {
        contender: {"contender": contender, "times": times, "metrics": {"f1_seconds": _median(times), **more}}
        for contender, times, more in ((name, own, ours), (f"fio-{name}", peer, theirs))
    }


def _median(times: list[float | None]) -> float:
    known = sorted(t for t in times if t)
    return known[len(known) // 2]


def _near(seconds: float) -> list[float | None]:
    return [seconds * (1 + 0.002 * step) for step in (-3, 2, -1, 0, 1, -2, 3)]


def _also_near(seconds: float) -> list[float | None]:
    return _near(seconds)[::-1]


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (_also_near(0.103), "within 10%"),
        (_also_near(0.125), "more than 10% apart"),
        (_also_near(0.08), "more than 10% apart"),
        ([0.1 * f for f in (0.8, 1.3, 0.9, 1.0, 1.25, 1.0, 0.75)], "too noisy to tell whether within 10%"),
    ],
)
def test_the_interval_decides(theirs: list[float | None], said: str) -> None:
    (line,) = against_fio(_rows("write-whole", _near(0.1), theirs), POINT, 1, 1)
    assert line.startswith("  write-whole: ") and line.endswith(f": {said}") and " to " in line


def test_only_blocks_that_both_ran_in_are_compared() -> None:
    # fio failed in the first two, where all was slower
    own: list[float | None] = [0.2, 0.2, *_near(0.1)]
    (line,) = against_fio(_rows("write-whole", own, [None, None, *_also_near(0.1)]), POINT, 1, 1)
    assert "1.00 (" in line and line.endswith("within 10%")


def test_with_few_blocks_or_several_folders_the_medians_are_compared() -> None:
    for times, folders in (([0.1, 0.1, 0.1], 1), (_near(0.1), 2)):
        (line,) = against_fio(_rows("write-whole", list(times), list(times)), POINT, 1, folders)
        assert "write-whole: 1.00 times" in line and line.endswith("within 10%")


def test_the_end_of_a_mapping_is_left_out() -> None:
    rows = _rows("mmap-whole", _near(0.125), _also_near(0.1), f1_unmapping_seconds=0.025)
    (line,) = against_fio(rows, POINT, 1, 1)
    assert "0.80 (" in line and "; 1.00 (" in line and "without unmapping: within 10%" in line


def test_of_small_requests_the_calls_are_compared() -> None:
    times = {"f1_user_seconds": 0.02, "fio_f1_user_seconds": 0.12}
    for name in ("write-element", "write-row"):
        (line,) = against_fio(_rows(name, _near(0.1), _also_near(0.2), **times), POINT, 1, 1)
        assert "2.00 (" in line and "; 1.00 (" in line and "user mode: within 10%" in line
    # not where requests are large: what is done between them does not count
    (line,) = against_fio(_rows("write-whole", _near(0.1), _also_near(0.2), **times), POINT, 1, 1)
    assert "user mode" not in line and line.endswith("more than 10% apart")


def test_how_to_compare_with_memory_alike_is_said() -> None:
    apart = _rows("direct-whole", _near(0.1), _also_near(0.08))
    assert "--memory block has direct-whole do so" in against_fio(apart, POINT, 1, 1)[-1]
    assert len(against_fio(apart, {**POINT, "memory": "block"}, 1, 1)) == 1
    assert len(against_fio(_rows("write-whole", _near(0.1), _also_near(0.08)), POINT, 1, 1)) == 1


def test_a_step_of_fios_clock_is_reported() -> None:
    (line,) = against_fio(_rows("write-whole", _near(0.01), _also_near(0.01)), POINT, 1, 1)
    assert "fio counts in ms" in line
