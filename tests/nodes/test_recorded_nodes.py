# SPDX-License-Identifier: BSD-3-Clause
"""Recorded systems, from their files to what a check finds: copies of a guest with a driver of frequencies, changed as an operator's slip would."""

import dataclasses
import datetime
import io
import json
from pathlib import Path

import pytest

from nodewise.nodes.check import judge, new_fleet
from nodewise.nodes.rule import joined, own_rules
from nodewise.nodes.site import Site
from nodewise.nodes.snapshot import Snapshot
from nodewise.nodes.take import take_snapshot
from tests.nodes.test_snapshot import _recorded

_CPU = "sys/devices/system/cpu"


def _snapshot(folder: Path, **files: str) -> Snapshot:
    root = _recorded(folder, "guest-frequencies")
    for file, text in files.items():
        (root / file).write_text(text)
    return dataclasses.replace(take_snapshot(root, "0"), taken=1e9)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return _snapshot(tmp_path_factory.mktemp("guest"))


def _found(*nodes: Snapshot) -> dict[str, tuple[str, ...]]:
    """What is found of nodes n1, n2 …: by rule those that it names."""
    rules = joined(own_rules())
    fleet = new_fleet(rules.values(), Site())
    named = [dataclasses.replace(node, node=f"n{number}") for number, node in enumerate(nodes, 1)]
    fleet.read([io.BytesIO("".join(json.dumps(n.to_json()) + "\n" for n in named).encode())])
    assert not fleet.unreadable and len(fleet.names) == len(nodes)
    result = judge(fleet, rules, Site(), None, datetime.date(2026, 1, 1), 1e9 + 10)
    return {f.finding.name: f.nodes for f in result.findings}


@pytest.mark.parametrize(
    ("file", "text", "rules"),
    [
        (f"{_CPU}/cpu1/cpufreq/scaling_governor", "powersave\n", {"governor", "one-governor"}),
        (f"{_CPU}/cpu0/cpufreq/scaling_max_freq", "1064000\n", {"clock-limit", "noisy-settings"}),
    ],
)
def test_a_copy_that_is_set_otherwise_is_the_one_that_is_found(
    guest: Snapshot, tmp_path: Path, file: str, text: str, rules: set[str]
) -> None:
    alike = _found(*[guest] * 4)
    # what is said of a guest by itself is said of all
    assert set(alike.values()) <= {("n1", "n2", "n3", "n4")}
    found = _found(*[guest] * 3, _snapshot(tmp_path, **{file: text}))
    assert {rule: nodes for rule, nodes in found.items() if rule not in alike} == dict.fromkeys(rules, ("n4",))
