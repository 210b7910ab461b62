# SPDX-License-Identifier: BSD-3-Clause
"""likwid's expressions, compared with what its own code answered (tools/likwid.py) on machines that it was given."""

import json
import re
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects.likwid import read_likwid
from tests.placement.likwid_answers import difference
from tests.placement.runtimes.mpirun5 import machine_of

FILES = sorted((Path(__file__).parent / "recorded").glob("likwid-*.jsonl"))
ANSWERS = {path.stem.removeprefix("likwid-"): list(map(json.loads, path.read_text().splitlines())) for path in FILES}


@pytest.mark.parametrize("version", ANSWERS)
def test_an_expression_means_what_it_means_to_likwid(version: str) -> None:
    assert len(ANSWERS[version]) > 100
    assert [text for one in ANSWERS[version] if (text := difference(one, version)) is not None] == []


def test_where_versions_differ_it_is_said() -> None:
    assert list(ANSWERS) == ["5.2.2", "5.4.1", "5.5.1"]
    said = {}
    for version, answers in ANSWERS.items():
        for one in answers:
            said.setdefault((one["machine"], one["text"]), {})[version] = one["processors"]
    differing = [key for key, found in said.items() if len({str(real) for real in found.values()}) > 1]
    assert differing
    for machine, text in differing:
        try:
            reported = read_likwid(machine_of(machine), text)[1]
        except InputError as problem:
            reported = [problem.what]
        assert any(re.search(r"likwid 5\.4 takes \w\d\d for|likwid 5\.5 runs past", one) for one in reported), text


def test_a_list_that_is_too_long_for_likwid_is_warned_of() -> None:
    _, notes = read_likwid(machine_of("pack:1 numa:1 core:2 pu:1"), "N@N:0")
    assert "likwid 5.0 to 5.5 write 3 entries, past the end of its list of 2: likwid-pin may crash" in notes


def test_after_a_whole_domain_likwid_lists_no_more_than_that_has() -> None:
    machine = machine_of("pack:4 numa:1 l3:1 core:6 pu:1")
    found, notes = read_likwid(machine, "S2@E:M3:15@N:0-7")
    assert found == [*range(12, 24), *range(8)]
    assert "likwid 5.0 to 5.5 list no more than 6 entries of E:M3:15, as S2 stands before it" in notes


def test_a_range_down_to_zero_is_warned_of() -> None:
    machine = machine_of("pack:1 numa:1 core:4 pu:1")
    assert any("likwid 5.5 runs past the end of its list at 3-0" in note for note in read_likwid(machine, "3-0")[1])
    assert read_likwid(machine, "0-1,3-2") == ([0, 1, 3, 2], [])


@pytest.mark.parametrize("text", ["n:0", "n", "s0:0", "c0:0", "e:N:2", "l:N:0", "E:n:2", "L:n:0", "n:scatter"])
def test_likwids_letters_are_capitals(text: str) -> None:
    """As the likwid-pin of 5.2.2, which fails to parse these."""
    with pytest.raises(InputError, match=r"likwid takes no small letters|column 3"):
        read_likwid(machine_of("pack:1 numa:1 core:2 pu:1"), text)
