# SPDX-License-Identifier: BSD-3-Clause
"""What MPIs printed for a run of one rank: Open MPI 4.1.4, MPICH 4.0.2 (Debian 12), Open MPI 5.0.11, MPICH 5.0.2, Intel MPI 2021.18 (PyPI)."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nodewise.fabric.mpi_output import (
    MpichBuild,
    parse_intel_mpi,
    parse_mpich,
    parse_mpichversion,
    parse_ompi_info,
    parse_open_mpi,
)

RECORDED = Path(__file__).parent / "recorded"


def of(name: str) -> str:
    return (RECORDED / name).read_text()


def test_ompi_info_names_components_and_what_is_asked_for() -> None:
    info = parse_ompi_info(of("ompi_info-4.1.4.txt"))
    assert info.version == "4.1.4" and info.components["mtl"] == ("ofi", "psm2", "psm")
    assert info.asked["pml"] == ("^ucx", "/etc/openmpi/openmpi-mca-params.conf:69")
    newer = parse_ompi_info(of("ompi_info-5.0.11.txt"))
    assert newer.version == "5.0.11" and newer.asked == {} and "ucx" in newer.components["pml"]


def test_open_mpi_says_what_it_took_and_what_it_left_out() -> None:
    info = parse_ompi_info(of("ompi_info-4.1.4.txt"))
    taken = parse_open_mpi(of("openmpi-4.1.4.txt"), info)
    assert taken is not None and (taken.transport, taken.provider) == ("ob1 over tcp", "")
    assert "ob1 has the highest priority of what works (20)" in taken.why
    assert "closed as they were opened, so without a device: psm2 and psm" in taken.why
    assert "built and left out: ucx (pml = ^ucx, /etc/openmpi/openmpi-mca-params.conf:69)" in taken.why
    assert "built and left out: ofi (mtl = ^ofi, /etc/openmpi/openmpi-mca-params.conf:67)" in taken.why


def test_a_newer_open_mpi_tries_more() -> None:
    taken = parse_open_mpi(of("openmpi-5.0.11.txt"), parse_ompi_info(of("ompi_info-5.0.11.txt")))
    assert taken is not None and taken.transport == "ob1 over tcp+uct"
    assert "no device for ofi, cm and ucx, which were tried" in taken.why
    assert set(taken.others) == {"ofi", "cm", "ucx", "sm"}


def test_open_mpi_over_libfabric_names_the_provider() -> None:
    taken = parse_open_mpi(of("openmpi-4.1.4-cm.txt"))
    assert taken is not None and (taken.transport, taken.provider) == ("cm over ofi", "tcp;ofi_rxm")
    assert taken.adapters == ("eth0",)


def test_mpichversion_names_its_netmods() -> None:
    assert parse_mpichversion(of("mpichversion-4.0.2.txt")) == MpichBuild("4.0.2", "ch4", ("ucx",))
    assert parse_mpichversion(of("mpichversion-5.0.2.txt")) == MpichBuild("5.0.2", "ch4", ("ucx", "ofi"))
    assert parse_mpichversion("MPICH Version: 3.2\nMPICH Device:  ch3:nemesis\n") == MpichBuild(
        "3.2", "ch3", ("nemesis",)
    )
    assert parse_mpichversion("no such thing") is None


def test_mpich_over_ucx_takes_no_provider() -> None:
    taken = parse_mpich(of("mpich-4.0.2.txt"), MpichBuild("4.0.2", "ch4", ("ucx",)))
    assert taken is not None and (taken.transport, taken.provider) == ("ucx", "")
    assert taken.why[0].endswith("FI_PROVIDER means nothing to it") and "cma/memory" in taken.why[1]


def test_mpich_over_libfabric_takes_what_can_do_most() -> None:
    taken = parse_mpich(of("mpich-5.0.2-ofi.txt"), MpichBuild("5.0.2", "ch4", ("ucx", "ofi")))
    assert taken is not None and (taken.transport, taken.provider) == ("ofi", "sockets")
    assert taken.why[1].startswith("sockets has the score 5") and taken.why[1].endswith("how fast it is was not asked")
    assert {"tcp", "shm", "udp;ofi_rxd"} <= set(taken.others) and "sockets" in taken.seen


def test_intel_mpi_names_the_provider_and_the_adapters() -> None:
    taken = parse_intel_mpi(of("impi-2021.18.txt"))
    assert taken is not None and (taken.transport, taken.provider, taken.adapters) == ("ofi", "tcp", ("eth0",))
    assert taken.why[0].startswith("libfabric 2.4.0-impi") and "1 adapter in use: eth0" in taken.why


@given(st.text(max_size=400), st.sampled_from(sorted(p.name for p in RECORDED.iterdir())), st.integers(0, 8000))
def test_any_text_is_read_without_failing(text: str, name: str, at: int) -> None:
    cut = of(name)[at : at + 3000]
    for made in (text, cut, cut + text):
        info = parse_ompi_info(made)
        parse_open_mpi(made, info)
        parse_mpichversion(made)
        parse_mpich(made, MpichBuild("", "ch4", ("ofi",)))
        parse_intel_mpi(made)


def test_what_says_nothing_of_a_transport_is_none() -> None:
    said = "nodewise-mpi-probe 0 1\n"
    assert parse_open_mpi(said) is parse_intel_mpi(said) is None
    assert parse_mpich(said, MpichBuild("", "ch4", ("ofi",))) is None
