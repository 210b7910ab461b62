# SPDX-License-Identifier: BSD-3-Clause
"""What is said of nodes that differ: in small groups, of numbers that are nearly alike, beside suppressions, and by the site's own severities."""

import datetime
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from benchmarks._check.fleets import NOW, Node, regular
from nodewise.base.errors import InputError
from nodewise.nodes.check import groups_of, judge, new_fleet
from nodewise.nodes.findings import CheckResult
from nodewise.nodes.judge import shown_value
from nodewise.nodes.reading.links import _name_without_address
from nodewise.nodes.reading.mounts import shown_options, shown_place
from nodewise.nodes.reading.system import read_options
from nodewise.nodes.relations import few_a_day, processors, sound_links, speed_disturbed, subset
from nodewise.nodes.rule import Rule, joined, own_rules
from nodewise.nodes.site import Site, read_site
from nodewise.quiet.finding import Severity
from nodewise.report.exports.junit import junit_text
from nodewise.report.text.check import check_text
from tests.copies import copied

TODAY = datetime.date(2026, 11, 23)


@pytest.fixture(scope="module")
def own() -> dict[str, Rule]:
    return joined(own_rules())


@pytest.fixture(scope="module")
def sound(own: dict[str, Rule]) -> list[Node]:
    """Forty nodes of one class."""
    nodes = list(regular(400, 1))
    fleet = new_fleet(own.values(), Site())
    fleet.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in nodes).encode())])
    return [nodes[i] for i in groups_of(fleet, Site())[0].members if not nodes[i]["accelerators"]][:40]


def _judge(
    nodes: list[Node],
    rules: dict[str, Rule],
    site: Site | None = None,
    before: list[Node] | None = None,
    later: float = 100,
) -> CheckResult:
    site, old = site or Site(), None
    fleet = new_fleet(rules.values(), site)
    fleet.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in nodes).encode())])
    if before is not None:
        old = new_fleet(rules.values(), Site())
        old.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in before).encode())])
    return judge(fleet, rules, site, old, TODAY, NOW + later)


def _site(folder: Path, text: str, rules: dict[str, Rule]) -> Site:
    (folder / "site.toml").write_text(text)
    return read_site(folder / "site.toml", rules.values())


def _only(result: CheckResult, rule: str) -> Any:
    [found] = [f for f in result.findings if f.finding.name == rule]
    return found


@pytest.mark.parametrize("count", [3, 5, 7])
def test_half_the_memory_is_found_in_a_small_group(own: dict[str, Rule], sound: list[Node], count: int) -> None:
    nodes = copied(sound[:count])
    assert not _judge(nodes, own).findings
    nodes[1]["memory"]["total"] //= 2
    found = _only(_judge(nodes, own), "memory-size")
    assert found.nodes == (nodes[1]["node"],) and found.finding.severity is Severity.WRONG
    assert f"where {count - 1} of {count} nodes have about" in found.finding.summary


@pytest.mark.parametrize(("apart", "found"), [(1, True), (2, False)])
def test_in_a_small_group_more_than_three_of_five_are_to_be_alike(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path, apart: int, found: bool
) -> None:
    nodes = copied(sound[:5])
    for number, node in enumerate(nodes[:apart], 2):
        node["memory"]["total"] //= number
    text = f"[groups]\nall = '{','.join(n['node'] for n in nodes)}'\n"
    findings = _judge(nodes, own, _site(tmp_path, text, own)).findings
    [one] = [f for f in findings if f.finding.name == "memory-size"]
    assert (one.finding.severity is Severity.WRONG) == found and ("no majority" in one.finding.summary) != found


@pytest.mark.parametrize(("count", "said"), [(10, None), (11, "11 since the node's start, 11 a day")])
def test_ten_a_day_are_few(count: int, said: str | None) -> None:
    assert few_a_day(count, 3600.0) == said


@pytest.mark.parametrize(
    ("kind", "count", "days", "bad"),
    [
        ("link_downed", 10, 0.1, False),
        ("link_downed", 11, 0.1, True),
        ("link_downed", 20, 2, False),
        ("symbol_errors", 100, 0.1, False),
        ("symbol_errors", 101, 0.1, True),
        ("symbol_errors", 201, 2, True),
    ],
)
def test_ports_may_be_down_ten_times_a_day_and_count_a_hundred_errors(
    kind: str, count: int, days: float, bad: bool
) -> None:
    said = sound_links((("mlx5_0/1", (("errors", ((kind, count),)),)),), days * 86400)
    assert (said is not None) is bad


def test_what_follows_from_memory_differs_a_little_on_sound_nodes(own: dict[str, Rule], sound: list[Node]) -> None:
    """Firmware takes some more or less of it, and limits and sizes in memory are shares of what is left."""
    nodes = copied(sound)
    for number, node in enumerate(nodes):
        node["limits"]["ulimits"]["processes"] = [1030000 + 7 * number] * 2
        node["mounts"]["/run"] = {
            **node["mounts"]["/"],
            "type": "tmpfs",
            "options": ["rw"],
            "bytes": (50 << 30) + 4096 * number,
        }
    assert not _judge(nodes, own).findings
    nodes[3]["limits"]["ulimits"]["processes"] = [4096, 1030000]
    assert _only(_judge(nodes, own), "process-limits").nodes == (nodes[3]["node"],)
    assert shown_options("rw,nosuid,size=52765102k,nr_inodes=9,mode=755", "tmpfs") == ("mode=755", "nosuid", "rw")
    assert "size=5k" in shown_options("rw,size=5k", "xfs")


def test_a_suppressed_node_is_not_what_is_said_of_the_others(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path
) -> None:
    nodes = copied(sound)
    nodes[4]["memory"]["total"] //= 2
    nodes[8]["memory"]["total"] = nodes[8]["memory"]["total"] * 9 // 10
    names = nodes[4]["node"], nodes[8]["node"]
    text = f'[[suppress]]\nrule = "memory-size"\nnodes = "{names[0]}"\nreason = "known"\nuntil = 2999-01-01\n'
    result = _judge(nodes, own, _site(tmp_path, text, own))
    left, [covered] = _only(result, "memory-size"), result.suppressed
    assert left.nodes == (names[1],) and covered.nodes == (names[0],)
    assert left.finding.summary != covered.finding.summary and names[0] not in " ".join(left.finding.evidence)


def test_what_is_said_of_silent_nodes_is_of_those_that_are_left(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path
) -> None:
    text = "[nodes]\nexpected = 'x[1-2]'\n[[suppress]]\nrule = 'no-answer'\nnodes = 'x1'\nreason = 'r'\nuntil = 2999-01-01\n"
    result = _judge(sound, own, _site(tmp_path, text, own))
    assert _only(result, "no-answer").finding.summary == "1 of 2 nodes gave no answer: x2"
    assert [f.nodes for f in result.suppressed] == [("x1",)]


def test_nodes_without_peers_are_counted(own: dict[str, Rule], sound: list[Node]) -> None:
    nodes = copied(sound[:9])
    for number, node in enumerate(nodes[:5]):
        node["firmware"]["product"], node["firmware"]["board"] = f"P{number}", f"B{number}"
        node["processor"]["sockets"] = 3 + number
    assert _judge(nodes, own).notes == ("5 of 9 nodes have fewer than two others of their class to be compared with",)


def test_a_class_that_is_another_with_less_is_noted(own: dict[str, Rule], sound: list[Node], tmp_path: Path) -> None:
    nodes = copied(sound[:12])
    for node in nodes[:3]:
        node["memory"]["total"] //= 2
    [note] = _judge(nodes, own).notes
    assert note.startswith("class 2 (3 nodes) is class 1 with less, and held against itself alone: ")
    # more of it in fewer nodes is what somebody bought
    for node in nodes[:3]:
        node["memory"]["total"] *= 8
    assert _judge(nodes, own).notes == ()
    text = f"[groups]\nsmall = '{nodes[0]['node']},{nodes[1]['node']},{nodes[2]['node']}'\n"
    nodes[0]["memory"]["total"] //= 8
    assert _judge(nodes, own, _site(tmp_path, text, own)).notes == ()


def test_a_site_can_raise_what_a_rule_only_notes(own: dict[str, Rule], sound: list[Node], tmp_path: Path) -> None:
    nodes = copied(sound)
    nodes[2]["memory"]["swap"] = 1 << 30
    assert own["swap"].severity is Severity.NOTE
    site = _site(tmp_path, '[severity]\nswap = "wrong"\n', own)
    assert _only(_judge(nodes, own, site), "swap").finding.severity is Severity.WRONG
    # where there is no majority that is a note of its own
    for number, node in enumerate(nodes):
        node["memory"]["swap"] = number << 30
    assert _only(_judge(nodes, own, site), "swap").finding.severity is Severity.NOTE


def test_nothing_is_the_lowest_rate(own: dict[str, Rule], sound: list[Node]) -> None:
    nodes = copied(sound[:12])
    for number, node in enumerate(nodes):
        node["own"] = {"hpl": 100.0 + number}
    nodes[5]["own"]["hpl"] = 0
    table = {
        "id": "hpl",
        "kind": "outlier",
        "reads": ("own.hpl",),
        "severity": Severity.WRONG,
        "reason": "r",
        "remedy": "m",
    }
    rule = Rule(**table, condition={"side": "low", "scale": "log", "step": 0.01})
    found = _only(_judge(nodes, {**own, "hpl": rule}), "hpl")
    assert found.finding.severity is Severity.WRONG and found.nodes == (nodes[5]["node"],)
    assert "own.hpl: 0, where 11 of 12 nodes have more" in found.finding.summary


@pytest.mark.parametrize(("bound", "worst"), [({"least": 50}, [1, 2, 3, 4]), ({"most": 0}, [9, 8, 7, 6])])
def test_of_many_the_furthest_from_what_is_wanted_are_shown(
    own: dict[str, Rule], sound: list[Node], bound: dict[str, int], worst: list[int]
) -> None:
    nodes = copied(sound[:9])
    for number, node in enumerate(nodes, 1):
        node["own"] = {"hpl": float(number)}
    table = {"kind": "value", "reads": ("own.hpl",), "severity": Severity.WRONG, "reason": "r", "remedy": "m"}
    found = _only(_judge(nodes, {**own, "hpl": Rule(id="hpl", **table, condition=bound)}), "hpl")
    assert [line.rpartition(": ")[2] for line in found.finding.evidence] == [str(n) for n in worst]


def test_a_short_name_is_shown_though_it_is_part_of_a_value(own: dict[str, Rule], sound: list[Node]) -> None:
    nodes = copied(sound)
    nodes[0]["node"], nodes[0]["processor"]["microcode"] = "b0", {"0x2b000571": "0-71"}
    assert "1 node: b0" in check_text(_judge(nodes, own))


def test_clocks_are_said_against_what_they_are_off_from(own: dict[str, Rule], sound: list[Node]) -> None:
    nodes = copied(sound)
    for node in nodes:
        node["taken"] = NOW - 900_000
    nodes[1]["taken"] = NOW + 160
    assert _only(_judge(nodes, own), "clock-off").finding.summary.endswith("are ahead of this one's, by up to 60 s")
    nodes[1]["taken"] = NOW - 900_000 - 30 * 86400
    assert _only(_judge(nodes, own), "clock-off").finding.summary.endswith("by up to 30 days")
    back = _only(_judge(sound[:1], own, before=[{**sound[0], "taken": sound[0]["taken"] + 7200}]), "clock-off")
    assert "behind those of their last good snapshots, by up to 2 h" in back.finding.summary


def test_a_node_that_was_replaced_is_found_by_its_history(own: dict[str, Rule], sound: list[Node]) -> None:
    now = copied(sound[0])
    now["processor"] |= {"name": "Other", "threads_per_core": 2, "features": ["avx2"]}
    now["firmware"]["product"] = "Other"
    now["memory"]["swap"] = 1 << 30
    next(iter(now["network"].values()))["speed"] = 100
    found = {f.finding.name for f in _judge([now], own, before=[sound[0]]).findings}
    assert {
        *(
            "changed-processor",
            "changed-threads",
            "changed-features",
            "changed-product",
            "changed-swap",
            "changed-network",
        )
    } <= found


def test_who_is_not_there_and_who_is_not_expected_is_noted(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path
) -> None:
    names = [n["node"] for n in sound]
    text = f'[nodes]\nexpected = {names[1:]}\n[groups]\nsome = ["{names[1]}", "nosuch"]\n'
    notes = _judge(sound, own, _site(tmp_path, text, own)).notes
    assert notes == (
        f"not among the nodes that are expected: {names[0]}",
        "group some names nodes that are not there: nosuch",
    )
    [old] = _judge(sound, own, later=40 * 86400).notes
    assert old.startswith("the newest of these snapshots was taken 40 days ago")


@pytest.mark.parametrize("part", ["mounts", "fabric", "network", "accelerators"])
def test_what_is_missing_is_reported_once(own: dict[str, Rule], part: str) -> None:
    nodes = list(regular(60, 1))
    place = next(i for i in reversed(range(len(nodes))) if nodes[i][part])
    name = "/home" if part == "mounts" else next(iter(nodes[place][part]))
    del nodes[place][part][name]
    result = _judge(nodes, own)
    assert [f.fact.rpartition(".")[0] for f in result.findings] == [f"{part}.{name}"], result.findings


def test_limits_are_said_as_a_shell_says_them(own: dict[str, Rule], sound: list[Node]) -> None:
    nodes = copied(sound)
    limits = nodes[7]["limits"]["ulimits"]
    limits["open files"] = [None, None]
    assert (
        "open files: unlimited, where 39 of 40 nodes have"
        in _only(_judge(nodes, own), "process-limits").finding.summary
    )
    limits["open files"] = [1024, None]
    found = _only(_judge(nodes, own), "process-limits").finding.summary
    assert "open files: 1024, hard limit unlimited, where" in found


@pytest.mark.parametrize(
    "path", ["mounts./scratch.free", "speed.bandwidth.rate", "fabric.mlx5_0/1.rate", "mounts./.type"]
)
def test_facts_with_a_name_inside_are_known_whatever_the_order_of_sets(path: str) -> None:
    code = (
        f"from nodewise.nodes.facts import is_known, known_paths; print(is_known({path!r}, frozenset(known_paths())))"
    )
    for seed in "0123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        assert done.stdout == "True\n"


RULE = '[[rule]]\nid = "a"\nkind = "{kind}"\nreads = {reads}\nseverity = "note"\nreason = "r"\nremedy = "m"\n{more}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            RULE.format(kind="relation", reads='["system.name", "system.version"]', more='function = "few_a_day"'),
            "does not fit",
        ),
        (
            RULE.format(kind="relation", reads='["mounts", "memory.total"]', more='function = "one_value"'),
            "takes 1 facts",
        ),
        (
            RULE.format(kind="relation", reads='["fabric"]', more='function = "sound_links"'),
            "takes 2 facts: ports, uptime",
        ),
        (RULE.format(kind="relation", reads='["own.a", "mounts.*.type"]', more="equal = true"), "without a *"),
        (RULE.format(kind="outlier", reads='"system.name"', more="step = 1"), "an outlier is among numbers"),
        (
            RULE.format(kind="uniform", reads='"mounts.*.type"', more="except = [1, 2]"),
            "line 8, column 1: except: a list",
        ),
        (RULE.format(kind="uniform", reads='"memory.total"', more="within = 5"), "a share between 0 and 1"),
        ('[[desired]]\nfact = "system.name"\nleast = 3\n', "least: system.name is no number"),
        ('[[desired]]\nfact = "memory.total"\nleast = 5\nmost = 3\n', "least is above most"),
        ('[[desired]]\nfact = "memory.total"\nleast = 5\nreason = 5\n', "reason: a text is needed"),
        (f'[[suppress]]\nrule = "{"x" * 100_000}"\n', "rule: not known: 'xxx"),
        ("a" + ".a" * 2_000 + " = 1\n", "line 1, column 1"),
    ],
)
def test_what_fits_no_fact_is_refused_where_it_stands(
    own: dict[str, Rule], tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        _site(tmp_path, text, own)
    assert message in caught.value.what and "line" in caught.value.what and len(caught.value.what) < 700


def test_a_mark_before_the_text_is_passed_over_and_other_bytes_are_placed(own: dict[str, Rule], tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_bytes(b'\xef\xbb\xbf[severity]\nswap = "wrong"\n')
    assert read_site(tmp_path / "site.toml", own.values()).severities == {"swap": Severity.WRONG}
    (tmp_path / "site.toml").write_bytes(b"[severity]\n# \xff\n")
    with pytest.raises(InputError, match="line 2, column 3: it is no UTF-8"):
        read_site(tmp_path / "site.toml", own.values())
    (tmp_path / "site.toml").write_text(f"[nodes]\ncollected_within_s = {'1' * 5000}\n")
    with pytest.raises(InputError, match="line 2: a number has too many digits"):
        read_site(tmp_path / "site.toml", own.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2-4", {2, 3, 4}),
        ("managed_irq,domain,2-3", {2, 3}),
        ("0-7:2/4", {0, 1, 4, 5}),
        ("2-10:4", {2, 6, 10}),
        ("1-2 5", {1, 2, 5}),
        ("", set()),
        ("7-2", None),
        ("0-9999999", None),
        ("0-7:0/4", None),
        ("2-x", None),
    ],
)
def test_lists_are_read_as_the_kernel_reads_them(text: str, expected: set[int] | None) -> None:
    assert processors(text) == expected


def test_the_last_processor_has_a_letter() -> None:
    assert (
        subset("2-N", "2-N", True) is None and subset("2-7", "2-N", True) is None and subset("1-N", "all", True) is None
    )
    assert subset("1-N", "2-N", True) == "1 of 1-N are not in 2-N"
    assert subset("2-N", "2-8000", True) == "8001-N of 2-N are not in 2-8000"


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("/home/alice", "/home/*"),
        ("/home2/carol/x", "/home2/*/x"),
        ("/nfs/home/alice", "/nfs/home/*"),
        ("/export/homes/dave", "/export/homes/*"),
        ("/srv/users/frank", "/srv/users/*"),
        ("/root/erin", "/root/*"),
        ("/net/server.example/export/bob", "/net/*"),
        ("/mnt/10.1.2.3", "/mnt/*"),
        ("/mnt/fe80::1/data", "/mnt/*/data"),
        ("/home/a/remotes/bob@host.example", "/home/*/remotes/*"),
        ("/scratch", "/scratch"),
        ("/data/v1.2.3", "/data/v1.2.3"),
        ("/home", "/home"),
    ],
)
def test_places_say_neither_users_nor_addresses(place: str, shown: str) -> None:
    assert shown_place(place) == shown


def test_interfaces_that_are_called_by_their_address_are_numbered() -> None:
    assert _name_without_address("enx0123456789ab", {}) == "enx-1"
    assert _name_without_address("enx0123456789ac", {"enx-1": 0}) == "enx-2"
    assert _name_without_address("enp3s0", {}) == "enp3s0"


def test_options_that_are_addresses_are_left_out() -> None:
    assert read_options("quiet 10.11.12.13 nohz_full=2-N ip=10.0.0.1") == {"quiet": "", "nohz_full": "2-N", "ip": None}


def test_what_a_site_adds_is_one_only_where_it_is_the_same_kind(own: dict[str, Rule], sound: list[Node]) -> None:
    nodes = [{**n, "own": {"ok": True if i else 1}} for i, n in enumerate(sound[:6])]
    rule = Rule("own-ok", "uniform", ("own.ok",), Severity.WRONG, "why", "do", "", {})
    [found] = [f for f in _judge(nodes, {"own-ok": rule}).findings if f.finding.name == "own-ok"]
    assert found.nodes == (nodes[0]["node"],)
    assert found.finding.summary == "own.ok: 1, where 5 of 6 nodes have true"


def test_of_what_is_suppressed_in_part_junit_shows_the_rest(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path
) -> None:
    nodes = copied(sound)
    for at, part in ((4, 2), (8, 3)):
        nodes[at]["memory"]["total"] //= part
    for names, skipped in ((nodes[4]["node"],), "0"), ((nodes[4]["node"], nodes[8]["node"]), "1"):
        covered = "".join(
            f'[[suppress]]\nrule = "memory-size"\nnodes = "{name}"\nreason = "known"\nuntil = 2999-01-01\n'
            for name in names
        )
        suite = ElementTree.fromstring(junit_text(_judge(nodes, own, _site(tmp_path, covered, own)), ()))
        assert (suite.attrib["skipped"], suite.attrib["failures"]) == (skipped, "0")


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ((("a", 1), ("b", "x")), "", "a: 1, b: x"),
        (("a", "b"), "", "a, b"),
        ((("a", 1, 2), ("b", 3, 4)), "", "a, 1, 2, b, 3, 4"),
        ((), "", "none"),
        ((1024, 4096), "limits.ulimits.open files", "1024, hard limit 4096"),
        ((None, None), "limits.ulimits.open files", "unlimited"),
        (None, "kernel.modules.nfs", "no version"),
        (True, "", "true"),
        ("", "", "empty"),
        (0.1234567, "", "0.123457"),
    ],
)
def test_values_in_sentences(value: Any, path: str, words: str) -> None:
    assert shown_value(value, path) == words


@pytest.mark.parametrize(("days", "said"), [(6.9, False), (7.1, True), (15.0, True)])
def test_snapshots_of_more_than_a_week_ago_are_said_to_be(
    own: dict[str, Rule], sound: list[Node], days: float, said: bool
) -> None:
    newest = max(node["taken"] for node in sound) - NOW
    notes = _judge(sound, own, later=newest + days * 86400).notes
    assert any("the newest of these snapshots was taken" in note for note in notes) == said


@pytest.mark.parametrize(("ahead_s", "found"), [(4.0, False), (6.0, True)])
def test_a_clock_that_went_back_by_seconds_is_found(
    own: dict[str, Rule], sound: list[Node], ahead_s: float, found: bool
) -> None:
    before = copied(sound)
    before[3]["taken"] = sound[3]["taken"] + ahead_s
    plain = {f.finding.name for f in _judge(sound, own, before=copied(sound)).findings}
    more = {f.finding.name for f in _judge(sound, own, before=before).findings}
    assert (more != plain) == found


@pytest.mark.parametrize(
    ("disturbed", "said"), [(0, None), (2, None), (3, "copy: 3 of 6 runs"), (6, "copy: 6 of 6 runs")]
)
def test_a_speed_is_disturbed_where_half_of_its_runs_were(disturbed: int, said: str | None) -> None:
    assert speed_disturbed((("copy", (("disturbed", disturbed), ("runs", 6))),)) == said
