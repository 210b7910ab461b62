# SPDX-License-Identifier: BSD-3-Clause
"""The second opinion of `bench real`: its interval, its loop, and what it calls a promise that holds."""

import math
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks._real import results
from benchmarks._real.catalogue import Case, handicapped, known_programs, with_parameter
from benchmarks._real.others import hog
from benchmarks._real.repeat import FEWEST_ROUNDS, LineError, ratio, repeat, run_line
from benchmarks._real.results import Row

ROW = Row("sort", "plain", "quiet", "30s", "abc", "a processor × 2", "default")


def promise(low: float, high: float, repeated: float) -> Row:
    return replace(
        ROW,
        verdict="faster",
        promised=(math.sqrt(low * high), low, high),
        repeated=(repeated, 0.9 * repeated, 1.1 * repeated),
    )


def test_the_interval_of_twelve_pairs_lies_between_the_third_and_the_tenth():
    logs = [k / 100 for k in range(12)]
    middle, low, high = ratio([math.exp(v) for v in logs], [1.0] * 12)
    assert math.log(middle) == pytest.approx(0.055)
    assert (math.log(low), math.log(high)) == (pytest.approx(0.02), pytest.approx(0.09))


@pytest.mark.parametrize("n", [6, 12, 21, 40])
def test_the_interval_holds_the_median_as_often_as_it_says(n):
    dice = random.Random(n)
    inside = 0
    for _ in range(1000):
        base = [math.exp(dice.gauss(0.2, 0.1)) for _ in range(n)]
        _, low, high = ratio(base, [1.0] * n)
        inside += low <= math.exp(0.2) <= high
    assert inside >= 940


def test_fewer_than_six_pairs_give_no_interval():
    with pytest.raises(ValueError, match="5 pairs"):
        ratio([1.0] * 5, [1.0] * 5)


def test_of_rates_more_is_better():
    middle, low, high = ratio([100.0 + k for k in range(12)], [200.0] * 12, more_is_better=True)
    assert low < middle < high
    assert middle == pytest.approx(200 / 105.5, rel=1e-3)


def test_each_round_holds_each_line_once_and_the_first_does_not_count(tmp_path):
    lines = {"one": "echo one >> said", "other": "echo other >> said"}
    times = repeat(lines, tmp_path, os.environ, seconds=0.0, seed=3)
    said = (tmp_path / "said").read_text().split()
    rounds = [said[k : k + 2] for k in range(0, len(said), 2)]
    assert len(rounds) == FEWEST_ROUNDS + 1
    assert all(sorted(pair) == ["one", "other"] for pair in rounds)
    assert len({tuple(pair) for pair in rounds}) == 2
    assert {len(values) for values in times.values()} == {FEWEST_ROUNDS}


def test_a_line_is_the_shells_and_a_number_is_the_last_that_it_prints(tmp_path):
    line = "A='x y' sh -c 'test \"$A\" = \"x y\" && echo rate 3 && echo rate 4.5'"
    assert run_line(line, tmp_path, os.environ, 10, r"rate ([0-9.]+)") == 4.5
    with pytest.raises(LineError, match="nothing that fits"):
        run_line("echo none", tmp_path, os.environ, 10, r"rate ([0-9.]+)")


def test_a_line_that_fails_or_hangs_is_named_and_ended(tmp_path):
    with pytest.raises(LineError, match="bad: exit code 3: why not"):
        repeat({"bad": "echo why not; exit 3"}, tmp_path, os.environ, seconds=0.0)
    begin = time.monotonic()
    with pytest.raises(LineError, match="still running"):
        run_line("sleep 60 & echo $! > child; wait", tmp_path, os.environ, 0.2)
    assert time.monotonic() - begin < 10
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"
    ended = time.monotonic() + 10
    while child.exists() and ") Z " not in child.read_text() and time.monotonic() < ended:
        time.sleep(0.05)
    assert not child.exists() or ") Z " in child.read_text()


def test_the_second_opinion_imports_nothing_of_nodewise():
    code = "import sys, benchmarks._real.repeat; sys.exit(any(m.split('.')[0] == 'nodewise' for m in sys.modules))"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@pytest.mark.parametrize(
    ("low", "high", "repeated", "holds", "reversed_"),
    [
        (1.10, 1.20, 1.15, True, False),
        (1.10, 1.20, 1.09, True, False),
        (1.10, 1.20, 1.07, False, False),
        (1.10, 1.20, 1.23, False, False),
        (1.10, 1.20, 0.99, False, True),
        (1.01, 1.03, 0.995, True, True),
    ],
)
def test_a_promise_holds_inside_its_interval_give_or_take_two_percent(low, high, repeated, holds, reversed_):
    row = promise(low, high, repeated)
    assert (row.holds, row.reversed) == (holds, reversed_)


def test_a_known_gain_counts_only_where_it_is_seen_and_is_found_only_where_it_is_promised():
    cured = (1.5, 1.45, 1.55)
    found = replace(promise(1.4, 1.5, 1.45), cured=cured)
    partly = replace(promise(1.1, 1.3, 1.2), cured=cured)
    missed = replace(ROW, verdict="undecided", cured=cured)
    not_there = replace(ROW, verdict="no difference", cured=(1.01, 0.99, 1.03))
    assert [r.found for r in (found, partly, missed)] == [True, False, False]
    assert not not_there.is_known
    lines = results.summary([found, partly, missed, not_there])
    assert any(line.startswith("known gains found: 1 of 3") for line in lines)


def test_rows_are_appended_the_last_of_a_key_counts_and_a_torn_line_is_skipped(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    results.append(path, ROW)
    results.append(path, replace(ROW, case="other"))
    results.append(path, promise(1.1, 1.2, 1.15))
    with path.open("a") as out:
        out.write('{"program": "so')
    rows = results.read(path)
    assert [row.case for row in rows] == ["other", "plain"]
    assert rows[1] == promise(1.1, 1.2, 1.15)


def test_parameters_have_their_first_value_now_and_the_cure_has_the_best():
    case = with_parameter("threads", ["pack", "-T{n}", "{other}"], "n", ["1", "2"], "2")
    assert case.plain == "pack -T1 '{other}'"
    assert case.cure == "pack -T2 '{other}'"
    assert case.axes == "default + n"
    assert Case("a", ("pack",), ("--axes", "allocator")).axes == "allocator"
    bad = handicapped("one thread", ["pack", "a b"], "OMP_NUM_THREADS", "1")
    assert bad.cure == "env -u OMP_NUM_THREADS pack 'a b'"


def test_every_program_says_what_it_needs():
    programs = known_programs()
    assert len(programs) >= 15
    for found in programs.values():
        assert found.commands or found.modules, found.name


def test_a_hog_ends_with_its_block():
    def hogs() -> list[str]:
        return subprocess.run(
            ["pgrep", "-f", "while :; do :; done"], capture_output=True, text=True, check=False
        ).stdout.split()

    before = set(hogs())
    with hog():
        assert set(hogs()) - before
    assert not set(hogs()) - before
