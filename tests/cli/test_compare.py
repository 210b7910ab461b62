# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise compare` from outside, as users of hyperfine and of batch systems type it."""

import fcntl
import html
import json
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodewise.cli.hyperfine import as_our_words
from tests.cli.conftest import Command
from tests.started import Begun

#: What a run of the command line left: in this process, since starting one takes longer than most of these tests.
Done = subprocess.CompletedProcess[str]


def _fails(done: Done, *words: str) -> None:
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.count("error:") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def _json(done: Done) -> dict[str, Any]:
    assert done.returncode in (0, 1), done.stderr
    # a strict reader: nothing but the answer is on standard output, and no NaN in it
    found: dict[str, Any] = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return found


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    """The command line, in this process."""
    return nodewise_here


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("-P n 1 8 cmd", "-P n=1..8 cmd"),
        ("--parameter-scan n 0.1 0.3 -D 0.1 cmd", "-P n=0.1..0.3+0.1 cmd"),
        ("-D 2 -P n 1 9 cmd", "-P n=1..9+2 cmd"),
        ("-P n=1,2 cmd cmd", "-P n=1,2 cmd cmd"),
        ("--ignore-failure=1,3 cmd", "--accept-codes 1,3 cmd"),
        ("--ignore-failure=all-non-zero cmd", "--ignore-failure cmd"),
        ("-i cmd -- -P n 1 2", "-i cmd -- -P n 1 2"),
    ],
)
def test_command_lines_of_hyperfine_mean_the_same(theirs: str, ours: str) -> None:
    assert as_our_words(theirs.split()) == ours.split()


def test_the_answer_is_a_sentence_and_all_else_stays_off_standard_output(nodewise: Command, tmp_path: Path) -> None:
    done = nodewise("compare", "sleep 0.01", "sleep 0.03", "--within", "20%", "--out", "x")
    assert done.returncode == 0, done.stderr
    assert "answer    sleep 0.03 is " in done.stdout
    assert "slower than sleep 0.01" in done.stdout
    assert (tmp_path / "x/report.html").exists()
    assert "run" in done.stderr and "run" not in done.stdout.splitlines()[0].replace("runs", "")


def test_json_is_all_that_is_on_standard_output(nodewise: Command) -> None:
    done = nodewise("compare", "true", "echo 'ü <b>|&amp; x' | cat", "-r", "12", "--json")
    result = _json(done)
    assert [c["name"] for c in result["contenders"]] == ["true", "echo 'ü <b>|&amp; x' | cat"]
    assert {c["shell"] for c in result["contenders"]} == {"sh"}, (
        "who starts through a shell is not compared with who does not"
    )


def test_exports_go_to_files_or_standard_output(nodewise: Command, tmp_path: Path) -> None:
    done = nodewise(
        "compare", "-P", "n", "1", "2", "-n", "take {n}", "sleep 0.00{n}", "-r", "3", "--export-markdown", "-",
        "--export-json", "h.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [line.split(" | ")[0] for line in done.stdout.splitlines()[2:]] == ["| `take 1`", "| `take 2`"]
    assert "answer" in done.stderr
    results = json.loads((tmp_path / "h.json").read_text())["results"]
    assert [r["parameters"] for r in results] == [{"n": "1"}, {"n": "2"}]
    assert [len(r["times"]) >= 3 for r in results] == [True, True]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", ("two commands",)),
        ("true", ("two commands",)),
        ("true true --cwd nowhere", ("--cwd", "nowhere")),
        ("-L k --accept-disturbed 'sleep {k}'", ("-L k has no values", "--accept-disturbed stands in their place")),
        ("-L k -- sleep 0", ("-L k has no values: -- stands in their place",)),
        ("-- true -- sleep", ("-- between commands parts nothing", "nodewise compare true sleep")),
        ("true true --input nowhere", ("--input", "nowhere")),
        ("true true --input .", ("--input",)),
        ("true true --export-json no/x.json", ("--export-json", "no such directory")),
        ("true true --export-json .", ("--export-json", "is a directory")),
        ("true true --export-json - --export-csv -", ("standard output",)),
        ("true true --export-json - --json", ("standard output",)),
        ("true true --baseline nowhere", ("nowhere",)),
        ("true --baseline nowhere --same-output", ("would do nothing", "--expect")),
        ("true true --fail-if-slower much", ("--fail-if-slower", "much")),
        ("true true --within 0", ("--within",)),
        ("true true --metric a=(", ("--metric a",)),
        ("true true --minimize wings -r 1", ("reports no wings",)),
        ("true true -i --accept-codes 1", ("--ignore-failure", "--accept-codes")),
        ("true true --accept-codes x", ("--accept-codes", "x")),
        ("true true --accept-codes 3 --accept-codes 4,300", ("300 is no exit code", "from 1 to 255")),
        ("true true --accept-codes=", ("--accept-codes", "such as 1,3")),
        ("true true --reference-name x", ("--reference-name",)),
        ("true true -n a -n b -n c", ("3 names for 2 commands",)),
        ("true true -n a -n a", ("compared are named 'a'", "a name of its own")),
        ("true true -S nosuchshell", ("nosuchshell",)),
        ("true{n} -P n=1 -P n=2", ("given twice",)),
        ("true{n} -L n 1 -P n=2", ("given twice",)),
        ("true true -D 2", ("belongs to no range",)),
        ("true true -m 5 -M 2", ("--max-runs 2",)),
        ("true false", ("false: exit code 1", "name 1 in --accept-codes")),
        ("true nosuchprogram", ("nosuchprogram",)),
        ("true --resume nowhere", ("a command cannot be given",)),
        ("--resume nowhere", ("no such directory",)),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_message_and_leaves_nothing(
    nodewise: Command, tmp_path: Path, arguments: str, words: tuple[str, ...]
) -> None:
    steps = [] if "--resume" in arguments else ["--setup", "touch made", "--cleanup", "rm made"]
    done = nodewise("compare", *steps, *arguments.split())
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr.count("error:") == 1 and "defect" not in done.stderr
    for word in words:
        assert word.lower() in done.stderr.lower(), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_only_a_shell_can_do_is_done_by_one(nodewise: Command) -> None:
    _fails(nodewise("compare", "exit 3", "true", "-r", "1"), "exit 3: exit code 3")
    result = _json(nodewise("compare", "exit 3", "exit 1", "-r", "2", "--ignore-failure=1,3", "--json"))
    assert result["runs"] == 6


def test_cleanup_runs_for_each_that_was_set_up_however_it_ends(nodewise: Command, tmp_path: Path) -> None:
    steps = ("--setup", "echo S >> log", "--cleanup", "echo C >> log; exit 4")
    done = nodewise("compare", "true", "true", "-r", "2", "--out", "x", *steps)
    # what was measured is worth more than the cleanup
    assert done.returncode == 0, done.stderr
    assert "--cleanup failed with exit code 4" in done.stdout
    _fails(nodewise("compare", "true", "false", *steps), "false: exit code 1")
    lines = (tmp_path / "log").read_text().split()
    assert lines.count("S") == lines.count("C") >= 3


def test_a_step_that_fails_late_loses_nothing(nodewise: Command, tmp_path: Path) -> None:
    stopping = "echo >> count; test $(wc -l < count) -ne 9 || touch stop"
    done = nodewise("compare", "true", stopping, "-r", "20", "--prepare", "test ! -e stop", "--out", "x")
    _fails(done, "--prepare failed", "--resume x")
    kept = (tmp_path / "x/samples.jsonl").read_text()
    assert kept.count('"sample"') >= 16
    _fails(nodewise("compare", "--resume", "x"), "--prepare failed")
    (tmp_path / "stop").unlink()
    done = nodewise("compare", "--resume", "x", "--json", "--export-csv", "here.csv")
    assert _json(done)["contenders"][0]["runs"] >= 20
    assert (tmp_path / "x/samples.jsonl").read_text().startswith(kept)
    assert (tmp_path / "here.csv").read_text().startswith("command,mean")


def test_only_what_changes_no_run_may_be_given_anew(nodewise: Command, tmp_path: Path) -> None:
    assert nodewise("compare", "true", "true", "-r", "4", "--out", "x").returncode == 0
    _fails(nodewise("compare", "--resume", "x", "--within", "2%"), "--within")
    assert nodewise("compare", "--resume", "x", "--fail-if-slower", "500%", "--max-runs", "8").returncode == 0
    assert json.loads((tmp_path / "x/verdict.json").read_text())["blocks"] == 8


def test_a_baseline_of_too_few_runs_is_refused_before_anything_runs(nodewise: Command, tmp_path: Path) -> None:
    for runs in ("5", "6"):
        assert nodewise("run", "-r", runs, "--out", f"then{runs}", "true").returncode == 0
    counting = ("echo >> ran", "-r", "7", "-n", "true")
    _fails(nodewise("compare", *counting, "--baseline", "then5"), "the baseline has 5 runs of true", "takes 6 or more")
    assert not (tmp_path / "ran").exists()
    assert nodewise("compare", *counting, "--baseline", "then6").returncode == 0


@pytest.mark.parametrize(("words", "runs"), [(("true", "true"), 7), (("true", "true", "true", "true"), 10)])
def test_a_gate_that_could_not_close_is_refused(nodewise: Command, words: tuple[str, ...], runs: int) -> None:
    """With fewer runs there is no interval, however much slower one is."""
    for option in ("--runs", "--max-runs"):
        gate = ("compare", "--fail-if-slower", "3%", option)
        _fails(nodewise(*gate, str(runs - 1), *words), "--fail-if-slower could not fail", f"{option} {runs} or more")
    slow = [f"sleep 0.0{9 if n else 1}" for n in range(len(words))]
    assert nodewise("compare", "--fail-if-slower", "3%", "-r", str(runs), "--accept-disturbed", *slow).returncode == 1


def test_exit_codes_distinguish_slower_failing_and_unknown(nodewise: Command, tmp_path: Path) -> None:
    pair = ("sleep 0.002", "sleep 0.02", "-r", "10", "--accept-disturbed")
    assert nodewise("compare", *pair, "--out", "then").returncode == 0
    assert nodewise("compare", *pair, "--fail-if-slower", "5%").returncode == 1
    assert nodewise("compare", *pair, "--fail-if-slower", "5000%").returncode == 0
    one = ("sleep 0.02", "-r", "8", "--baseline", "then", "--fail-if-slower", "200%")
    assert nodewise("compare", *one).returncode == 0
    other = nodewise("compare", *one, "--env", "OMP_NUM_THREADS=3")
    assert other.returncode == 2
    assert "OMP_NUM_THREADS: not set then, 3 now" in other.stdout
    # what is stored, and what a CI reads, says no less
    kept = nodewise("compare", *one, "--env", "OMP_NUM_THREADS=3", "--out", "kept", "--export-junit", "j.xml")
    assert kept.returncode == 2 and 'failures="1"' in (tmp_path / "j.xml").read_text()
    assert json.loads((tmp_path / "kept/verdict.json").read_text())["baseline"]["pairs"]
    again = nodewise("report", "kept", "--text")
    assert "OMP_NUM_THREADS: not set then, 3 now" in again.stdout
    assert "passed" not in other.stdout and "--any-machine" in other.stdout
    anyhow = nodewise("compare", *one, "--env", "OMP_NUM_THREADS=3", "--any-machine")
    assert anyhow.returncode == 0 and "OMP_NUM_THREADS: not set then, 3 now" in anyhow.stdout
    crashing = "echo >> count; test $(wc -l < count) -ne 4"
    failing = nodewise("compare", "true", crashing, "-r", "10", "--fail-if-slower", "9000%")
    assert failing.returncode == 1
    assert "exit code 1" in failing.stdout


def test_what_stays_open_fails_where_that_is_asked(nodewise: Command) -> None:
    few = ("sleep 0.002", "sleep 0.002 ", "-n", "a", "-n", "b", "-r", "2")
    assert nodewise("compare", *few).returncode == 0
    assert nodewise("compare", *few, "--undecided", "fail").returncode == 4
    done = nodewise("compare", *few, "--undecided", "fail", "--fail-if-slower", "5%")
    assert done.returncode == 4 and "undecided not shown to be slower by more than 5%" in done.stdout
    # a gate that is shut is no open question
    slow = (
        "sleep 0.002",
        "sleep 0.05",
        "-r",
        "12",
        "--accept-disturbed",
        "--undecided",
        "fail",
        "--fail-if-slower",
        "5%",
    )
    assert nodewise("compare", *slow).returncode == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [("question.json", "{"), ("question.json", '{"nodewise_experiment": 1}'), ("question.json", "\udcff")],
)
def test_a_damaged_baseline_is_one_clear_message(nodewise: Command, tmp_path: Path, name: str, content: str) -> None:
    assert nodewise("compare", "true", "true", "-r", "2", "--out", "x").returncode == 0
    (tmp_path / "x" / name).write_bytes(content.encode(errors="surrogateescape"))
    for arguments in (("compare", "true", "--baseline", "x"), ("compare", "--resume", "x"), ("report", "x")):
        _fails(nodewise(*arguments), name, "damaged")


def test_a_damaged_verdict_costs_nothing(nodewise: Command, tmp_path: Path) -> None:
    assert nodewise("compare", "true", "true", "-r", "2", "--out", "x").returncode == 0
    (tmp_path / "x/verdict.json").write_text("{")
    assert nodewise("report", "x").returncode == 0
    assert _json(nodewise("compare", "--resume", "x", "--json"))["blocks"] == 2


def test_a_second_writer_is_refused(nodewise: Command, tmp_path: Path) -> None:
    assert nodewise("compare", "true", "true", "-r", "2", "--out", "x").returncode == 0
    with (tmp_path / "x/samples.jsonl").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _fails(nodewise("compare", "--resume", "x"), "another nodewise is writing")


def test_a_full_disk_is_one_clear_message_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    words = (
        f"ulimit -f 16; exec {sys.executable} -B -m nodewise compare true true -r 400 --out x --cleanup 'echo C >> log'"
    )
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False)
    _fails(done, "samples.jsonl", "ulimit -f")
    assert (tmp_path / "log").read_text().split() == ["C", "C"]
    lines = (tmp_path / "x/samples.jsonl").read_text().splitlines()
    assert len([json.loads(line) for line in lines]) > 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_asked_for_reports_what_there_is_and_cleans_up(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, number: signal.Signals
) -> None:
    process = start("compare", "sleep 0.05", "sleep 0.051", "--json", "--out", "x", "--cleanup", "echo C >> log")
    _wait_for_samples(tmp_path / "x", 8)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert json.loads(out)["stopped"] == "interrupted"
    assert (tmp_path / "log").read_text().split() == ["C", "C"]
    assert (tmp_path / "x/report.html").exists()


def test_after_a_kill_it_goes_on_from_another_directory(
    nodewise: Command, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start("compare", "sleep 0.02", "sleep 0.021", "-r", "14", "--out", "x")
    _wait_for_samples(tmp_path / "x", 8)
    process.kill()
    process.communicate()
    kept = [line for line in (tmp_path / "x/samples.jsonl").read_text().splitlines() if '"sample"' in line]
    result = _json(nodewise("compare", "--resume", str(tmp_path / "x"), "--json"))
    again = [line for line in (tmp_path / "x/samples.jsonl").read_text().splitlines() if '"sample"' in line]
    assert again[: len(kept)] == kept
    assert result["runs"] == len(again) >= 30


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the command line and do not wait for it."""

    def begin(*arguments: str) -> subprocess.Popen[str]:
        return Begun(*arguments, cwd=tmp_path, text=True)

    return begin


def _wait_for_samples(path: Path, count: int) -> None:
    samples = path / "samples.jsonl"
    deadline = time.monotonic() + 30
    while not samples.exists() or samples.read_text().count('"sample"') < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_steps_are_read_by_the_shell_of_the_commands(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "myshell").write_text('#!/bin/sh\necho "$2" >> log\nexec sh "$@"\n')
    (tmp_path / "myshell").chmod(0o755)
    done = nodewise("compare", "true a", "true b", "-r", "1", "-w", "0", "-S", "./myshell", "--setup", "true set")
    assert done.returncode == 0, done.stderr
    assert set((tmp_path / "log").read_text().splitlines()) == {"true a", "true b", "true set"}


def test_a_hanging_command_is_ended_by_its_timeout(nodewise: Command) -> None:
    _fails(nodewise("compare", "sleep 60", "true", "--timeout", "0.2s"), "sleep 60: cut off")


def test_a_flood_of_output_and_input_from_a_file(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("7\n" * 100_000)
    result = _json(
        nodewise("compare", "cat", "sort -n", "--input", "data", "-r", "2", "--json", "--metric", "last=(7)$")
    )
    assert [c["medians"]["last"] for c in result["contenders"]] == [7.0, 7.0]


def test_thirty_commands_have_one_note_each_kind(nodewise: Command) -> None:
    done = nodewise("compare", "-P", "n=1..30", "true {n}; true", "-r", "2")
    assert done.returncode == 0, done.stderr
    notes = [x for x in done.stdout.splitlines() if x.startswith("note ") and "experiment" not in x]
    # what fewer than three commands have is named with the command
    alike = Counter(re.sub(r"^note +(true \d+; true: )?|[0-9.]+", "", x) for x in notes)
    assert max(alike.values()) <= 2 and sum("all commands" in x or " of 30 commands" in x for x in notes) <= 5, (
        done.stdout
    )
    assert "n=30" in done.stdout


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("-N", "sleep 0 > x", "true"), "without a shell |, <, > and the like are arguments of the program"),
        (("--timeout", "10ms", "sleep 0.5", "true"), "give more time to each run: --timeout"),
        (("false", "true"), "where that is a success, name 1 in --accept-codes"),
    ],
)
def test_what_fails_the_first_time_says_what_helps(nodewise: Command, words: tuple[str, ...], hint: str) -> None:
    _fails(nodewise("compare", "-r", "7", *words), hint)


def test_a_command_that_does_not_run_is_an_error_in_junit(nodewise: Command, tmp_path: Path) -> None:
    _fails(
        nodewise("compare", "true", "exit 3", "-n", "well", "-n", "bad", "-r", "3", "--export-junit", "j.xml"), "exit 3"
    )
    suite = ET.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("errors"), suite.get("skipped")) == ("2", "1", "1")
    (case,) = (case for case in suite if case.find("error") is not None)
    assert case.get("name") == "bad"


def test_beside_a_baseline_another_exit_code_is_named(nodewise: Command, tmp_path: Path) -> None:
    program = tmp_path / "app"
    for code in (0, 4):
        program.write_text(f"#!/bin/sh\nexit {code}\n")
        program.chmod(0o755)
        words = ("--baseline", "then") if code else ("--out", "then")
        kind = "compare" if code else "run"
        done = nodewise(kind, "--accept-disturbed", "-i", "-r", "8", *words, *(() if code else ("--",)), str(program))
        assert done.returncode == 0, done.stderr
    assert "exit code 4 now, 0 then" in done.stdout


def test_a_page_shows_how_long_the_program_waited_and_not_the_machine(nodewise: Command, tmp_path: Path) -> None:
    assert nodewise("run", "--accept-disturbed", "-r", "3", "--out", "x", "--", "sleep", "0.01").returncode == 0
    lines = (tmp_path / "x" / "samples.jsonl").read_text().splitlines()
    changed = [json.loads(line) for line in lines]
    for one in changed:
        if "conditions" in one:
            one["conditions"]["pressure_cpu_s"] = 77.0
    (tmp_path / "x" / "samples.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in changed))
    done = nodewise("report", "x", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "waiting for a processor" in page and "77 s" not in page


def test_what_a_page_has_to_be_typed_can_be_typed(nodewise: Command, tmp_path: Path) -> None:
    assert nodewise("compare", "true", "true ", "-r", "6", "--accept-disturbed", "--out", "my dir").returncode == 0
    page = html.unescape((tmp_path / "my dir/report.html").read_text())
    assert "<code>nodewise report 'my dir'</code>" in page
