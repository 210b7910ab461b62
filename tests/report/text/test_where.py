# SPDX-License-Identifier: BSD-3-Clause
"""What was seen of a program, in lines of text."""

from collections import Counter

import pytest

from nodewise.report.text.where import _ran, where_table
from nodewise.runner.agreement import Agreement
from nodewise.runner.observe import Observation, SeenProcess, SeenThread


@pytest.mark.parametrize(("samples", "said"), [(0, "0 samples"), (1, "1 sample"), (2, "2 samples")])
def test_sweeps_are_counted(samples: int, said: str) -> None:
    text = where_table(Observation(seconds=0.5, samples=samples), Agreement({}, []))
    assert text == f"Nothing ran long enough to be seen ({said} in 500 ms)."


@pytest.mark.parametrize(
    ("samples", "environment", "said"),
    [
        (2, {"OMP_PLACES": "{0},{1}"}, "What was asked for could not be compared with so few samples (2 samples in 500 ms)."),
        (9, {"OMP_PLACES": "{0},{1}"}, "Nothing was asked for that the threads could be compared with (9 samples"),
        (2, {"OMP_NUM_THREADS": "2"}, "Nothing was asked for that the threads could be compared with (2 samples"),
    ],
)  # fmt: skip
def test_few_samples_are_no_reason_to_say_that_nothing_was_asked_for(
    samples: int, environment: dict[str, str], said: str
) -> None:
    thread = SeenThread(7, 7, "app", 0.0, 0.5, (0, 1), ran=Counter({0: 1}))
    process = SeenProcess(7, "app", environment=environment, threads={7: thread})
    seen = Observation(seconds=0.5, samples=samples, processes={7: process})
    assert said in where_table(seen, Agreement({}, []))


@pytest.mark.parametrize(
    ("processors", "said"), [(1, "0"), (4, "0:28% 1:26% 2:24% 3:22%"), (5, "0-4 (most on 0)"), (12, "0-11 (most on 0)")]
)
def test_of_up_to_four_processors_each_has_its_share(processors: int, said: str) -> None:
    ran = Counter({p: 14 - p for p in range(processors)})
    assert _ran(SeenThread(7, 7, "app", 0.0, 0.5, tuple(range(12)), ran=ran)).startswith(said)


@pytest.mark.parametrize(("samples", "said"), [(1, True), (9, True), (10, False)])
def test_of_few_samples_the_times_are_not_whole(samples: int, said: bool) -> None:
    process = SeenProcess(7, "app", threads={7: SeenThread(7, 7, "app", 0.0, 0.5, (0, 1), ran=Counter({0: 1}))})
    text = where_table(Observation(seconds=0.5, samples=samples, processes={7: process}), Agreement({}, []))
    assert ("Times are those up to the last sample" in text) is said
