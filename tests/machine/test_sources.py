# SPDX-License-Identifier: BSD-3-Clause
"""Machines live, from XML, from JSON and synthetic."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.machine import sources
from nodewise.machine.hwloc import hardware
from nodewise.machine.model import NumaNode, machine_from_json
from nodewise.machine.sources import Source, _topology, hwloc_xml, load_machine, whole_memory


def test_a_synthetic_machine_has_the_shape_that_its_text_says() -> None:
    machine = load_machine("synthetic:pack:2 numa:1 l3:2 core:4 pu:2")
    assert (len(machine.cores), len(machine.pus), len(machine.numa_nodes)) == (16, 32, 2)
    assert {c.socket for c in machine.cores} == {0, 1}
    assert [c.numa_node for c in machine.cores] == [0] * 8 + [1] * 8
    assert sum(c.level == 3 for c in machine.caches) == 4
    assert machine.allowed == tuple(range(32))
    assert not machine.live


def test_the_memory_domain_is_all_of_the_nodes_that_may_be_used() -> None:
    machine = load_machine("synthetic:pack:2 numa:1 core:4 pu:1")
    held = replace(machine, limits=replace(machine.limits, processors=(5,)))
    assert held.memory_domain == (4, 5, 6, 7)
    assert machine.memory_domain == machine.allowed


def test_the_indexes_of_the_text_are_kept() -> None:
    machine = load_machine("synthetic:core:4 pu:2(indexes=0,4,1,5,2,6,3,7)")
    assert [c.pus for c in machine.cores] == [(0, 4), (1, 5), (2, 6), (3, 7)]


def test_the_live_machine_is_what_the_kernel_allows() -> None:
    machine = load_machine()
    assert machine.live
    assert set(machine.allowed) <= os.sched_getaffinity(0)
    assert machine.kernel and machine.memory_bytes > 0


def test_an_only_node_has_all_memory_of_the_machine() -> None:
    near, far = NumaNode(0, 10 << 30, (0, 1)), NumaNode(1, 2 << 30, ())
    assert [n.size_bytes for n in whole_memory((near,), 24 << 30)] == [24 << 30]
    # which of two has the rest nobody says, and where nothing is known of the machine its node is right
    assert whole_memory((near, far), 24 << 30) == (near, far)
    assert whole_memory((near,), 0) == (near,)


def test_a_process_held_to_one_processor_plans_for_one() -> None:
    p = max(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, {{{p}}})\n"
        "from nodewise.machine.sources import load_machine\n"
        f"m = load_machine(); assert m.allowed == ({p},) and m.parallelism == 1 and len(m.pus) == os.cpu_count()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_machines_round_trip_through_json_and_xml(tmp_path: Path) -> None:
    for spec in ("synthetic:pack:2 core:3 pu:2", None):
        machine = load_machine(spec)
        assert machine_from_json(json.loads(json.dumps(machine.to_json()))) == machine
        (tmp_path / "m.xml").write_text(hwloc_xml(spec))
        again = load_machine(str(tmp_path / "m.xml"))
        assert (again.cores, again.caches, again.pus) == (machine.cores, machine.caches, machine.pus)
        assert not again.live


def test_a_part_of_a_machine_can_be_asked_for() -> None:
    machine = load_machine("synthetic:core:4 pu:2", "1,6-7")
    assert machine.allowed == (1, 6, 7)
    assert [c.pus for c in machine.allowed_cores] == [(1,), (6, 7)]
    with pytest.raises(InputError, match="9"):
        load_machine("synthetic:core:4 pu:2", "9")


@pytest.mark.parametrize("text", ["x\udcff", "core:2 pu:\udcff", "é", "pu:2\n\udc80"])
def test_a_description_with_other_signs_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="synthetic"):
        load_machine(f"synthetic:{text}")


@pytest.mark.parametrize(
    "content",
    ["", "<", "<topology", "not xml", "<html></html>", '<?xml version="1.0"?><topology version="2.0"></topology>'],
)
def test_broken_xml_is_one_clear_message(tmp_path: Path, content: str, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.xml").write_text(content)
    with pytest.raises(InputError, match=r"m\.xml"):
        load_machine(str(tmp_path / "m.xml"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"nodewise_machine": 9}', '{"nodewise_machine": 1}', '{"nodewise_machine": 2}']
)
def test_broken_json_is_one_clear_message(tmp_path: Path, content: str) -> None:
    (tmp_path / "m.json").write_text(content)
    with pytest.raises(InputError, match=r"m\.json"):
        load_machine(str(tmp_path / "m.json"))


@pytest.mark.parametrize(
    "spec",
    ["", "synthetic:", "synthetic:core", "synthetic:core:0", "synthetic:core:99999999 pu:9", "x", "/etc/hostname"],
)
def test_what_is_no_machine_is_one_clear_message(spec: str) -> None:
    with pytest.raises(InputError):
        load_machine(spec)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="packnumcoreul123:( )=,x", max_size=24))
def test_any_synthetic_text_is_a_machine_or_one_clear_message(text: str) -> None:
    try:
        machine = load_machine(f"synthetic:{text}")
    except InputError as problem:
        assert problem.what
    else:
        assert sorted(p for c in machine.cores for p in c.pus) == sorted(machine.pus)


def test_a_source_of_no_known_kind_is_never_taken_for_this_machine() -> None:
    with pytest.raises(InputError, match="of the kind 'lldp': lldp:x") as refused:
        _topology(Source("lldp", "x"))
    assert "--save" in str(refused.value.hint)


def test_what_cannot_be_opened_is_one_message_whatever_the_system_says_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(path: Path) -> bytes:
        raise OSError("the tape is torn")

    monkeypatch.setattr(sources, "read_bounded", torn)
    with pytest.raises(InputError, match=r"cannot read /x\.xml: the tape is torn"):
        _topology(Source("xml", "/x.xml"))


def test_devices_of_this_machine_may_be_left_out() -> None:
    found = [hardware(_topology(Source("live"), devices).describe()) for devices in (True, False)]
    assert found[1] == replace(found[0], devices=())
    assert load_machine(None, devices=False) == replace(load_machine(None), devices=())
