# SPDX-License-Identifier: BSD-3-Clause
"""The objects of a machine, their numbers, devices near some of them, and the policies that go over them, by hand."""

from dataclasses import replace

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.model import Device, Machine
from nodewise.placement.near import find_device, near_notes, near_processors, near_zones
from nodewise.placement.objects import NAMES, last_level_caches, numbered_objects, objects, primary_order
from nodewise.placement.policies import describe_policy, place
from tests.placement.test_dialects import LIKWID, synthetic

SHAPE = "pack:2 numa:1 die:1 l3:2 l2:1 l1d:1 core:2 pu:2"


@pytest.mark.parametrize(
    ("kind", "whole", "part"),
    [
        ("machine", [16], [(1, 2, 9)]),
        ("package", [8, 8], [(1, 2), (9,)]),
        ("die", [8, 8], [(1, 2), (9,)]),
        ("numa", [8, 8], [(1, 2), (9,)]),
        ("l3cache", [4] * 4, [(1, 2), (9,)]),
        ("l2cache", [4] * 4, [(1, 2), (9,)]),
        ("l1cache", [4] * 4, [(1, 2), (9,)]),
        ("core", [2] * 8, [(1,), (2,), (9,)]),
        ("pu", [1] * 16, [(1,), (2,), (9,)]),
    ],
)
def test_objects_of_each_kind(kind: str, whole: list[int], part: list[tuple[int, ...]]) -> None:
    assert [len(pus) for pus in objects(synthetic(SHAPE), kind)] == whole
    assert objects(synthetic(SHAPE, "1-2,9"), kind) == part


def test_what_is_no_kind_is_refused_and_what_is_not_there_is_none() -> None:
    with pytest.raises(InputError) as caught:
        objects(synthetic(SHAPE), "tile")
    assert caught.value.what == "no kind of object: 'tile'"
    assert caught.value.hint == "kinds are: pu, core, l1cache, l2cache, l3cache, numa, die, package, machine"
    assert objects(synthetic("core:2 pu:1"), "die") == []
    assert NAMES == {"pu": "hardware thread", "numa": "NUMA node", "package": "socket"}


@pytest.mark.parametrize(
    ("shape", "caches"),
    [
        ("pack:2 l3:2 l2:2 core:1 pu:1", [(0, 1), (2, 3), (4, 5), (6, 7)]),
        ("pack:2 l2:2 l1d:2 core:1 pu:1", [(0, 1), (2, 3), (4, 5), (6, 7)]),
        ("pack:2 l1d:2 core:2 pu:1", [(0, 1), (2, 3), (4, 5), (6, 7)]),
        ("pack:2 core:2 pu:1", [(0, 1), (2, 3)]),
        ("core:3 pu:1", [(0, 1, 2)]),
    ],
)
def test_the_last_level_of_caches(shape: str, caches: list[tuple[int, ...]]) -> None:
    assert last_level_caches(synthetic(shape)) == caches


def test_objects_by_their_numbers_and_processors_by_their_threads() -> None:
    assert numbered_objects(synthetic(SHAPE, "8-11"), "numa") == {1: (8, 9, 10, 11)}
    assert numbered_objects(synthetic(SHAPE, "3,8"), "package") == {0: (3,), 1: (8,)}
    machine = synthetic(LIKWID)
    assert primary_order(machine, machine.pus) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert primary_order(machine, (6, 5, 2)) == [2, 6, 5]


def _with_devices() -> Machine:
    near = (("gpu0", "0000:17:00.0", range(8)), ("gpu1", "0001:98:00.0", range(8, 16)), ("any", "", range(16)))
    return replace(
        synthetic(SHAPE),
        devices=tuple(Device(name=name, kind="gpu", bus=bus, pus=tuple(pus)) for name, bus, pus in near),
    )


def test_devices_are_found_by_name_and_address() -> None:
    machine = _with_devices()
    for name, text in (
        ("gpu0", "gpu0"),
        ("gpu0", "0000:17:00.0"),
        ("gpu0", "17:00.0"),
        ("gpu1", "0001:98:00.0"),
        ("any", "any"),
    ):
        assert find_device(machine, text).name == name
    for there, text, what, hint in (
        (
            machine,
            "gpu2",
            "--near: there is no device 'gpu2' here; did you mean gpu1?",
            "the devices are: gpu0, gpu1, any",
        ),
        (machine, "", "--near: there is no device '' here", "the devices are: gpu0, gpu1, any"),
        (machine, "98:00.0", "--near: there is no device '98:00.0' here", "the devices are: gpu0, gpu1, any"),
        (synthetic(SHAPE), "x", "--near: there is no device 'x' here", "hwloc sees no devices of this machine"),
    ):
        with pytest.raises(InputError) as caught:
            find_device(there, text)
        assert (caught.value.what, caught.value.hint) == (what, hint)


def test_ranks_take_turns_at_devices() -> None:
    machine = _with_devices()
    assert near_zones(machine, ["gpu1"], 1) == [tuple(range(8, 16))]
    assert near_zones(machine, ["gpu0", "gpu1"], 1) == [tuple(range(8))]
    assert near_zones(machine, ["gpu1", "gpu0"], 3) == [(8, 9, 10, 11), tuple(range(8)), (12, 13, 14, 15)]
    held = replace(machine, limits=replace(machine.limits, processors=(6, 7, 8)))
    assert near_processors(held, machine.devices[0]) == (6, 7)
    with pytest.raises(InputError) as caught:
        near_processors(replace(machine, limits=replace(machine.limits, processors=(8,))), machine.devices[0])
    assert caught.value.what == "no processor near gpu0 may be used: the nearest are 0-7"
    assert caught.value.hint == "leave --near out, or allow some of them"
    assert near_notes(machine, ["gpu0"]) == []
    # what may be used may lie near it by chance
    assert (
        near_notes(held, ["gpu0"])
        == near_notes(replace(held, limits=replace(held.limits, processors=(6, 7))), ["gpu0"])
        == []
    )
    assert near_notes(machine, ["gpu0", "any"]) == ["any is as near to every processor of this machine"]


@pytest.mark.parametrize(
    ("policy", "allow", "threads", "processors"),
    [
        ("compact", None, 5, [0, 1, 2, 3, 4]),
        ("compact", "1,4-5", 5, [1, 4, 5, 1, 4]),
        ("scatter", None, 9, [0, 8, 4, 12, 2, 10, 6, 14, 1]),
        ("scatter", "0-3,9", 6, [0, 9, 2, 1, 3, 0]),
        ("scatter", "3", 2, [3, 3]),
        ("balanced", None, 3, [0, 2, 4]),
        ("balanced", None, 10, [0, 1, 2, 3, 4, 6, 8, 10, 12, 14]),
        ("balanced", "0-2", 4, [0, 1, 0, 2]),
        ("balanced", "0-2", 2, [0, 2]),
        ("balanced", "0-2,4", 3, [0, 2, 4]),
        ("balanced", "0-2,4", 7, [0, 1, 0, 2, 2, 4, 4]),
    ],
)
def test_where_policies_put_threads(policy: str, allow: str | None, threads: int, processors: list[int]) -> None:
    placed = place(synthetic(SHAPE, allow), policy, threads)
    assert placed is not None and placed.policy == policy and placed.places == tuple((p,) for p in processors)


def test_bounds_and_names_of_policies() -> None:
    machine = synthetic("core:2 pu:1")
    assert place(machine, "os", 3) is None
    assert [len(found.places) for n in (1, 65536) if (found := place(machine, "compact", n))] == [1, 65536]
    for number in (0, -1, 65537):
        with pytest.raises(InputError) as caught:
            place(machine, "compact", number)
        assert caught.value.what == f"not a number of threads: {number}"
        assert caught.value.hint == "give a number from 1 to 65536"
    with pytest.raises(InputError) as caught:
        describe_policy("scater")
    assert caught.value.what == "unknown placement: 'scater'; did you mean scatter?"
    assert caught.value.hint == "the placements are compact, scatter, balanced, os"
    with pytest.raises(InputError, match=r"^no processor of .* may be used"):
        place(replace(machine, limits=replace(machine.limits, processors=())), "os", 1)
    assert describe_policy("compact") == "each thread as near as possible to the one before it"
    assert describe_policy("scatter") == "each thread as far as possible from the one before it"
