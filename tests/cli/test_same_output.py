# SPDX-License-Identifier: BSD-3-Clause
"""A setting, or a command, that answers something else is wrong, not fast: as users see it."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import NOISE, Command

#: Says at once how long it takes: half as long in the modes `fast`, in which it is wrong, and `same`, in which it is right.
APP = """#!{python} -IS
import math, os, sys
n = int(os.environ["NODEWISE_RUN"])
mode = os.environ.get("MODE")
print("sum", 1.2399 if mode == "fast" else 1.2345)
print(os.urandom(16).hex(), file=sys.stderr)
{noise}
seconds = (0.5 if mode in ("fast", "same") else 1.0) * (1 + 0.01 * noise)
print('{{"nodewise": 1, "seconds": %r}}' % seconds)
"""


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    """The command line, in this process."""
    return nodewise_here


@pytest.fixture
def app(tmp_path: Path) -> str:
    path = tmp_path / "app"
    path.write_text(APP.format(python=sys.executable, noise=NOISE))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def chatty(tmp_path: Path, app: str) -> str:
    """The same, with an output that never repeats."""
    path = tmp_path / "app"
    path.write_text(path.read_text().replace(", file=sys.stderr", ""))
    return app


def tune(nodewise: Command, app: str, *words: str, modes: str = "fast") -> dict:
    axes = ("--axes", "MODE", "--env-axis", f"MODE={modes}", "--max-runs", "60", "--accept-disturbed")
    done = nodewise("tune", *axes, *words, "--json", "--", app)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_tune_takes_no_setting_that_prints_something_else(nodewise: Command, app: str) -> None:
    result = tune(nodewise, app)
    assert "MODE" not in result["best"]["launch_line"]
    notes = "\n".join(result["notes"])
    assert (
        "MODE=fast was left out: wrong result: output differs from the baseline's at line 1: 1.2399 against 1.2345"
        in notes
    )
    assert "--any-output" in notes


def test_tune_takes_one_that_prints_the_same(nodewise: Command, app: str) -> None:
    result = tune(nodewise, app, modes="fast,same")
    assert (result["verdict"], result["best"]["values"]["MODE"]) == ("faster", "same")


@pytest.mark.parametrize("allowed", [("--any-output",), ("--tolerance", "0.01"), ("--same-output", "sum 1.2")])
def test_tune_takes_it_where_that_is_allowed(nodewise: Command, app: str, allowed: tuple[str, ...]) -> None:
    if allowed[-1] == "sum 1.2":
        allowed = ("--same-output", r"sum (1\.2)")
    result = tune(nodewise, app, *allowed)
    assert (result["verdict"], result["best"]["values"]["MODE"]) == ("faster", "fast")


def test_an_output_that_reports_its_time_is_compared_but_for_that(nodewise: Command, tmp_path: Path, app: str) -> None:
    text = Path(app).read_text() + 'print(f"time: {seconds:.6f}")\n'
    Path(app).write_text(text)
    result = tune(nodewise, app)
    assert "MODE" not in result["best"]["launch_line"]
    assert any("1.2399 against 1.2345" in note for note in result["notes"])


def test_an_output_that_differs_from_run_to_run_is_not_compared_and_that_is_said(
    nodewise: Command, chatty: str
) -> None:
    result = tune(nodewise, chatty)
    assert (result["verdict"], result["best"]["values"]["MODE"]) == ("faster", "fast")
    assert any("differs from run to run; --same-output" in n for n in result["notes"])
    picked = tune(nodewise, chatty, "--same-output", r"sum (\S+)")
    assert "MODE" not in picked["best"]["launch_line"]


def test_what_was_asked_to_repeat_and_does_not_is_bad_input(nodewise: Command, chatty: str) -> None:
    done = nodewise("tune", "--env-axis", "MODE=fast", "--same-output", "--max-runs", "30", "--", chatty)
    assert done.returncode == 2
    assert "output differs from run to run of the program as it is, at line 2" in done.stderr


def test_compare_holds_outputs_against_the_first_commands_where_it_is_asked_to(nodewise: Command, app: str) -> None:
    commands = (f"env MODE=none {app}", f"env MODE=fast {app}")
    # in which block it is seen depends on their order: in the first one it is bad input, later a row that says so
    done = nodewise("compare", "-r", "3", "--same-output", "--fail-if-slower", "90%", *commands)
    assert done.returncode in (1, 2)
    assert "output differs from the baseline's at line 1: 1.2399 against 1.2345" in done.stdout + done.stderr
    assert "faster" not in done.stdout
    assert nodewise("compare", "-r", "3", *commands).returncode == 0
    assert nodewise("compare", "-r", "3", "--same-output", "--tolerance", "1e-2", *commands).returncode == 0


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_compare_finds_it_with_one_run_of_each_in_whatever_order(nodewise: Command, app: str, seed: str) -> None:
    commands = (f"env MODE=none {app}", f"env MODE=fast {app}")
    words = ("-r", "1", "-w", "0", "--seed", seed, "--same-output", r"sum (\S+)", "--json")
    done = nodewise("compare", *words, *commands)
    assert done.returncode == 1, done.stderr
    errors = [c["error"] for c in json.loads(done.stdout)["contenders"]]
    assert errors[0] is None
    assert (
        errors[1]
        == r"wrong result: what matches 'sum (\S+)' differs from the baseline's at match 1: 1.2399 against 1.2345"
    )


def test_a_file_that_the_runs_write_is_compared(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "in here").mkdir()
    commands = [f"sh -c 'echo {v} > out.dat; echo $$'" for v in ("1.5", "1.50000000001", "1.6")]
    words = ("compare", "-r", "3", "--cwd", "in here", "--same-output", "out.dat")
    assert nodewise(*words, *commands[:2]).returncode == 0
    done = nodewise(*words, "--fail-if-slower", "90%", commands[0], commands[2])
    assert done.returncode in (1, 2)
    assert "out.dat differs from the baseline's at line 1: 1.6 against 1.5" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--same-output=(",), "is no regular expression"),
        (("--any-output", "--same-output", "x.dat"), "cannot be given with"),
        (("--tolerance", "-1"), "not a share"),
        (("--same-output", "nothing here"), "left no file nothing here; a regular expression has a group"),
        (("--expect", "(" * 3000 + "1" + ")" * 3000), "is nested too deeply"),
        (("--same-output", "|".join(f"nowhere{n} ([0-9]+)" for n in range(40))), "is nowhere in the output"),
        (("--same-output", "missing.dat"), "left no file missing.dat"),
        (("--same-output", r"nowhere (\d+)"), "is nowhere in the output"),
    ],
)
def test_bad_input_is_named(nodewise: Command, app: str, words: tuple[str, ...], message: str) -> None:
    done = nodewise("tune", *words, "--max-runs", "30", "--", app)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_tolerance_needs_something_to_hold_it_against(nodewise: Command) -> None:
    done = nodewise("compare", "--tolerance", "1e-3", "true", "true")
    assert (done.returncode, "--same-output, which is not given" in done.stderr) == (2, True)
