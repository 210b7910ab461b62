# SPDX-License-Identifier: BSD-3-Clause
"""Ports below trees that are made by hand, and what is found wrong with them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.fabric.port_rules import port_findings
from nodewise.fabric.ports import FabricPort, read_ports
from nodewise.fabric.rails import rails_of
from nodewise.quiet.finding import Severity
from tests.fabric.trees import port, slot


def found(root: Path) -> dict[str, tuple[Severity, str]]:
    return {f.name: (f.severity, f.summary) for f in port_findings(read_ports(root) or ())}


def test_signalling_is_converted_and_the_tree_may_be_sys_itself(tmp_path: Path) -> None:
    port(tmp_path, "mlx4_0/1", "40 Gb/sec (4X QDR)", model="MT26428")
    for root in (tmp_path, tmp_path / "sys"):
        (one,) = read_ports(root) or ()
        assert (one.name, one.state, one.physical, one.data_gbits) == ("mlx4_0/1", "ACTIVE", "LinkUp", 32)
        assert one.link is not None and one.link.signalling_gbits == 40
    assert found(tmp_path) == {}


def test_without_adapters_there_are_none(tmp_path: Path) -> None:
    assert read_ports(tmp_path) is None
    (tmp_path / "sys/class/infiniband/mlx5_0").mkdir(parents=True)
    assert read_ports(tmp_path) == ()


def test_ports_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 1):
        port(tmp_path, f"mlx5_{number}/1", "200 Gb/sec (4X HDR)")
    assert [p.name for p in read_ports(tmp_path) or ()] == ["mlx5_1/1", "mlx5_9/1", "mlx5_10/1"]


@pytest.mark.parametrize(
    ("state", "physical", "says"),
    [
        ("1: DOWN", "3: Disabled", "it was disabled"),
        ("1: DOWN", "2: Polling", "no cable"),
        ("2: INIT", "5: LinkUp", "no subnet manager"),
        ("3: ARMED", "5: LinkUp", "has not finished"),
    ],
)
def test_a_port_that_is_not_active_says_why(tmp_path: Path, state: str, physical: str, says: str) -> None:
    port(tmp_path, "mlx5_0/1", "10 Gb/sec (4X SDR)", state, physical)
    severity, summary = found(tmp_path)["port-down"]
    assert severity is Severity.WRONG and says in summary


def test_a_port_of_four_lanes_that_faces_one_is_degraded(tmp_path: Path) -> None:
    port(tmp_path, "mlx4_0/1", "2.5 Gb/sec (1X SDR)", model="MT26428")
    (one,) = port_findings(read_ports(tmp_path) or ())
    assert one.name == "port-degraded" and one.severity is Severity.WRONG
    assert "1X SDR, 2 Gb/s of data" in one.summary and "4X QDR, 32" in one.summary
    assert "between 4X and 1X a switch stores each frame whole" in one.effect and "a port of 1 lane," in one.do


def test_a_slower_port_of_the_same_model_is_degraded_for_sure(tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0/1", "100 Gb/sec (4X EDR)")
    assert found(tmp_path)["port-degraded"][0] is Severity.NOTE  # a card of that model may be sold so
    port(tmp_path, "mlx5_1/1", "200 Gb/sec (4X HDR)")
    severity, summary = found(tmp_path)["port-degraded"]
    assert severity is Severity.WRONG and "mlx5_1/1, of the same model" in summary


def test_mixed_widths_are_wrong_and_mixed_rates_a_note(tmp_path: Path) -> None:
    port(tmp_path, "a_0/1", "40 Gb/sec (4X QDR)", model="")
    port(tmp_path, "a_1/1", "56 Gb/sec (4X FDR)", model="")
    assert found(tmp_path)["ports-mixed"][0] is Severity.NOTE
    port(tmp_path, "a_2/1", "10 Gb/sec (1X QDR)", model="")
    assert found(tmp_path)["ports-mixed"][0] is Severity.WRONG
    port(tmp_path, "b_0/1", "10 Gb/sec (1X QDR)", "1: DOWN")
    assert "b_0" not in found(tmp_path)["ports-mixed"][1]


def test_a_slot_that_is_too_slow_is_found(tmp_path: Path) -> None:
    slot(port(tmp_path, "mlx5_0/1", "200 Gb/sec (4X HDR)"), 16, "8.0 GT/s PCIe")
    severity, summary = found(tmp_path)["port-slot"]
    assert severity is Severity.WRONG and "126 Gb/s" in summary and "200" in summary
    slot(port(tmp_path, "mlx5_1/1", "200 Gb/sec (4X HDR)"), 16, "16.0 GT/s PCIe")
    assert "mlx5_1" not in found(tmp_path)["port-slot"][1]


def test_ethernet_is_no_infiniband(tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0/1", "40 Gb/sec (4X QDR)", layer="Ethernet")
    (one,) = read_ports(tmp_path) or ()
    assert one.link is None and one.data_gbits == 40 and found(tmp_path) == {}


def test_a_rate_that_is_none_is_not_guessed(tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0/1", "1 Gb/sec (4X ZDR)")
    assert found(tmp_path)["port-rate-unknown"][0] is Severity.UNKNOWN


def test_a_port_without_a_state_is_not_called_sound(tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0/1", "200 Gb/sec (4X HDR)", state="")
    assert found(tmp_path)["port-state-unknown"][0] is Severity.UNKNOWN


def test_two_active_ports_are_rails(tmp_path: Path) -> None:
    for name in ("mlx5_0/1", "mlx5_0/2", "mlx5_1/1", "mlx5_1/2"):
        port(tmp_path, name, "100 Gb/sec (4X EDR)")
    ports = read_ports(tmp_path) or ()
    rails = rails_of(ports, ("ofi_mrail",))
    assert rails is not None and (rails.adapters, rails.cables) == (("mlx5_0", "mlx5_1"), 4)
    assert rails.data_gbits == 400 and not rails.unequal
    assert "-x UCX_NET_DEVICES=mlx5_0:1 ./app : -n 2 -x UCX_NET_DEVICES=mlx5_0:2" in rails.shared[0].exports[0]
    assert rails.bundled[0].exports[1] == "export UCX_MAX_RNDV_RAILS=4" and "mrail" in rails.bundled[-1].purpose
    assert rails_of(ports[:1]) is None and len(rails_of(ports).bundled) == 1  # type: ignore[union-attr]


TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["4: ACTIVE", "40 Gb/sec (4X QDR)", "100 Gb/sec (4X EDR)"]))


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=4))
def test_whatever_stands_in_the_files_is_read(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[str, ...]]
) -> None:
    root = tmp_path_factory.mktemp("root")
    for i, (rate, state, physical) in enumerate(files):
        port(root, f"mlx5_{i}/1", rate, state, physical)
    ports = read_ports(root) or ()
    assert len(ports) == len(files) and all(isinstance(p, FabricPort) for p in ports)
    port_findings(ports)
    rails_of(ports)
