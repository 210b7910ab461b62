# SPDX-License-Identifier: BSD-3-Clause
"""Results of other tools are read: real outputs of hyperfine 1.15, Google Benchmark 1.7, pytest-benchmark and asv.

Criterion's folders are made by hand after its book.
"""

import json
import shutil
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.history.entry import Entry
from nodewise.history.importer import IMPORTERS
from nodewise.history.read import read_files

RESULTS = Path(__file__).parent / "results"


def _read(path: Path, machine: str | None = None) -> list[Entry]:
    return list(read_files(path, machine, lambda folder: pytest.fail(f"{folder} is no experiment")))


def _points(entry: Entry) -> dict[str, int]:
    return {p.name: p.runs for p in entry.points}


def test_hyperfine() -> None:
    (entry,) = _read(RESULTS / "hyperfine.json", "node9")
    assert _points(entry) == {"sleep 0.01": 8, "sleep 0.02": 8, "false": 8}
    assert [p.program for p in entry.points] == ["sleep", "sleep", "false"]
    assert [p.failed for p in entry.points] == [0, 0, 8]
    assert 0.01 < entry.points[0].low < entry.points[0].median < entry.points[0].high < 0.1
    assert (entry.tool, entry.host, entry.commit) == ("hyperfine", "node9", None)
    assert entry.at == (RESULTS / "hyperfine.json").stat().st_mtime


def test_google_benchmark() -> None:
    (entry,) = _read(RESULTS / "google-benchmark.json", "another")
    assert _points(entry) == {"sums Sum/1000": 8, "sums Sum/4000": 8, "sums Copy": 8}
    assert entry.points[0].median == pytest.approx(entry.points[1].median / 4, rel=0.5)
    # in microseconds there, in seconds here
    assert 1e-9 < entry.points[2].median < 1e-5
    assert (
        entry.host == json.loads((RESULTS / "google-benchmark.json").read_text())["context"]["host_name"] != "another"
    )
    assert entry.conditions["num_cpus"] == "2"
    assert entry.at > 1.7e9


def test_google_benchmark_with_aggregates_alone() -> None:
    (entry,) = _read(RESULTS / "google-benchmark-aggregates.json")
    assert _points(entry) == {"sums Sum/1000": 1}
    assert entry.points[0].low is None


def test_pytest_benchmark() -> None:
    (entry,) = _read(RESULTS / "pytest-benchmark.json")
    assert _points(entry) == {"test_sums.py::test_sum[100]": 12, "test_sums.py::test_sum[1000]": 12}
    assert {p.program for p in entry.points} == {"test_sum"}
    assert entry.commit is not None
    assert (entry.commit.repository, entry.commit.changed, len(entry.commit.hash)) == ("py", True, 40)
    assert entry.processor
    assert entry.at > 1.7e9


def test_pytest_benchmark_without_single_rounds() -> None:
    (entry,) = _read(RESULTS / "pytest-benchmark-saved.json")
    assert _points(entry) == {"test_sums.py::test_sum[100]": 12, "test_sums.py::test_sum[1000]": 12}
    assert all(p.values == () and p.low is None for p in entry.points)


def test_asv() -> None:
    (entry,) = _read(RESULTS / "asv")
    found = {p.name: p.metric for p in entry.points}
    assert found["sums.time_sum"] == "seconds"
    assert found["sums.track_parts"] == "parts"
    assert found["sums.Sizes.peakmem_sum(100, 'tuple')"] == "bytes"
    assert len(found) == 2 + 4 + 4
    assert next(p for p in entry.points if p.name == "sums.time_sum").runs == 10
    assert (entry.host, entry.commit.hash[:8]) == ("node7", "79b41d33")
    (file,) = (RESULTS / "asv/node7").glob("79b41d33-*")
    assert _read(file) == [entry]


def test_asv_without_samples_has_its_own_interval(tmp_path: Path) -> None:
    (file,) = (RESULTS / "asv/node7").glob("79b41d33-*")
    data = json.loads(file.read_text())
    at = data["result_columns"].index("samples")
    for row in data["results"].values():
        if isinstance(row, list) and len(row) > at:
            row[at] = None
    (tmp_path / file.name).write_text(json.dumps(data))
    (entry,) = _read(tmp_path / file.name)
    point = next(p for p in entry.points if p.name == "sums.time_sum")
    assert (point.runs, point.metric) == (1, "seconds")
    assert point.low < point.median < point.high


def test_criterion(tmp_path: Path) -> None:
    (entry,) = _read(RESULTS / "criterion")
    assert _points(entry) == {"hash": 7, "Fibonacci/Iterative/20": 8, "sums/list/100": 10}
    by_name = {p.name: p for p in entry.points}
    assert by_name["sums/list/100"].program == "sums"
    assert by_name["sums/list/100"].median == pytest.approx(1.24634e-6, rel=0.02)
    assert by_name["hash"].median == pytest.approx(2.02e-3)
    assert by_name["Fibonacci/Iterative/20"].median == pytest.approx(918500e-9 / 110740)
    shutil.copytree(RESULTS / "criterion", tmp_path / "target/criterion")
    assert _points(_read(tmp_path / "target/criterion")[0]) == _points(entry)


def test_the_same_results_are_the_same_entry(tmp_path: Path) -> None:
    for name in ("hyperfine.json", "google-benchmark.json", "pytest-benchmark.json"):
        shutil.copy(RESULTS / name, tmp_path / "copy.json")
        assert _read(tmp_path / "copy.json")[0].key == _read(RESULTS / name)[0].key


def test_each_file_has_one_reader() -> None:
    for path in (*RESULTS.glob("*.json"), RESULTS / "asv", RESULTS / "criterion"):
        data = None if path.is_dir() else json.loads(path.read_text())
        assert sum(one.wants(path, data) for one in IMPORTERS.all().values()) == 1, path


def test_secrets_in_commands_are_masked(tmp_path: Path) -> None:
    data = json.loads((RESULTS / "hyperfine.json").read_text())
    data["results"][0]["command"] = "curl --password zqsecretzq1 http://x"
    (tmp_path / "h.json").write_text(json.dumps(data))
    (entry,) = _read(tmp_path / "h.json")
    assert "zqsecretzq1" not in repr(entry)
    assert "masked" in entry.points[0].name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is damaged"),
        ("[]", "no tool that is known"),
        ('{"results": []}', "no results that were measured"),
        ('{"results": [{"command": "a", "mean": 1, "times": "x"}]}', "times is no list"),
        ('{"results": [{"command": "a", "mean": 1, "times": [1, "x"]}]}', "times is no number"),
        ('{"context": {"num_cpus": 2}, "benchmarks": [{}]}', "'name' is missing"),
        (
            '{"context": {"num_cpus": 2}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]}',
            "time_unit 'h'",
        ),
        ('{"machine_info": 1, "commit_info": 2, "benchmarks": [{"name": "a", "stats": 3}]}', "stats is no object"),
        ('{"commit_hash": "a", "env_name": "e", "results": {}, "version": 1}', "version 1 of its format"),
    ],
)
def test_a_file_that_is_none_is_one_message(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(InputError) as problem:
        _read(tmp_path / "f.json")
    assert said in problem.value.what
    assert "f.json" in problem.value.what


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        _read(tmp_path / "none.json")
    with pytest.raises(InputError, match="no tool that is known"):
        _read(tmp_path)
