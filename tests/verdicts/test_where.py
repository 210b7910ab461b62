# SPDX-License-Identifier: BSD-3-Clause
"""What was seen of a program's threads, as it is written down: nothing of it is lost."""

from collections import Counter

from nodewise.runner.agreement import Agreement, ProcessAgreement
from nodewise.runner.observe import Observation, SeenProcess, SeenThread
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.where import where_output


def _thread(tid: int, **more: object) -> SeenThread:
    return SeenThread(tid, 7, f"thread {tid}", 0.5, 2.5, (0, 1), 1.5, Counter({1: 9}), [(0.5, 2.5, 1)], 3, **more)  # type: ignore[arg-type]


def test_all_that_was_seen_is_written() -> None:
    first = SeenProcess(
        7, "app", 1, {"OMP_NUM_THREADS": "2"}, "GNU", {0: 4096}, [], "", (0,), {9: _thread(9), 8: _thread(8)}
    )
    other = SeenProcess(3, "helper", memory_missing="gone")
    seen = Observation({7: first, 3: other}, 3.0, 30, 0.01)
    agreed = Agreement(
        {7: ProcessAgreement(((0,), (1,)), "the plan", {9: "agrees", 8: "NOT where it was asked to be"}, False)},
        ["one strays"],
    )
    thread = {
        "pid": 7,
        "first_s": 0.5,
        "last_s": 2.5,
        "allowed": [0, 1],
        "cpu_s": 1.5,
        "ran": {"1": 9},
        "track": [[0.5, 2.5, 1]],
        "migrations": 3,
    }
    written = encode(where_output(seen, agreed))
    written.pop("schema_version")
    assert written == {
        "seconds": 3.0,
        "samples": 30,
        "cost_s": 0.01,
        "processes": [
            {
                "pid": 3,
                "command": "helper",
                "rank": None,
                "environment": {},
                "runtime": "",
                "memory_bytes_by_node": {},
                "memory_missing": "gone",
                "threads": [],
            },
            {
                "pid": 7,
                "command": "app",
                "rank": 1,
                "environment": {"OMP_NUM_THREADS": "2"},
                "runtime": "GNU",
                "memory_bytes_by_node": {"0": 4096},
                "memory_missing": "",
                # in the order of their creation, whatever their numbers
                "threads": [{"tid": 9, "name": "thread 9", **thread}, {"tid": 8, "name": "thread 8", **thread}],
            },
        ],
        "agrees": False,
        "findings": ["one strays"],
        "verdicts": {
            "7": {
                "asked": [[0], [1]],
                "asked_by": "the plan",
                "threads": {"9": "agrees", "8": "NOT where it was asked to be"},
                "agrees": False,
            }
        },
    }
