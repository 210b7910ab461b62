# SPDX-License-Identifier: BSD-3-Clause
"""The sample protocol, marks, settings: pure parts of the runner."""

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nodewise.base.escaping import one_line
from nodewise.runner import patterns
from nodewise.runner.marks import find_marks
from nodewise.runner.protocol import read_metrics, read_protocol
from nodewise.runner.sample import Sample, sample_from_json
from nodewise.runner.setting import Setting, setting_from_json


def test_several_lines_are_repetitions() -> None:
    lines = [f'{{"nodewise": 1, "seconds": {s}, "items": 10, "verified": true}}' for s in (3, 1, 2)]
    reported = read_protocol(lines)
    assert (reported.seconds, reported.metrics, reported.verified, reported.problem) == (2, {"items": 10}, True, None)


def test_one_wrong_repetition_makes_the_run_wrong() -> None:
    reported = read_protocol([json.dumps({"nodewise": 1, "seconds": 1, "verified": v}) for v in (True, False, True)])
    assert reported.verified is False


@pytest.mark.parametrize("text", ["٣", "1_000", "１"])
def test_what_python_alone_takes_for_a_number_is_none(text: str) -> None:
    reported = read_metrics(f"x:{text}", {"seconds": re.compile("x:(.*)")})
    assert reported.seconds is None and reported.problem == f"metric seconds: {text!r} is no number that can be used"


def test_a_pattern_without_a_group_says_where_the_number_is_marked() -> None:
    assert "a pair of brackets in the pattern" in (read_metrics("x: 5", {"a": re.compile("x")}).problem or "")
    assert read_metrics("5", {"a": re.compile("5")}).metrics == {"a": 5.0}


def test_no_lines_report_nothing() -> None:
    assert read_protocol([]).seconds is None


@pytest.mark.parametrize(
    "line", ['{"nodewise": 2}', '{"nodewise": 1', '{"nodewise": 1, "seconds": "fast"}', '{"nodewise": 1, "seconds": 0}']
)
def test_wrong_lines_are_a_problem_and_no_exception(line: str) -> None:
    assert read_protocol([line]).problem


@given(st.text(max_size=60))
def test_any_line_is_read_or_a_problem(rest: str) -> None:
    reported = read_protocol(['{"nodewise":' + rest])
    assert reported.problem or reported.seconds is None or reported.seconds > 0


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.floats(-1e100, 1e100), max_size=5))
def test_every_named_number_is_a_metric(numbers: dict[str, float]) -> None:
    named = {k: v for k, v in numbers.items() if k not in ("nodewise", "seconds", "verified")}
    reported = {one_line(k): v if abs(v) >= 1e-100 else 0.0 for k, v in named.items()}
    assume(len(reported) == len(named))
    assert read_protocol([json.dumps({"nodewise": 1, "seconds": 1, **named})]).metrics == reported


def test_a_metric_without_group_is_the_whole_match() -> None:
    assert read_metrics("a 12 b 34", {"n": re.compile(r"\d+")}).metrics == {"n": 34.0}
    assert "no number" in (read_metrics("x=abc", {"n": re.compile("x=(.*)")}).problem or "")


@pytest.mark.parametrize(
    ("usage", "conditions", "word"),
    [
        ({"user_s": 1.0}, {"steal_s": 0.1, "busy_s": 1.0}, "steal"),
        ({"user_s": 1.0}, {"busy_s": 1.9}, "other load"),
        ({"user_s": 1.0}, {"busy_s": 1.0, "throttled_s": 0.5}, "throttled"),
        ({"user_s": 1.0, "major_faults": 30}, {"busy_s": 1.0}, "paging"),
    ],
)
def test_what_spoils_a_run_is_marked(usage: dict[str, float], conditions: dict[str, float], word: str) -> None:
    assert [m.partition(":")[0] for m in find_marks(1.0, usage, conditions)] == [word]


def test_a_quiet_run_has_no_mark() -> None:
    assert find_marks(1.0, {"user_s": 1.99, "major_faults": 0}, {"steal_s": 0.0, "busy_s": 2.0}) == ()


def test_settings_round_trip_and_name_themselves() -> None:
    setting = Setting(("a", "b c"), {"threads": 2}, {"X": "1 2"}, ("Y", "Z"), (0, 1, 2, 5), ((0,), (5,)))
    assert setting_from_json(json.loads(json.dumps(setting.to_json()))) == setting
    assert setting.key == "threads=2"
    assert Setting(("a",)).key == "baseline"


def test_a_setting_changes_the_environment() -> None:
    setting = Setting(("./a",), {}, {"OMP_PLACES": "{0},{1}"}, ("KMP_AFFINITY",))
    assert setting.environment({"KMP_AFFINITY": "x", "HOME": "/"}) == {"HOME": "/", "OMP_PLACES": "{0},{1}"}


def test_samples_round_trip() -> None:
    sample = Sample(1.0, 0.0, 0.0, marks=("a",), usage={"user_s": 0.0}, error="e", output="o", cut_off=True)
    assert sample_from_json(json.loads(json.dumps(sample.to_json()))) == sample


@pytest.mark.parametrize(
    "line",
    [
        '{"nodewise": 1, "items": 1' + "0" * 400 + "}",
        '{"nodewise": 1, "items": 1' + "0" * 10_000 + "}",
        '{"nodewise": 1, "seconds": 1e308}',
        '{"nodewise": 1, "seconds": 1e-308}',
        '{"nodewise": 1, "seconds": 1, "x": 1e999}',
        '{"nodewise": 1, "seconds": NaN}',
        '{"nodewise": 1, "seconds": "1"}',
        '{"nodewise": 1, "seconds": true}',
        '{"nodewise": 1, "seconds": 1, "verified": "yes"}',
        '{"nodewise": 1, "seconds": 1, "x": ' + "[" * 2000 + "]" * 2000 + "}",
        '{"nodewise": 1, "seconds": 1, "x": ' + "[" * 200_000,
        '{"nodewise": 1, "seconds": 1, "' + "n" * 5000 + '": 1}',
        '{"nodewise": 1, "seconds": 1, ' + ", ".join(f'"n{i}": 1' for i in range(600)) + "}",
        '{"nodewise": [1]}',
        '{"nodewise": 1',
        '{"nodewise": 1, "seconds": 1\ud800"}',
    ],
)
def test_a_malformed_line_costs_its_run_with_a_message(line: str) -> None:
    reported = read_protocol(['{"nodewise": 1, "seconds": 1}', line])
    assert reported.problem is not None and len(reported.problem) < 400


def test_of_a_malformed_line_the_beginning_is_shown() -> None:
    line = '{"nodewise": 1, "seconds": "' + "".join(map(chr, range(200, 400))) + '"}'
    assert (read_protocol([line]).problem or "").endswith(f": {line[:120]}")


@pytest.mark.parametrize("number", ["1e400", "-1e101", "nan", "inf"])
def test_a_number_of_the_output_is_bounded_too(number: str) -> None:
    reported = read_metrics(f"x = {number}", {"x": re.compile(r"x = (\S+)")})
    assert reported.problem is not None and number in reported.problem


def test_as_many_names_as_there_may_be_are_read_and_one_more_is_a_problem() -> None:
    names = ["n" * 200, *(f"n{i}" for i in range(499))]
    lines = [
        json.dumps({"nodewise": 1, "seconds": 1, "verified": True, **dict.fromkeys(names[i::2], 7)}) for i in (0, 1)
    ]
    assert read_protocol(lines).metrics == dict.fromkeys(names, 7)
    # what is no number is no metric
    assert read_protocol([*lines, '{"nodewise": 1, "x": "y"}']).problem is None
    assert "more than 500" in (read_protocol([*lines, '{"nodewise": 1, "x": 1}']).problem or "")
    assert "longer than 200" in (read_protocol(['{"nodewise": 1, "' + "n" * 201 + '": 1}']).problem or "")


@pytest.mark.parametrize(
    ("output", "pattern", "found"),
    [
        ("t=3 t=2.5", r"t=(\S+)", (2.5, {})),
        ("t=1", r"u=(\S+)", r"metric seconds: 'u=(\\S+)' is nowhere in the output"),
        ("t=0", r"t=(\S+)", "metric seconds: '0' is no number above zero"),
        ("t=-1", r"t=(\S+)", "metric seconds: '-1' is no number above zero"),
    ],
)
def test_seconds_of_an_output_are_above_zero(output: str, pattern: str, found: object) -> None:
    reported = read_metrics(output, {"seconds": re.compile(pattern)})
    assert found == (reported.problem or (reported.seconds, reported.metrics))


def test_other_numbers_of_an_output_may_be_any() -> None:
    output = {"x": "-2", "y": "0", "seconds": "0.5"}
    wanted = {name: re.compile(rf"{name}=(\S+)") for name in output}
    reported = read_metrics(" ".join(f"{name}={number}" for name, number in output.items()), wanted)
    assert (reported.seconds, reported.metrics, reported.problem) == (0.5, {"x": -2, "y": 0}, None)


def test_a_pattern_without_end_is_a_problem_of_its_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns.limited, "__defaults__", (0.1,))
    reported = read_metrics("a" * 60 + "b", {"x": re.compile("(a+)+$")})
    assert (reported.problem or "").startswith("metric x: ")


@pytest.mark.parametrize(
    ("field", "reported"),
    [
        ('"items": "3e8"', True),
        ('"bytes": true', True),
        ('"flops": "many"', True),
        ('"items": "many"', True),
        ('"verified": null', False),
        ('"rate": "12"', True),
        ('"items": 3e8', False),
        ('"items": null', False),
        ('"host": "node7"', False),
        ('"exact": true', False),
    ],
)
def test_a_number_in_quotes_is_reported_and_costs_nothing_else(field: str, reported: bool) -> None:
    found = read_protocol([f'{{"nodewise": 1, "seconds": 2, {field}}}'])
    assert (found.seconds, found.problem, bool(found.unread)) == (2, None, reported)
    assert not reported or field.split('"')[1] in found.unread


@pytest.mark.parametrize(
    ("printed", "part"),
    [
        ("1.5e-3", "1.5"), ("1.5E+2", "1.5"), ("1,234.5", "1"), ("2:05", "2"), ("1.5D-03", "1.5"),
        ("0.0012e", ""), ("12.5, 3.4", ""), ("12.5,3.4", ""), ("12.", ""), ("7", ""), ("12.5 items", ""),
    ],
)  # fmt: skip
def test_a_part_of_a_number_is_no_number(printed: str, part: str) -> None:
    problem = read_metrics(f"time: {printed}\n", {"x": re.compile("time: ([0-9]+[.]?[0-9]*)")}).problem
    said = f"metric x: {part!r} is only a part of {printed!r}: let the pattern take all of it, as 'total: (\\S+)' does"
    assert problem == (said if part else None)


def test_what_a_pattern_itself_leaves_out_is_meant() -> None:
    assert read_metrics("took 2:05", {"minutes": re.compile(r"took (\d+):")}).metrics == {"minutes": 2.0}
    assert "'5' is only a part of '1.5'" in (read_metrics("1.5", {"x": re.compile(r"(5)$")}).problem or "")
    assert "'3' is only a part of '1e-3'" in (read_metrics("1e-3 s", {"x": re.compile(r"(\d+) s")}).problem or "")
    assert read_metrics("v1.5", {"x": re.compile(r"1\.(\d)")}).metrics == {"x": 5.0}
    assert read_metrics("0.5,0.75", {"x": re.compile(r"([0-9.]+)$")}).metrics == {"x": 0.75}


@pytest.mark.parametrize(
    ("printed", "unit"), [("12 ms", "ms"), ("12us", "us"), ("12 min", "min"), ("12 s", ""), ("12 msg", "")]
)
def test_seconds_are_in_no_other_unit(printed: str, unit: str) -> None:
    reported = read_metrics(f"time: {printed}", {"seconds": re.compile("time: ([0-9.]+)")})
    assert (f"is in {unit}, and seconds are needed" in (reported.problem or "")) if unit else reported.seconds == 12.0
    assert read_metrics(f"time: {printed}", {"ms": re.compile("time: ([0-9.]+)")}).metrics == {"ms": 12.0}
