# SPDX-License-Identifier: BSD-3-Clause
"""Lines to set: for which provider, and that Open MPI, where it is here, really takes what they name."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from nodewise.fabric.lines import INTEL_MPI, MPICH, OPEN_MPI, fitting, lines_for
from nodewise.fabric.mpi_output import Taken, parse_ompi_info
from nodewise.fabric.mpis import MpiTransport, ask_mpis
from nodewise.fabric.proof import Outcome, Proof, Transfer
from nodewise.fabric.providers import Provider, parse_verbose

RECORDED = Path(__file__).parent / "recorded"
HERE = {p.name: p for p in parse_verbose((RECORDED / "fi_info-v-1.17.txt").read_text())}


def able(name: str) -> Provider:
    return Provider(name, "1", ("RDM",), ("MSG", "TAGGED"), (), (), (), (), (), True, ())


def proofs(**seconds: float) -> dict[str, Proof]:
    names = {"rxm": "tcp;ofi_rxm", "rxd": "udp;ofi_rxd"}
    made = [(names.get(n, n), s) for n, s in seconds.items()]
    return {n: Proof(n, "RDM", Outcome.WORKS, (Transfer(64, s, 1.0),)) for n, s in made}


def test_between_nodes_the_fastest_that_an_mpi_can_use_is_taken() -> None:
    # shm is faster and does not leave the node, tcp has no datagrams
    best = fitting(HERE.values(), proofs(shm=1e-6, tcp=1e-6, rxm=2e-5, net=4e-6))
    assert best is not None and best.name == "net"
    assert fitting(HERE.values(), {}) is HERE["tcp;ofi_rxm"]
    assert fitting(HERE.values(), proofs(shm=1e-6)) is None
    best = fitting(HERE.values(), proofs(rxd=1e-6, sockets=1e-6, rxm=2e-5))
    assert best is not None and best.name == "tcp;ofi_rxm"


def test_the_fabrics_hardware_goes_before_the_kernels_network() -> None:
    every = [*HERE.values(), able("verbs;ofi_rxm")]
    best = fitting(every, {**proofs(net=1e-6), **{"verbs;ofi_rxm": proofs(x=5e-6)["x"]}})
    assert best is not None and best.name == "verbs;ofi_rxm"
    best = fitting(every, proofs(net=1e-6))  # what was not proved is not taken
    assert best is not None and best.name == "net"


def test_a_name_with_a_semicolon_is_quoted() -> None:
    info = parse_ompi_info((RECORDED / "ompi_info-4.1.4.txt").read_text())
    lines = lines_for(OPEN_MPI, Taken("ob1 over tcp"), HERE["tcp;ofi_rxm"], info, ())
    assert lines[0].exports == ("export OMPI_MCA_pml=ob1", "export OMPI_MCA_btl=self,vader,tcp")
    assert lines[1].exports[-1] == "export OMPI_MCA_mtl_ofi_provider_include='tcp;ofi_rxm'"
    assert lines[2].exports == ("export OMPI_MCA_pml=ucx",)


def test_mpich_gets_a_provider_that_its_own_libfabric_has() -> None:
    taken = Taken("ofi", "sockets", seen=("sockets", "tcp", "shm"))
    (ofi, ucx) = lines_for(MPICH, taken, HERE["net"], None, ("ofi", "ucx"))
    assert ofi.exports == ("export MPIR_CVAR_CH4_NETMOD=ofi", "export FI_PROVIDER=tcp")
    assert ucx.exports[0] == "export MPIR_CVAR_CH4_NETMOD=ucx"
    assert not any(
        "FI_PROVIDER" in e for one in lines_for(MPICH, None, HERE["net"], None, ("ucx",)) for e in one.exports
    )


def test_intel_mpi_keeps_shared_memory_within_the_node() -> None:
    (line,) = lines_for(INTEL_MPI, Taken("ofi", "tcp"), HERE["net"], None, ())
    assert line.exports == ("export I_MPI_FABRICS=shm:ofi", "export FI_PROVIDER=tcp")


def test_no_mpi_on_path_is_a_line_for_each(tmp_path: Path) -> None:
    said = list(ask_mpis(None, 20.0, {"PATH": str(tmp_path)}, True))
    assert [s.partition(":")[0] for s in said if isinstance(s, str)] == ["Open MPI", "MPICH", "Intel MPI"]


@pytest.mark.skipif(
    shutil.which("ompi_info") is None or shutil.which("fi_info") is None, reason="no Open MPI, no libfabric"
)
def test_open_mpi_takes_what_its_lines_name() -> None:
    def asked(environment: dict[str, str]) -> MpiTransport:
        (one,) = [
            m
            for m in ask_mpis(HERE["tcp;ofi_rxm"], 60.0, environment, True)
            if not isinstance(m, str) and m.name == OPEN_MPI
        ]
        return one

    plain = asked(dict(os.environ))
    assert plain.transport and plain.why and not plain.unknown
    line = next((one for one in plain.lines if "tcp;ofi_rxm" in one.purpose), None)
    if line is None:
        pytest.skip("this Open MPI is built without libfabric")
    variables = dict(shlex.split(e)[1].split("=", 1) for e in line.exports)
    told = asked({**os.environ, **variables})
    assert (told.transport, told.provider) == ("cm over ofi", "tcp;ofi_rxm"), told


@pytest.mark.skipif(shutil.which("mpichversion") is None, reason="no MPICH")
def test_mpich_says_what_it_takes() -> None:
    (one,) = [m for m in ask_mpis(None, 60.0, os.environ, True) if not isinstance(m, str) and m.name == MPICH]
    assert one.transport in one.netmods and one.why and not one.unknown, one


def test_without_a_run_nothing_is_claimed() -> None:
    for one in ask_mpis(None, 60.0, os.environ, False):
        assert isinstance(one, str) or (not one.transport and "no rank was started" in one.unknown)


def test_what_an_mpi_leaves_behind_where_it_is_ended_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher, temporary = tmp_path / "bin" / "mpirun", tmp_path / "tmp"
    launcher.parent.mkdir()
    temporary.mkdir()
    launcher.write_text(
        "#!/bin/sh\n"
        'case $1 in --version) echo "mpirun (Open MPI) 4.1.4"; exit;; esac\n'
        'mkdir "$TMPDIR/ompi.left" && echo yes > "$SEEN" && exec sleep 60\n'
    )
    launcher.chmod(0o755)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    environment = {
        "PATH": f"{launcher.parent}:{os.environ['PATH']}",
        "SEEN": str(tmp_path / "seen"),
        "TMPDIR": str(temporary),
    }
    (one,) = [m for m in ask_mpis(None, 2.0, environment, True) if not isinstance(m, str) and m.name == OPEN_MPI]
    assert one.unknown == "a run of one rank does not end within 2 s"
    assert (tmp_path / "seen").exists() and list(temporary.iterdir()) == []
