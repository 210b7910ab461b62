# SPDX-License-Identifier: BSD-3-Clause
"""Secrets from outside: one is planted wherever it can be, and no byte of it is found in what is written or printed."""

import ast
import csv
import io
import itertools
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import NOISE, Command

SECRET = "hunter2-Zq9"
TOKEN = f"{SECRET}-tok"
#: Prints its secret, and notes what it really got. The word `fast` makes it twice as fast, `fail` fail.
APP = """#!{python} -IS
import math, os, sys
here = os.path.dirname(os.path.abspath(__file__))
got = {{"words": sys.argv[1:], "token": os.environ.get("API_TOKEN"), "input": sys.stdin.read()}}
open(here + "/got", "a").write(repr(got) + "\\n")
n = sum(1 for _ in open(here + "/got"))
print("logging in with", sys.argv[2], "and", os.environ.get("API_TOKEN"))
print('at {{"url": "%s"}}' % sys.argv[3], file=sys.stderr)
fast = any(w.endswith("fast") for w in sys.argv)
{noise}
print('{{"nodewise": 1, "seconds": %r}}' % ((0.5 if fast else 1.0) * (1 + 0.01 * noise)))
sys.exit(3 if "fail" in sys.argv else 0)
"""
WORDS = ["--password", SECRET, f"https://me:{SECRET}@host/x"]


@pytest.fixture
def app(tmp_path: Path) -> str:
    (tmp_path / "app").write_text(APP.format(python=sys.executable, noise=NOISE))
    (tmp_path / "app").chmod(0o755)
    (tmp_path / f"{SECRET}.dat").write_text("in")
    return "./app"


def _leaks(folder: Path, *apart: str) -> list[str]:
    """The files below a folder with a byte of the secret in them, but for the file of secrets and the program's own."""
    named = ("secrets.json", "got", f"{SECRET}.dat", *apart)
    files = [p for p in folder.rglob("*") if p.is_file() and p.name not in named]
    assert files
    return [str(p.relative_to(folder)) for p in files if SECRET.encode() in p.read_bytes()]


def _got(folder: Path) -> list[dict[str, object]]:
    return [ast.literal_eval(line) for line in (folder / "got").read_text().splitlines()]


def _printed(done: subprocess.CompletedProcess[str], code: int = 0) -> str:
    assert done.returncode == code, done.stderr
    assert SECRET not in done.stdout + done.stderr
    return done.stdout


def _secrets(folder: Path) -> dict[str, str]:
    path = folder / "secrets.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return {name: spellings[0] for name, spellings in json.loads(path.read_text())["values"].items()}


OPTIONS = ["--env", f"API_TOKEN={TOKEN}", "--input", f"{SECRET}.dat"]


@pytest.fixture
def compared(nodewise: Command, app: str) -> str:
    commands = [f"{app} {' '.join(WORDS)} {how}" for how in ("slow", "fast")]
    exports = [w for kind in ("json", "csv", "markdown", "google-benchmark") for w in (f"--export-{kind}", f"x.{kind}")]
    _printed(nodewise("compare", "--runs", "12", "--out", "c", *exports, *OPTIONS, *commands))
    return "c"


def test_a_run_keeps_none(nodewise: Command, app: str, tmp_path: Path) -> None:
    out = _printed(nodewise("run", "--runs", "2", "--out", "r", "--json", *OPTIONS, "--", app, *WORDS))
    assert json.loads(out)["runs"] == 2
    assert _leaks(tmp_path / "r") == []
    assert _got(tmp_path)[-1] == {"words": WORDS, "token": TOKEN, "input": "in"}
    _printed(nodewise("run", "--resume", "r"))
    _printed(nodewise("report", "r", "--csv", "r/x.csv", "--html", "r/x.html"))
    assert _leaks(tmp_path / "r") == []


#: Spellings of secrets that nothing but themselves, or the program before them, shows to be some.
SPELLED = [
    *(
        "-Dpassword={}",
        "--pwd",
        "{}",
        "https://h/x?sig={}&b=1",
        "https://h/x?X-Amz-Signature={}",
        '{{"password": "{}"}}',
    ),
    *("Server=h;User Id=me;Password={};Encrypt=yes", "AccountName=me;AccountKey={}=", "-H", "Authorization: Bearer {}"),
    *("-H", "X-Api-Key: {}", "-H", "Cookie: a={}; b={}", "-e", "TOKEN={}", "curl", "-u", "me:{}", "-ume:{}"),
    *("sqlcmd", "-P", "{}", "mysql", "-p{}", "redis-cli", "-a", "{}", "sshpass", "-p", "{}", "ssh", "-p", "23"),
    *("curl", "-u", "me:{}@p:1", "--password", "${}x", "htpasswd", "-b", "file", "me", "{}", "-p", "22"),
]


def test_secrets_in_spellings_of_all_sorts_are_kept_by_none(nodewise: Command, app: str, tmp_path: Path) -> None:
    (tmp_path / "app").write_text('#!/bin/sh\nfor word; do echo "$word"; done | tee -a got; exit 3\n')
    number = itertools.count(100)
    # each its own, so that none is known by another
    words = [
        re.sub(r"{}", lambda _: f"{SECRET}{next(number)}", word).replace("{{", "{").replace("}}", "}")
        for word in SPELLED
    ]
    assert next(number) > 117
    done = nodewise("run", "--runs", "1", "--out", "r", "--", app, *words)
    _printed(done, 2)
    assert words[-1] in done.stderr
    compared = nodewise("compare", "--runs", "2", "-i", "--out", "c", shlex.join([app, *words]), f"{app} x")
    assert SECRET not in compared.stdout + compared.stderr and (tmp_path / "c/secrets.json").exists()
    assert _leaks(tmp_path) == []
    assert (tmp_path / "got").read_text().splitlines()[: len(words)] == words


def test_a_failure_reports_none(nodewise: Command, app: str, tmp_path: Path) -> None:
    done = nodewise("run", "--runs", "2", "--out", "r", *OPTIONS, "--", app, *WORDS, "fail")
    _printed(done, 2)
    assert "exit code 3" in done.stderr and 'logging in with "$PASSWORD"' in done.stderr
    commands = [f"{app} {' '.join(WORDS)}", f"{app} {' '.join(WORDS)} fail"]
    _printed(nodewise("compare", "--runs", "6", "--out", "c", "-i", *OPTIONS, *commands))
    assert _leaks(tmp_path / "c") == []


def test_a_comparison_and_its_exports_keep_none(compared: str, nodewise: Command, tmp_path: Path) -> None:
    assert _leaks(tmp_path, "app") == []
    out = json.loads(_printed(nodewise("report", compared, "--json", "--csv", "c/x.csv", "--svg", "figures")))
    first, second = out["contenders"]
    assert first["name"] != second["name"]
    assert first["command"] == './app --password "$PASSWORD" https://me:"$PASSWORD"@host/x slow'
    assert any("PASSWORD" in text and "to be set" in text for text in out["warnings"])
    assert _leaks(tmp_path, "app") == []


@pytest.mark.long
def test_a_tune_goes_on_and_is_confirmed_with_the_true_values(nodewise: Command, app: str, tmp_path: Path) -> None:
    values = f"mode={SECRET}-slow,{SECRET}-fast"
    words = ["tune", "--axes", "mode", "-P", values, "--max-runs", "60", "--out", "t", "--script", "sh", *OPTIONS]
    _printed(nodewise(*words, "--", app, *WORDS, "{mode}"))
    assert _leaks(tmp_path, "app") == []
    verdict = json.loads(_printed(nodewise("report", "t", "--json")))
    best = verdict["best"]
    assert best["key"] == "mode=<masked:PASSWORD>-fast" and "*" not in best["launch_line"]
    assert any("PASSWORD" in text and "to be set" in text for text in verdict["notes"])
    # both run as they are printed, once what they name is set
    secrets = _secrets(tmp_path / "t")
    for line in (best["launch_line"], "t/launch.sh"):
        subprocess.run(["sh", "-c", line], env={**os.environ, **secrets}, cwd=tmp_path, check=True, capture_output=True)
        assert _got(tmp_path)[-1] == {"words": [*WORDS, f"{SECRET}-fast"], "token": TOKEN, "input": "in"}
    missing = subprocess.run(["sh", "t/launch.sh"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert missing.returncode and "has to be set" in missing.stderr
    _printed(nodewise("tune", "--resume", "t", "--max-runs", "62", "--json"))
    answer = _printed(nodewise("confirm", "t", "--max-runs", "8", "--out", "again"))
    assert f"launch    {best['launch_line']}\n" in answer
    assert {str(g["words"]) for g in _got(tmp_path)} == {str([*WORDS, f"{SECRET}-{how}"]) for how in ("slow", "fast")}
    assert _leaks(tmp_path, "app") == []


def test_settings_that_differ_in_a_secret_only_stay_apart(nodewise: Command, app: str, tmp_path: Path) -> None:
    words = [
        "tune",
        "--axes",
        "p",
        "-P",
        "p=ab-slow,cd-fast",
        "--max-runs",
        "40",
        "--any-output",
        "--out",
        "t",
        "--json",
    ]
    verdict = json.loads(_printed(nodewise(*words, "--", app, "--password", "{p}", "url")))
    assert (
        verdict["verdict"] == "faster" and len({s["key"] for s in verdict["settings"]}) == len(verdict["settings"]) > 1
    )
    kept = "".join((tmp_path / "t" / name).read_text() for name in ("question.json", "samples.jsonl", "verdict.json"))
    assert "ab-slow" not in kept and "cd-fast" not in kept


def test_where_and_a_confirmed_comparison_keep_none(nodewise: Command, compared: str, tmp_path: Path, app: str) -> None:
    done = nodewise("confirm", compared, "--max-runs", "8", "--out", "again", "--json")
    assert done.returncode in (0, 1) and SECRET not in done.stdout + done.stderr
    watched = nodewise("where", "--json", "--svg", "w.svg", "--", "sh", "-c", f"sleep 0.3; : --password {SECRET}")
    assert SECRET not in watched.stderr + watched.stdout
    assert _leaks(tmp_path, "app") == []


def test_a_study_keeps_none(nodewise: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Dstore.password={SECRET}")
    _printed(
        nodewise("study", "is", "--class", "S", "--threads", "1", "--blocks", "1", "--budget", "30s", "--out", "s")
    )
    assert _leaks(tmp_path / "s") == []
    _printed(nodewise("report", "s", "--json"))


def test_a_profile_keeps_none_but_for_the_stacks_that_its_user_alone_may_read(
    nodewise: Command, tmp_path: Path
) -> None:
    turns = shlex.join([sys.executable, "-c", "for i in range(10**7): pass", *WORDS])
    done = nodewise("profile", "--out", "p", "--", "env", f"API_TOKEN={TOKEN}", *shlex.split(turns))
    if "perf" in done.stderr and done.returncode:
        pytest.skip("perf records nothing here")
    _printed(done)
    assert _leaks(tmp_path, "perf.data") == []
    assert stat.S_IMODE((tmp_path / "p/perf.data").stat().st_mode) == 0o600


def test_a_suite_keeps_none(nodewise: Command, app: str, tmp_path: Path) -> None:
    (tmp_path / "nodewise.toml").write_text(
        f"[defaults]\nruns = 3\n[command.a]\nrun = {json.dumps(f'{app} {shlex.join(WORDS)}')}\n"
    )
    for words in (("list",), ("run", "--accept-disturbed", "--out", "s")):
        _printed(nodewise("suite", *words))
    assert _leaks(tmp_path, "nodewise.toml") == []
    assert _got(tmp_path)[0]["words"] == WORDS


def test_a_pipeline_keeps_none(nodewise: Command, app: str, tmp_path: Path) -> None:
    pytest.importorskip("nodewise_transport", reason="messages are those of nodewise-transport")
    (tmp_path / "p.toml").write_text(
        "[device.source]\nkind = 'generator'\nsize = '1KB'\ncount = 3\n"
        f"[device.app]\nkind = 'command'\nrun = {json.dumps(f'{app} {shlex.join(WORDS)} fail')}\n"
        "[device.out]\nkind = 'discard'\n"
        "[channel.raw]\nfrom = 'source'\nto = 'app'\n[channel.made]\nfrom = 'app'\nto = 'out'\n"
    )
    _printed(nodewise("pipeline", "--check", "p.toml"))
    assert "for message 0" in _printed(nodewise("pipeline", "--html", "p.html", "p.toml"), 1)
    _printed(nodewise("pipeline", "--json", "p.toml"), 1)
    assert _leaks(tmp_path, "p.toml") == []
    assert _got(tmp_path)[0]["words"] == [*WORDS, "fail"]


def test_a_script_names_variables_for_them(nodewise: Command, app: str, tmp_path: Path) -> None:
    for form in ("sh", "pbs-alps"):
        text = _printed(nodewise("script", "--for", form, *OPTIONS, "--", app, *WORDS))
        assert TOKEN not in text and '"$PASSWORD"' in text.splitlines()[-1]
        assert ': "${PASSWORD:?has to be set: it stands for a secret}"' in text.splitlines()


def test_what_is_no_secret_stays(nodewise: Command, tmp_path: Path, app: str) -> None:
    words = ["KEYBOARD=us", "--key-size", "4", "MONKEY=x"]
    _printed(nodewise("run", "--runs", "1", "--out", "r", "--env", "OMP_SCHEDULE=static", "--", "echo", *words))
    assert not (tmp_path / "r/secrets.json").exists()
    assert "masked" not in (tmp_path / "r/samples.jsonl").read_text()


@pytest.mark.parametrize("command", [["run", "--resume", "r"], ["confirm", "r"]])
def test_another_users_folder_is_not_run_without_trust(
    nodewise_here: Command, tmp_path: Path, app: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _printed(nodewise_here("run", "--runs", "2", "--out", "r", *OPTIONS, "--", app, *WORDS))
    before = len(_got(tmp_path))
    if os.geteuid() == 0:
        shutil.chown(tmp_path / "r", 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 65534)
    done = nodewise_here(*command)
    assert done.returncode == 2 and "belongs to" in done.stderr and "--trust" in done.stderr
    # who has to judge them sees them whole
    line = f"./app --password {SECRET} https://me:{SECRET}@host/x"
    assert f"\n  {line}\n" in done.stderr and f"\n  with the variable: API_TOKEN={TOKEN}\n" in done.stderr
    assert len(_got(tmp_path)) == before
    trusted = nodewise_here(*command, "--trust")
    assert "belongs to" not in trusted.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("readable", [True, False])
def test_what_would_be_run_is_shown_as_it_would_be(
    nodewise_here: Command, tmp_path: Path, app: str, monkeypatch: pytest.MonkeyPatch, readable: bool
) -> None:
    monkeypatch.setenv("CI_TOKEN", "known-to-the-terminal")
    _printed(nodewise_here("run", "--runs", "1", "--out", "r", "--", app, *WORDS))
    shutil.chown(tmp_path / "r", 65534)
    question = json.loads((tmp_path / "r/question.json").read_text())
    question["environment"]["LD_PRELOAD"] = "/tmp/evil\x1b[2K.so"
    (tmp_path / "r/question.json").write_text(json.dumps(question))
    # a mask that stands for more than a word, and a line in which the cursor goes back
    secrets = json.loads((tmp_path / "r/secrets.json").read_text())
    secrets["values"]["PASSWORD"] = ["x; touch stolen\r./app"]
    (tmp_path / "r/secrets.json").write_text(json.dumps(secrets) if readable else "{")
    answer = nodewise_here("run", "--resume", "r").stderr
    assert "with the variable: LD_PRELOAD='/tmp/evil\\x1b[2K.so'" in answer and "\x1b" not in answer
    assert ("--password x; touch stolen\\r./app" in answer) == readable
    assert ('--password "$PASSWORD"' in answer and "secrets.json is damaged" in answer) != readable


def test_a_file_of_another_user_in_an_own_folder_counts_too(nodewise: Command, tmp_path: Path, app: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    _printed(nodewise("run", "--runs", "2", "--out", "r", "--", app, "x", "y", "z"))
    shutil.chown(tmp_path / "r/samples.jsonl", 65534)
    assert nodewise("run", "--resume", "r").returncode == 2


def test_no_cell_of_an_export_is_a_formula(nodewise: Command, app: str, tmp_path: Path) -> None:
    names = ["-n", "=1+1", "-n", "@x"]
    commands = [f"{app} a b c", f"{app} a b c fast"]
    _printed(nodewise("compare", "--runs", "6", "--out", "c", "--export-csv", "x.csv", *names, *commands))
    _printed(nodewise("report", "c", "--csv", "y.csv"))
    for file in ("x.csv", "y.csv"):
        cells = [c for row in csv.reader(io.StringIO((tmp_path / file).read_text())) for c in row]
        assert "'=1+1" in cells and not [c for c in cells if c.startswith(("=", "@", "+"))]


def _rename(path: Path) -> None:
    """As if it had been made on another machine by somebody else."""
    data = json.loads(path.read_text())
    data["machine"]["hostname"] = "zuse17.example.org"
    data["cwd"] = "/home/annabell/projects"
    path.write_text(json.dumps(data))


def _made_of(folder: Path) -> bytes:
    """All bytes that a report made, without the script that draws figures."""
    return b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("kind", ["compare", pytest.param("tune", marks=pytest.mark.long)])
def test_an_anonymous_report_says_not_whose_it_is(nodewise: Command, app: str, tmp_path: Path, kind: str) -> None:
    (tmp_path / "quark-input.dat").write_text("1")
    own = [app, "quark-input.dat", str(tmp_path / "out"), "url"]
    if kind == "compare":
        done = nodewise(
            "compare", "--runs", "8", "--out", "e", "--prepare", "true gluon", " ".join(own), " ".join([*own, "fast"])
        )
    else:
        values = "in=/data/charm/a-slow,/data/charm/b-fast"
        words = [
            "--axes",
            "in",
            "-P",
            values,
            "--max-runs",
            "40",
            "--env",
            "MESON=q",
            "--out",
            "e",
            "--cwd",
            str(tmp_path),
        ]
        done = nodewise("tune", *words, "--", *own, "{in}")
    assert done.returncode == 0, done.stderr
    _rename(tmp_path / "e/question.json")
    (tmp_path / "a").mkdir()
    answer = nodewise("report", "e", "--anonymous", "--html", "a/x.html", "--csv", "a/x.csv", "--svg", "a/figures")
    assert answer.returncode == 0, answer.stderr
    out = nodewise("report", "e", "--anonymous", "--json")
    assert out.returncode == 0 and json.loads(out.stdout)["runs"] > 8
    made = _made_of(tmp_path / "a") + out.stdout.encode()
    before = Path(tmp_path / "e/report.html").read_bytes()
    assert nodewise("report", "e", "--anonymous").stdout.strip() == "e/report-anonymous.html"
    assert Path(tmp_path / "e/report.html").read_bytes() == before
    made += (tmp_path / "e/report-anonymous.html").read_bytes()
    named = [
        "zuse17",
        "annabell",
        str(tmp_path),
        tmp_path.parent.name,
        "quark",
        "./app",
        "gluon",
        "charm",
        "MESON",
        "logging in",
    ]
    assert [text for text in named if text.encode() in made] == []
    plain = nodewise("report", "e", "--html", "plain.html")
    assert plain.returncode == 0 and "zuse17" in (tmp_path / "plain.html").read_text()


def test_an_anonymous_report_of_a_study(nodewise: Command, tmp_path: Path) -> None:
    done = nodewise("study", "is", "--class", "S", "--threads", "1", "--blocks", "1", "--budget", "30s", "--out", "s")
    assert done.returncode == 0, done.stderr
    _rename(tmp_path / "s/question.json")
    assert nodewise("report", "s", "--anonymous", "--html", "x.html", "--csv", "x.csv").returncode == 0
    made = (tmp_path / "x.html").read_bytes() + (tmp_path / "x.csv").read_bytes()
    assert [text for text in ("zuse17", "annabell", str(tmp_path)) if text.encode() in made] == []
