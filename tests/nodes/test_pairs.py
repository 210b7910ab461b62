# SPDX-License-Identifier: BSD-3-Clause
"""A tournament of nodes: every pair once, nobody twice in a round; who is missing or unknown disturbs nobody else."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.nodes import pairs
from nodewise.nodes.pairs import meet_all, rounds


@given(st.integers(2, 40))
def test_every_pair_meets_once_and_nobody_twice_in_a_round(count: int) -> None:
    played = list(rounds(count, most=count))
    for pairs_ in played:
        nodes = [n for pair in pairs_ for n in pair]
        assert len(nodes) == len(set(nodes)) >= count - 1
    assert sorted(p for one in played for p in one) == list(combinations(range(count), 2))


def _free_ports(count: int) -> int:
    for first in range(21000, 30000, 50):
        held = []
        try:
            held += [socket.create_server(("", first + k)) for k in range(count)]
        except OSError:
            continue
        finally:
            for one in held:
                one.close()
        return first
    raise AssertionError("no free ports")


@pytest.mark.parametrize("count", [2, 3, 6])
def test_nodes_meet(count: int) -> None:
    nodes, port = ["127.0.0.1"] * count, _free_ports(count)
    with ThreadPoolExecutor(count) as running:
        done = list(running.map(lambda own: meet_all(own, nodes, port, "secret"), range(count)))
    for found, failed in done:
        assert failed == [] and len(found) == count - 1
        assert all(m.turns > 10 and m.bytes > 1e6 for m in found)


def test_a_missing_node_and_a_stranger_cost_only_their_meetings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_FIRST_WAIT_S", 2.0)
    monkeypatch.setattr(pairs, "_WAIT_S", 2.0)
    nodes, port = ["127.0.0.1", "localhost", "127.0.0.3", "127.0.0.4"], _free_ports(4)

    def stranger() -> None:
        with socket.create_server(("", port + 3)) as listening:
            listening.settimeout(8)
            link, _ = listening.accept()
            link.sendall(b"x" * 100)
            link.close()

    with ThreadPoolExecutor(4) as running:
        running.submit(stranger)
        done = list(running.map(lambda own: meet_all(own, nodes, port, "secret"), range(3)))
    for own, (found, failed) in enumerate(done):
        assert failed == ["127.0.0.4"]
        assert sorted(m.partner for m in found) == sorted(nodes[k] for k in range(3) if k != own)


def test_who_does_not_know_the_secret_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_FIRST_WAIT_S", 1.5)
    nodes, port = ["127.0.0.1", "127.0.0.1"], _free_ports(2)
    with ThreadPoolExecutor(2) as running:
        done = list(running.map(lambda own: meet_all(own, nodes, port, f"secret {own}"), range(2)))
    assert done == [([], ["127.0.0.1"])] * 2
