# SPDX-License-Identifier: BSD-3-Clause
"""The check of made-up fleets: every kind of rule, groups, majorities, suppressions; and what is given for a snapshot and is none."""

import datetime
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks._check.faults import can_plant, explained, plant
from benchmarks._check.fleets import NOW, SITE_RULES, Node, regular, uneven
from benchmarks._check.stepped import stepped
from nodewise.nodes.check import judge, new_fleet
from nodewise.nodes.findings import CheckResult
from nodewise.nodes.rule import Rule, joined, own_rules, read_rules
from nodewise.nodes.site import Site, read_site
from nodewise.quiet.finding import Severity
from nodewise.report.exports.junit import junit_text
from nodewise.report.pages.check import check_page
from nodewise.report.text.check import check_text
from nodewise.verdicts.encoding import encode
from tests.copies import copied

TODAY = datetime.date(2026, 11, 23)


@pytest.fixture(scope="module")
def own() -> dict[str, Rule]:
    return joined(own_rules())


@pytest.fixture(scope="module")
def sound() -> list[Node]:
    return list(regular(60, 1))


def _judge(
    nodes: list[Node], rules: dict[str, Rule], site: Site | None = None, before: list[Node] | None = None
) -> CheckResult:
    site = site or Site()
    fleet, old = new_fleet(rules.values(), site), None
    fleet.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in nodes).encode())])
    if before is not None:
        old = new_fleet(rules.values(), Site())
        old.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in before).encode())])
    return judge(fleet, rules, site, old, TODAY, NOW + 100)


def _found(result: CheckResult) -> dict[str, tuple[str, ...]]:
    return {f.finding.name: f.nodes for f in result.findings}


def _site(folder: Path, text: str, rules: dict[str, Rule]) -> Site:
    (folder / "site.toml").write_text(text)
    return read_site(folder / "site.toml", rules.values())


def _changed(nodes: list[Node], place: int, path: str, value: Any) -> list[Node]:
    made = copied(nodes)
    at: Any = made[place]
    *above, last = path.split("|")
    for name in above:
        at = at[name]
    if value is KeyError:
        del at[last]
    else:
        at[last] = value
    return made


@pytest.mark.parametrize("make", [regular, uneven, stepped])
def test_a_sound_fleet_has_no_finding(own: dict[str, Rule], make: Any) -> None:
    result = _judge(list(make(300, 5)), own)
    assert [f.finding.summary for f in result.findings if len(f.nodes) < 100] == []


def test_faults_of_every_rule_are_found_and_nothing_else(own: dict[str, Rule], tmp_path: Path) -> None:
    nodes = list(regular(700, 3))
    (tmp_path / "rules.toml").write_text(SITE_RULES)
    rules = joined(own.values(), read_rules(tmp_path / "rules.toml"))
    planted = plant(nodes, rules, {n["node"]: n["processor"]["name"] for n in nodes}, 3)
    result = _judge(nodes, rules)
    hit = {(f.finding.name, n) for f in result.findings for n in f.nodes if f.kind != "snapshot"}
    missed = {n: f for n, f in planted.faults.items() if (f[0], n) not in hit and planted.distances.get(n, 9) >= 8}
    assert missed == {}, "what breaks these is to be said in _BROKEN of benchmarks/_check/faults.py"
    for f in result.findings:
        for node in f.nodes if f.kind != "snapshot" else ():
            assert node in planted.faults and explained(rules[f.finding.name], f.fact, planted.faults[node][1]), (
                node,
                f,
            )
    assert _found(result)["clock-off"] == tuple(sorted(planted.ahead))
    assert {r for r, _ in planted.faults.values()} > {
        r.id for r in rules.values() if r.kind in ("uniform", "relation", "outlier") and can_plant(nodes, r)
    } - {"memory-mode"}


@pytest.mark.parametrize(
    ("path", "value", "rule", "words"),
    [
        (
            "kernel|options|nohz_full",
            "2-5",
            "kernel-options",
            "kernel.options.nohz_full: 2-5, where 35 of 36 nodes have 2-7",
        ),
        ("services|slurmd", KeyError, "services", "services.slurmd: not there, where 35"),
        ("clocks|governors", None, "governor", "clocks.governors: null, where 35"),
        ("memory|total", 240 * 10**9, "memory-size", "robust deviations below the median 238.4 GiB of 36 nodes"),
        ("sensors|processor", 99.0, "processor-heat", "robust deviations above"),
        ("sensors|processor", None, "processor-heat", "null, where 35 of 36 nodes have a number"),
        ("kernel|tickless", "2-9", "tickless-isolated", "8-9 of 2-9 are not in 2-7"),
        ("mounts|/|free", 0.01, "mount-space", "mounts./.free: 0.01, wanted: at least 0.03"),
        ("mounts|/home", KeyError, "mount-type", "mounts./home.type: not there"),
        ("processor|name", "Other", "processor-models", "processor.name: Other, where 35"),
    ],
)
def test_one_fault_is_said_with_its_peers(
    own: dict[str, Rule], sound: list[Node], path: str, value: Any, rule: str, words: str
) -> None:
    rule = {"processor-models": "processor-name"}.get(rule, rule)
    result = _judge(_changed(sound, 7, path, value), own)
    found = [f for f in result.findings if f.finding.name == rule]
    assert [f.nodes for f in found] == [("n00008",)] and words in found[0].finding.summary, found


@pytest.mark.parametrize(
    ("path", "value", "rule", "words"),
    [
        (
            "kernel|modules|nfs",
            KeyError,
            "modules",
            "kernel.modules.nfs: not there, where 35 of 36 nodes have no version",
        ),
        (
            "kernel|options|acpi_osi",
            None,
            "kernel-options",
            "kernel.options.acpi_osi: null, where 35 of 36 nodes do not have it",
        ),
        ("mounts|/home|bytes", None, "mount-size", "mounts./home.bytes: null, where 35"),
    ],
)
def test_a_name_that_is_missing_is_told_from_a_fact_that_is_null(
    own: dict[str, Rule], sound: list[Node], path: str, value: Any, rule: str, words: str
) -> None:
    """For each kind that reads names by a star."""
    broken = _changed(sound, 7, path, value)
    found = [f for f in _judge(broken, own).findings if f.finding.name == rule]
    assert [f.nodes for f in found] == [("n00008",)] and words in found[0].finding.summary, found
    since = [f for f in _judge([broken[7]], own, before=[sound[7]]).findings if path.startswith("kernel")]
    assert [f.nodes for f in since] == [("n00008",)] * path.startswith("kernel")


def test_a_site_that_wants_a_value_of_every_name_judges_null_and_not_what_is_missing(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path
) -> None:
    site = _site(tmp_path, '[[desired]]\nfact = "mounts.*.free"\nleast = 0.001\n', own)
    gone, null = _changed(sound, 3, "mounts|/home", KeyError), _changed(sound, 3, "mounts|/home|free", None)
    assert "desired:mounts.*.free" not in _found(_judge(gone, own, site))
    [found] = [f for f in _judge(null, own, site).findings if f.finding.name == "desired:mounts.*.free"]
    assert found.nodes == ("n00004",) and "mounts./home.free: null, wanted: at least 0.001" in found.finding.summary


PASSING = (
    "/run/user/*",
    "/home/*",
    "/media/*/disk",
    "/var/lib/docker/overlay2/*/merged",
    "/var/lib/containers/storage/overlay/*/merged",
    "/run/containerd/io.containerd.runtime.v2.task/k8s.io/*/rootfs",
    "/auto",
)


def test_mounts_that_come_and_go_are_not_missed(own: dict[str, Rule], sound: list[Node]) -> None:
    """Neither beside those of the peers nor since the last time; what is full or does not answer is named still."""
    mounts = {
        place: {**sound[0]["mounts"]["/"], "type": "tmpfs", "options": ["rw"], "passing": place == "/auto"}
        for place in PASSING
    }
    for few in (3, 33):
        nodes = copied(sound)
        for number, node in enumerate(nodes[:few]):
            node["mounts"] |= {place: {**mount, "bytes": 10**9 + number} for place, mount in mounts.items()}
        assert _judge(nodes, own, before=sound).findings == () == _judge(sound, own, before=nodes).findings
    full = copied(sound)
    for node, (place, mount) in zip(full, mounts.items(), strict=False):
        node["mounts"][place] = {**mount, "free": 0.0}
    named = sorted((f.finding.name, *f.nodes) for f in _judge(full, own).findings)
    assert named == [("mount-space", f"n0000{i}") for i in range(1, 8)]


def test_a_link_at_idle_is_slower_and_not_narrower(own: dict[str, Rule], sound: list[Node]) -> None:
    device = next(iter(sound[58]["accelerators"]))
    idle = _changed(sound, 58, f"accelerators|{device}|link", "x16 2.5 GT/s PCIe")
    assert _judge(idle, own, before=sound).findings == ()
    narrow = _judge(_changed(sound, 58, f"accelerators|{device}|link", "x8 16.0 GT/s PCIe"), own)
    assert _found(narrow) == {"accelerator-link": ("n00059",)} and ": x8, where" in narrow.findings[0].finding.summary


@pytest.mark.parametrize(
    ("days", "count", "found"),
    [(0.1, 101, True), (0.1, 100, False), (300, 20_000, False), (300, 40_000, True), (None, 101, False)],
)
@pytest.mark.parametrize(("kind", "of"), [("fabric", "errors|symbol_error"), ("network", "errors")])
def test_errors_of_a_link_count_by_the_time_that_they_took(
    own: dict[str, Rule], sound: list[Node], kind: str, of: str, days: float | None, count: int, found: bool
) -> None:
    nodes = _changed(sound, 0, f"{kind}|{next(iter(sound[0][kind]))}|{of}", count)
    nodes[0]["system"]["uptime_s"] = None if days is None else days * 86400
    result = [f for f in _judge(nodes, own).findings if f.finding.name == f"{kind}-errors"]
    assert [f.nodes for f in result] == [("n00001",)] * found


def test_without_a_majority_nobody_is_wrong(own: dict[str, Rule], sound: list[Node]) -> None:
    split = copied(sound[:10])
    for node in split[:4]:
        node["system"]["kernel"] = "6.1"
    result = _judge(split, own)
    assert {f.finding.name for f in result.findings} == {"kernel-release"}
    assert (
        result.findings[0].finding.severity is Severity.NOTE
        and "no majority among 10 nodes" in result.findings[0].finding.summary
    )
    split[3]["system"]["kernel"] = split[9]["system"]["kernel"]
    assert _judge(split, own).findings[0].nodes == ("n00001", "n00002", "n00003")
    two = _judge(_changed(sound[:2], 0, "system|kernel", "6.1"), own)
    assert "no majority among 2 nodes" in two.findings[0].finding.summary


def test_hardware_is_compared_within_its_class_and_within_the_sites_groups(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path
) -> None:
    assert [g.nodes for g in _judge(sound, own).groups] == [36, 18, 6]
    site = _site(tmp_path, '[groups]\nall = "n[00001-00060]"\n', own)
    named = _judge(sound, own, site)
    assert [(g.name, g.nodes) for g in named.groups] == [("all", 60)]
    assert "processor-name" in _found(named)
    # three of another processor are a class, and two are not
    other = copied(sound)
    for node in other[:3]:
        node["processor"]["name"] = "Other"
    assert [g.nodes for g in _judge(other, own).groups] == [33, 18, 6, 3]
    other[2]["processor"]["name"] = other[3]["processor"]["name"]
    assert _found(_judge(other, own)) == {"processor-name": ("n00001", "n00002")}
    # one of six that lost its devices belongs to the others still
    lost = _judge(_changed(sound, 57, "accelerators", {}), own)
    assert [g.nodes for g in lost.groups] == [36, 18, 6] and _found(lost)["accelerator-device"] == ("n00058",)


def test_what_changed_since_the_last_good_snapshot_is_found(own: dict[str, Rule], sound: list[Node]) -> None:
    result = _judge([sound[3]], own, before=_changed(sound, 3, "kernel|mitigations|mds", "Vulnerable"))
    assert _found(result) == {"changed-mitigations": ("n00004",)}
    assert (
        result.findings[0].finding.summary
        == "kernel.mitigations.mds: Mitigation: on, was Vulnerable when last found well"
    )
    # the kernel leaves some pages more or less
    assert (
        _judge([sound[3]], own, before=_changed(sound, 3, "memory|total", sound[3]["memory"]["total"] + 4096)).findings
        == ()
    )


def test_nodes_without_an_answer_and_nodes_that_are_there_twice(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path
) -> None:
    site = _site(tmp_path, '[nodes]\nexpected = ["n[00001-00061]"]\ncollected_within_s = 600\n', own)
    nodes = [*sound, copied(sound[0])]
    nodes[5] = _changed(sound, 5, "taken", NOW - 700)[5]
    found = _found(_judge(nodes, own, site))
    assert found == {"no-answer": ("n00061",), "twice": ("n00001",), "clock-off": ("n00006",)}


def test_what_the_site_wants_and_what_it_knows_of(own: dict[str, Rule], sound: list[Node], tmp_path: Path) -> None:
    site = _site(
        tmp_path,
        """
[groups]
few = "n[00001-00002]"
[[desired]]
fact = "memory.swappiness"
is = 1
group = "few"
[[desired]]
fact = "limits.ulimits.open files"
one_of = []
severity = "note"
[severity]
services = "note"
[[suppress]]
rule = "desired:memory.swappiness"
nodes = "n00001"
reason = "a test of paging"
until = 2026-11-23
[[suppress]]
rule = "services"
reason = "moved"
until = 2026-11-22
""",
        own,
    )
    result = _judge(_changed(sound, 9, "services|sshd", KeyError), own, site)
    found = {f.finding.name: (f.nodes, f.finding.severity) for f in result.findings}
    assert found["desired:memory.swappiness"] == (("n00002",), Severity.WRONG)
    assert found["services"] == (("n00010",), Severity.NOTE)
    assert found["suppression-ended"] == ((), Severity.NOTE)
    assert [(f.nodes, f.suppressed) for f in result.suppressed] == [
        (("n00001",), "a test of paging (until 2026-11-23)")
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_that_a_suppression_has_ended_is_a_finding_like_others(
    own: dict[str, Rule], sound: list[Node], turned: bool, tmp_path: Path
) -> None:
    ended = '[[suppress]]\nrule = "services"\nreason = "moved"\nuntil = 2026-11-22\n'
    other = '[[suppress]]\nrule = "suppression-ended"\nreason = "known"\nuntil = 2026-11-23\n'
    site = _site(tmp_path, ended, own)
    assert [f.finding.severity for f in _judge(sound, own, site).findings] == [Severity.NOTE]
    louder = _site(tmp_path, '[severity]\n"suppression-ended" = "wrong"\n' + ended, own)
    assert [f.finding.severity for f in _judge(sound, own, louder).findings] == [Severity.WRONG]
    covered = _judge(sound, own, _site(tmp_path, other + ended if turned else ended + other, own))
    assert not covered.findings and [f.suppressed for f in covered.suppressed] == ["known (until 2026-11-23)"]


RULE = """[[rule]]
id = "a"
kind = "uniform"
reads = "memory.total"
severity = "note"
reason = "r"
remedy = "m"
"""


def test_a_rule_of_a_users_own_is_one_table(own: dict[str, Rule], sound: list[Node], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(RULE.replace("memory.total", "own.licence"))
    result = _judge(_changed(sound, 0, "own|licence", "x"), joined(own.values(), read_rules(tmp_path)))
    assert _found(result) == {"a": ("n00001",)}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("memory|total", "much"),
        ("memory|total", True),
        ("memory", None),
        ("taken", float("nan")),
        ("node", "a b"),
        ("node", "\x1b[2J"),
        ("kernel|options", []),
        ("own|a", {}),
        ("mounts|/", 3),
        ("processor|features", "x" * 9),
        ("software|a", "x" * 2000),
        ("memory|total", -5),
        ("memory|numa|0|bytes", -1),
        ("processor|caches|L2", -1),
        ("limits|ulimits|open files", [-1, 5]),
        ("mounts|/|free", 1.5),
        ("system|uptime_s", -0.5),
        ("system|load", 1e80),
    ],
)
def test_a_value_of_another_type_is_named(own: dict[str, Rule], sound: list[Node], path: str, value: Any) -> None:
    fleet = new_fleet(own.values(), Site())
    fleet.read([io.BytesIO(json.dumps(_changed(sound, 0, path, value)[0]).encode())])
    assert (
        fleet.names == [] and path.split("|", maxsplit=1)[0] in fleet.unreadable[0].problem
    ) or "too long" in fleet.unreadable[0].problem


def test_numbers_below_zero_that_have_a_meaning_are_none_of_damage(own: dict[str, Rule], sound: list[Node]) -> None:
    node = _changed(sound, 0, "sensors|processor", -3.0)
    node = _changed(_changed(node, 0, "time|offset_s", -0.01), 0, "kernel|perf_paranoid", -1)
    fleet = new_fleet(own.values(), Site())
    fleet.read([io.BytesIO(json.dumps(_changed(node, 0, "own|a", -1e90)[0]).encode())])
    assert fleet.names == ["n00001"] and not fleet.unreadable


def test_millions_of_bad_lines_are_counted_and_some_of_them_kept(own: dict[str, Rule]) -> None:
    fleet = new_fleet(own.values(), Site())
    fleet.read([io.BytesIO(b"x\n" * 50_000)])
    assert fleet.unreadable_count == 50_000 and len(fleet.unreadable) == 100
    [found] = judge(fleet, own, Site(), None, TODAY, NOW).findings
    assert found.finding.summary.startswith("50000 of what was given")


def test_a_node_that_is_there_twice_is_judged_once_by_its_last_snapshot(
    own: dict[str, Rule], sound: list[Node], tmp_path: Path
) -> None:
    """By rules of every kind, and by what the site wants."""
    site = _site(tmp_path, '[[desired]]\nfact = "memory.swappiness"\nis = 77\nseverity = "note"\n', own)
    broken = _changed(sound, 7, "mounts|/|free", 0.01)
    for path, value in (
        ("kernel|tickless", "2-9"),
        ("taken", NOW + 9000),
        ("kernel|mitigations|mds", "Vulnerable"),
        ("sensors|processor", 99.0),
    ):
        broken = _changed(broken, 7, path, value)

    def said(result: CheckResult) -> list[tuple[str, str, list[str]]]:
        return [(f.finding.name, f.finding.summary, sorted(f.nodes)) for f in result.findings]

    once = _judge(broken, own, site, before=sound)
    for nodes in ([*broken, broken[7]], [sound[7], *broken]):
        twice = _judge(nodes, own, site, before=sound)
        assert [s for s in said(twice) if s[0] != "twice"] == said(once)
        assert [f.nodes for f in twice.findings if f.finding.name == "twice"] == [("n00008",)]
        assert twice.nodes == 60 and twice.groups == once.groups


def test_a_history_that_cannot_be_read_is_said(own: dict[str, Rule], sound: list[Node]) -> None:
    old = new_fleet(own.values(), Site())
    old.read([io.BytesIO(b"{}\nx\n" + json.dumps(sound[0]).encode())])
    fleet = new_fleet(own.values(), Site())
    fleet.read([io.BytesIO(json.dumps(sound[0]).encode())])
    [note] = judge(fleet, own, Site(), old, TODAY, NOW + 100).notes
    assert note.startswith(
        "2 of what the history holds cannot be read as a snapshot: standard input: it is no snapshot"
    )


def test_one_over_several_lines_is_read_whole(own: dict[str, Rule], sound: list[Node], tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(sound[0], indent=1))
    (tmp_path / "b.json").write_text("{\n" + " " * (2 << 20))
    (tmp_path / "pipe.json").mkdir()
    fleet = new_fleet(own.values(), Site())
    fleet.read([tmp_path])
    assert fleet.names == ["n00001"]
    assert ["more than" in u.problem for u in fleet.unreadable] == [True, False]


def _mutated(node: Any, rng: random.Random) -> Any:
    """The node with one value anywhere replaced, removed or doubled."""
    made = copied(node)
    at, spots = [made], []
    while at:
        one = at.pop()
        for key in one if isinstance(one, dict) else range(len(one)):
            spots.append((one, key))
            at += [one[key]] if isinstance(one[key], dict | list) else []
    holder, key = rng.choice(spots)
    junk: list[Any] = [
        None,
        True,
        -1,
        0,
        1 << 62,
        1e99,
        -0.0,
        "",
        "\x00",
        "x" * 1001,
        "\ud800",
        [],
        {},
        [None],
        {"a": None},
        [[]],
        {"\x1b": {}},
        "0-99999999",
        "9-1",
        "Infinity",
    ]
    if isinstance(holder, dict) and rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(junk)
    return made


@pytest.mark.long
def test_whatever_a_snapshot_holds_it_is_judged_or_named(own: dict[str, Rule], sound: list[Node]) -> None:
    rng = random.Random(7)
    for _ in range(12):
        broken = [_mutated(_mutated(n, rng), rng) for n in sound[:30]]
        texts = [json.dumps(n).encode() for n in broken]
        texts = [t[: rng.randrange(2, len(t))] if rng.random() < 0.1 else t for t in texts]
        fleet, site = new_fleet(own.values(), Site()), Site()
        fleet.read([io.BytesIO(b"\n".join(texts))])
        before = new_fleet(own.values(), site)
        before.read([io.BytesIO("\n".join(map(json.dumps, sound[:30])).encode())])
        result = judge(fleet, own, site, before, TODAY, NOW + 100)
        assert len(fleet.names) + len(fleet.unreadable) == len(texts)
        for text in (
            check_text(result, everything=True),
            check_page(result),
            junit_text(result),
            json.dumps(encode(result)),
        ):
            assert not {"\x00", "\x1b"} & set(text)
            text.encode("utf-8", "surrogateescape")
