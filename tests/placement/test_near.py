# SPDX-License-Identifier: BSD-3-Clause
"""Places near devices, on a machine that was made up: two sockets, a graphics processor on each, an adapter and a disk on one."""

import json
import re

import pytest

import nodewise
from nodewise.base.errors import InputError
from nodewise.machine.model import Machine, machine_from_json
from nodewise.machine.sources import load_machine, restrict
from nodewise.placement.near import near_zones
from nodewise.report.text.machine import machine_text
from nodewise.search.space import Point
from nodewise.tuning.options import Options

#: A bridge with a device behind it, as hwloc writes them: address, class, vendor and device, model, name and kind.
_DEVICE = """
<object type="Bridge" gp_index="{at}0" bridge_type="0-1" depth="0" bridge_pci="0000:[{bus}-{bus}]">
  <object type="PCIDev" gp_index="{at}1" pci_busid="0000:{bus}:00.0" pci_type="{kind} [1234:5678] [0000:0000] 00" pci_link_speed="0.0">
    <info name="PCIDevice" value="{model}"/>
    {inside}
  </object>
</object>"""
_NAMED = '<object type="OSDev" gp_index="{at}2" name="{name}" osdev_type="{type}"/>'


def device(at: int, bus: str, kind: str, model: str, name: str = "", osdev: int = 0) -> str:
    inside = _NAMED.format(at=at, name=name, type=osdev) if name else ""
    return _DEVICE.format(at=at, bus=bus, kind=kind, model=model, inside=inside)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Sockets of 4 cores of 2 threads: 0-7 and 8-15."""
    path = tmp_path_factory.mktemp("machine") / "devices.xml"
    there = load_machine("synthetic:package:2 core:4 pu:2")
    from nodewise import _core

    text = _core.Topology.from_synthetic("package:2 core:4 pu:2").xml()
    assert len(there.pus) == 16
    first = device(100, "17", "0302", "Accelerator") + device(101, "18", "0207", "Adapter", "mlx5_0", 3)
    second = device(102, "98", "0302", "Accelerator") + device(103, "99", "0108", "Disk", "nvme0n1", 0)
    ends = [found.end() for found in re.finditer(r'<object type="Package"[^>]*>', text)]
    assert len(ends) == 2
    text = text[: ends[0]] + first + text[ends[0] : ends[1]] + second + text[ends[1] :]
    path.write_text(text)
    return load_machine(str(path))


def test_devices_are_read_with_what_is_near(machine: Machine) -> None:
    found = {d.name: (d.kind, d.bus, d.pus) for d in machine.devices}
    one, two = tuple(range(8)), tuple(range(8, 16))
    assert found == {
        "gpu0": ("gpu", "0000:17:00.0", one),
        "gpu1": ("gpu", "0000:98:00.0", two),
        "mlx5_0": ("openfabrics", "0000:18:00.0", one),
        "nvme0n1": ("block", "0000:99:00.0", two),
    }


def test_they_are_written_and_read_back(machine: Machine) -> None:
    assert machine_from_json(json.loads(json.dumps(machine.to_json()))) == machine


def test_a_machine_says_what_is_near_what(machine: Machine) -> None:
    text = machine_text(machine)
    assert "gpu: gpu0 (Accelerator) near 0-7, gpu1 (Accelerator) near 8-15" in text
    assert "block: nvme0n1 near 8-15" in text


def test_threads_keep_to_a_device(machine: Machine) -> None:
    there = nodewise.place("compact", threads=4, machine=machine, near="nvme0n1")
    assert there.places == ((8,), (9,), (10,), (11,))
    by_address = nodewise.place("compact", threads=4, machine=machine, near="99:00.0")
    assert by_address.places == there.places


def test_without_a_policy_they_float_there(machine: Machine) -> None:
    there = nodewise.place(machine=machine, near="mlx5_0", threads=2)
    assert there.placement.places == (tuple(range(8)), tuple(range(8)))


def test_each_rank_gets_a_device_in_turn(machine: Machine) -> None:
    there = nodewise.place("compact", ranks=2, threads=2, machine=machine, near=["gpu0", "gpu1"])
    assert there.placement.by_rank == (((0,), (1,)), ((8,), (9,)))
    four = nodewise.place("compact", ranks=4, threads=2, machine=machine, near=["gpu0", "gpu1"])
    assert four.placement.by_rank == (((0,), (1,)), ((8,), (9,)), ((4,), (5,)), ((12,), (13,)))


def test_more_devices_than_ranks(machine: Machine) -> None:
    assert near_zones(machine, ["gpu1", "gpu0"], 1) == [tuple(range(8, 16))]


def test_how_many_threads_fit_is_counted_there(machine: Machine) -> None:
    assert nodewise.place("balanced", machine=machine, near="gpu0").placement.threads == 8


@pytest.mark.parametrize("ranks", range(1, 20))
@pytest.mark.parametrize("names", [["gpu0"], ["gpu1", "gpu0"], ["gpu0", "nvme0n1", "mlx5_0"]])
def test_zones_are_near_their_device(machine: Machine, ranks: int, names: list[str]) -> None:
    near = {d.name: set(d.pus) for d in machine.devices}
    zones = near_zones(machine, names, ranks)
    assert len(zones) == ranks
    for rank, zone in enumerate(zones):
        assert zone
        assert set(zone) <= near[names[rank % len(names)]]


def test_an_unknown_device_is_named_with_those_there_are(machine: Machine) -> None:
    with pytest.raises(InputError, match="there is no device 'gpu2' here") as problem:
        nodewise.place("compact", threads=1, machine=machine, near="gpu2")
    assert "the devices are: nvme0n1, gpu0, gpu1, mlx5_0" in str(problem.value.hint)


def test_processors_that_may_not_be_used_are_no_places(machine: Machine) -> None:
    with pytest.raises(InputError, match="no processor near gpu1 may be used: the nearest are 8-15"):
        nodewise.place("compact", threads=1, machine=restrict(machine, "0-3"), near="gpu1")


def test_a_launchers_option_says_it_too(machine: Machine) -> None:
    with pytest.raises(InputError, match="near and slurm's options both say"):
        nodewise.place(machine=machine, near="gpu1", ranks=2, slurm="--cpu-bind=cores")


def test_the_axis_tries_each_kind_that_makes_a_difference(machine: Machine) -> None:
    options = Options(machine, ["./app"], ["threads", "near"], {})
    near = next(a for a in options.space.axes if a.name == "near")
    assert near.values == ("any", "nvme0n1", "gpu0,gpu1", "mlx5_0")
    setting = options.setting({"threads": 4, "near": "nvme0n1"})
    assert setting.places == (tuple(range(8, 16)),) * 4
    assert options.space.allowed(Point({"threads": 8, "near": "nvme0n1"}))
    assert not options.space.allowed(Point({"threads": 9, "near": "nvme0n1"}))


def test_where_all_is_as_near_there_is_no_axis() -> None:
    with pytest.raises(InputError, match="the axis near has nothing to choose"):
        Options(load_machine("synthetic:core:4 pu:2"), ["./app"], ["near"], {})
