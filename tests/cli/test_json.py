# SPDX-License-Identifier: BSD-3-Clause
"""All that commands write as JSON holds to the published schemas."""

import json
import shutil
from pathlib import Path

import click
import pytest

from benchmarks._check.fleets import regular
from nodewise.api import governors
from nodewise.cli.main import nodewise_command
from nodewise.history.store import Store
from tests.cli.conftest import Command
from tests.history.entries import entry
from tests.json_schemas import check_json
from tests.profile.programs import need_perf
from tests.report.stored import roofline_page_of, roofline_result, study_page_of, study_result
from tests.verdicts.cases import Runs, compared
from tools.schemas import DOCUMENTS

SLEEP = ("--", "sleep", "0.01")
TUNE = ("tune", "--max-runs", "40", "--any-output")
SCALE = ("--machine", "synthetic:core:16 pu:1", "--counts", "1,2,4,6,8", "--to", "9", "--by", "23:59", "--blocks", "6")
LOOPS = "void add(float* a, const float* b, int n) {\n    for (int i = 0; i < n; ++i) a[i] += b[i];\n}\n"
SMALL = """[device.a]
kind = "generator"
size = 100
count = 3
[device.b]
kind = "discard"
[channel.c]
from = "a"
to = "b"
"""
STORE = ("--store", "h.sqlite")

#: By schema the words of commands that write it.
WRITTEN: dict[str, list[tuple[str, ...]]] = {
    "tune": [(*TUNE, "--out", "t", "--script", "sh", "--json", *SLEEP), (*TUNE, "--out", "u", "--json", *SLEEP)],
    "tune-dry-run": [(*TUNE, "--dry-run", "--json", *SLEEP)],
    "compare": [("compare", "-r", "3", "--out", "c", "--json", "sleep 0.01", "sleep 0.02")],
    "confirm": [("confirm", "{slow}", "--max-runs", "14", "--json")],
    "run": [("run", "-r", "2", "--json", *SLEEP), ("run", "-r", "7", "--show", "peak_bytes", "--json", *SLEEP)],
    "scale": [("scale", *SCALE, "--out", "s", "--json", "--", "sleep", "0.0{{threads}}")],
    "study": [("study", "is", "--class", "S", "--blocks", "1", "--json")],
    "studies": [("study", "--json")],
    "study-result": [("study", "pca", "--rows", "50", "--columns", "3", "--project", "2", "--result", "-")],
    # a minute to measure, so that one is kept that was scripted
    "roofline": [("report", "roofline", "--json")],
    "machine": [("machine", "--json"), ("machine", "--machine", "synthetic:pack:2 core:4 pu:2", "--json")],
    "place": [
        ("place", "scatter", "--threads", "3", "--machine", "synthetic:core:61 pu:4", "--json"),
        ("place", "os", "--threads", "2", "--machine", "synthetic:core:4 pu:1", "--json"),
        ("place", "compact", "--ranks", "2", "--machine", "synthetic:core:4 pu:1", "--memory", "bind:0", "--json"),
    ],
    "where": [("where", "--json", *SLEEP)],
    "knobs": [("knobs", "--json", *SLEEP), ("knobs", "--no-run", "--json", *SLEEP)],
    "catalogue": [("knobs", "--json")],
    "check": [
        ("check", "nodes.json", "--json"),
        ("check", "nodes.json", "--junit", "j.xml", "--html", "h.html", "--json"),
    ],
    "snapshot": [("snapshot",), ("snapshot", "--fact", "dgemm=812.3")],
    "quiet": [("quiet", "--seconds", "0.2", "--json"), ("quiet", "--seconds", "0", "--json")],
    "vec": [("vec", "--json", "loops.c")],
    "doctor": [("doctor", "--json")],
    "governors": [("governors", "--quick", "--json")],
    "pipeline": [("pipeline", "small.toml", "--json")],
    "fabric": [("fabric", "--json"), ("fabric", "--no-run", "--json")],
    "fabric-link": [("fabric", "link", "4X", "QDR", "--json"), ("fabric", "link", "4X QDR 1X SDR", "--json")],
    "fabric-ports": [("fabric", "ports", "--json"), ("fabric", "ports", "--root", ".", "--json")],
    "fabric-translate": [("fabric", "translate", "I_MPI_FABRICS=shm:tmi", "I_MPI_OFA_NUM_PORTS=2", "--json")],
    "suite": [("suite", "run", "--accept-disturbed", "--json")],
    "suite-cases": [("suite", "list", "--json"), ("suite", "check", "--json")],
    "profile": [("profile", "--json", "--", "sleep", "0.2")],
    "history": [("history", *STORE, "--json"), ("history", "solver", *STORE, "--all", "--html", "p.html", "--json")],
    "history-diff": [("history", "diff", "1", "2", *STORE, "--json")],
    "fleet": [("fleet", "nodes", "--html", "f.html", "--json")],
    "history-filled": [("history", "import", "stored", *STORE, "--json")],
}
#: Those that are kept in the directory of the experiment, too.
KEPT = ("tune", "compare", "confirm", "scale", "study")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_command_writes_holds_to_its_schema(
    nodewise_here: Command, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # rows are slept after
    monkeypatch.setattr(governors, "_QUICK", 100)
    if name == "study-result":
        pytest.importorskip("nodewise_studies", reason="pca is one of nodewise-studies")
    if name == "vec" and not shutil.which("gcc") and not shutil.which("clang"):
        pytest.skip("no compiler")
    if name == "profile":
        need_perf()
    if name == "pipeline":
        pytest.importorskip("nodewise_transport", reason="messages are those of nodewise-transport")
    (tmp_path / "loops.c").write_text(LOOPS)
    (tmp_path / "nodewise.toml").write_text('[command.nap]\nrun = "sleep 0.01"\nruns = 6\n')
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "nodes.json").write_text("".join(json.dumps(n) + "\n" for n in regular(3, 1)))
    if name == "roofline":
        roofline_page_of(roofline_result(), tmp_path / "roofline")
    if name.startswith("history"):
        with Store(str(tmp_path / "h.sqlite")) as store:
            store.add(entry(i, 1.0 if i < 20 else 1.2) for i in range(40))
        study_page_of(study_result(), "", tmp_path / "stored")
    if name == "fleet":
        for node in ("one", "two"):
            compared(tmp_path / "nodes" / node, {"./solver": Runs(1.0)})
    if name == "confirm":
        # what they report themselves, a busy machine leaves as it is
        (tmp_path / "program").write_text('echo "{\\"nodewise\\": 1, \\"seconds\\": $1}"')
        made = nodewise_here("compare", "-r", "12", "--out", "slow", "sh program 0.0201", "sh program 0.0021")
        assert made.returncode == 0, made.stderr
    for words in WRITTEN[name]:
        done = nodewise_here(*(w.format(slow="slow") for w in words))
        assert done.returncode == 0, (words, done.stderr)
        text = done.stdout
        check_json(name, text)
        report = json.loads(text).get("report") if name in KEPT else None
        if report is not None:
            kept = json.loads((tmp_path / report).with_name("verdict.json").read_text())
            check_json(name, kept["results"][0] if name == "study" else kept)


def test_every_command_with_json_is_held_to_a_schema() -> None:
    context = click.Context(nodewise_command)
    commands = {name: nodewise_command.get_command(context, name) for name in nodewise_command.list_commands(context)}
    with_json = {n for n, c in commands.items() if c is not None and any("--json" in p.opts for p in c.params)}
    # a report's is that of what the directory holds, and a snapshot is nothing but JSON
    assert with_json | {"report", "snapshot"} == {words[0] for several in WRITTEN.values() for words in several}
    assert WRITTEN.keys() == DOCUMENTS.keys()


def test_a_report_writes_what_the_command_wrote(nodewise_here: Command, tmp_path: Path) -> None:
    study_page_of(study_result(), "", tmp_path / "study")
    first = nodewise_here("compare", "-r", "3", "--out", "compare", "--json", "sleep 0.01", "sleep 0.02")
    for name in ("study", "compare"):
        printed = nodewise_here("report", name, "--json")
        check_json(name, printed.stdout)
    written = json.loads(first.stdout)
    del written["report"]
    assert json.loads(printed.stdout) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"results": [{}]}, "is of an older nodewise, this one reads schema 3"),
        ({"results": [{"schema_version": 2}]}, "is of a nodewise with schema 2"),
        ({"results": [{"schema_version": 3}]}, "is damaged: kind: it is missing"),
        ({"results": []}, "is damaged: it holds no results"),
    ],
)
def test_a_kept_study_that_cannot_be_read_is_one_message(
    nodewise_here: Command, tmp_path: Path, text: dict[str, object], message: str
) -> None:
    study_page_of(study_result(), "", tmp_path / "x")
    (tmp_path / "x/verdict.json").write_text(json.dumps(text))
    done = nodewise_here("report", "x")
    assert done.returncode == 2 and message in done.stderr and "nodewise study --resume x" in done.stderr
