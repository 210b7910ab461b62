# SPDX-License-Identifier: BSD-3-Clause
"""`machine`, `place`, `run`, `study` and `report` from outside."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.json_schemas import check_json


def test_place_prints_one_entry_a_thread(nodewise: Command) -> None:
    done = nodewise("place", "scatter", "--threads", "3", "--machine", "synthetic:core:61 pu:4", "--json")
    assert json.loads(done.stdout)["places"] == [[0], [4], [8]]
    done = nodewise("place", "balanced", "--threads", "183", "--machine", "synthetic:core:61 pu:4", "--json")
    assert json.loads(done.stdout)["places"][:4] == [[0], [1], [2], [4]]
    done = nodewise("place", "os", "--threads", "3", "--machine", "synthetic:core:61 pu:4", "--json")
    assert json.loads(done.stdout)["places"] is None


def test_place_shows_the_drawing_and_the_launch_line(nodewise: Command) -> None:
    done = nodewise("place", "compact", "--threads", "2", "--machine", "synthetic:core:2 pu:2")
    assert "0←t0 1←t1" in done.stdout
    assert "OMP_PLACES=threads OMP_PROC_BIND=close" in done.stdout


def test_place_runs_a_program_so(nodewise: Command) -> None:
    first = min(os.sched_getaffinity(0))
    code = "import os; print(os.environ['OMP_PLACES'], sorted(os.sched_getaffinity(0)))"
    done = nodewise("place", "compact", "--threads", "1", "--", sys.executable, "-c", code)
    assert done.stdout == f"{{{first}}} [{first}]\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("place", "wings"),
        ("place", "scatter", "--threads", "0"),
        ("place", "scatter", "--threads", "many"),
        ("place", "scatter", "--machine", "synthetic:core:2", "--", "true"),
        ("place", "scatter", "--", "./gone"),
        ("place", "scatter", "--svg", "gone/x.svg"),
        ("machine", "--machine", "gone.xml"),
        ("machine", "--save", "x.txt"),
        ("machine", "--save", "gone/x.xml"),
        ("run", "--runs", "0", "--", "true"),
        ("run", "--", "false"),
        ("run",),
        ("study", "none-such"),
        ("study", "is", "--threads", "0"),
        ("study", "is", "--threads", "100000"),
        ("study", "pca", "--file", "gone/x.csv"),
        ("study", "dgemm", "--n", "1048576"),
        ("study", "dgemm", "--alpha", "x"),
        ("study", "is", "--class", "Z"),
        ("study", "is", "--class"),
        ("study", "is", "--out", "/etc"),
        ("study", "--roofline", "is", "--class", "A"),
        ("study", "--roofline", "none-such"),
        ("report", "gone"),
        ("report", "/etc"),
        ("none-such",),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_clear_message(nodewise: Command, arguments: tuple[str, ...]) -> None:
    done = nodewise(*arguments)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_traceback_is_shown_when_asked_for(nodewise: Command) -> None:
    assert "Traceback" in nodewise("--traceback", "report", "gone").stderr


def test_a_machine_round_trips_through_its_files(nodewise: Command, tmp_path: Path) -> None:
    text = "synthetic:pack:2 core:4 pu:2"
    saved = nodewise("machine", "--machine", text, "--save", "m.xml", "--svg", "m.svg", "--json")
    assert (tmp_path / "m.svg").read_text().startswith("<svg")
    nodewise("machine", "--machine", text, "--save", "m.json")
    for name in ("m.xml", "m.json"):
        read = json.loads(nodewise("machine", "--machine", name, "--json").stdout)
        assert read["cores"] == json.loads(saved.stdout)["cores"]


def test_the_live_machine_is_drawn_with_what_may_be_used(nodewise: Command) -> None:
    done = nodewise("machine")
    assert f"allowed    {len(os.sched_getaffinity(0))} of" in done.stdout
    assert "governor" in done.stdout


def test_run_measures_a_command(nodewise: Command) -> None:
    answer = json.loads(nodewise("run", "--runs", "3", "--json", "--", "sleep", "0.05").stdout)
    assert answer["runs"] == 3 == len(answer["samples"])
    assert 0.05 <= answer["min_s"] <= answer["median_s"] <= answer["max_s"]
    words = nodewise("run", "--runs", "3", "--", "true").stdout
    assert "time " in words and "memory" in words and "counters" in words


@pytest.mark.long
def test_a_study_gives_a_row_for_each_contender(nodewise: Command, tmp_path: Path) -> None:
    done = nodewise("study", "is", "--class", "S", "--threads", "2", "--quick", "--json")
    assert "--quick" not in done.stderr
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert "numpy_bincount" in (tmp_path / result["report"]).read_text()
    again = nodewise("report", str(Path(result["report"]).parent), "--csv", "rows.csv")
    shown = nodewise("report", str(Path(result["report"]).parent), "--csv", "-")
    assert (
        shown.returncode == 0 and shown.stdout == (tmp_path / "rows.csv").read_text() and not (tmp_path / "-").exists()
    )
    assert nodewise("report", str(Path(result["report"]).parent), "--csv", "-", "--json").returncode == 2
    table = (tmp_path / "rows.csv").read_text().splitlines()
    assert again.returncode == 0 and len(table) == 6
    assert "seconds" in table[0].split(",") and "times" not in table[0].split(",")
    rows = {r["contender"]: r for r in result["rows"]}
    assert rows.keys() == {"bucketed", "counting", "narrow", "numpy_bincount", "read"}
    check_json("study", result)
    for row in rows.values():
        assert row["not_run"] is None and row["seconds"] > 0 and row["threads"] == 2
        pair = row["against_peer"]
        if pair is not None and pair["low"] is not None and pair["high"] is not None:
            assert pair["low"] <= pair["ratio"] <= pair["high"]
    page = (tmp_path / result["report"]).read_text()
    assert result["headline"] in page and result["sentence"] in page
    assert rows["read"]["kind"] == "limit" and rows["read"]["share_of_limit"] == 1
    assert all(r["verified"] for r in rows.values() if r["kind"] != "limit")


def test_what_a_study_reports_is_printed_and_a_knob_may_be_given_again(nodewise: Command) -> None:
    levels = ("--zlib-levels", "1", "--zlib-levels", "12", "--libraries", "zlib", "--link", "10MB/s")
    done = nodewise("study", "compress", "kind=text", "size=20000", *levels, "--blocks", "1")
    assert done.returncode == 0, done.stderr
    assert "warning: zlib has levels 1 to 9: ignored 12" in done.stdout.splitlines()
    assert "no advice: it takes 6 blocks, of 1" in done.stdout and "  use zlib-1:" not in done.stdout
    assert "1 thread" in done.stdout and "zlib-6" not in done.stdout
    done = nodewise("study", "compress", "kind=text", "size=20000", *levels, "--blocks", "6", "--accept-disturbed")
    assert "  use zlib-1:" in done.stdout and "no advice" not in done.stdout


def test_studies_are_listed(nodewise: Command) -> None:
    assert "integer sort" in nodewise("study").stdout
    assert "is" in [s["study"] for s in json.loads(nodewise("study", "--json").stdout)]


@pytest.mark.long
def test_report_rebuilds_everything_from_the_samples(nodewise: Command, tmp_path: Path) -> None:
    answer = json.loads(nodewise("tune", "--max-runs", "40", "--out", "x", "--json", "--", "sleep", "0.01").stdout)
    for name in ("report.html", "verdict.json"):
        (tmp_path / "x" / name).unlink()
    assert nodewise("report", "x").stdout.strip() == "x/report.html"
    again = json.loads(nodewise("report", "x", "--json").stdout)
    assert (again["ratio"], again["low"], again["verdict"]) == (answer["ratio"], answer["low"], answer["verdict"])
    done = nodewise("report", "x", "--png", "figures", "--svg", "main.svg", "--csv", "all.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figures/time-over-threads.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figures/placement.png").exists()
    assert (tmp_path / "main.svg").read_text().startswith("<svg")
    assert len((tmp_path / "all.csv").read_text().splitlines()) == answer["runs"] + 1


def test_start_up_loads_no_plotting(nodewise: Command) -> None:
    code = (
        "import sys; from nodewise.cli.main import main; main(['place', 'compact', '--json']);"
        "sys.exit(bool({'altair', 'numpy', 'vl_convert'} & sys.modules.keys()))"
    )
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_what_was_given_is_not_recommended(nodewise: Command) -> None:
    done = nodewise("study", "is", "--quick", "--budget", "10ms", "--class", "S")
    assert done.returncode == 2 and "budget is too small" in done.stderr and "--quick" not in done.stderr
    done = nodewise("study", "is", "--quick", "--budget", "10ms")
    assert done.returncode == 2 and "note: --quick: class=A instead of B" in done.stderr
    done = nodewise("study", "is", "--budget", "10ms", "--class", "S")
    assert done.returncode == 2 and "--quick, or" in done.stderr


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--root", "nowhere"), "--root: no such folder"),
        (("--root", "."), "no copy of a system"),
        (("--only", " , "), "--only names no governor"),
    ],
)
def test_governors_that_are_asked_for_wrongly_are_one_message(nodewise, tmp_path, words, what):
    """A folder that is not there would else be taken for a system without frequencies, and nothing for all."""
    given = [str(tmp_path / word) if word in ("nowhere", ".") else word for word in words]
    done = nodewise("governors", *given)
    assert done.returncode == 2 and what in done.stderr and done.stdout == ""


@pytest.mark.long
def test_reduced_governors_say_so_and_what_is_measured_comes_before_the_results(tmp_path):
    import subprocess

    code = (
        "from nodewise.api import governors; governors._QUICK = 100;"
        "from nodewise.cli.main import main; main(['governors', '--quick', '--out', 'out'])"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "measuring three that sleep, one alone, three without sleep"
    (reduced,) = [line for line in lines if line.startswith("reduced   ")]
    assert "matrices of 7, 8 and 9 rows instead of 700, 800 and 900" in reduced
    assert not any(line.startswith("published") for line in lines)


def test_what_was_published_stands_beside_whole_governors_in_lines_of_the_terminal():
    from nodewise.api.governors import PUBLISHED_INTO_TOP, SIZES, GovernorStudy
    from nodewise.cli.commands.governors import _text
    from nodewise.cli.wrapping import wrapped

    text = _text(GovernorStudy(0, None, None, False, SIZES, ("as it is",), (), PUBLISHED_INTO_TOP, (), ()))
    assert (
        "\npublished ondemand, three that sleep: back to the top frequency 815 times" in text and "reduced" not in text
    )
    lines = wrapped(text, 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[lines.index(next(x for x in lines if x.startswith("published"))) + 1].startswith(" " * 10)
