# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise suite`: the file, what it refuses, and the runs."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import nodewise as nodewise_package
from nodewise.api.suite_file import find_suite, read_suite
from nodewise.base.errors import InputError
from tests.cli.conftest import Command
from tests.cli.small_disk import on_small_disk
from tests.started import Begun

SUITE = """
[defaults]
runs = 6
warmup = 0
budget = "8s"
env = {COMMON = "1", OWN = "default"}
[command.nap]
run = "sleep {s}"
parameters = {s = [0.01, 0.02]}
tags = ["quick", "sleep"]
about = "two naps"
[command.rate]
run = "cat rate.txt"
cwd = "part"
metric = {speed = 'speed: ([0-9.]+)'}
maximize = "speed"
prepare = "echo prepared >> ../prepared"
tags = ["quick"]
[command.built]
run = "sh -c '[ $OWN = mine ] && [ $COMMON = 1 ] && ./made'"
env = {OWN = "mine"}
build = "echo built >> builds; printf '#!/bin/sh\\\\nsleep 0.01\\\\n' > made && chmod +x made"
[command.elsewhere]
run = "true"
machines = ["no-such-host-*"]
"""


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    """The command line, in this process."""
    return nodewise_here


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "nodewise.toml").write_text(SUITE)
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "rate.txt").write_text("speed: 12.5\n")
    return tmp_path


def rows(nodewise: Command, *words: str, code: int = 0) -> dict[str, Any]:
    done = nodewise("suite", "run", "--accept-disturbed", "--json", *words)
    assert done.returncode == code, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}


def test_each_command_is_measured_in_a_folder_of_its_own(nodewise: Command, project: Path) -> None:
    found = rows(nodewise, "--out", "kept")
    assert list(found) == ["nap s=0.01", "nap s=0.02", "rate", "built"]
    assert found["nap s=0.02"]["median"] > found["nap s=0.01"]["median"] > 0.01
    assert (found["rate"]["metric"], found["rate"]["median"]) == ("speed", 12.5)
    assert found["built"]["error"] is None and found["built"]["runs"] == 6
    assert sorted(p.name for p in (project / "kept").iterdir()) == ["built", "nap_s=0.01", "nap_s=0.02", "rate"]
    assert (project / "prepared").read_text().count("prepared") == 6
    assert (project / "builds").read_text() == "built\n"
    assert nodewise("report", "kept/rate", "--text").returncode == 0


def test_names_and_tags_choose(nodewise: Command, project: Path) -> None:
    assert list(rows(nodewise, "rate", "nap s=0.01")) == ["nap s=0.01", "rate"]
    assert list(rows(nodewise, "nap")) == ["nap s=0.01", "nap s=0.02"]
    assert list(rows(nodewise, "--tag", "sleep")) == ["nap s=0.01", "nap s=0.02"]


@pytest.mark.long
def test_a_later_one_is_compared_with_it(nodewise: Command, project: Path) -> None:
    rows(nodewise, "--out", "then", "nap")
    same = rows(nodewise, "--baseline", "then", "--fail-if-slower", "50%", "nap")
    assert all(row["then"]["comparable"] and not row["slower"] for row in same.values())
    text = SUITE.replace("sleep {s}", "sleep {s}; sleep 0.03")
    (project / "nodewise.toml").write_text(text)
    now = rows(nodewise, "--baseline", "then", "--fail-if-slower", "50%", "nap", code=1)
    assert all(row["slower"] for row in now.values())
    new = rows(nodewise, "--baseline", "then", "nap", "built")
    assert (new["built"]["then"], new["built"]["why"]) == (None, "it was not measured then")


def test_what_is_not_built_changes_nothing_for_what_others_are_allowed(nodewise: Command, project: Path) -> None:
    words = ("suite", "run", "--accept-disturbed", "--json")
    assert nodewise(*words, "--out", "then", "nap s=0.01").returncode == 0
    (project / "nodewise.toml").write_text(SUITE + "[command.unbuilt]\nrun = 'true'\nbuild = 'exit 3'\n")
    done = nodewise(*words, "--baseline", "then", "--fail-if-slower", "90%", "nap s=0.01", "unbuilt")
    found = json.loads(done.stdout)
    assert [row["name"] for row in found["rows"]] == ["nap s=0.01", "unbuilt"] and found["rows"][1]["error"]
    assert found["threshold"] == 0.9


def test_a_command_that_fails_is_a_row_and_the_others_go_on(nodewise: Command, project: Path) -> None:
    more = "[command.fails]\nrun = 'false'\n[command.unbuilt]\nrun = 'true'\nbuild = 'echo no compiler; exit 3'\n"
    (project / "nodewise.toml").write_text(
        more + SUITE.replace("[command.elsewhere]", "[command.last]\nrun='true'\n[command.elsewhere]")
    )
    found = rows(nodewise, "fails", "unbuilt", "last", code=1)
    assert "exit code 1" in found["fails"]["error"]
    assert "failed with exit code 3" in found["unbuilt"]["error"] and "no compiler" in found["unbuilt"]["error"]
    assert found["last"]["median"] is not None


def test_the_list_and_the_table_are_for_people(nodewise: Command, project: Path) -> None:
    listed = nodewise("suite", "list").stdout
    assert "sleep 0.01 [quick] [sleep]" in listed
    assert "on no-such-host-*" in listed
    shown = nodewise("suite", "run", "--accept-disturbed", "rate", "elsewhere")
    assert "rate" in shown.stdout and "12.5" in shown.stdout
    assert "elsewhere: left out, it is for other machines" in shown.stdout
    assert "nothing is wrong with them" in nodewise("suite", "check").stdout


def test_it_is_found_above(project: Path, tmp_path: Path) -> None:
    below = project / "part" / "deep"
    below.mkdir()
    assert find_suite(start=below) == project / "nodewise.toml"
    assert read_suite(find_suite(project)).cases[0].how["cwd"] == str(project)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no command"),
        ("[command.a]\nrun = 1\n", "command.a.run: a text is needed, not 1"),
        ("[command.a]\nruns = 3\n", "command.a does not say what to run"),
        ("[command.a]\nrun = 'x'\nbugdet = '3s'\n", "command.a.bugdet: there is no such key; did you mean budget?"),
        ("[comand.a]\nrun = 'x'\n", "comand: there is no such table; did you mean command?"),
        ("[command.'a b']\nrun = 'x'\n", "a name has letters, digits, dots and hyphens"),
        ("[command.a]\nrun = 'x'\nruns = -1\n", "command.a.runs: a whole number is needed, not -1"),
        ("[command.a]\nrun = 'x'\nruns = true\n", "command.a.runs: a whole number is needed, not True"),
        ("[command.a]\nrun = 'x'\naccept-codes = [1, '2']\n", "accept-codes: a list of whole numbers is needed"),
        ("[command.a]\nrun = 'x'\ntags = 'quick'\n", "command.a.tags: a list of texts is needed"),
        ("[command.a]\nrun = 'x'\nparameters = {n = []}\n", "command.a.parameters.n: a list of texts or numbers"),
        ("[command.a]\nrun = 'x'\nparameters = {n = [1]}\n", "nothing has {n}"),
        ("[command.a]\nrun = 'x'\nmetric = {m = 3}\n", "command.a.metric.m: a pattern is needed, not 3"),
        ("[command.a\n", "is not valid TOML: Expected ']'"),
        ("defaults = 3\n[command.a]\nrun = 'x'\n", "defaults is no table"),
        ('a = "' + "x" * 10 + "\n", "is not valid TOML"),
        ("command = " + "[" * 5000 + "]" * 5000, "is not valid TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "nodewise.toml").write_text(text)
    with pytest.raises(InputError) as problem:
        read_suite(tmp_path / "nodewise.toml")
    assert told in str(problem.value)
    assert "nodewise.toml" in str(problem.value)


@pytest.mark.parametrize("step", ["build", "setup", "prepare", "conclude", "cleanup"])
def test_a_parameter_may_stand_in_a_step_alone(tmp_path: Path, step: str) -> None:
    (tmp_path / "nodewise.toml").write_text(
        f"[command.a]\nrun = 'x'\n{step} = 'make N={{n}}'\nparameters = {{n = [1, 2]}}\n"
    )
    cases = read_suite(tmp_path / "nodewise.toml").cases
    assert [case.name for case in cases] == ["a n=1", "a n=2"]
    assert [case.build or case.steps[step] for case in cases] == ["make N=1", "make N=2"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("budget = 'x'", "nodewise.toml:4: command.a.budget: 'x'"),
        ("timeout = 'soon'", "nodewise.toml:4: command.a.timeout: 'soon'"),
        ("metric = {m = '('}", "nodewise.toml:4: command.a.metric.m: '(' is no regular expression"),
        ("launcher = 'foo'\nranks = 2", "nodewise.toml:4: command.a.launcher: no such launcher: 'foo'"),
        ("ranks = 2", "nodewise.toml:4: command.a.ranks: "),
        ("cwd = '/proc/gone'", "nodewise.toml:4: command.a.cwd: no such directory: /proc/gone"),
        ("input = 'none'", "nodewise.toml:4: command.a.input: cannot read "),
        (
            'setup = ": {n}"\nparameters = { n = ["x/y", "x y"] }',
            "the folders of 'a n=x/y' and 'a n=x y' have one name: a_n=x_y",
        ),
        (
            'setup = ": {n}{m}{k}{l}{h}"\nparameters = { ' + ", ".join(f"{p} = {[*range(10)]}" for p in "nmklh") + " }",
            "100000 combinations of values, and a suite has 10000 at most",
        ),
        ("runs = 0", "nodewise.toml:4: command.a.runs: at least one run is needed"),
        ("minimize = 'cost'", "nodewise.toml:4: command.a.minimize: what a run costs is not known"),
        ("minimize = 'a'\nmaximize = 'b'", "nodewise.toml:5: command.a.maximize: minimize is given, too"),
        ("[command.a.env]\n'x=y' = 3", "nodewise.toml:5: command.a.env: "),
        ("[defaults]\nbudget = 'x'", "nodewise.toml:6: defaults.budget: 'x'"),
    ],
)
@pytest.mark.parametrize("action", ["check", "run"])
def test_what_cannot_be_used_is_refused_before_anything_runs(
    nodewise: Command, tmp_path: Path, action: str, value: str, told: str
) -> None:
    own = f"run = 'true'\n{value}" if "[" in value else f"{value}\nrun = 'true'"
    (tmp_path / "nodewise.toml").write_text(f"[command.first]\nrun = 'touch ran'\n[command.a]\n{own}\n")
    done = nodewise("suite", action)
    assert done.returncode == 2, done.stdout
    assert told in " ".join(done.stderr.split())
    assert not (tmp_path / "ran").exists()


def test_what_is_of_another_machine_or_built_is_not_asked_for(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "nodewise.toml").write_text(
        "[command.a]\nrun = 'true'\ncwd = 'none'\nlauncher = 'foo'\nranks = 2\nmachines = ['no-such-*']\n"
        "[command.b]\nrun = 'true'\nbuild = 'mkdir made'\n[command.c]\nrun = 'true'\ncwd = 'made'\n"
    )
    assert nodewise("suite", "check").returncode == 0


def test_a_metric_that_nothing_reads_is_said_to_be_seen_only_by_running(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "nodewise.toml").write_text("[command.a]\nrun = './a 1'\nminimize = 'nope'\n")
    done = nodewise("suite", "check")
    assert "nothing is wrong" not in done.stdout
    assert "nodewise.toml:3: command.a.minimize: no pattern of metric reads nope: whether ./a itself" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "nup"), "has no command 'nup'; did you mean nap?"),
        (("list", "--tag", "quik"), "has the tag 'quik'; did you mean quick?"),
        (("list", "--baseline", "x"), "would do nothing"),
        (("run", "--baseline", "nowhere"), "no such directory: nowhere"),
        (("run", "--baseline", "."), "holds none of these commands"),
        (("run", "--any-machine"), "--any-machine would do nothing"),
        (
            ("run", "--fail-if-slower", "3%"),
            "--fail-if-slower would do nothing hint: it is for the comparison with a --baseline",
        ),
        (("run", "--undecided", "fail"), "--undecided would do nothing"),
        (("run", "--file", "none.toml"), "cannot read none.toml"),
        (("run", "--budget", "3s"), "no such option: --budget hint: it is a key of nodewise.toml, in [defaults]"),
    ],
)
def test_what_is_asked_wrongly_is_said(nodewise: Command, project: Path, words: tuple[str, ...], told: str) -> None:
    done = nodewise("suite", *words)
    assert done.returncode == 2, done.stdout
    assert told in " ".join(done.stderr.split())


def test_python_is_refused_what_would_do_nothing(project: Path) -> None:
    for given in ({"threshold": 0.03}, {"any_machine": True}):
        with pytest.raises(nodewise_package.InputError) as caught:
            nodewise_package.suite(project, out=project / "today", **given)  # type: ignore[arg-type]
        assert caught.value.what == f"{next(iter(given))} would do nothing" and "baseline" in caught.value.hint
    assert not (project / "today").exists()


def test_without_a_file_one_is_shown(nodewise: Command, tmp_path: Path) -> None:
    done = nodewise("suite", "run")
    assert done.returncode == 2
    assert "there is no nodewise.toml in" in done.stderr and "[command.solve]" in done.stderr
    shutil.rmtree(tmp_path / "nodewise-experiments", ignore_errors=True)


def test_one_that_was_cut_off_goes_on(nodewise: Command, project: Path) -> None:
    rows(nodewise, "--out", "kept", "nap")
    before = {p: p.read_bytes() for p in sorted((project / "kept").rglob("samples.jsonl"))}
    half = project / "kept" / "nap_s=0.02" / "samples.jsonl"
    half.write_text("".join(half.read_text().splitlines(keepends=True)[:3]))
    found = rows(nodewise, "--resume", "kept")
    assert [row["runs"] for row in found.values()] == [6, 6, 6, 6]
    whole = project / "kept" / "nap_s=0.01" / "samples.jsonl"
    assert whole.read_bytes() == before[whole]
    assert half.read_text().splitlines()[:3] == before[half].decode().splitlines()[:3]


def test_what_is_finished_is_not_measured_again_and_a_changed_program_is_named(
    nodewise: Command, project: Path
) -> None:
    (project / "nodewise.toml").write_text("[command.prog]\nrun = './prog'\nruns = 6\n")
    program = project / "prog"
    program.write_text("#!/bin/sh\nsleep 0.01\n")
    program.chmod(0o755)
    rows(nodewise, "--out", "kept")
    samples = project / "kept/prog/samples.jsonl"
    before = samples.read_bytes()
    # also where disturbed runs were accepted then, and nobody says so now
    done = nodewise("suite", "run", "--resume", "kept", "--json")
    assert done.returncode == 0 and samples.read_bytes() == before
    samples.write_bytes(b"".join(before.splitlines(keepends=True)[:4]))
    program.write_text("#!/bin/sh\nsleep 0.02\n")
    done = nodewise("suite", "run", "--resume", "kept")
    assert "prog: note: ./prog was another file after" in done.stdout
    (row,) = rows(nodewise, "--resume", "kept").values()
    assert any("./prog was another file after" in text for text in row["warnings"])


def test_disturbed_runs_count_as_they_did_at_first(nodewise: Command, project: Path) -> None:
    assert nodewise("suite", "run", "--out", "kept", "nap").returncode == 0
    done = nodewise("suite", "run", "--resume", "kept", "--accept-disturbed", "nap")
    assert done.returncode == 2 and "begun without it, and goes on as it was asked for then" in done.stderr


def test_one_that_is_damaged_is_a_row_and_the_others_go_on(nodewise: Command, project: Path) -> None:
    rows(nodewise, "--out", "kept", "nap")
    first, second = (project / "kept" / name / "samples.jsonl" for name in ("nap_s=0.01", "nap_s=0.02"))
    before = second.read_bytes()
    first.with_name("question.json").write_text("{}")
    # nobody says again that disturbed runs count: the second one knows
    done = nodewise("suite", "run", "--resume", "kept", "--json", "nap")
    found = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    assert done.returncode == 1 and "question.json is damaged" in found["nap s=0.01"]["error"]
    assert found["nap s=0.02"]["runs"] == 6 and second.read_bytes() == before


def test_the_place_of_a_parameter_without_values_is_named(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "nodewise.toml").write_text("[command.a]\nrun = 'sleep {n}'\n[command.b]\nrun = 'sleep 0.0{k}'\n")
    done = nodewise("suite", "check")
    assert done.returncode == 0 and "nothing is wrong" not in done.stdout
    assert "nodewise.toml:2: command.a.run: nothing fills {n}" in done.stdout
    done = nodewise("suite", "run", "--out", "x")
    for name in "nk":
        assert f"nothing fills {{{name}}}: parameters = {{{name} = [1, 2]}} gives it values" in done.stdout


def test_only_one_goes_on_with_it(nodewise: Command, project: Path) -> None:
    """Two would each find one command or another taken, and both fail."""
    rows(nodewise, "--out", "kept", "nap")
    at_work = os.open(project / "kept", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(at_work, fcntl.LOCK_EX)
        done = nodewise("suite", "run", "--resume", "kept", "nap")
    finally:
        os.close(at_work)
    assert done.returncode == 2 and f"another nodewise is writing to {project / 'kept'}" in done.stderr
    assert nodewise("suite", "run", "--resume", "kept", "nap").returncode == 0


def test_a_suite_that_is_not_there_cannot_go_on(nodewise: Command, project: Path) -> None:
    done = nodewise("suite", "run", "--resume", "nowhere")
    assert done.returncode == 2
    assert "there is no directory nowhere" in done.stderr
    assert nodewise("suite", "run", "--resume", ".", "--out", "x").returncode == 2


def test_its_rows_are_exported_for_continuous_integration(nodewise: Command, project: Path) -> None:
    rows(nodewise, "--out", "then", "nap")
    changed = SUITE.replace("sleep {s}", "sleep {s}; sleep 0.1") + "[command.fails]\nrun = 'false'\n"
    (project / "nodewise.toml").write_text(changed)
    words = ("--baseline", "then", "--fail-if-slower", "50%", "--export-junit", "j.xml", "--export-markdown", "m.md")
    done = nodewise("suite", "run", "--accept-disturbed", *words, "--export-github", "-", "nap", "rate", "fails")
    assert done.returncode == 1
    levels = {line.split("title=")[1].split("::")[0]: line.split(" ")[0] for line in done.stdout.splitlines()}
    assert levels == {"nap s=0.01": "::error", "nap s=0.02": "::error", "rate": "::notice", "fails": "::error"}
    suite = ET.parse(project / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "3", "0")
    rate = next(case for case in suite if case.get("name") == "rate")
    assert 0 < float(rate.get("time") or 0) < 1
    (number,) = rate.iter("property")
    assert number.get("name") == "speed" and float(number.get("value") or 0) == 12.5
    table = (project / "m.md").read_text().splitlines()
    assert table[0] == "| command | median | 95% interval | runs | against the baseline |"
    assert table[2].startswith("| `nap s=0.01` | ") and "slower" in table[2]
    assert table[4].startswith("| `rate` | 12.5 speed | ")


def test_exports_of_what_measures_nothing_are_refused(nodewise: Command, project: Path) -> None:
    done = nodewise("suite", "list", "--export-junit", "j.xml")
    assert done.returncode == 2 and "would do nothing" in done.stderr
    assert nodewise("suite", "run", "--export-junit", "none/j.xml").returncode == 2


TWO = """
[defaults]
runs = 6
[command.first]
run = "true"
[command.second]
run = "sleep 0.02"
"""


def test_a_full_disk_ends_it_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "nodewise.toml").write_text(TWO)
    words = ("suite", "run", "--accept-disturbed", "--file", str(tmp_path / "nodewise.toml"), "--out", "x")
    code, out, err, listed = on_small_disk(tmp_path, "200k", 184, *words)
    assert code == 2 and "x/second/question.json: No space left" in err
    assert out.splitlines()[1].startswith("first ") and "second" not in out
    assert "--resume" in err and "samples.jsonl" in listed


def test_no_job_is_handed_in_where_nothing_can_be_kept(tmp_path: Path) -> None:
    code, _, err, _ = on_small_disk(tmp_path, "100k", 100, "tune", "--submit", "--out", "x", "--", "true")
    assert code == 2 and "No space left" in err


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_an_end_in_its_midst_shows_the_rows_that_are_there(tmp_path: Path, as_json: list[str]) -> None:
    (tmp_path / "nodewise.toml").write_text(TWO.replace("0.02", "5"))
    words = ["suite", "run", *as_json, "--accept-disturbed", "--out", "x"]
    process = Begun(*words, cwd=tmp_path)
    _there(tmp_path / "x/second/question.json", process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"--resume" in err and str(tmp_path / "x").encode() in err
    # what is cut off is no JSON for a program
    assert out == b"" if as_json else out.splitlines()[1].startswith(b"first ")


def test_an_end_after_its_last_verdict_waits_for_the_rows(tmp_path: Path) -> None:
    (tmp_path / "nodewise.toml").write_text(TWO)
    process = Begun("suite", "run", "--json", "--accept-disturbed", "--out", "x", cwd=tmp_path)
    _there(tmp_path / "x/second/verdict.json", process)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=100)
    # on a busy machine it may have ended by itself before it was asked to
    assert process.returncode in (128 + signal.SIGTERM, -signal.SIGTERM, 0)
    assert [row["name"] for row in json.loads(out)["rows"]] == ["first", "second"]


def _there(path: Path, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while not path.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
