# SPDX-License-Identifier: BSD-3-Clause
"""What people type by mistake, and the messages that they get."""

from pathlib import Path

import click
import pytest

import nodewise
from nodewise.api.given import unfilled
from nodewise.cli.commands.run import command as run_command
from nodewise.cli.typed import options_left_out
from nodewise.records.experiment import read_experiment
from tests.started import started

from .conftest import Command


@pytest.mark.parametrize(
    ("typed", "command", "said"),
    [
        (["run", "./app", "--budget", "10s"], ["./app", "--budget", "10s"], "--budget 10s was handed to ./app"),
        (["run", "./app", "--budget=10s", "--json"], ["./app", "--budget=10s", "--json"], "--budget=10s, --json were"),
        (["run", "./app", "--mine", "3"], ["./app", "--mine", "3"], ""),
        (["run", "--", "./app", "--budget", "10s"], ["./app", "--budget", "10s"], ""),
        (["run", "./app", "--", "--budget", "10s"], ["./app", "--", "--budget", "10s"], ""),
        (["run", "--budget", "10s", "./app"], ["./app"], ""),
    ],
)
def test_options_after_the_program_are_named(typed: list[str], command: list[str], said: str) -> None:
    assert isinstance(run_command, click.Command)
    printed = options_left_out(run_command.params, typed, command)
    assert printed.startswith(said) and bool(printed) == bool(said)


def test_an_option_after_the_program_is_a_note_and_the_programs_own(nodewise_here: Command) -> None:
    done = nodewise_here("run", "-r", "1", "-w", "0", "echo", "--timeout", "5s")
    assert done.returncode == 0
    assert "note: --timeout 5s was handed to echo; nodewise's options stand before the program" in done.stderr
    assert "note:" not in nodewise_here("run", "-r", "1", "-w", "0", "--", "echo", "--timeout", "5s").stderr


@pytest.mark.parametrize(
    ("axes", "what"),
    [
        ("thread", "did you mean threads?"),
        ("threads,alocator", "did you mean allocator?"),
        ("xyzzy", "xyzzy\n"),
        (",", "no axis"),
    ],
)
def test_a_typo_in_axes_is_found_before_anything_runs(nodewise_here: Command, axes: str, what: str) -> None:
    done = nodewise_here("tune", "--axes", axes, "--", "no-such-program-at-all")
    assert done.returncode == 2 and what in done.stderr and "no-such-program" not in done.stderr


def test_what_nothing_fills_in_is_named(nodewise_here: Command) -> None:
    assert (
        unfilled(("./app", "{n}", "{m}"), ["n"], "-P {}=1,2")
        == "nothing fills {m}, and ./app is given it as it is: -P m=1,2"
    )
    for command in (("./app", "{n}"), ("sh", "-c", "f() { true; }"), ("./app", "{}", "{1}", "a{b}")):
        assert unfilled(command, ["n"], "-P {}=1,2") == ""
    for words in (["run", "-r", "1", "--", "echo", "{n}"], ["compare", "-r", "1", "echo {n}", "echo"]):
        assert "note: nothing fills {n}, and echo is given it as it is: " in nodewise_here(*words).stderr
    for words in (
        ["compare", "-r", "1", "-P", "n=1,2", "echo {n}"],
        ["scale", "--counts", "1,2", "--", "false", "{threads}"],
    ):
        assert "nothing fills" not in nodewise_here(*words).stderr


def test_a_dry_run_answers_with_a_small_budget_too(nodewise_here: Command) -> None:
    done = nodewise_here("tune", "--dry-run", "--budget", "50ms", "--axes", "threads,placement", "--", "sleep", "0.1")
    assert done.returncode == 0, done.stderr
    assert "budget    too small: a verdict takes 15 runs, which --budget" in done.stdout


def test_durations_are_refused_alike_with_the_options_name(nodewise_here: Command) -> None:
    for words in (["run", "--budget"], ["tune", "--budget"], ["compare", "--budget"], ["run", "--timeout"]):
        done = nodewise_here(*words, "10parsecs", *(["true", "true"] if words[0] == "compare" else ["true"]))
        assert done.returncode == 2 and f"not a duration: {words[1]}: '10parsecs'" in done.stderr, done.stderr


def test_a_program_that_fails_at_times_has_its_good_runs_reported(nodewise_here: Command) -> None:
    third = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; [ $((n % 3)) != 1 ]"
    done = nodewise_here("run", "-r", "9", "--", "sh", "-c", third)
    assert done.returncode == 1, done.stderr
    assert (
        "6 runs" in done.stdout
        and "failed in 3 of 9 runs; only the other runs are reported: exit code 1" in done.stdout
    )
    assert nodewise_here("run", "-r", "3", "--", "false").returncode == 2


def test_a_command_that_hangs_is_stopped_with_the_budget_that_would_do(nodewise_here: Command) -> None:
    for words in (["run", "--", "sleep", "100"], ["compare", "true", "sleep 100"]):
        done = nodewise_here(words[0], "--budget", "1s", *words[1:])
        assert done.returncode == 2 and "the budget is too small: a run of sleep 100 was stopped after" in done.stderr
        assert "give more than --budget" in done.stderr


@pytest.fixture
def says(tmp_path: Path) -> str:
    """A program that tells what it was given, in a file beside it."""
    path = tmp_path / "says"
    path.write_text('#!/bin/sh\nprintf "%s|%s|%s\\n" "$OMP_NUM_THREADS" "$B" "$*" >> said\n')
    path.chmod(0o755)
    return "./says"


@pytest.mark.parametrize(
    "command",
    [
        ["run", "-r", "1", "-w", "0"],
        ["tune", "--max-runs", "20", "--axes", "hugepages", "--within", "90%"],
        ["place", "os"],
    ],
)
def test_variables_before_the_program_are_its_environment(
    nodewise: Command, says: str, tmp_path: Path, command: list[str]
) -> None:
    done = nodewise(*command, "--", "OMP_NUM_THREADS=1", "B=x y", says, "500", "C=3")
    assert done.returncode == 0, done.stderr
    assert set((tmp_path / "said").read_text().splitlines()) == {"1|x y|500 C=3"}
    if command[0] == "tune":
        assert "launch    OMP_NUM_THREADS=1 B='x y' ./says 500 C=3" in done.stdout
        (folder,) = (tmp_path / "nodewise-experiments").glob("says-*")
        # what goes on with it, or confirms it, starts it so, too
        kept = read_experiment(folder).question
        assert kept["how"]["env"] == kept["start"]["env"] == {"OMP_NUM_THREADS": "1", "B": "x y"}


def test_variables_before_the_program_are_read_from_python_too(
    says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nodewise.run(f"OMP_NUM_THREADS=1 {says} 500", runs=1, warmup=0, accept_disturbed=True, env={"B": 2})
    nodewise.run(["OMP_NUM_THREADS=1", says, "500"], runs=1, warmup=0, accept_disturbed=True, env={"B": 2})
    assert (tmp_path / "said").read_text() == "1|2|500\n" * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--", "A=1"], "no program follows A=1"),
        (["run", "--", "A=1 ./app x", "5"], "give the line to a shell: -- sh -c 'A=1 ./app x 5'"),
        (["run", "--", "./app x | cat", "5 6"], "-- sh -c './app x | cat '\"'\"'5 6'\"'\"''"),
        (["run", "--", "./app x", "5"], "words of their own: -- ./app x 5"),
        (["tune", "-P", "n=1,2", "--", "OMP_NUM_THREADS={n}", "true", "{n}"], "--env-axis OMP_NUM_THREADS=VALUES"),
        (["place", "os", "--", "A=1"], "no program follows A=1"),
    ],
)
def test_a_line_in_place_of_a_program_is_named_whole(nodewise_here: Command, words: list[str], said: str) -> None:
    done = nodewise_here(*words)
    assert done.returncode == 2 and said in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--budget", "5", "minutes", "--", "true"], "write 5min: --budget 5min"),
        (["compare", "--budget", "10", "s", "true", "echo a"], "write 10s: --budget 10s"),
        (["study", "--wait-quiet=1.5", "hours", "is"], "write 1.5h: --wait-quiet 1.5h"),
        (["tune", "--timeout", "5", "min", "true"], "write 5min: --timeout 5min"),
        (["compare", "-r", "1", "-w", "0", "sleep 0.{n}", "true"], "-P n=… is missing"),
        (["compare", "true", "no-such-500"], "quote each command: nodewise compare 'true no-such-500' ANOTHER"),
        (["compare", "--", "A=1", "true", "5"], "nodewise compare 'A=1 true 5' ANOTHER"),
        (["place", "scater"], "did you mean scatter?"),
        (["place", "master"], "did you mean --bind master?"),
        (["place", "compact", "--to", "openmp"], "did you mean omp?"),
        (["place", "compact", "--to", "likwit"], "did you mean likwid?"),
        (["study", "isx"], "did you mean is?"),
        (["study", "is", "--clas", "S"], "did you mean class?"),
        (["tune", "--thread", "2", "true"], "the number of threads is an axis"),
        (["run", "--threads", "2", "true"], "OMP_NUM_THREADS=2 ./app"),
        (["tune", "./stencil.c"], "compile it first: cc -O3 -o ./stencil ./stencil.c"),
        (["run", "./data.txt"], "is not a program"),
        (["run", "./script"], "chmod +x ./script"),
        (["machine", "--allow", "0-4097"], "this machine has no processors"),
        (["machine", "--png", "x.txt"], "--png writes PNG, and x.txt ends otherwise"),
        (["place", "compact", "--svg", "x.png"], "--svg writes SVG"),
        (["place", "--", "./script", "500"], "before --: nodewise place compact -- ./script 500"),
        (["place", "true", "500"], "before --: nodewise place compact -- true 500"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_was_meant_is_said(nodewise_here: Command, tmp_path: Path, words: list[str], said: str) -> None:
    for name, text in {"stencil.c": "int main;", "data.txt": "1 2 3", "script": "#!/bin/sh\n"}.items():
        (tmp_path / name).write_text(text)
    done = nodewise_here(*words)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert not (tmp_path / "x.txt").exists() and not (tmp_path / "x.png").exists()


def test_a_program_called_like_a_unit_is_run(
    nodewise_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "min").write_text("#!/bin/sh\n")
    (tmp_path / "min").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert nodewise_here("run", "-r", "1", "-w", "0", "--budget", "20", "min").returncode == 0


def test_without_a_command_there_is_help(nodewise_here: Command) -> None:
    done = nodewise_here()
    assert done.returncode == 0 and done.stdout == nodewise_here("--help").stdout and not done.stderr


def test_a_program_that_is_not_there_is_called_so_among_several(nodewise_here: Command) -> None:
    done = nodewise_here("compare", "true", "./nope")
    assert done.returncode == 2 and "error: no such program: ./nope" in done.stderr
    assert "input.dat is no command: each command is one text" in nodewise_here("compare", "true", "input.dat").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("tune", "--axes", "threads", "--axes=near", "--", "true"),
            "--axes is given twice, and can be only once; its values have commas",
        ),
        (("run", "-r", "2", "--runs", "3", "-r4", "--", "true"), "--runs is given 3 times, and can be only once."),
        (("place", "compact", "--to", "omp", "--to", "slurm"), "--to is given twice"),
    ],
)
def test_a_value_that_another_one_would_replace_is_no_value(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ended = started(*words, cwd=tmp_path)
    assert ended.returncode == 2 and said in ended.stderr and not [*tmp_path.iterdir()]
    # nothing is lost of flags, of what may be given again, and behind the program's name
    again = ("run", "-r", "1", "--out", "x", "--accept-disturbed", "--accept-disturbed", "--env", "A=1", "--env", "B=2")
    assert started(*again, "--", "true", "-r", "2", "-r", "3", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("machine", "synthetic:core:4"), "named by its option: nodewise machine --machine synthetic:core:4"),
        (("machine", "--table", "a b.xml"), "named by its option: nodewise machine --table --machine 'a b.xml'"),
        (("snapshot", "nodes/n1.json"), "said by -o: nodewise snapshot -o nodes/n1.json"),
        (("doctor", "synthetic:core:4"), "nodewise doctor [OPTIONS] (--help says more)"),
    ],
)
def test_a_word_that_an_option_takes_leads_to_the_option(words: tuple[str, ...], hint: str) -> None:
    ended = started(*words)
    assert ended.returncode == 2 and "unexpected extra argument" in ended.stderr and hint in ended.stderr


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("compare", "true", ""), "error: an empty command", "may be unset"),
        (("compare", "  ", "true"), "error: an empty command", "may be unset"),
        (("compare", "--json", "-", "true"), "error: - is no command", "--export-json"),
        (("compare", "true", "false", "--export-json"), "'--export-json' requires an argument", "--export-json FILE"),
        (("tune", "--axes"), "'--axes' requires an argument", "write it such as --axes A,B"),
        (("tune", "--threads", "8", "--", "true"), "no such option: --threads\n", "the number of threads is an axis"),
        (("scale", "--nthreads", "8", "--", "true"), "no such option: --nthreads\n", "--counts 1,2,4"),
        (("confirm", "--threads", "2", "x"), "no such option: --threads\n", "OMP_NUM_THREADS=2 ./app"),
        (("run", "--thread", "2", "--", "true"), "No such option '--thread'", "OMP_NUM_THREADS=2 ./app"),
        (("compare", "--quiet", "true", "false"), "no such option: --quiet\n", "standard error"),
        (("profile", "--budget", "3s", "--", "true"), "no such option: --budget\n", "one whole run"),
        (("place", "scatter", "--dialect", "omp"), "no such option: --dialect\n", "--to DIALECT"),
        (("check", "nosuch/"), "cannot read nosuch", "nodewise snapshot -o"),
        (("where",), "name either a command", "where -- ./app"),
        (("profile",), "name either a command", "profile -- ./app"),
    ],
)
def test_what_users_of_other_programs_type_leads_on(words: tuple[str, ...], said: str, hint: str) -> None:
    ended = started(*words)
    message, _, rest = ended.stderr.partition("\nhint: ")
    assert ended.returncode == 2 and said in message and hint in rest, ended.stderr
