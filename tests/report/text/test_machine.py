# SPDX-License-Identifier: BSD-3-Clause
"""The drawing of a machine in a terminal, and as SVG."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from nodewise.machine.model import Device, Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.placement import Placement
from nodewise.report.drawings.machine import machine_svg
from nodewise.report.text.machine import machine_text

SPECS = ["core:2 pu:1", "core:61 pu:4", "pack:2 numa:1 l3:8 core:8 pu:2", "numa:4 core:3 pu:1"]


@pytest.fixture(params=SPECS)
def machine(request: pytest.FixtureRequest) -> Machine:
    return load_machine(f"synthetic:{request.param}")


def test_no_line_is_too_long_and_every_processor_is_there(machine: Machine) -> None:
    text = machine_text(machine)
    assert max(map(len, text.splitlines())) <= 100
    words = text.replace("│", " ").split()
    assert all(str(p) in words for p in machine.pus)


def test_each_numa_node_says_which_processors_it_is_near() -> None:
    split = machine_text(load_machine("synthetic:pack:2 numa:2 core:4 pu:1"), width=80).splitlines()
    assert [line.split(" near ")[1].split()[0] for line in split if "NUMA node" in line] == [
        "0-3",
        "4-7",
        "8-11",
        "12-15",
    ]
    assert max(map(len, split)) <= 80
    # the one of a socket is near to all that stands in its box
    assert " near " not in machine_text(load_machine("synthetic:pack:2 numa:1 core:4 pu:1"))


def test_a_gpu_is_named_by_its_model_where_that_is_known() -> None:
    machine = load_machine("synthetic:pack:2 core:2 pu:1")
    near = (0, 1)
    devices = (
        Device("gpu0", "gpu", near, "0000:3b:00.0", "NVIDIA H200"),
        Device("gpu1", "gpu", machine.pus),
        Device("ib0", "network", near, "", "7"),
    )
    lines = machine_text(replace(machine, devices=devices)).splitlines()
    assert "gpu: gpu0 (NVIDIA H200) near 0-1, gpu1" in lines
    assert "network: ib0 near 0-1" in lines


def test_threads_are_shown_on_their_processors() -> None:
    machine = load_machine("synthetic:core:2 pu:2")
    assert "1←t0,t1" in machine_text(machine, Placement("x", ((1,), (1,))))


def test_processors_that_may_not_be_used_stand_in_brackets() -> None:
    text = machine_text(load_machine("synthetic:core:4 pu:1", "0,2"))
    assert "(1)" in text and "(3)" in text and "(0)" not in text


def test_the_svg_is_well_formed_and_holds_every_processor(machine: Machine) -> None:
    svg = machine_svg(machine, Placement("x", tuple((p,) for p in machine.pus[:3])), "a <title> & more")
    texts = {(e.text or "").strip() for e in ET.fromstring(svg).iter() if e.tag.endswith(("text", "tspan"))}
    shown = " ".join(texts).split()
    assert all(str(p) in shown for p in machine.pus)
