# SPDX-License-Identifier: BSD-3-Clause
"""fi_info as it was printed by libfabric 1.17 (Debian 12) and by Intel MPI's 2.4, on a virtual machine without a fabric."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.fabric.known import KNOWN, Reach, known
from nodewise.fabric.providers import Provider, parse_list, parse_verbose, parse_version, with_listed

RECORDED = Path(__file__).parent / "recorded"


def of(name: str) -> str:
    return (RECORDED / name).read_text()


@pytest.fixture
def debian() -> dict[str, Provider]:
    return {p.name: p for p in parse_verbose(of("fi_info-v-1.17.txt"))}


def test_every_provider_is_found_in_its_order(debian: dict[str, Provider]) -> None:
    assert list(debian) == ["tcp;ofi_rxm", "net", "net;ofi_rxm", "udp;ofi_rxd", "shm", "udp", "tcp", "sockets"]


def test_a_provider_is_what_fi_info_says(debian: dict[str, Provider]) -> None:
    shm, tcp, udp = debian["shm"], debian["tcp"], debian["udp"]
    assert (shm.version, shm.endpoints, shm.domains) == ("117.0", ("RDM",), ("shm",))
    assert {"MSG", "RMA", "TAGGED", "ATOMIC"} <= set(shm.capabilities) and shm.multi_receive
    assert (shm.progress, shm.control_progress) == (("MANUAL",), ("AUTO",))
    assert shm.memory_modes == ("MR_VIRT_ADDR", "MR_HMEM") and "SAS" in shm.order
    assert tcp.endpoints == ("MSG",) and not tcp.multi_receive and set(tcp.domains) == {"eth0", "lo"}
    assert udp.endpoints == ("DGRAM",) and "RMA" not in udp.capabilities
    assert debian["sockets"].endpoints == ("RDM", "MSG", "DGRAM")


def test_no_address_is_kept(debian: dict[str, Provider]) -> None:
    text = of("fi_info-v-1.17.txt")
    assert "192.0.2.2" in text and "192.0.2" not in repr(debian)


def test_what_is_built_in_and_finds_nothing_is_there_without_endpoints(debian: dict[str, Provider]) -> None:
    listed = parse_list(of("fi_info-l-1.17.txt"))
    assert listed["psm2"] == "117.0" and "ofi_mrail" in listed
    every = with_listed(debian.values(), listed)
    assert [p.name for p in every if not p.found] == ["psm2", "psm"]
    assert not any(p.name.startswith("ofi_") for p in every)


def test_another_version_is_read_too() -> None:
    found = {p.name: p for p in parse_verbose(of("fi_info-v-2.4-impi.txt"))}
    assert set(found) == {"tcp", "tcp;ofi_rxm", "shm"} and set(found["tcp"].endpoints) == {"RDM", "MSG"}
    assert parse_version(of("fi_info-version-2.4-impi.txt")) == "2.4.0-impi"
    assert parse_version(of("fi_info-version-1.17.txt")) == "1.17.0"


@given(st.text(max_size=400))
def test_any_text_is_read_without_failing(text: str) -> None:
    for made in (text, f"fi_info:\n{text}", f"---\nfi_info:\n    fi_fabric_attr:\n        prov_name: {text}"):
        parse_verbose(made)
    parse_list(text)
    parse_version(text)


@given(st.data())
def test_a_list_cut_anywhere_holds_nothing_that_the_whole_has_not(data: st.DataObject) -> None:
    text = of("fi_info-v-1.17.txt")
    cut = parse_verbose(text[: data.draw(st.integers(0, len(text)))])
    whole = {p.name: p for p in parse_verbose(text)}
    for one in cut[:-1]:
        assert set(one.capabilities) <= set(whole[one.name].capabilities)


def test_what_is_known_of_a_provider_is_found_by_its_whole_name() -> None:
    assert known("tcp;ofi_rxm") is KNOWN["tcp"] and known("of-tomorrow") is None
    assert KNOWN["verbs"].built_by == "--enable-verbs=yes" and "1.0.16" in KNOWN["verbs"].needs
    assert {KNOWN[n].reach for n in ("shm", "verbs", "tcp")} == set(Reach)
