# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise confirm` from outside: what was promised, repeated another day."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from nodewise.verdicts.confirm import ConfirmVerdict
from nodewise.verdicts.encoding import schema_of
from tests.cli.conftest import NOISE, Command
from tests.started import started

#: Says at once how long it takes: half in the mode `fast`, as long as the file `truth` holds no other share.
APP = """#!{python} -IS
import math, os, sys
state = os.path.join(os.path.dirname(__file__), "runs")
n = os.path.getsize(state) if os.path.exists(state) else 0
open(state, "a").write(".")
share = float(open(os.path.join(os.path.dirname(__file__), "truth")).read())
fast = os.environ.get("MODE") == "fast"
if fast and "crash" in sys.argv: sys.exit(3)
print("sum", 1.5 if not (fast and "wrong" in sys.argv) else 1.6)
print("arguments", *sys.argv[1:], file=sys.stderr)
{noise}
print('{{"nodewise": 1, "seconds": %r}}' % ((share if fast else 1.0) * (1 + 0.01 * noise)))
"""


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    """The command line, in this process."""
    return nodewise_here


def write_app(folder: Path) -> str:
    path = folder / "app"
    path.write_text(APP.format(python=sys.executable, noise=NOISE))
    path.chmod(0o755)
    (folder / "truth").write_text("0.5")
    return "./app"


@pytest.fixture
def app(tmp_path: Path) -> str:
    return write_app(tmp_path)


@pytest.fixture(scope="module")
def tuned_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tune that promises twice the speed, in a folder of its own."""
    folder = tmp_path_factory.mktemp("tuned")
    words = ["tune", "--axes", "MODE", "--env-axis", "MODE=fast", "--max-runs", "60"]
    words += ["--accept-disturbed", "--out", "then", "--json", "--", write_app(folder), "in.dat"]
    done = started(*words, cwd=folder)
    assert json.loads(done.stdout)["verdict"] == "faster", done.stderr
    return folder


@pytest.fixture
def tuned(tuned_once: Path, tmp_path: Path, app: str) -> str:
    """That tune, as if it had been made here."""
    shutil.copytree(tuned_once / "then", tmp_path / "then")
    path = tmp_path / "then/question.json"
    path.write_text(path.read_text().replace(str(tuned_once), str(tmp_path)))
    return "then"


def answer(done: subprocess.CompletedProcess[str]) -> dict:
    assert "Traceback" not in done.stderr
    result = dict(json.loads(done.stdout))
    jsonschema.validate({k: v for k, v in result.items() if k != "report"}, schema_of(ConfirmVerdict))
    return result


def test_a_promise_that_holds(nodewise: Command, tuned: str, tmp_path: Path) -> None:
    done = nodewise("confirm", tuned, "--accept-disturbed", "--out", "now", "--json")
    result = answer(done)
    assert (result["verdict"], done.returncode) == ("holds", 0)
    assert result["promise"]["low"] < 2 < result["promise"]["high"]
    assert result["again"]["low"] < 2 < result["again"]["high"]
    assert result["command"] == ["./app", "in.dat"]
    settings = [json.loads(x) for x in (tmp_path / "now/samples.jsonl").read_text().splitlines()]
    assert [s["env"] for s in settings if s["type"] == "setting" and s["key"] == "MODE=fast"] == [{"MODE": "fast"}]
    assert "The promise holds" in (tmp_path / "now/report.html").read_text()
    again = nodewise("report", "now", "--html", "page.html")
    assert again.returncode == 0 and "The promise holds" in (tmp_path / "page.html").read_text()


@pytest.mark.some(2)
@pytest.mark.parametrize(("share", "word"), [("0.8", "smaller"), ("1.0", "gone"), ("1.3", "reversed")])
def test_one_that_does_not(nodewise: Command, tuned: str, tmp_path: Path, share: str, word: str) -> None:
    (tmp_path / "truth").write_text(share)
    done = nodewise("confirm", tuned, "--accept-disturbed")
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert lines["verdict"].split()[1].rstrip(":") == word
    assert done.returncode == 1
    assert lines["promised"].split()[1].startswith(("1.9", "2.0"))
    assert re.match(r"baseline  [\d.]+ m?s, MAD ", lines["baseline"]) and lines["now"].endswith(" (95% interval)")
    assert lines["launch"].endswith("MODE=fast ./app in.dat")


def test_too_few_runs_decide_nothing(nodewise: Command, tuned: str) -> None:
    done = nodewise("confirm", tuned, "--budget", "0.2s", "--json")
    assert done.returncode == 2 and "the budget is too small" in done.stderr and "--budget" in done.stderr


@pytest.mark.parametrize("words", [("real.dat", "-v"), ("./app", "real.dat", "-v")])
def test_other_arguments(nodewise: Command, tuned: str, words: tuple[str, ...]) -> None:
    result = answer(nodewise("confirm", tuned, "--accept-disturbed", "--json", "--", *words))
    assert result["verdict"] == "holds"
    assert result["command"] == ["./app", "real.dat", "-v"]
    assert [c["command"] for c in result["comparison"]["contenders"]] == [
        "./app real.dat -v",
        "MODE=fast ./app real.dat -v",
    ]


@pytest.mark.parametrize(("word", "why"), [("crash", "exit code 3"), ("wrong", "wrong result: output differs")])
def test_a_setting_that_fails_on_the_real_input_keeps_nothing(
    nodewise: Command, tuned: str, word: str, why: str
) -> None:
    done = nodewise("confirm", tuned, "--json", "--", word)
    result = answer(done)
    assert (result["verdict"], why in result["reason"], done.returncode) == ("gone", True, 1), done.stderr


def test_a_program_that_fails_by_itself_is_bad_input(nodewise: Command, tuned: str, tmp_path: Path) -> None:
    (tmp_path / "truth").unlink()
    done = nodewise("confirm", tuned)
    assert (done.returncode, "exit code 1" in done.stderr) == (2, True)


def test_it_runs_where_and_as_it_ran_then(nodewise: Command, tuned: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/real.dat").touch()
    environment = {**os.environ, "OMP_NUM_THREADS": "7"}
    words = ["confirm", "../then", "--accept-disturbed", "--json", "--", "real.dat"]
    done = started(*words, cwd=tmp_path / "elsewhere", env=environment)
    result = answer(done)
    assert result["verdict"] == "holds"
    assert result["command"] == ["./app", str(tmp_path / "elsewhere/real.dat")]
    assert f"runs are made in {tmp_path}, as then" in result["notes"]
    assert "OMP_NUM_THREADS is 7 now; runs are made as then, with it not set" in result["notes"]


def test_options_of_then_hold_and_those_of_now_go_over_them(nodewise: Command, app: str) -> None:
    words = ("--axes", "MODE", "--env-axis", "MODE=fast", "--max-runs", "60", "--accept-disturbed")
    nodewise("tune", *words, "--expect", "sum", "--env", "EXTRA=1", "--out", "then", "--", app)
    assert nodewise("confirm", "then", "--accept-disturbed").returncode == 0
    done = nodewise("confirm", "then", "--expect", "no such word")
    assert (done.returncode, "is nowhere in the output" in done.stderr) == (2, True)


def test_a_comparisons_promise(nodewise: Command, app: str) -> None:
    commands = (f"{app} a", f"env MODE=fast {app} a")
    nodewise("compare", "--accept-disturbed", "-n", "fast", "-n", "slow", "--out", "then", *reversed(commands))
    result = answer(nodewise("confirm", "then", "--accept-disturbed", "--json"))
    assert (result["verdict"], result["promise"]["one"], result["promise"]["other"]) == ("holds", "slow", "fast")
    done = nodewise("confirm", "then", "--", "b")
    assert (done.returncode, "give the whole command" in done.stderr) == (2, True)


def test_another_machine_is_reported_and_one_without_the_processors_refused(
    nodewise: Command, tuned: str, tmp_path: Path
) -> None:
    question = json.loads((tmp_path / "then/question.json").read_text())
    question["machine"]["hostname"] = "then-host"
    (tmp_path / "then/question.json").write_text(json.dumps(question))
    result = answer(nodewise("confirm", tuned, "--accept-disturbed", "--json"))
    assert any(d.startswith("host: then-host then, ") for d in result["differences"])
    samples = tmp_path / "then/samples.jsonl"
    samples.write_text(samples.read_text().replace('"mask": null', '"mask": [0, 4001]'))
    done = nodewise("confirm", tuned)
    assert (done.returncode, "needs processors 4001, which are not there" in done.stderr) == (2, True)


def test_what_was_cut_off_goes_on(nodewise: Command, tuned: str, tmp_path: Path) -> None:
    whole = nodewise("confirm", tuned, "--out", "now", "--max-runs", "20", "--json")
    samples = tmp_path / "now/samples.jsonl"
    kept = samples.read_text().splitlines(keepends=True)
    samples.write_text("".join(kept[:9]) + kept[9][:20])
    (tmp_path / "now/verdict.json").unlink()
    done = nodewise("confirm", "--resume", "now", "--json")
    assert answer(done)["promise"] == answer(whole)["promise"]
    assert samples.read_text().startswith("".join(kept[:9]))
    assert len(samples.read_text().splitlines()) >= len(kept) - 2


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("confirm",), "no experiment to confirm"),
        (("confirm", "nowhere"), "no such directory"),
        (("confirm", "none"), "promises nothing"),
        (("confirm", "now"), "holds a confirm, which promises nothing"),
        (("confirm", "--max-runs", "6", "nowhere"), "6 runs of each decide nothing"),
        (("confirm", "--runs", "6", "nowhere"), "give --runs 7 or more"),
    ],
)
def test_bad_input_is_named(nodewise: Command, tuned: str, app: str, words: tuple[str, ...], what: str) -> None:
    if "none" in words:
        nodewise("compare", "-r", "8", "--out", "none", f"{app} a", f"{app} b")
    if "now" in words:
        nodewise("confirm", tuned, "--out", "now", "--max-runs", "7")
    done = nodewise(*words)
    assert (done.returncode, what in done.stderr) == (2, True), done.stderr


@pytest.mark.long
def test_a_program_that_fails_by_chance_is_repeated_as_it_was_tuned(tmp_path: Path, nodewise: Command) -> None:
    program = tmp_path / "flaky.sh"
    program.write_text(
        "#!/bin/sh\nn=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count\n"
        '[ $((n % 6)) != 4 ] || { echo lost; exit 3; }\n[ "$FAST" = yes ] && exec sleep 0.03 || sleep 0.09\n'
    )
    program.chmod(0o755)
    words = ("--env-axis", "FAST=no,yes", "--axes", "FAST", "--accept-disturbed", "--max-runs", "40", "--out", "then")
    assert nodewise("tune", *words, "--", "./flaky.sh").returncode == 0
    done = nodewise("confirm", "--accept-disturbed", "--max-runs", "40", "--out", "again", "then")
    assert done.returncode == 0 and "verdict   holds" in done.stdout, done.stdout
    assert "only the other runs are reported: exit code 3" in done.stdout
    # one that fails more often than not is no longer what was promised
    program.write_text(program.read_text().replace("n % 6)) != 4", "n % 3)) = 0"))
    done = nodewise("confirm", "--accept-disturbed", "--max-runs", "40", "--out", "third", "then")
    assert "verdict   holds" not in done.stdout
