# SPDX-License-Identifier: BSD-3-Clause
"""The answers of studies and rooflines in lines of text."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.machine.sources import load_machine
from nodewise.records.kind_registry import kind_named
from nodewise.verdicts.question import Question
from nodewise.verdicts.roofline import LeftOut
from nodewise.verdicts.stored import Stored
from tests.report.stored import roofline_result, study_result, with_row


def text_of(kind: str, *verdicts: Any, width: int = 140) -> str:
    """The answer as the kind has it."""
    machine = load_machine("synthetic:core:2 pu:1")
    stored: Stored[Any] = Stored(kind_named(kind), Path("x"), Question(kind), machine, verdicts)
    return str(stored.kind.load("text")(stored, width))


def test_a_study_is_its_table_its_headline_and_what_brings_a_peer_to_the_letter() -> None:
    result = with_row(study_result(), "absent", not_run="missing: pip install 'some[peers]'")
    lines = text_of("study", replace(result, conditions=("steal of 8%",), report_lines=("so it is",))).splitlines()
    assert lines[0] == f"{result.study}: {result.where}"
    absent = "absent: not run: missing: pip install 'some[peers]'"
    assert lines[-5:] == [result.headline, result.sentence, absent, "condition: steal of 8%", "so it is"]
    assert lines[1].split()[:3] == ["contender", "kind", "time"]
    rows = {line.split()[0]: line for line in lines[2:-5]}
    assert list(rows) == [row.contender.split()[0] for row in result.rows]
    assert rows["absent"].split() == ["absent", "peer", "not", "run"]
    assert rows["blocked"].split()[1:4] == ["variant", "25", "ms"] and "80%" in rows["blocked"]
    assert all(line == line.rstrip() for line in lines)


def test_of_a_study_that_was_run_twice_both_are_shown() -> None:
    first = study_result()
    both = text_of("study", first, replace(first, headline="another"))
    assert first.headline in both and "another" in both


@pytest.mark.parametrize("width", [60, 140])
def test_a_table_keeps_to_the_width(width: int) -> None:
    lines = text_of("study", study_result(), width=width).splitlines()
    assert max(map(len, lines[1:7])) <= width


@pytest.mark.some(10)
@pytest.mark.parametrize("width", range(40, 121, 4))
def test_bars_are_as_long_as_their_shares_or_not_there(width: int) -> None:
    lines = text_of("study", study_result(), width=width).splitlines()
    table = lines[1 : 2 + len(study_result().rows)]
    bars = {row.contender: line.count("█") for row, line in zip(study_result().rows, table[1:], strict=True)}
    shares = {row.contender: row.share_of_limit or 0.0 for row in study_result().rows}
    assert all(bars[a] <= bars[b] for a in bars for b in bars if shares[a] <= shares[b]), (bars, shares)
    assert max(bars.values()) == (10 if width >= 100 else max(bars.values()))


def test_a_kernel_above_its_roof_is_named() -> None:
    result = replace(roofline_result(2), left_out=(LeftOut("none", "see [this]"),))
    plain = text_of("roofline", result)
    assert "above its roof" not in plain and plain.endswith("not placed: none: see [this]")
    assert f"{result.headline}: {result.sentence}" in plain.splitlines()
    first = result.kernels[0]
    above = replace(first, bound=replace(first.bound, share=1.5))
    found = text_of("roofline", replace(result, kernels=(above, *result.kernels[1:])))
    assert found.count("above its roof") == 1 and f"{first.study} {first.contender} is above" in found
    assert text_of("roofline", replace(result, kernels=())).count("kernels") == result.headline.count("kernels")
