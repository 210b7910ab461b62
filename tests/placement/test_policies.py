# SPDX-License-Identifier: BSD-3-Clause
"""The policies against Intel's OpenMP runtime, and what holds of any placement on any machine."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.openmp.places import openmp_environment
from nodewise.placement.policies import POLICIES, describe_policy, place
from tests.examples import examples

RECORDED = json.loads((Path(__file__).parent / "intel_openmp.json").read_text())
BINDING = ("compact", "scatter", "balanced")


@cache
def synthetic(text: str) -> Machine:
    return load_machine(f"synthetic:{text}")


def processors(machine: Machine, policy: str, threads: int) -> list[int]:
    placement = place(machine, policy, threads)
    assert placement is not None
    assert all(len(p) == 1 for p in placement.places)
    return [p[0] for p in placement.places]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda c: f"{c['machine']}-{c['policy']}-{c['threads']}")
def test_agrees_with_intels_runtime(case):
    machine = synthetic(RECORDED["machines"][case["machine"]])
    assert processors(machine, case["policy"], case["threads"]) == case["processors"]


def test_balanced_183_threads_put_three_on_every_core():
    machine = synthetic("core:61 pu:4")
    assert processors(machine, "balanced", 183) == [4 * core + t for core in range(61) for t in range(3)]


def test_scatter_takes_turns_at_every_level():
    machine = synthetic("package:2 l3:2 core:2 pu:2")
    assert processors(machine, "scatter", 16) == [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]


def test_scatter_uses_no_core_twice_while_another_is_free():
    machine = load_machine("synthetic:package:2 core:4 pu:2", "0-3,8-15")
    first = processors(machine, "scatter", 6)
    assert len({p // 2 for p in first}) == 6


def test_a_core_that_is_full_waits_for_the_others():
    machine = load_machine("synthetic:core:2 pu:4", "0,4-7")
    assert processors(machine, "balanced", 4) == [0, 4, 5, 6]


def test_threads_beyond_the_processors_start_over():
    machine = synthetic("core:2 pu:2")
    assert processors(machine, "compact", 6) == [0, 1, 2, 3, 0, 1]
    assert processors(machine, "scatter", 6) == [0, 2, 1, 3, 0, 2]
    assert processors(machine, "balanced", 6) == [0, 1, 0, 2, 3, 2]


def test_the_operating_systems_choice_binds_nothing():
    assert place(synthetic("core:2 pu:2"), "os", 4) is None


def test_every_policy_is_described():
    assert POLICIES == ("compact", "scatter", "balanced", "os")
    assert len({describe_policy(p) for p in POLICIES}) == 4


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("threads", [0, -1, 10**9])
def test_refuses_what_is_no_number_of_threads(policy, threads):
    with pytest.raises(InputError, match=f"not a number of threads: {threads}"):
        place(synthetic("core:2 pu:2"), policy, threads)


def test_an_unknown_placement_names_the_known_ones():
    with pytest.raises(InputError, match="unknown placement: 'scater'") as caught:
        place(synthetic("core:2 pu:2"), "scater", 4)
    assert "compact, scatter, balanced, os" in str(caught.value)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """A synthetic machine of up to 3 × 3 × 4 × 4 hardware threads, renumbered, some of them not allowed."""
    names = ["package", "l3", "core", "pu"]
    counts = [draw(st.integers(1, most)) for most in (3, 3, 4, 4)]
    total = counts[0] * counts[1] * counts[2] * counts[3]
    indexes = draw(st.permutations(range(total)))
    levels = " ".join(f"{name}:{count}" for name, count in zip(names, counts, strict=True))
    allowed = draw(st.sets(st.sampled_from(range(total)), min_size=1))
    return load_machine(f"synthetic:{levels}(indexes={','.join(map(str, indexes))})", format_processors(allowed))


@settings(max_examples=examples(150), deadline=None)
@given(machine=machines(), policy=st.sampled_from(BINDING), threads=st.integers(1, 300))
def test_every_thread_has_an_allowed_processor_and_none_is_shared_early(machine, policy, threads):
    chosen = processors(machine, policy, threads)
    assert len(chosen) == threads
    assert set(chosen) <= set(machine.limits.processors)
    loads = Counter(dict.fromkeys(machine.allowed, 0))
    loads.update(chosen)
    assert max(loads.values()) - min(loads.values()) <= 1


@settings(max_examples=examples(100), deadline=None)
@given(machine=machines(), threads=st.integers(1, 150))
def test_balanced_loads_like_cores_alike_and_keeps_neighbours_together(machine, threads):
    core_of = {p: core for core in machine.allowed_cores for p in core.pus}
    chosen = [core_of[p].logical for p in processors(machine, "balanced", threads)]
    assert chosen == sorted(chosen)
    loads = Counter(chosen)
    for size in {len(c.pus) for c in machine.allowed_cores}:
        alike = [loads[c.logical] for c in machine.allowed_cores if len(c.pus) == size]
        assert max(alike) - min(alike) <= 1
        assert alike == sorted(alike, reverse=True)


@settings(max_examples=examples(100), deadline=None)
@given(machine=machines(), data=st.data())
def test_scatter_loads_cores_and_packages_evenly(machine, data):
    cores = machine.allowed_cores
    core_of = {p: core for core in cores for p in core.pus}
    threads = data.draw(st.integers(1, len(cores)))
    chosen = [core_of[p] for p in processors(machine, "scatter", threads)]
    assert len({c.logical for c in chosen}) == threads
    size = Counter(c.socket for c in cores)
    loads = Counter(c.socket for c in chosen)
    # A package is behind another only if its cores have run out.
    assert all(loads[a] >= loads[b] - 1 or loads[a] == size[a] for a in size for b in size)


@settings(max_examples=examples(60), deadline=None)
@given(machine=machines(), threads=st.integers(1, 100))
def test_compact_is_the_trees_order(machine, threads):
    rank = {p: i for i, p in enumerate(machine.allowed)}
    ranks = [rank[p] for p in processors(machine, "compact", threads)]
    assert ranks == [i % len(rank) for i in range(threads)]


def test_the_places_reach_an_openmp_runtime_in_order():
    placement = place(synthetic("core:2 pu:2"), "scatter", 3)
    assert placement is not None
    assert openmp_environment(placement.places) == {
        "OMP_NUM_THREADS": "3",
        "OMP_PLACES": "{0},{2},{1}",
        "OMP_PROC_BIND": "close",
    }
    assert placement.mask == (0, 1, 2)
