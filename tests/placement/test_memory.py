# SPDX-License-Identifier: BSD-3-Clause
"""Memory policies read, resolved to nodes, checked and written."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError, UnavailableError
from nodewise.machine.model import NumaNode
from nodewise.machine.sources import load_machine
from nodewise.placement.memory import (
    MODES,
    MemoryPolicy,
    check_memory,
    fast_nodes,
    from_numactl,
    kernel_version,
    read_memory,
    to_numactl,
)

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


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("weighted-interleave:1=255,0=1", MemoryPolicy("weighted-interleave", (0, 1), ((0, 1), (1, 255)))),
        ("bind: 1 , 0 ", MemoryPolicy("bind", (0, 1))),
        ("Preferred:ALL", MemoryPolicy("preferred-many", (0, 1))),
        ("bind:1023", MemoryPolicy("bind", (1023,))),
        ("bind:normal", MemoryPolicy("bind", (0,))),
        ("interleave:0-1,0", MemoryPolicy("interleave", (0, 1))),
        ("preferred-many:0", MemoryPolicy("preferred-many", (0,))),
    ],
)
def test_bounds_of_what_is_read(text, policy):
    assert read_memory(KNL, text) == policy


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("bound:0", 1, "a mode (default, preferred, bind, interleave, local, preferred-many, weighted-interleave)"),
        ("local:0", 6, "the end: local takes no nodes"),
        ("default x", 9, "the end: default takes no nodes"),
        ("bind", 5, "':' and nodes"),
        ("bind:x", 6, "all, fast, normal or nodes such as 0,2-3"),
        ("bind:all,1", 9, "the end"),
        ("bind:;", 6, "all, fast, normal or a node's number"),
        ("bind:0,", 8, "all, fast, normal or a node's number"),
        ("bind:0;1", 7, "',', '-' or the end"),
        ("bind:0,1024", 8, "nodes up to 1023"),
        ("weighted-interleave:=1", 21, "a node's number"),
        ("weighted-interleave:0=256", 23, "a weight from 1 to 255"),
        ("weighted-interleave:0=0", 23, "a weight from 1 to 255"),
        ("weighted-interleave:0=x", 23, "a weight"),
        ("weighted-interleave:0=1,1", 26, "'=' and a weight"),
        ("weighted-interleave:0=1;1=1", 24, "',' or the end"),
    ],
)
def test_what_is_wrong_is_named_where_it_stands(text, column, expected):
    with pytest.raises(InputError) as caught:
        read_memory(KNL, text)
    assert f"column {column}: expected {expected}, found" in caught.value.what


def _two(first, second, *, subtypes=("", ""), pus=((0, 1, 2, 3), ())):
    """Two nodes of these bandwidths."""
    nodes = zip((0, 1), (first, second), subtypes, pus, strict=True)
    return machine(*(NumaNode(n, GIB, p, subtype=s, bandwidth_mib_s=b) for n, b, s, p in nodes))


@pytest.mark.parametrize(
    ("there", "nodes", "why"),
    [
        (_two(0, 0, subtypes=("", "HBM")), (1,), "they are called HBM"),
        (_two(0, 0, subtypes=("mcdram", "")), (0,), "they are called mcdram"),
        # a tenth slower is of the same kind
        (_two(1000, 901), (), "the firmware promises the same bandwidth everywhere"),
        (_two(1000, 900), (0,), "the firmware promises 1000 MiB/s there, which is the most"),
        (_two(900, 1000), (1,), "the firmware promises 1000 MiB/s there, which is the most"),
        # of one alone nothing is known
        (_two(1000, 0), (1,), "they have no processors of their own, as memory on the package has"),
        (_two(0, 0, subtypes=("", "DRAM")), (1,), "they have no processors of their own, as memory on the package has"),
        (
            _two(0, 0, subtypes=("", "GPUMemory")),
            (),
            "no node is called fast, none has a higher bandwidth, and all have processors",
        ),
        (
            _two(0, 0, pus=((0, 1), (2, 3))),
            (),
            "no node is called fast, none has a higher bandwidth, and all have processors",
        ),
        (_two(0, 0, pus=((), ())), (), "no node is called fast, none has a higher bandwidth, and all have processors"),
        (
            machine(DDR, replace(HBM, size_bytes=0)),
            (),
            "no node is called fast, none has a higher bandwidth, and all have processors",
        ),
    ],
)
def test_which_nodes_are_fast_and_why(there, nodes, why):
    assert fast_nodes(there) == (nodes, why)


@pytest.mark.parametrize(
    ("text", "kernel", "message"),
    [
        ("local", "3.7", "local needs Linux 3.8, and this is 3.7"),
        ("local", "3.8", None),
        (
            "preferred-many:0-1",
            "5.14",
            "preferred-many:0-1 needs Linux 5.15, and this is 5.14: only one node would be preferred, without a message",
        ),
        ("preferred-many:0-1", "5.15", None),
        ("weighted-interleave:0-1", "6.8", "weighted-interleave:0-1 needs Linux 6.9, and this is 6.8"),
        ("weighted-interleave:0-1", "6.9", None),
        ("weighted-interleave:0-1", "6.10", None),
        ("interleave:0-1", "2.6", None),
        ("weighted-interleave:0=3,1=1", "6.8", "weighted-interleave:0=3,1=1 needs Linux 6.9, and this is 6.8"),
        ("weighted-interleave:0-1", "", None),
    ],
)
def test_each_mode_has_its_first_kernel(text, kernel, message):
    there = machine(DDR, HBM, kernel=f"Linux {kernel}" if kernel else "")
    if message is None:
        check_memory(there, read_memory(there, text))
    else:
        with pytest.raises(UnavailableError) as caught:
            check_memory(there, read_memory(there, text))
        assert (caught.value.what, caught.value.hint) == (message, "prefer one node, or use interleave")


def test_a_kernels_version():
    assert kernel_version("Linux 6.1.0-18-amd64") == (6, 1) and kernel_version("Linux 5.15") == (5, 15)
    assert kernel_version("Linux") is None and kernel_version("") is None


def test_what_a_machine_refuses_names_the_nodes():
    for policy, there, what, hint in (
        (
            MemoryPolicy("bind", (0, 3, 4)),
            KNL,
            "memory policy bind:0,3-4: node 3-4 is not there",
            "the machine has 0-1",
        ),
        (
            MemoryPolicy("bind", (0, 1)),
            machine(DDR, HBM, allowed=[0]),
            "memory policy bind:0-1: this process may not use node 1",
            "its cpuset allows 0",
        ),
    ):
        with pytest.raises(InputError) as caught:
            check_memory(there, policy)
        assert (caught.value.what, caught.value.hint) == (what, hint)
    with pytest.raises(InputError) as caught:
        check_memory(KNL, read_memory(KNL, "weighted-interleave:0=3,1=2"), {0: 1})
    assert caught.value.what == (
        "memory policy weighted-interleave:0=3,1=2: the system's weights are {0: 1}, and they are for all programs"
    )
    assert caught.value.hint == (
        "as root: echo 3 > /sys/kernel/mm/mempolicy/weighted_interleave/node0; "
        "echo 2 > /sys/kernel/mm/mempolicy/weighted_interleave/node1"
    )
    # where they cannot be known nothing is wrong
    check_memory(KNL, read_memory(KNL, "weighted-interleave:0=3,1=2"))


@pytest.mark.parametrize(
    ("text", "number", "option"),
    [
        ("default", 0, None),
        ("preferred:1", 1, "--preferred=1"),
        ("bind:0-1", 2, "--membind=0-1"),
        ("interleave:0,1", 3, "--interleave=0-1"),
        ("local", 4, "--localalloc"),
        ("preferred-many:0,1", 5, "--preferred-many=0-1"),
        ("weighted-interleave:0,1", 6, "--weighted-interleave=0-1"),
    ],
)
def test_modes_by_the_kernels_numbers_and_numactls_options(text, number, option):
    policy = read_memory(KNL, text)
    assert MODES[policy.mode] == number
    assert to_numactl(policy) == (("numactl", option) if option else ())
    assert from_numactl(KNL, ["--balancing", *([option] if option else [])]) == (policy if option else None)


def test_numactls_options_name_one_policy():
    with pytest.raises(InputError) as caught:
        from_numactl(KNL, ["--membind=0", "--interleave=1"])
    assert caught.value.what == "numactl: --membind=0 and --interleave=1 contradict each other"
    assert caught.value.hint == "name one policy"
    assert from_numactl(KNL, []) is None
