# SPDX-License-Identifier: BSD-3-Clause
"""Files of sites and of rules: what is wrong in them is said with line and column, and what they hold in vain is said, too."""

import datetime
import re
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.nodes.check import judge, new_fleet
from nodewise.nodes.rule import Rule, joined, own_rules, read_rules
from nodewise.nodes.site import Site, read_site
from tests.nodes.test_check import RULE
from tools import rules_page


@pytest.fixture(scope="module")
def own() -> dict[str, Rule]:
    return joined(own_rules())


def _site(folder: Path, text: str, rules: dict[str, Rule]) -> Site:
    (folder / "site.toml").write_text(text)
    return read_site(folder / "site.toml", rules.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[nodes\n", "line 1, column"),
        ("x = 1\n", "line 1, column 1: not known: x"),
        ("[nodes]\n  expectd = 'a'\n", "line 2, column 3: [nodes] has no key expectd"),
        ("[speed]\nthread = 3\n", "line 2, column 1: [speed] has no key thread"),
        ("[speed]\nthreads = 0\n", "line 2, column 1: threads: a number of threads is needed"),
        ("[speed]\nallow = 'x'\n", "line 2, column 1: "),
        ("[nodes]\nexpected = 'n[3-1]'\n", "line 2, column 1: not a list of nodes: '3-1'"),
        ("[nodes]\nexpected = 'n[1-999999999]'\n", "line 2, column 1: more than 200000 nodes"),
        ("\n[[desired]]\nfact = 'memory.totl'\nis = 1\n", "line 3, column 1: fact: no such fact"),
        ("[[desired]]\nfact = 'memory.total'\n", "line 1, column 1: desired says no value"),
        ("[[desired]]\nfact = 'memory.total'\nleast = 'x'\n", "line 3, column 1: least: a number is needed"),
        (
            "[[suppress]]\nrule = 'servises'\nreason = 'x'\nuntil = 2026-01-01\n",
            "line 2, column 1: rule: not known: 'servises'\n\nhint: did you mean services?",
        ),
        ("[[suppress]]\nrule = 'services'\nuntil = 2026-01-01\n", "line 1, column 1: suppress has no reason"),
        ("[[suppress]]\nrule = 'services'\nreason = 'x'\n", "suppress needs a day on which it ends"),
        ("[severity]\nservices = 'off'\n", "line 2, column 1: services: not a severity"),
        ("[severity]\nservices = []\n", "line 2, column 1: services: not a severity"),
        (
            "[[desired]]\nfact = 'memory.total'\nleast = 1\nseverity = {}\n",
            "line 4, column 1: severity: not known: {}",
        ),
        ("[[desired]]\nfact = 'memory.total'\nleast = 1\ngroup = [[1]]\n", "line 4, column 1: group: not known: [[1]]"),
        ("[[desired]]\nfact = 'memory.total'\nleast = nan\n", "line 3, column 1: least: a finite number is needed"),
        ("[[desired]]\nfact = 'memory.total'\nmost = -inf\n", "line 3, column 1: most: a finite number is needed"),
        ("[[desired]]\nfact = 'memory.total'\nis = nan\n", "line 3, column 1: is: a finite number is needed"),
        ("[[desired]]\nfact = 'memory.total'\none_of = [nan]\n", "line 3, column 1: one_of: a finite number"),
        ("[[desired]]\nfact = 'memory.total'\none_of = [[1]]\n", "line 3, column 1: one_of: a list of texts"),
        ("[[desired]]\nfact = 'memory.total'\nis = 2026-01-01\n", "line 3, column 1: is: a text, a number"),
        ("[nodes]\ncollected_within_s = nan\n", "line 2, column 1: collected_within_s"),
        ("nodes.expected = 'n[3-1]'\n", "line 1, column 1: not a list of nodes"),
        ("\n speed.threads = 0\n", "line 2, column 2: threads: a number of threads is needed"),
        (
            "[groups]\ngpu.a = 'n1'\n",
            'line 2, column 1: gpu: names of nodes are needed, such as "n[001-128]"\n\nhint: a name with points is written in quotes',
        ),
        ("[severity]\ndesired.x = 'note'\n", "line 2, column 1: no such rule: 'desired'"),
        (
            "[groups]\na = 'n[1-6]'\nb = 'n[5-9]'\n",
            "line 3, column 1: n5 is in two groups: a and b\n\nhint: each node is compared within one group",
        ),
        ("[groups.gpu]\na = 'n1'\n", "line 1, column 1: gpu: names of nodes"),
        ("[[desired]]\nfact = 'memory.total'\nis.x = 1\n", "line 3, column 1: is: a text, a number"),
        (
            "[severity]\nno-majority = 'note'\n",
            "line 2, column 1: no such rule: 'no-majority'\n\nhint: that there is no majority is a note of the rule",
        ),
        (
            "[[suppress]]\nrule = 'no-majority'\nreason = 'x'\nuntil = 2999-01-01\n",
            "line 2, column 1: rule: not known: 'no-majority'\n\nhint: that there is no majority is a note of the rule",
        ),
        (
            "[[suppress]]\nrule = 'unreadable'\nreason = 'x'\nuntil = 2999-01-01\nnodes = 'n1'\n",
            "line 5, column 1: nodes: unreadable is of no node",
        ),
        ("rule = 3\n", "rules are written as [[rule]]"),
        ("groups = 3\n", "line 1, column 1: groups is written as [groups]"),
        ("a = " + "[" * 100_000, "nested too deep"),
    ],
)
def test_a_sites_file_is_refused_with_line_and_column(
    own: dict[str, Rule], tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        _site(tmp_path, text, own)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "a"', 'id = "A b"', "line 2, column 1: id: not a name"),
        ('"uniform"', '"unifrom"', "line 3, column 1: kind: not known: 'unifrom'\n\nhint: did you mean uniform?"),
        (
            "memory.total",
            "memory.totl",
            "line 4, column 1: reads: no such fact: 'memory.totl'\n\nhint: did you mean memory.total?",
        ),
        ('reads = "memory.total"', "reads = 3", "line 4, column 1: reads"),
        ('"note"', '"bad"', "line 5, column 1: severity"),
        ('remedy = "m"\n', "", "line 1, column 1: the rule has no remedy"),
        (
            'remedy = "m"\n',
            'remedy = "m"\nexcpt = []\n',
            "line 8, column 1: a rule of kind uniform has no key excpt\n\nhint: did you mean except?",
        ),
        ('"uniform"', '"outlier"', "an outlier's step"),
        ('kind = "uniform"', 'kind = "outlier"\nstep = nan', "line 4, column 1: step: a finite number"),
        ('kind = "uniform"', 'kind = "relation"\nfunction = "one_vale"', "did you mean one_value?"),
        ('kind = "uniform"', 'kind = "relation"\nsubset_of = true', "subset_of needs two facts"),
        ('kind = "uniform"', 'kind = "uniform"\npresent = true', "line 4, column 1: present: it is of the names"),
        ("[[rule]]", "[other]", "line 1, column 1: not known: other"),
    ],
)
def test_a_rule_is_refused_with_line_and_column(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "r.toml").write_text(RULE.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_rules(tmp_path / "r.toml")
    assert message in str(caught.value)


def test_suppressions_of_nodes_that_nobody_expects_are_said(own: dict[str, Rule], tmp_path: Path) -> None:
    """Where it is known who is expected; such a file is used still, as nodes come and go."""
    text = "[nodes]\nexpected = 'n[1-9]'\n[[suppress]]\nrule = 'services'\nreason = 'x'\nuntil = 2999-01-01\nnodes = 'n[8-11]'\n"
    site = _site(tmp_path, text, own)
    result = judge(new_fleet(own.values(), site), own, site, None, datetime.date(2026, 1, 1), 0.0)
    assert result.notes == (f"{tmp_path}/site.toml, line 7, column 1: not among the nodes that are expected: n[10-11]",)
    assert _site(tmp_path, text.replace("[8-11]", "[8-9]"), own).notes == ()
    assert _site(tmp_path, text[text.index("[[") :], own).notes == ()


def test_rules_that_come_with_nodewise_are_told_apart_and_say_what_to_do() -> None:
    rules = own_rules()
    assert len({r.id for r in rules}) == len(rules) > 100
    assert all(r.reason.endswith((".", ")")) for r in rules)


def test_the_page_of_the_rules_is_made_of_them() -> None:
    assert rules_page.PAGE.read_text() == rules_page.page(), "run: .venv/bin/python tools/rules_page.py"


def test_each_rule_of_its_own_has_a_source() -> None:
    """A site that is told that a node is wrong can look up why."""
    assert [rule.id for rule in own_rules() if not rule.source] == []
    pages = [rule.source for rule in own_rules() if "//" in rule.source]
    assert len(pages) > 100 and all(re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+/\S*", page) for page in pages)
