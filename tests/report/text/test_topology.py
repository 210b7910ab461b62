# SPDX-License-Identifier: BSD-3-Clause
"""A machine as tables."""

from dataclasses import replace

from nodewise.machine.sources import load_machine
from nodewise.report.text.topology import topology_tables


def _rows(text: str, heading: str) -> list[list[str]]:
    block = next(part for part in text.split("\n\n") if part.startswith(heading))
    return [line.split() for line in block.splitlines()[2:]]


def test_each_processor_has_its_thread_core_socket_and_domain() -> None:
    text = topology_tables(load_machine("synthetic:pack:2 numa:2 core:2 pu:2", "0-3"))
    rows = _rows(text, "Hardware threads")
    assert [" ".join(row) for row in rows[:4]] == ["0 0 0 0 0 *", "1 1 0 0 0 *", "2 0 1 0 0 *", "3 1 1 0 0 *"]
    assert rows[-1] == ["15", "1", "7", "1", "3"] and len(rows) == 16
    assert _rows(text, "Sockets") == [["0", "4", "0-7"], ["1", "4", "8-15"]]


def test_caches_that_are_alike_are_one_row_with_who_shares_each() -> None:
    text = topology_tables(load_machine("synthetic:pack:2 l3:2 l2:1 core:2 pu:1"))
    rows = _rows(text, "Caches")
    assert [row[0] for row in rows] == ["L2", "L3"]
    assert rows[1][-4:] == ["(0-1)", "(2-3)", "(4-5)", "(6-7)"]


def test_domains_have_their_distances_in_order() -> None:
    machine = load_machine("synthetic:pack:2 [numa(memory=8GiB)] core:2 pu:1")
    far = replace(machine, distances=((10, 21), (22, 10)))
    assert [row[-3:] for row in _rows(topology_tables(far), "NUMA domains")] == [
        ["0-1", "10", "21"],
        ["2-3", "22", "10"],
    ]
    assert "8 GiB" in topology_tables(machine) and _rows(topology_tables(machine), "NUMA domains")[0][-1] == "–"


def test_no_row_of_a_machine_with_many_processors_is_missing() -> None:
    assert len(_rows(topology_tables(load_machine("synthetic:pack:2 core:192 pu:2")), "Hardware threads")) == 768
