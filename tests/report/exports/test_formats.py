# SPDX-License-Identifier: BSD-3-Clause
"""Exports in the shapes of other tools, key by key, and read as their plotters read them."""

import csv
import io
import json
import statistics
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import make_contenders
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.report.exports.registry import export_text, exporters
from nodewise.runner.objective import SECONDS, Objective
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.confirm import Comparison
from nodewise.verdicts.stored import Stored, stored
from tests.surfaces import machine

NAMES = ("a | b", "`x` <b>&</b>", "*two*\\x0alines", "ü 長い")


class Steady:
    """A Launcher whose runs take a little longer each time, of `slow` by a fifth; the one named `breaks` fails at its eighth."""

    def __init__(self) -> None:
        self.count = 0
        self.own: dict[str, int] = {}

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        del timeout_s
        self.count += 1
        self.own[setting.key] = self.own.get(setting.key, 0) + 1
        t = (1 + 0.001 * self.count) * (1.2 if setting.key == "slow" else 1)
        usage = {"user_s": t / 2, "system_s": t / 4, "peak_bytes": 4096.0 * len(setting.key), "exit_code": 3.0}
        error = "exit code 9" if setting.key == "breaks" and self.own[setting.key] == 8 else None
        return Sample(t, t + 1, float(self.count), usage=usage, error=error)

    def close(self) -> None:
        """Nothing is kept running."""


Made = Stored[Comparison]


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Made]:
    def make(*names: str, objective: Objective = SECONDS, **parameters: tuple[str, ...]) -> Made:
        commands = [f"run {i} " + " ".join("{" + n + "}" for n in parameters) for i in range(len(names))]
        contenders = make_contenders(commands, parameters, names=names)
        question = CompareQuestion(
            tuple(contenders), machine(4, 2, live=True), tmp_path / "x", Budget(None, 400), fewest=10, most=10,
            environment={}, objective=objective,
        )  # fmt: skip
        verdict = compare(question, Steady())
        return stored(read_experiment(tmp_path / "x"), verdict)

    return make


def test_hyperfines_json_key_by_key(made: Callable[..., Made]) -> None:
    answer = json.loads(export_text("json", made("take {n}", "other", n=("1", "2"))))
    assert set(answer) == {"results"}
    for result in answer["results"]:
        assert list(result) == [
            "command", "mean", "stddev", "median", "user", "system", "min", "max", "times", "memory_usage_byte",
            "exit_codes", "parameters",
        ]  # fmt: skip
        times = result["times"]
        assert len(times) == len(result["exit_codes"]) == len(result["memory_usage_byte"]) == 10
        assert result["mean"] == pytest.approx(statistics.mean(times))
        assert result["stddev"] == pytest.approx(statistics.stdev(times))
        assert result["median"] == pytest.approx(statistics.median(times))
        assert (result["min"], result["max"]) == (min(times), max(times))
        assert result["user"] == pytest.approx(result["mean"] / 2)
        assert set(result["exit_codes"]) == {3}
        assert all(isinstance(v, str) for v in result["parameters"].values())
    assert [r["command"] for r in answer["results"]] == ["take 1", "take 2", "other", "other (2)"]
    # a plotter over a parameter
    assert [float(r["parameters"]["n"]) for r in answer["results"][:2]] == [1.0, 2.0]


def test_google_benchmarks_json_key_by_key(made: Callable[..., Made]) -> None:
    answer = json.loads(export_text("google-benchmark", made("a", "breaks", "c")))
    assert set(answer) == {"context", "benchmarks"}
    assert answer["context"].keys() >= {
        "date", "host_name", "executable", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled", "caches", "load_avg",
        "library_build_type", "json_schema_version",
    }  # fmt: skip
    shared = {
        "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "threads",
        "iterations", "real_time", "cpu_time", "time_unit",
    }  # fmt: skip
    for one in answer["benchmarks"]:
        more = {"aggregate_name", "aggregate_unit"} if one["run_type"] == "aggregate" else {"repetition_index"}
        more |= {"error_occurred", "error_message"} if "error_occurred" in one else set()
        assert set(one) == shared | more
    of_a = [b for b in answer["benchmarks"] if b["run_name"] == "a"]
    runs = [b["real_time"] for b in of_a if b["run_type"] == "iteration"]
    by_name = {b["aggregate_name"]: b for b in of_a if b["run_type"] == "aggregate"}
    assert by_name.keys() == {"mean", "median", "stddev", "cv"}
    assert by_name["median"]["real_time"] == pytest.approx(statistics.median(runs))
    assert by_name["cv"]["real_time"] == pytest.approx(statistics.stdev(runs) / statistics.mean(runs))
    assert by_name["cv"]["aggregate_unit"] == "percentage"
    failed = [b for b in answer["benchmarks"] if b.get("error_occurred")]
    assert [(b["run_name"], b["error_message"]) for b in failed] == [("breaks", "exit code 9")]
    levels = [(c["level"], c["type"]) for c in answer["context"]["caches"]]
    assert len(levels) == len(set(levels))


def test_a_metric_that_is_compared_is_given_along_with_the_times(made: Callable[..., Made]) -> None:
    found = made("a", "bb", objective=Objective("peak_bytes"))
    one = json.loads(export_text("json", found))["results"][1]
    assert 1 < one["median"] < 2
    assert set(one["peak_bytes"]) == {8192.0}
    run = json.loads(export_text("google-benchmark", found))["benchmarks"][0]
    assert run["peak_bytes"] == 4096.0
    rows = list(csv.DictReader(io.StringIO(export_text("csv", found))))
    assert [float(r["peak_bytes"]) for r in rows] == [4096.0, 8192.0]


def test_csv_has_hyperfines_columns_and_keeps_any_name(made: Callable[..., Made]) -> None:
    text = export_text("csv", made(*NAMES, k=("v,1", "'w 2'")))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == [
        "command", "mean", "stddev", "median", "user", "system", "min", "max", "parameter_k",
    ]  # fmt: skip
    assert [r["command"] for r in rows[::2]] == list(NAMES)
    assert [r["parameter_k"] for r in rows[:2]] == ["v,1", "'w 2'"]


@pytest.mark.parametrize(
    ("kind", "bar", "rows"), [("markdown", "\\|", 2 + 4), ("orgmode", "\\vert{}", 2 + 4), ("asciidoc", "\\|", None)]
)
def test_tables_hold_whatever_name_a_command_has(
    made: Callable[..., Made], kind: str, bar: str, rows: int | None
) -> None:
    text = export_text(kind, made(*NAMES))
    assert f"a {bar} b" in text
    assert "*two*" in text and "x0alines" in text
    if rows is not None:
        lines = text.splitlines()
        assert len(lines) == rows
        cells = [line.replace(bar, "").count("|") for line in lines if "--+" not in line]
        assert len(set(cells)) == 1, "each row has as many cells"
    if kind == "markdown":
        assert "`` `x` <b>&</b> ``" in text


def _gated(made: Callable[..., Made], *names: str, threshold: float | None = None) -> Made:
    found = made(*names)
    found.experiment.question["threshold"] = threshold
    return found


def test_junit_fails_what_failed_and_skips_what_is_open(made: Callable[..., Made]) -> None:
    suite = ET.fromstring(export_text("junit", _gated(made, "a", "breaks", *NAMES, "\x01\x1b[31m")))
    cases = {case.get("name"): case for case in suite}
    assert list(cases)[:2] == ["a", "breaks"] and len(cases) == int(suite.get("tests") or 0) == 7
    assert cases["a"].get("time") and list(cases["a"]) == []
    (failure,) = cases["breaks"]
    assert failure.tag == "failure" and "exit code 9" in str(failure.get("message"))
    kinds = [one.tag for case in suite for one in case]
    assert (kinds.count("failure"), kinds.count("skipped")) == (
        int(suite.get("failures") or 0),
        int(suite.get("skipped") or 0),
    )


@pytest.mark.parametrize(("threshold", "failures"), [(0.5, "0"), (0.05, "1"), (None, "1")])
def test_what_is_slower_than_allowed_fails(made: Callable[..., Made], threshold: float | None, failures: str) -> None:
    told = ET.fromstring(export_text("junit", _gated(made, "a", "slow", threshold=threshold)))
    assert told.get("failures") == failures


def test_annotations_are_lines_that_github_reads(made: Callable[..., Made]) -> None:
    lines = export_text("github", _gated(made, "a", "breaks", "100%: x,y\nz")).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("::notice title=a::the reference")
    assert lines[1].startswith("::error title=breaks::") and "exit code 9" in lines[1]
    assert "title=100%25%3A x%2Cy\\x0az::" in lines[2]


@pytest.mark.parametrize(("metric", "more"), [("seconds", 0), ("wall_s", 1), ("user_s", 0)])
def test_times_are_of_whole_runs_where_these_were_compared(made: Callable[..., Made], metric: str, more: int) -> None:
    compared = made("one", "two", objective=Objective(metric))
    data = json.loads(export_text("json", compared))
    assert min(data["results"][0]["times"]) == pytest.approx(1 + more, abs=0.05)
    data = json.loads(export_text("google-benchmark", compared))
    assert data["benchmarks"][0]["real_time"] == pytest.approx(1e3 * (1 + more), abs=50)


@pytest.mark.parametrize(("metric", "named"), [("seconds", []), ("user_s", ["user_s"])])
def test_junits_times_are_times_whatever_is_compared(made: Callable[..., Made], metric: str, named: list[str]) -> None:
    suite = ET.fromstring(export_text("junit", made("one", "two", objective=Objective(metric))))
    assert float(suite[0].get("time") or 0) == pytest.approx(1 + len(named), abs=0.05)
    assert [one.get("name") for one in suite[0].iter("property")] == named


def test_junit_has_an_error_for_the_command_that_does_not_run() -> None:
    stopped = exporters()["junit"].stopped
    assert stopped is not None
    suite = ET.fromstring(stopped({"one": "./one", "two": "./two x"}, "./two x: exit code 3; it printed:\nno file"))
    assert {name: suite.get(name) for name in ("tests", "errors", "failures", "skipped")} == {
        "tests": "2", "errors": "1", "failures": "0", "skipped": "1"
    }  # fmt: skip
    one, two = suite
    skipped, error = one.find("skipped"), two.find("error")
    assert skipped is not None and skipped.get("message") == "not compared, as another command does not run"
    assert error is not None and (error.get("message") or "").startswith("./two x: exit code 3")
    # where it is of no one command, of all
    assert ET.fromstring(stopped({"one": "./one", "two": "./two x"}, "cannot be started")).get("errors") == "2"
