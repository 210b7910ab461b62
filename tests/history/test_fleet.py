# SPDX-License-Identifier: BSD-3-Clause
"""Nodes side by side: which stands out, how often one does that should not, and what is left out."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.api.fleet import ask_fleet
from nodewise.base.errors import InputError
from nodewise.history.entry import Entry, point_of
from nodewise.history.fleet import fleet_of
from nodewise.report.pages.fleet import fleet_page
from nodewise.report.text.fleet import fleet_text
from nodewise.statistics.verdict import Word
from tests.history.entries import entry
from tests.verdicts.cases import Runs, compared


def _node(number: int, seconds: float, runs: int = 20, seed: int = 0, maximise: bool = False, **given: object) -> Entry:
    draw = random.Random(repr((number, seed)))
    metric = "rate" if maximise else "seconds"
    values = [seconds * draw.gauss(1, 0.01) for _ in range(runs)]
    point = point_of(values, "solver", "./solver a", maximise=maximise, metric=metric)
    assert point is not None
    return entry(number, seconds, host=f"n{number}", points=(point,), folder=f"/runs/{number}", **given)


def test_the_slow_node_stands_out_and_how_it_is_set_otherwise_is_said() -> None:
    nodes = [_node(i, 1.0) for i in range(1, 6)] + [_node(6, 1.2, conditions={"kernel": "5.14"})]
    fleet = fleet_of(nodes, 0.02)
    (table,) = fleet.tables
    assert [r.node for r in table.rows][-1] == "n6" and fleet.level == pytest.approx(1 - 0.05 / 15)
    slow = table.rows[-1]
    assert slow.verdict is Word.SLOWER and slow.low is not None and slow.high is not None
    assert slow.low < 1 / 1.2 < slow.high < 1 and slow.differs == ("kernel: 5.14, 6.1 on most",)
    assert {r.verdict for r in table.rows[:-1]} <= {Word.NO_DIFFERENCE, Word.UNDECIDED, None}
    assert "1 slower" in fleet_text(fleet) and "1 slower" in fleet_page(fleet)


def test_more_is_better_of_a_rate() -> None:
    fleet = fleet_of([_node(i, 1.0, maximise=True) for i in (1, 2)] + [_node(3, 1.3, maximise=True)], 0.02)
    first = fleet.tables[0].rows[0]
    assert first.node == "n3" and first.verdict is Word.FASTER and first.ratio == pytest.approx(1.3, rel=0.02)


def test_equal_nodes_are_hardly_ever_told_apart() -> None:
    wrong = 0
    for seed in range(60):
        fleet = fleet_of([_node(i, 1.0, 12, seed) for i in range(6)], 0.0001)
        wrong += any(r.verdict in (Word.FASTER, Word.SLOWER) for r in fleet.tables[0].rows)
    assert wrong <= 6


def test_few_runs_are_undecided() -> None:
    fleet = fleet_of([_node(1, 1.0), _node(2, 2.0, 5)], 0.01)
    assert [r.verdict for r in fleet.tables[0].rows] == [Word.UNDECIDED, None] or fleet.tables[0].rows[
        1
    ].verdict is Word.UNDECIDED


def test_two_of_one_host_are_called_by_their_folders() -> None:
    fleet = fleet_of([_node(1, 1.0), replace(_node(2, 1.0), host="n1")], 0.01)
    assert set(fleet.nodes) == {"n1 (1)", "n1 (2)"}


def test_what_cannot_be_read_is_named_and_what_is_not_alike_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        compared(tmp_path / name, {"./solver": Runs(1.0)})
    (tmp_path / "three").mkdir()
    (tmp_path / "three/question.json").write_text("{")
    fleet = ask_fleet([tmp_path], 0.01)
    assert len(fleet.nodes) == 2 and "three is left out" in fleet.left_out[0]
    with pytest.raises(InputError, match="no two of these"):
        ask_fleet([tmp_path / "one"], 0.01)
    with pytest.raises(InputError, match="no such directory"):
        ask_fleet([tmp_path / "four"], 0.01)
