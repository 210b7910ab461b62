# SPDX-License-Identifier: BSD-3-Clause
"""Where two answers differ: text as text, numbers within a tolerance, and what the automatic rule excuses."""

import re

import pytest

from nodewise.runner.same_output import (
    around,
    first_byte,
    first_difference,
    matches,
    own_words,
    repeatable,
    repeatable_line,
)
from nodewise.runner.setting import Setting


def differs(reference: str, other: str, tolerance: float = 1e-9) -> str | None:
    found = first_difference(reference, other, tolerance)
    return None if found is None else f"{found.line}: {found.text}"


@pytest.mark.parametrize(
    ("reference", "other"),
    [
        ("", ""),
        ("sum 1.5\n", "sum 1.5"),
        ("sum 1.234567890123\n", "sum 1.234567890124\n"),
        ("sum 1.0\n", "sum 0.99999999999\n"),
        ("x =  1.0 y = -2.0\n", "x = 1.0 y =  -2.0\n"),
        ("1.0e3", "1000.0000000001"),
        ("1.5D+03", "1.5e3"),
        # what ought to be zero is rounding of what is not
        ("residual 3.1e-17 of 4.2\n", "residual -8.9e-16 of 4.2\n"),
        ("all tiny 2.5e-19 7.5e-19", "all tiny 2.5e-19 7.5000000000001e-19"),
        ("nan inf", "nan inf"),
    ],
)
def test_the_same_answer(reference: str, other: str) -> None:
    assert differs(reference, other) is None
    assert differs(other, reference) is None


@pytest.mark.parametrize(
    ("reference", "other", "message"),
    [
        ("a\nb\nvalue 1.2399\n", "a\nb\nvalue 1.2345\n", "3: 1.2345 against 1.2399"),
        ("sum 1.0\n", "sum 1.0000001\n", "1: 1.0000001 against 1.0"),
        # integers are exact, however long, and so are checksums
        ("n 12345678901234567890", "n 12345678901234567891", "1: 12345678901234567891 against 12345678901234567890"),
        ("id 9e999ff", "id 8e999ff", "1: 8e999 against 9e999"),
        ("1.0", "nan", "1: 'nan' against '1.0'"),
        ("5.0", "1e999", "1: 1e999 against 5.0"),
        ("x 2.0", "x -2.0", "1: -2.0 against 2.0"),
        ("done\n", "done\nextra\n", "2: 'extra' against nothing"),
        ("one\ntwo\n", "one\n", "2: nothing against 'two'"),
        ("converged", "diverged", "1: 'diverged' against 'converged'"),
        # numbers that are all tiny are no rounding of anything
        ("2.5e-19 7.5e-19", "2.5e-19 8.5e-19", "1: 8.5e-19 against 7.5e-19"),
        ("3 of 4", "3 of 4 of 5", "1: '3 of 4 of 5' against '3 of 4'"),
        ("v1.2.3", "v1.2.4", "1: 'v1.2.4' against 'v1.2.3'"),
        ("\udcff", "\udcfe", "1: '\\udcfe' against '\\udcff'"),
    ],
)
def test_another_answer(reference: str, other: str, message: str) -> None:
    assert differs(reference, other) == message


def test_the_tolerance_is_relative_and_as_large_as_asked() -> None:
    assert differs("1000.0", "1000.9", 1e-3) is None
    assert differs("1000.0", "1001.1", 1e-3) == "1: 1001.1 against 1000.0"
    assert differs("0.5", "0.5", 0.0) is None
    assert differs("0.5", "0.50000000000000011", 0.0) is not None


def test_a_long_line_is_shown_where_it_differs() -> None:
    message = differs("word " * 100 + "good", "word " * 100 + "bad") or ""
    assert "bad" in message and "good" in message and len(message) < 200


@pytest.mark.parametrize(
    ("reference", "other"),
    [
        ("Time in seconds = 0.51", "Time in seconds = 0.40"),
        ("took 0.51 s, 12 GB/s", "took 0.4 s, 17 GB/s"),
        ("elapsed: 510ms", "elapsed: 402ms"),
        ("Mop/s total: 133.1", "Mop/s total: 150.2"),
        ("running with 2 threads", "running with 3 threads"),
        ("processors 8", "processors 1"),
        ("started 2026-11-22 10:31:22", "started 2026-11-23 11:02:00"),
        ("time:   9.51\nsum 3", "time:  10.51\nsum 3"),
        ("real 0m0.512s", "real 1m3.512s"),
        ("at 0x7ffd00a1", "at 0x5577ab10"),
        ("[0:00:03.2] done", "[0:00:04.1] done"),
        ("sum 3", "# number of worker threads: 3\nsum 3"),
        ("sum 3", "sum 3\n\tschedule 3"),
        ("sum 3", "policy: fast\nsum 3"),
    ],
)
def test_what_a_program_says_of_its_own_run_is_excused_by_the_automatic_rule_only(reference: str, other: str) -> None:
    setting = Setting(("app",), {"threads": 3, "knob": 0, "--policy": "fast"}, mask=(4,))
    assert first_difference(reference, other, 1e-9, own_words(setting), repeatable_line) is None
    assert first_difference(reference, other, 1e-9) is not None


@pytest.mark.parametrize(
    ("reference", "other"),
    [
        ("running with 2 threads", "running with 4 threads"),
        ("0.51 s, checksum 17", "0.40 s, checksum 18"),
        ("error 5", "error 0"),
        ("s = 1.5", "s = 1.6"),
        ("timestep energy 1.5", "timestep energy 1.6"),
        ("sum 3", "4 threads\nsum 3"),
        ("sum 3", "3 threads, 5 hits\nsum 3"),
        ("sum 3", "3 threads failed\nsum 3"),
        ("sum 3", "3 hits\nsum 3"),
        ("3 threads\nsum 3", "sum 3"),
        ("sum 3\nend 4", "3 threads\nsum 3\nend 5"),
        ("sum 3\nend 4", "3 threads\nsum 3"),
        ("sum 3", ""),
    ],
)
def test_results_are_not_excused(reference: str, other: str) -> None:
    setting = Setting(("app",), {"threads": 3, "knob": 0}, mask=(4,))
    assert first_difference(reference, other, 1e-9, own_words(setting), repeatable_line) is not None


@pytest.mark.parametrize("text", ["", "\n", "sum 3  4\n", "a\r\nb", "  x 1\n\n\ty 2\n", "0.5 seconds\n\nsum 7\n"])
def test_leaving_out_what_describes_the_run_keeps_the_lines_and_the_rest(text: str) -> None:
    assert repeatable(text).count("\n") == text.count("\n")
    if "seconds" not in text:
        assert repeatable(text) == text


def test_a_pattern_gives_its_groups_or_all_that_it_matches() -> None:
    text = "r 1 a\nr 2 b\n"
    assert matches(re.compile(r"r (\d) (\w)"), text) == "1 a\n2 b"
    assert matches(re.compile(r"r \d"), text) == "r 1\nr 2"
    assert matches(re.compile(r"x(y)?"), "x") == ""
    assert matches(re.compile("z"), text) is None


def test_what_is_kept_of_a_long_output_is_around_the_place() -> None:
    text = "".join(f"line {i}\n" for i in range(1, 100_001))
    for line in (1, 50_000, 100_000):
        assert f"line {line}\n" in around(text, line)
        assert len(around(text, line)) <= 4000


def test_of_a_long_text_only_lines_that_differ_are_looked_through() -> None:
    looked: list[str] = []

    def result(line: str) -> str:
        looked.append(line)
        return repeatable_line(line)

    lines = [f"cell {i}: {i / 7:.6f}" for i in range(50_000)]
    other = [*lines[:40_000], "took 3.2 s", *lines[40_001:]]
    lines[40_000] = "took 4.5 s"
    assert first_difference("\n".join(lines), "\n".join(other), 1e-9, None, result) is None and len(looked) == 2
    # of numbers near zero the largest one of the reference is needed, and no more of it
    other[45_000] = "cell 45000: 6428.58"
    assert first_difference("\n".join(lines), "\n".join(other), 1e-9, None, result) is not None and len(looked) < 30


@pytest.mark.parametrize(
    ("one", "other", "byte"), [("abc", "abd", 3), ("abc", "xbc", 1), ("ab", "abc", 3), ("\0ä\udcff", "\0ä\udcfe", 4)]
)
def test_the_first_byte_that_differs_is_counted_from_one(one: str, other: str, byte: int) -> None:
    assert first_byte(one, other) == byte
