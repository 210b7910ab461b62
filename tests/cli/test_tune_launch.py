# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise tune` hands back: a line and a script that a shell repeats, and what it says before and after."""

import dataclasses
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from nodewise.cli.typed import input_left_out
from nodewise.jobs.script import all_forms
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.report.text.going_on import going_on
from nodewise.search.space import Axis
from nodewise.statistics.verdict import Word
from nodewise.tuning.outline import named_values
from nodewise.verdicts.tune import tune_verdict
from tests.cli.conftest import Command
from tests.runner.test_job import own_mpirun

#: Reports how long it took by what it was given, and writes how it was started into the file that RECORD names.
PROGRAM = f"""#!{sys.executable} -IS
import json, os, sys
given = sys.stdin.read()
here = [sys.argv[1:], os.getcwd(), given, os.environ.get("GIVEN"), os.environ.get("MODE")]
open(os.environ["RECORD"], "w").write(json.dumps(here))
print(json.dumps({{"nodewise": 1, "seconds": 1.0 if os.environ.get("MODE") == "it's \\"fast\\" $x" else 1.5}}))
"""


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    """The command line, in this process."""
    return nodewise_here


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with a difficult name, and a program in it."""
    path = tmp_path / 'it\'s a "dir"'
    path.mkdir()
    (path / "te'll me").write_text(PROGRAM)
    (path / "te'll me").chmod(0o755)
    (path / "in put").write_text("text")
    return path


def test_a_setting_that_ends_with_another_accepted_code_is_wrong_and_codes_are_counted(
    nodewise: Command, tmp_path: Path
) -> None:
    program = tmp_path / "app"
    program.write_text('#!/bin/sh\n[ "$MODE" = fast ] && exit 5\nsleep 0.03; exit 3\n')
    program.chmod(0o755)
    words = ("--axes", "MODE", "--env-axis", "MODE=fast", "--max-runs", "20", "--accept-codes", "3,5", "--json")
    done = nodewise("tune", "--accept-disturbed", *words, "--", str(program))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["verdict"] != "faster" and said["best"]["key"] == "baseline"
    assert "MODE=fast was left out: wrong result: its exit code is 5, the baseline's 3" in said["notes"]
    assert any("exit codes that were accepted: 3 in " in note for note in said["notes"])


def _lines(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The closing lines by their first word."""
    assert done.returncode == 0, done.stderr
    words = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line and line[0].isalpha()]
    return {w[0]: w[1] for w in words if len(w) == 2}


@pytest.mark.parametrize("shell", ["sh", pytest.param("bash", marks=pytest.mark.long)])
def test_the_line_and_the_script_of_a_gain_do_in_a_shell_what_was_measured(
    nodewise: Command, folder: Path, tmp_path: Path, shell: str
) -> None:
    record = tmp_path / "to 'ld'"
    options = [
        "--cwd",
        str(folder),
        "--input",
        f"{folder}/in put",
        "--env",
        "GIVEN=by $me",
        "--env",
        f"RECORD={record}",
    ]
    done = nodewise(
        "tune", "--accept-disturbed", "--max-runs", "40", "--env-axis", "MODE=slow,it's \"fast\" $x", "--axes", "MODE", *options,
        "--out", "x", "--script", "sh=run it.sh", "--", "./te'll me", "$a", "b\nc",
    )  # fmt: skip
    line = done.stdout.partition("\nlaunch    ")[2].partition("\nscript ")[0]
    script = _lines(done)["script"]
    expected = [["$a", "b\nc"], str(folder), "text", "by $me", 'it\'s "fast" $x']
    for words in ([shell, "-c", line], [shell, script], [script]):
        record.unlink()
        subprocess.run(words, cwd="/", env={"PATH": os.environ["PATH"]}, check=True, capture_output=True)
        assert json.loads(record.read_text()) == expected
    assert script == str(tmp_path / "run it.sh")


def test_without_a_gain_the_script_is_the_users_own_start(nodewise: Command, tmp_path: Path) -> None:
    # it says how long it takes: that of `true` may really be shorter where it is held to a processor
    (tmp_path / "same").write_text('#!/bin/sh\necho \'{"nodewise": 1, "seconds": 1.2345}\'\n')
    (tmp_path / "same").chmod(0o755)
    words = ("--max-runs", "25", "--axes", "placement,threads", "--out", "x", "--script", "slurm")
    done = nodewise("tune", *words, "--", "./same")
    assert _lines(done)["script"] == "x/launch.sbatch"
    text = (tmp_path / "x/launch.sbatch").read_text()
    assert text.splitlines()[-2:] == [f"cd {tmp_path}", "exec ./same"]
    assert "#SBATCH --nodes=1" in text


def test_json_names_the_script(nodewise: Command) -> None:
    done = nodewise("tune", "--max-runs", "20", "--json", "--out", "x", "--script", "sh", "--", "true")
    assert json.loads(done.stdout)["script"] == "x/launch.sh"


def test_a_build_is_repeated_by_the_two_lines_that_are_printed(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("#!/bin/sh\necho '{\"nodewise\": 1, \"seconds\": 'SECONDS'}'\n")
    build = "sed 's/SECONDS/{flags}/' source > {out}; chmod +x {out}"
    done = nodewise(
        "tune", "--accept-disturbed", "--max-runs", "40", "--out", "a 'b'", "-P", "flags=1.5131,1.0273", "--axes", "flags", "--build", build, "--", "{out}"
    )  # fmt: skip
    lines = _lines(done)
    made = Path(
        subprocess.run(["sh", "-c", f"printf %s {lines['launch']}"], capture_output=True, text=True, check=True).stdout
    )
    made.unlink()
    repeated = subprocess.run(
        ["sh", "-c", f"{lines['build']}\n{lines['launch']}"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(repeated.stdout)["seconds"] == 1.0273


def test_a_dry_run_names_all_that_would_be_done_and_leaves_nothing(nodewise: Command, tmp_path: Path) -> None:
    done = nodewise("tune", "--dry-run", "--budget", "30s", "--env-axis", "MODE=a,b", "--", "sleep", "0.1")
    assert done.returncode == 0, done.stderr
    assert "MODE: unset (now), a, b" in done.stdout
    expected = re.search(r"about (\d+) runs like the first, 30 s; one run takes (\d+) ms", done.stdout)
    assert expected is not None and int(expected[1]) == pytest.approx(30_000 / int(expected[2]), rel=0.05)
    assert "dry run   the program ran once; nothing was kept" in done.stdout
    assert list(tmp_path.iterdir()) == []
    built = nodewise("tune", "--dry-run", "--build", "ln -s /bin/true x", "--budget", "30s", "--", "./x")
    assert "dry run   the program was built and ran once; of the run nothing was kept" in built.stdout
    (tmp_path / "x").unlink()
    answer = json.loads(
        nodewise("tune", "--dry-run", "--max-runs", "50", "--json", "--env-axis", "MODE=a", "--", "true").stdout
    )
    assert answer["axes"]["MODE"] == ["unset", "a"] and answer["runs"] == 50
    assert list(tmp_path.iterdir()) == []


def test_what_the_budget_leaves_out_is_named_with_the_reason(nodewise: Command) -> None:
    done = nodewise(
        "tune", "--dry-run", "--max-runs", "20", "--axes", "knobs,placement,threads", "--", sys.executable, "-c", "0"
    )
    assert done.returncode == 0, done.stderr
    # what is worth its runs here depends on the machine; each that is named has a reason
    for line in done.stdout.partition("left out")[2].partition("expected")[0].splitlines():
        assert re.search(r"[\w-]+: .{10}", line)


def test_an_axis_that_the_program_would_not_notice_is_refused(nodewise: Command) -> None:
    done = nodewise("tune", "--axes", "placement", "--", "sleep", "0.01")
    if len(os.sched_getaffinity(0)) > 1:
        assert done.returncode == 2
        assert "the program would notice nothing of the axis placement" in done.stderr


def test_values_of_an_axis_in_words() -> None:
    assert named_values(Axis("threads", tuple(range(1, 65)), (1,), 64, ordered=True)) == "1 to 64 (now 64)"
    assert named_values(Axis("a", ("x", "y"), ("x",), "x")) == "x (now), y"
    many = tuple(f"v{i}" for i in range(12))
    assert named_values(Axis("a", many, many, "v0")) == "v0 (now), v1, v2, v3, v4, v5, v6, 5 more"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["./app in.dat --fast"], "-- ./app in.dat --fast"),
        (["cat in.dat | ./app"], "-- sh -c 'cat in.dat | ./app'"),
        (["OMP_NUM_THREADS=2 ./app"], "-- sh -c 'OMP_NUM_THREADS=2 ./app'"),
        (["./app 'a b' > out"], """-- sh -c './app '"'"'a b'"'"' > out'"""),
        (["./app 'a b"], "give its path"),
        (["--threads", "4", "./app"], "the options of a program come after its name"),
    ],
)
def test_what_was_typed_for_a_shell_is_answered_with_what_to_type(
    nodewise: Command, words: list[str], hint: str
) -> None:
    done = nodewise("tune", *words)
    assert done.returncode == 2
    assert hint in done.stderr


def test_a_program_with_blanks_in_its_name_is_no_line_for_a_shell(nodewise: Command, folder: Path) -> None:
    done = nodewise("tune", "--dry-run", "--env", "RECORD=/dev/null", "--max-runs", "20", "--", f"{folder}/te'll me")
    assert done.returncode == 0, done.stderr


def test_input_that_does_not_arrive_is_reported(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("text")
    (tmp_path / "empty").write_text("")
    with (tmp_path / "in").open() as file, (tmp_path / "empty").open() as empty, Path("/dev/null").open() as null:
        assert f"--input {tmp_path}/in" in input_left_out(file.fileno())
        assert input_left_out(empty.fileno()) == input_left_out(null.fileno()) == ""
    read, write = os.pipe()
    assert input_left_out(read) == ""
    os.write(write, b"x")
    assert "--input FILE" in input_left_out(read)


def test_a_program_that_reads_a_terminal_ends_and_is_explained(tmp_path: Path) -> None:
    """Its standard input is empty and no terminal, also where nodewise itself has one."""
    main, sub = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "nodewise",
        "tune",
        "--max-runs",
        "20",
        "--",
        "sh",
        "-c",
        "test -t 0 || { echo no terminal; exit 4; }",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=sub, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    timer = threading.Timer(60, process.kill)
    timer.start()
    _, err = process.communicate()
    timer.cancel()
    os.close(main)
    os.close(sub)
    assert process.returncode == 2
    assert "no terminal" in err and "--input FILE" in err


@pytest.mark.parametrize(("line", "stop"), [("read x", "SIGTTIN"), ("stty -echo", "SIGTTOU")])
def test_a_program_that_asks_at_the_terminal_itself_is_named_and_stands_for_nobody(
    tmp_path: Path, line: str, stop: str
) -> None:
    """It is in none of the terminal's foreground, and would stand still for ever."""
    (tmp_path / "ask").write_text(f"#!/bin/sh\n{line} </dev/tty\n")
    (tmp_path / "ask").chmod(0o755)
    command = shlex.join([sys.executable, "-m", "nodewise", "run", "-r", "2", "--", "./ask"])
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert f"./ask: stopped by {stop}: it uses the terminal" in done.stdout


def _undecided(nodewise: Command, tmp_path: Path) -> Any:
    """A tune of a program with more noise than gain: as the table of a real one showed it, 584 ms against 499."""
    # drawn anew each time they would differ by chance once in a while
    count = tmp_path / "count"
    program = f"""if True:
        import json, os, random
        with open({str(count)!r}, "a") as file:
            file.write(".")
            file.flush()
            noise = random.Random(os.fstat(file.fileno()).st_size).gauss(1, 0.15)
        usual = 0.499 if os.environ.get("MODE") is None else 0.52
        print(json.dumps({{"nodewise": 1, "seconds": usual * noise}}))
    """
    done = nodewise(
        "tune", "--max-runs", "30", "--env-axis", "MODE=a", "--axes", "MODE", "--out", "x", "--",
        sys.executable, "-IS", "-c", program,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_no_launch_line_comes_of_what_is_not_decided(nodewise: Command, tmp_path: Path) -> None:
    done = _undecided(nodewise, tmp_path)
    verdict = tune_verdict(read_experiment(tmp_path / "x"), "budget")
    assert verdict.verdict is not Word.FASTER
    lines = _lines(done)
    assert lines["launch"].startswith(sys.executable)
    assert "MODE=a" not in lines["launch"]
    assert lines["best"] == "as it is: no setting was shown to be faster"
    if verdict.verdict is Word.UNDECIDED:
        assert "go on" in done.stdout


def test_what_would_decide_is_reported_with_the_line_to_type(nodewise: Command, tmp_path: Path) -> None:
    _undecided(nodewise, tmp_path)
    verdict = tune_verdict(read_experiment(tmp_path / "x"), "budget")
    undecided = dataclasses.replace(
        verdict,
        verdict=Word.UNDECIDED,
        more_runs=36,
        runs=30,
        seconds_spent=15.0,
        comparison=None,
        experiment="it's/x",
        stopped="budget",
    )
    more = going_on(undecided, Budget(20.0, None))
    assert more.advice.startswith(
        "about 36 more runs would probably decide it (18 s); the line to go on allows 2.5 times"
    )
    assert more.line == """nodewise tune --resume 'it'"'"'s/x' --budget 65s"""
    # a budget that was not used up is not made smaller
    assert going_on(undecided, Budget(10.0, None)).line.endswith("--budget 60s")
    more = going_on(dataclasses.replace(undecided, more_runs=None), Budget(None, 30))
    assert more.line.endswith("--max-runs 105") and not more.advice
    many = going_on(dataclasses.replace(undecided, more_runs=400), Budget(20.0, None))
    assert "13 times as many as were made" in many.advice
    decided = dataclasses.replace(undecided, verdict=Word.FASTER)
    assert going_on(decided, Budget(20.0, None)).line == ""


@pytest.mark.long
def test_an_undecided_tune_goes_on_with_a_larger_budget(nodewise: Command, tmp_path: Path) -> None:
    _undecided(nodewise, tmp_path)
    before = (tmp_path / "x/samples.jsonl").read_text()
    done = nodewise("tune", "--resume", "x", "--max-runs", "60", "--script", "sh")
    assert done.returncode == 0, done.stderr
    after = (tmp_path / "x/samples.jsonl").read_text()
    assert after.startswith(before)
    assert (tmp_path / "x/launch.sh").exists()
    # what was decided under either budget is decided so again
    again = nodewise("tune", "--resume", "x", "--max-runs", "90")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "x/samples.jsonl").read_text().startswith(after)
    last = nodewise("tune", "--resume", "x")
    assert last.returncode == 0, last.stderr


def test_scripts_are_printed_of_a_tune_and_of_a_program(nodewise: Command) -> None:
    words = ("--max-runs", "20", "--axes", "n", "-P", "n=1,2", "--any-output", "--out", "x", "--", "echo", "{n}")
    assert nodewise("tune", *words).returncode == 0
    for form in all_forms():
        done = nodewise("script", "--for", form, "x")
        assert "# nodewise tune: " in done.stdout and done.stdout.splitlines()[-1].endswith(("echo 1", "echo 2"))
    start = ("mpirun", "-n", "2", "./app", "$x")
    typed = nodewise("script", "--for", "pbs-alps", "--env", "A=b c", "--", *start).stdout
    assert "export A='b c'" in typed and typed.splitlines()[-1].endswith(" ./app '$x'")
    elsewhere = nodewise("script", "--for", "slurm", "--", "./app", "3")
    assert (
        elsewhere.returncode == 0 and "no such program: ./app; the script starts it where it runs" in elsewhere.stderr
    )
    for wrong, why in (
        (("--for", "cobalt", "--", "./app"), "no form of script"),
        (("--for", "sh"), "nothing to write a script of"),
        (("--", "./app"), "--for is missing: sh, slurm, pbs"),
        (("--for", "sh", "--timeout", "3s", "--", "./app"), "would do nothing"),
        (("--for", "sh", "--cwd", "/", "x"), "would do nothing"),
        (("--for", "slurm", "tunde"), "tunde is neither the directory of an experiment nor a program here"),
        (("--for", "slurm", "tunde/"), "tunde/ is neither the directory of an experiment nor a program here"),
        (("--for", "slurm", "."), ". holds no experiment"),
    ):
        done = nodewise("script", *wrong)
        assert done.returncode == 2 and why in done.stderr


def test_json_holds_the_ranks_of_the_best_start(nodewise: Command, tmp_path: Path) -> None:
    says = 'echo "{\\"nodewise\\": 1, \\"seconds\\": 1.$PMI_RANK}"\n'
    command = own_mpirun(tmp_path, says, 2).command
    done = nodewise(
        "tune", "--max-runs", "20", "--axes", "X", "--env-axis", "X=1", "--json", "--out", "x", "--", *command
    )
    assert done.returncode == 0, done.stderr
    ranks = json.loads(done.stdout)["ranks"]
    assert [(row["rank"], row["size"], row["seconds"]) for row in ranks["rows"]] == [(0, 2, 1.0), (1, 2, 1.1)]
    assert ranks["runs"] >= 1 and ranks["imbalance"] == pytest.approx(1.1 / 1.05 - 1)
    alone = nodewise(
        "tune", "--max-runs", "20", "--axes", "X", "--env-axis", "X=1", "--json", "--out", "y", "--", "true"
    )
    assert json.loads(alone.stdout)["ranks"] is None
