# SPDX-License-Identifier: BSD-3-Clause
"""Against the runtimes of Intel (PyPI intel-openmp) and LLVM (Debian libomp5): recorded answers, and new ones."""

import json
from functools import cache
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.openmp.subset import rank_subset
from nodewise.placement.registry import variable_texts
from nodewise.placement.resolve import Request, fitting_threads, resolve
from tests.placement.runtimes import LLVM, runtime_folder, uneven  # noqa: F401
from tests.placement.runtimes.asked import differing, differing_from_recorded

#: What intel-openmp 2026.2.0 answered under KMP_AFFINITY=verbose, one case a line.
RECORDED = [json.loads(x) for x in (Path(__file__).parent / "recorded/intel-openmp.jsonl").read_text().splitlines()]
SHAPE = "pack:2 core:4 pu:2"


@cache
def synthetic(text):
    return load_machine(f"synthetic:{text}")


def placed(threads, shape=SHAPE, **asked):
    return resolve(synthetic(shape), Job(threads), Request(**asked))


@pytest.mark.parametrize(
    "case", RECORDED, ids=lambda c: f"{c['machine']}-{c['threads']}-{'-'.join(c['env'].values())}"[:100]
)
def test_agrees_with_what_was_recorded(case):
    asked = {variable_texts()[name].name: text for name, text in case["env"].items()}
    placement = resolve(synthetic(case["synthetic"]), Job(int(case["threads"])), Request(**asked)).placement
    assert {str(t): list(p) for t, p in enumerate(placement.places)} == case["places"]


def test_agrees_with_what_was_recorded_of_settings_made_up():
    """Uneven machines, other numberings, parts of machines: intel-openmp 2026.2.0, as tools/placements.py asked it."""
    assert differing_from_recorded("intel", "intel-openmp-2026.2.0.jsonl") == []


def test_agrees_with_the_runtime_itself(runtime_folder):  # noqa: F811
    assert differing("intel", runtime_folder, cases=40, seed="the suite's") == []


def test_llvms_agrees_with_what_was_recorded():
    """libomp 14.0.6, of machines as /proc/cpuinfo describes them."""
    assert differing_from_recorded("llvm", "llvm-openmp-14.0.6.jsonl") == []


@pytest.mark.skipif(not LLVM.exists(), reason="Debian's libomp5-14 is not installed")
def test_llvms_agrees_with_the_runtime_itself(runtime_folder):  # noqa: F811
    assert differing("llvm", runtime_folder, cases=30, seed="the suite's") == []


def test_llvms_runtime_knows_sockets_and_cores_but_no_memory_nodes():
    shape = "pack:2 numa:2 l3:1 core:2 pu:1"
    llvm = {
        t: placed(8, shape, places=t, bind="close", runtime="llvm").placement.places
        for t in ("numa_domains", "ll_caches")
    }
    assert llvm["numa_domains"] == tuple((p,) for p in range(8))
    assert set(llvm["ll_caches"]) == {(0, 1, 2, 3), (4, 5, 6, 7)}
    assert set(placed(8, shape, places="ll_caches", bind="close").placement.places) == {(0, 1), (2, 3), (4, 5), (6, 7)}


def test_llvms_runtime_ignores_a_subset_that_asks_for_too_much():
    assert len(placed(1, subset="9c", affinity="none").placement.places[0]) == 16
    assert len(placed(1, subset="9c,1t", affinity="none").placement.places[0]) == 8
    assert len(placed(1, subset="9c,1t", affinity="none", runtime="llvm").placement.places[0]) == 16


def test_place_threads_is_reported_as_read_no_more():
    found = placed(2, place_threads="1Cx2T,1O", affinity="compact")
    assert found.placement.places == ((2, 3), (2, 3))
    assert "ignore KMP_PLACE_THREADS" in found.notes[0] and "KMP_HW_SUBSET=1core@1,2thread" in found.notes[0]


def test_place_threads_alone_narrow_the_machine():
    assert placed(2, place_threads="1Cx1T").placement.places == placed(2, subset="1c,1t").placement.places
    assert len(placed(2, place_threads="1Cx1T").placement.places[0]) < 16


def test_a_subset_has_as_many_threads_as_processors():
    machine = synthetic("core:61 pu:4")
    assert fitting_threads(machine, Job(1), Request(subset="60c,1t")) == 60
    assert fitting_threads(machine, Job(1), Request(place_threads="15Cx4T,30O")) == 60
    assert fitting_threads(synthetic(SHAPE), Job(1), Request(subset="9c,1t", runtime="llvm")) == 16


def test_disabled_binds_nothing_and_reads_no_subset():
    found = placed(2, affinity="disabled", subset="1c,1t")
    assert found.placement.places == (tuple(range(16)),) * 2 and "does not read KMP_HW_SUBSET" in found.notes[0]


@pytest.mark.parametrize("name", ["subset", "place_threads"])
def test_disabled_minds_no_subset_that_is_spelt_wrong(name):
    found = placed(1, affinity="disabled", **{name: "!ll"})
    assert found.placement.places == (tuple(range(16)),)
    assert found.notes == ("KMP_AFFINITY=disabled: the runtime does not read KMP_HW_SUBSET either",)
    assert placed(1, affinity="disabled").notes == ()


@pytest.mark.parametrize(
    ("subset", "strict", "left", "note"),
    [
        ("2c@2", True, 8, None),
        ("2c@3", True, 16, "2 of core from number 3 on, and there are 4: the runtime ignores the whole subset"),
        ("4c,1t@1", True, 8, None),
        ("1t@2", True, 16, "1 of thread from number 2 on, and there are 2: the runtime ignores the whole subset"),
        ("2c@2", False, 8, None),
        ("2c@3", False, 4, "2 of core from number 3 on, and there are 4: it gets what there is"),
        ("1s@1,4c", False, 8, None),
        ("3s,1c", False, 4, "3 of socket, and there are 2: it gets what there is"),
        ("4c@4", False, 16, "the subset leaves no processor"),
    ],
)
def test_a_subset_is_counted_from_its_offset_on(subset, strict, left, note):
    """Each up to the last that there is, and one beyond."""
    found = placed(1, affinity="none", subset=subset, runtime="llvm" if strict else "intel")
    assert len(found.placement.places[0]) == left
    assert [note in one for one in found.notes] == [True] * (note is not None) if note else found.notes == ()


def test_a_zone_of_a_rank_is_the_whole_cores_behind_those_before_it():
    assert [rank_subset(*asked) for asked in ((5, 0, 2), (5, 2, 2), (4, 3, 2), (1, 1, 1))] == [
        *("3c@0,2t", "3c@6,2t", "2c@6,2t", "1c@1,1t")
    ]
    for wrong in ((0, 0, 1), (1, -1, 1), (1, 0, 0)):
        with pytest.raises(InputError, match="no zone for rank"):
            rank_subset(*wrong)


def test_llvms_14_knows_the_efficiency_of_cores_and_not_intels_names():
    found = placed(1, affinity="none", subset="2c:intel_atom", runtime="llvm")
    assert len(found.placement.places[0]) == 16 and "does not know intel_atom" in found.notes[0]
    assert len(placed(1, affinity="none", subset="2c:eff1", runtime="llvm").placement.places[0]) == 8


def test_llvms_counts_the_hardware_threads_that_it_may_use():
    """Of a part of a machine, as /proc/cpuinfo describes it, balanced takes sockets for cores."""
    shape = "synthetic:pack:2 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)"
    found = resolve(load_machine(shape, "7,10,13"), Job(9), Request(affinity="balanced", runtime="llvm")).placement
    assert [p for (p,) in found.places] == [10] * 5 + [13] * 3 + [7]


def test_processors_that_are_not_told_apart_come_into_a_place_together():
    """Where a part of a machine is allowed, one layer is taken for another, and two cores for one."""
    shape = "synthetic:pack:2 l2:2 core:3 pu:2(indexes=0,12,1,13,2,14,3,15,4,16,5,17,6,18,7,19,8,20,9,21,10,22,11,23)"
    machine = load_machine(shape, "0,3,19,22")
    found = resolve(machine, Job(2), Request(places="19:3,{18}", bind="primary")).placement
    assert found.places == ((19, 22), (19, 22))


def test_a_value_without_a_type_leaves_the_places_to_openmp():
    assert placed(3, affinity="verbose", places="cores", bind="close").placement.places == ((0, 1), (2, 3), (4, 5))
    assert placed(3, affinity="granularity=fine,verbose", bind="close").placement.places == ((0,), (1,), (2,))


@pytest.mark.parametrize(
    ("subset", "processors", "note"),
    [
        ("2c,3c@1", {0, 1, 2, 3, 8, 9, 10, 11}, "the first counts"),
        ("2c:intel_core", {0, 1, 2, 3, 8, 9, 10, 11}, "intel_core is ignored"),
        ("2c:eff0,1t", {0, 2, 8, 10}, "eff0 is ignored"),
        ("2c:eff0,3c:eff1", set(range(16)), "ignores the whole subset"),
        ("1c:intel_core,3c", set(range(16)), "ignores the whole subset"),
        ("2Cx1T,1O", {0, 2}, None),
    ],
)
def test_layers_named_twice_and_kinds_on_a_machine_of_one_kind(subset, processors, note):
    found = placed(1, subset=subset, affinity="none")
    assert set(found.placement.places[0]) == processors
    assert found.notes == () if note is None else note in found.notes[0]


@pytest.mark.parametrize(
    ("subset", "processors"),
    [
        ("1c:intel_core", {0, 1}),
        ("3c:intel_atom@2", {6, 7, 8}),
        ("1c:intel_core,2c:intel_atom", {0, 1, 4, 5}),
        ("c:eff1,1t", {0, 2}),
        ("c:eff7", set(range(12))),
        ("1c:eff1,1c:intel_atom", set(range(12))),
        ("1c,1c:intel_atom", set(range(12))),
    ],
)
def test_kinds_of_cores_where_there_are_several(tmp_path, subset, processors):
    path = uneven.write_machine(tmp_path / "m.xml", uneven.SHAPES["2 fast and 8 slow"])
    machine = load_machine(str(path))
    found = resolve(machine, Job(1), Request(subset=subset, affinity="none")).placement
    assert set(found.places[0]) == processors


def test_places_of_one_kind_of_cores(tmp_path):
    machine = load_machine(str(uneven.write_machine(tmp_path / "m.xml", uneven.SHAPES["2 fast and 8 slow"])))
    found = resolve(machine, Job(3), Request(places="cores:intel_atom(3)", bind="close")).placement
    assert found.places == ((4,), (5,), (6,))
    assert "is ignored" in placed(2, places="cores:eff1", bind="close").notes[0]


@pytest.mark.parametrize("text", ["{0:2:-1}", "{3},{1:3:-1}", "!{1:3:-1}"])
def test_a_list_that_crashes_the_runtime_is_refused(text):
    with pytest.raises(InputError, match="comes to processor -1, where Intel's and LLVM's runtimes crash"):
        placed(3, places=text, bind="close")


def test_a_thread_on_an_empty_place_ends_the_program():
    with pytest.raises(InputError, match="place 2 excludes all processors"):
        placed(3, places="{2},!{0:16}", bind="close")
    assert placed(3, places="{2},!{0:16}", bind="primary").placement.places == ((2,),) * 3


def test_counts_of_nothing_are_no_places():
    assert placed(2, places="{0:0},{2}:0,{5}", bind="close").placement.places == ((5,), (5,))
    assert placed(2, places="cores(0)", bind="close").placement.places == ((0, 1), (2, 3))


def test_nested_levels_are_reported_as_not_shown():
    found = placed(4, places="cores", bind="spread,close")
    assert found.placement.places == ((0, 1), (4, 5), (8, 9), (12, 13)) and "outermost region" in found.notes[0]


def test_a_blank_before_a_name_is_refused_as_the_runtimes_do():
    with pytest.raises(InputError, match="column 1: expected an abstract name without a blank"):
        placed(2, places=" sockets", bind="close")
    assert placed(1, places=" {3}", bind="close").placement.places == ((3,),)
