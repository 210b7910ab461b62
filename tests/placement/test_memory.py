# SPDX-License-Identifier: BSD-3-Clause
"""Memory policies read, resolved to nodes, checked and written."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError, UnavailableError
from nodewise.machine.model import NumaNode
from nodewise.machine.sources import load_machine
from nodewise.placement.memory import MemoryPolicy, check_memory, fast_nodes, from_numactl, read_memory, to_numactl

GIB = 1 << 30


def machine(*nodes, kernel="Linux 6.12.0", allowed=()):
    plain = load_machine("synthetic:core:2 pu:2")
    limits = replace(plain.limits, nodes=tuple(allowed))
    return replace(plain, numa_nodes=tuple(nodes), kernel=kernel, limits=limits)


DDR = NumaNode(0, 96 * GIB, (0, 1, 2, 3))
HBM = NumaNode(1, 16 * GIB, ())
KNL = machine(DDR, HBM)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("local", MemoryPolicy("local")),
        ("default", MemoryPolicy("default")),
        ("bind:0,1", MemoryPolicy("bind", (0, 1))),
        ("BIND:1", MemoryPolicy("bind", (1,))),
        ("preferred:1", MemoryPolicy("preferred", (1,))),
        ("preferred:0-1", MemoryPolicy("preferred-many", (0, 1))),
        ("interleave:all", MemoryPolicy("interleave", (0, 1))),
        ("bind:fast", MemoryPolicy("bind", (1,))),
        ("preferred:normal", MemoryPolicy("preferred", (0,))),
        ("weighted-interleave:0=3,1=1", MemoryPolicy("weighted-interleave", (0, 1), ((0, 3), (1, 1)))),
        ("weighted-interleave:all", MemoryPolicy("weighted-interleave", (0, 1))),
    ],
)
def test_policies_are_read_and_written_the_same(text, expected):
    policy = read_memory(KNL, text)
    assert policy == expected
    assert read_memory(KNL, str(policy)) == policy


@pytest.mark.parametrize(
    ("text", "column"),
    [("", 1), ("bound:0", 1), ("bind", 5), ("bind:", 6), ("bind:x", 6), ("bind:1-0", 6), ("local:0", 6), ("bind:0;", 7),
     ("weighted-interleave:0=0", 23), ("weighted-interleave:0=", 23), ("bind:99999", 6)],
)  # fmt: skip
def test_an_error_names_the_column(text, column):
    with pytest.raises(InputError, match=rf"column {column}:"):
        read_memory(KNL, text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        read_memory(KNL, text)
    except InputError as problem:
        assert problem.what


def test_fast_memory_is_known_by_its_name_first():
    nodes, why = fast_nodes(
        machine(replace(DDR, bandwidth_mib_s=100), replace(HBM, subtype="MCDRAM", bandwidth_mib_s=50))
    )
    assert nodes == (1,) and "MCDRAM" in why


def test_then_by_the_bandwidth_that_the_firmware_promises():
    far = NumaNode(2, 512 * GIB, (), bandwidth_mib_s=30000)
    fast = replace(HBM, bandwidth_mib_s=400000)
    nodes, why = fast_nodes(machine(replace(DDR, bandwidth_mib_s=90000), fast, far))
    assert nodes == (1,) and "400000 MiB/s" in why
    two = machine(replace(DDR, bandwidth_mib_s=90000), NumaNode(1, GIB, (), bandwidth_mib_s=89000))
    assert fast_nodes(two)[0] == ()


def test_then_by_having_no_processors():
    assert fast_nodes(KNL) == ((1,), "they have no processors of their own, as memory on the package has")
    assert fast_nodes(machine(DDR, replace(HBM, subtype="NVM")))[0] == ()
    assert fast_nodes(machine(DDR))[0] == ()
    with pytest.raises(InputError, match="no fast memory"):
        read_memory(machine(DDR), "bind:fast")


def test_a_node_that_is_not_there_or_not_allowed_is_refused():
    with pytest.raises(InputError, match="node 3 is not there"):
        check_memory(KNL, MemoryPolicy("bind", (3,)))
    with pytest.raises(InputError, match="may not use node 1"):
        check_memory(machine(DDR, HBM, allowed=[0]), MemoryPolicy("bind", (0, 1)))
    check_memory(machine(DDR, HBM, allowed=[0, 1]), MemoryPolicy("bind", (0, 1)))


def test_several_preferred_nodes_need_a_kernel_that_knows_them():
    policy = read_memory(KNL, "preferred:0,1")
    with pytest.raises(UnavailableError, match="only one node would be preferred"):
        check_memory(machine(DDR, HBM, kernel="Linux 5.14.0-70.el9"), policy)
    check_memory(machine(DDR, HBM, kernel="Linux 5.15.0"), policy)
    with pytest.raises(UnavailableError, match=r"needs Linux 6\.9"):
        check_memory(machine(DDR, HBM, kernel="Linux 6.1.0-18"), MemoryPolicy("weighted-interleave", (0, 1)))


def test_weights_are_the_systems_and_are_not_changed():
    policy = read_memory(KNL, "weighted-interleave:0=3,1=1")
    check_memory(KNL, policy, {0: 3, 1: 1})
    with pytest.raises(InputError, match="for all programs") as problem:
        check_memory(KNL, policy, {0: 1, 1: 1})
    assert problem.value.hint == "as root: echo 3 > /sys/kernel/mm/mempolicy/weighted_interleave/node0"


@pytest.mark.parametrize(
    "text", ["local", "bind:0", "preferred:1", "preferred:0,1", "interleave:0,1", "weighted-interleave:0,1"]
)
def test_numactl_says_the_same(text):
    policy = read_memory(KNL, text)
    words = to_numactl(policy)
    assert words[0] == "numactl"
    assert from_numactl(KNL, words[1:]) == policy
    assert to_numactl(MemoryPolicy("default")) == ()


def test_numactls_policies_do_not_add_up():
    with pytest.raises(InputError, match="contradict"):
        from_numactl(KNL, ["--membind=0", "--localalloc"])
