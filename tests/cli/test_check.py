# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise snapshot` and `nodewise check` as they are typed: exit codes, one line for a prologue, and hostile input."""

import copy
import dataclasses
import json
import shlex
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks._check.fleets import Node, regular
from nodewise.nodes.snapshot import Snapshot
from tests.cli.conftest import Command

HOSTILE = "6.1\x1b]0;owned\x07\u202e<script>alert(1)</script>"


@pytest.fixture
def nodes() -> list[Node]:
    made = list(regular(12, 2))
    for node in made:
        # now, as this machine's clock is what they are held against
        node["taken"] = time.time()
    return made


def _save(folder: Path, nodes: list[Node]) -> str:
    (folder / "nodes").mkdir()
    for node in nodes:
        (folder / f"nodes/{node['node']}.json").write_text(json.dumps(node) + "\n")
    return "nodes"


def test_a_clean_fleet_ends_with_0_and_a_fault_with_1(
    nodewise_here: Command, nodes: list[Node], tmp_path: Path
) -> None:
    folder = _save(tmp_path, nodes)
    clean = nodewise_here("check", folder)
    assert (
        (clean.returncode, clean.stderr) == (0, "") and "nothing found" in clean.stdout and "12 nodes" in clean.stdout
    )
    broken = copy.deepcopy(nodes[3])
    broken["quiet"]["governor"] = "noisy"
    (tmp_path / "nodes/n00004.json").write_text(json.dumps(broken))
    assert nodewise_here("check", folder).returncode == 0
    noisy = nodewise_here("check", folder, "--fail-on", "noisy")
    assert noisy.returncode == 1 and "n00004" in noisy.stdout and "do: nodewise quiet" in noisy.stdout


def test_what_a_hostile_node_writes_is_shown_and_never_acted_upon(
    nodewise_here: Command, nodes: list[Node], tmp_path: Path
) -> None:
    nodes[0]["system"]["kernel"] = HOSTILE
    nodes[0]["software"][HOSTILE] = "1"
    done = nodewise_here("check", _save(tmp_path, nodes), "--junit", "j.xml", "--html", "h.html")
    assert done.stdout.splitlines()[-1] == "page      h.html"
    assert done.returncode == 1
    for text in (done.stdout, (tmp_path / "j.xml").read_text(), (tmp_path / "h.html").read_text()):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert "\\x1b]0;owned" in text
    assert "<script" not in (tmp_path / "h.html").read_text()
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert {c.get("name") for c in suite} == {"kernel-release", "software-versions"} and suite.get("failures") == "2"
    assert not {"\x1b", "\u202e"} & set(nodewise_here("check", "nodes", "--json").stdout)


def test_snapshots_come_from_standard_input_one_a_line(
    nodewise_here: Command, nodes: list[Node], tmp_path: Path
) -> None:
    text = "".join(json.dumps(n) + "\n" for n in nodes)
    (tmp_path / "all").write_text(text)
    command = [*_nodewise(), "check", "-"]
    with (tmp_path / "all").open() as given:
        done = subprocess.run(command, stdin=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "12 nodes" in done.stdout, done.stderr


def _nodewise() -> list[str]:
    import sys

    return [sys.executable, "-m", "nodewise"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "none.json"), "cannot read none.json: No such file"),
        (("check", "bad.json"), "no snapshot in what was given: bad.json: no JSON"),
        (("check", "/dev/null"), "it is no regular file"),
        (("check", "deep.json"), "nested deeper than 100"),
        (("check", "--site", "site.toml"), "site.toml, line 2, column 1: rule: not known: 'servises'"),
        (("check", "--site", "none.toml"), "cannot read none.toml"),
        (("check", "--rules", "empty"), "no rules in it"),
        (("check", "--history", "none"), "no folder of snapshots"),
        (("check", "--prologue", "bad.json"), "judges this node alone"),
        (("check", "--prologue", "--json"), "--json would do nothing"),
        (("check", "-", "-"), "can be read once"),
        (("snapshot", "--root", "empty"), "no copy of a system"),
        (("snapshot", "--node", "a b"), "not a name"),
        (("snapshot", "--fact", "x"), "not NAME=VALUE"),
        (("snapshot", "--fact", "x=nan"), "not a finite number"),
        (("snapshot", "-o", "empty/a/b"), "cannot write"),
        (("snapshot", "-o", "/dev/full"), "No space left"),
    ],
)
def test_bad_input_is_one_message(nodewise_here: Command, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "bad.json").write_text("{nodewise")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "site.toml").write_text("[[suppress]]\nrule = 'servises'\nreason = 'x'\nuntil = 2030-01-01\n")
    (tmp_path / "empty").mkdir()
    done = nodewise_here(*words)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_file_far_longer_than_a_snapshot_is_refused_and_never_held(nodewise_here: Command, tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.write(b"{\n")
        file.truncate(1 << 26)
    tracemalloc.start()
    try:
        done = nodewise_here("check", "huge.json")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert done.returncode == 2 and "more than 1048576 bytes" in done.stderr
    assert most < 1 << 25


def test_a_prologue_is_one_line_about_this_node(nodewise_here: Command, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(
        "[nodes]\nexpected = 'other[1-9]'\n[[desired]]\nfact = 'system.kernel'\nis = 'none'\n"
        "[[suppress]]\nrule = 'clock-synchronised'\nreason = 'this machine may be virtual'\nuntil = 2999-01-01\n"
    )
    done = nodewise_here("check", "--prologue", "--site", "site.toml")
    assert (
        done.returncode == 1 and done.stdout.count("\n") == 1 and done.stdout.startswith("wrong: desired:system.kernel")
    )


def test_what_was_taken_here_is_checked_against_its_own_past(nodewise_here: Command, tmp_path: Path) -> None:
    (tmp_path / "past").mkdir()
    assert (
        nodewise_here(
            "snapshot", "--node", "n1", "-o", "past/n1.json", "--fact", "dgemm=3.5", "--fact", "rack=a1"
        ).returncode
        == 0
    )
    kept = json.loads((tmp_path / "past/n1.json").read_text())
    assert kept["own"] == {"dgemm": 3.5, "rack": "a1"} and (tmp_path / "past/n1.json").stat().st_size < 32 << 10
    (tmp_path / "now.json").write_text(json.dumps({**kept, "processor": {**kept["processor"], "cores": 999}}))
    done = nodewise_here("check", "now.json", "--history", "past")
    assert done.returncode == 1 and "processor.cores: 999, was" in done.stdout


def test_rules_are_listed(nodewise_here: Command) -> None:
    done = nodewise_here("check", "--list-rules")
    assert done.returncode == 0 and "tickless-without-callbacks" in done.stdout


def test_what_only_reads_needs_no_room_for_a_temporary_file(nodes: list[Node], tmp_path: Path) -> None:
    words = f"ulimit -f 0; {shlex.quote(sys.executable)} -m nodewise check {_save(tmp_path, nodes)}"
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and "nothing found" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--html", "n.json"), "--html n.json: it is read"),
        (("--html", "gone/h.html"), "--html: no such directory: "),
        (("--junit", "gone/j.xml"), "--junit: no such directory: "),
        (("--site", "s.toml", "--junit", "s.toml"), "--junit s.toml: it is read"),
        (("--html", "./a", "--junit", "a"), "is written there"),
    ],
)
def test_nothing_is_written_over_what_is_read(
    nodewise_here: Command, nodes: list[Node], tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    (tmp_path / "n.json").write_text(json.dumps(nodes[0]))
    (tmp_path / "s.toml").write_text("[nodes]\n")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    done = nodewise_here("check", "n.json", *words)
    assert done.returncode == 2 and told in done.stderr
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_name_by_which_a_snapshot_would_be_lost_is_refused(nodewise_here: Command) -> None:
    for name in (".", "..", "-x"):
        assert nodewise_here("snapshot", f"--node={name}").returncode == 2


@pytest.mark.parametrize(("fail_on", "code", "failures"), [("wrong", 0, 0), ("noisy", 1, 1), ("note", 1, 1)])
def test_junit_and_exit_code_agree(
    nodewise_here: Command, nodes: list[Node], tmp_path: Path, fail_on: str, code: int, failures: int
) -> None:
    nodes[3]["quiet"]["governor"] = "noisy"
    done = nodewise_here("check", _save(tmp_path, nodes), "--fail-on", fail_on, "--junit", "j.xml")
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (done.returncode, int(suite.attrib["failures"])) == (code, failures)


@pytest.mark.parametrize("words", [("loop",), ("loop/x",), ("n.json", "--site", "loop"), ("n.json", "--rules", "loop")])
def test_links_that_lead_round_in_a_circle_are_bad_input(
    nodewise_here: Command, nodes: list[Node], tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "n.json").write_text(json.dumps(nodes[0]))
    (tmp_path / "loop").symlink_to(tmp_path / "round")
    (tmp_path / "round").symlink_to(tmp_path / "loop")
    done = nodewise_here("check", *(str(tmp_path / w) if not w.startswith("-") else w for w in words))
    assert done.returncode == 2 and "defect" not in done.stderr and str(tmp_path) in done.stderr, done.stderr


def test_a_list_of_rules_refuses_what_it_would_ignore(nodewise_here: Command) -> None:
    done = nodewise_here("check", "--list-rules", "--json")
    assert done.returncode == 2 and "--json would do nothing" in done.stderr


def test_a_snapshot_says_what_it_could_not_measure(
    nodewise_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def none(snapshot: Snapshot, names: tuple[str, ...], *_: object) -> Snapshot:
        asked.append(names)
        return dataclasses.replace(snapshot, absent={**snapshot.absent, "speed.disk": "no room"})

    monkeypatch.setattr("nodewise.api.speed.with_speeds", none)
    # a folder is made where the name ends as one
    done = nodewise_here("snapshot", "--speed", "all", "-o", f"{tmp_path}/new/", "--node", "n1")
    assert done.returncode == 0 and "note      disk: not measured: no room" in done.stderr
    assert json.loads((tmp_path / "new/n1.json").read_text())["node"] == "n1"
    # one node has no pairs
    assert asked == [("dgemm", "bandwidth", "latency", "disk")]
    refused = nodewise_here("snapshot", "-o", f"{tmp_path}/new/n1.json/")
    assert refused.returncode == 2 and "it is a folder" in refused.stderr


def test_of_a_long_message_the_ends_are_shown(nodewise_here: Command) -> None:
    done = nodewise_here("check", "--fail-on", "x" * 10_000 + "END")
    assert done.returncode == 2 and len(done.stderr) < 2500 and "is not one of" in done.stderr and " … " in done.stderr
