# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI's mpirun of the version on PATH: which rules it is read and written by, and what is said of the other version."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects import openmpi
from nodewise.placement.job import Job
from nodewise.placement.mpi_version import OpenMpi
from nodewise.placement.registry import all_dialects
from tests.placement.test_dialects import CORE, SMT, synthetic

MACHINE = synthetic(SMT)
CORES_IN_ORDER = [CORE[0], CORE[1], CORE[2], CORE[3]]
#: Of which version it is, which rules hold, and which version is compared with it.
VERSIONS = [("4.1.4", "openmpi4", "5.0"), ("5.0.11", "openmpi5", "4.1"), ("6.0", "openmpi5", "4.1")]


@pytest.fixture(params=VERSIONS, ids=lambda version: version[0])
def version(request, monkeypatch):
    """A version that is found on PATH, shown as its own rules and the other version's name."""
    number, rules, other = request.param
    monkeypatch.setattr(openmpi, "open_mpi", lambda: OpenMpi(number, f"found is {number}"))
    return next(one for one in all_dialects() if one.name == rules), number, other


def _read(text, ranks=4, nodes=1):
    placed, notes = openmpi.read_openmpi(MACHINE, text, Job(1, ranks, nodes))
    return placed, [note for note in notes if not note.startswith("modelled ")]


def test_what_both_versions_do_needs_no_word(version):
    _, number, _ = version
    placed, notes = _read("--map-by core --bind-to core")
    assert list(placed.zones) == CORES_IN_ORDER and notes == [f"found is {number}"]


def test_what_the_other_version_does_otherwise_is_said(version):
    rules, number, other = version
    placed, notes = _read("--map-by numa --bind-to core")
    expected, _ = rules.launch(MACHINE, "--map-by numa --bind-to core", Job(1, 4))
    assert placed.zones == expected.zones
    said = f"Open MPI {other} does otherwise with these options: --openmpi{other[0]} shows it"
    assert notes == [f"found is {number}", said]
    # ranks that lie on the same processors of their nodes may be numbered otherwise
    _, notes = _read("--rank-by span --map-by package" if number[0] != "4" else "--map-by core", nodes=2)
    assert (len(notes) == 2) == (number[0] != "4")


def test_what_the_other_version_refuses_is_said_with_its_reason(version):
    _, number, other = version
    text, reason = (
        ("--bycore", "mpirun: -bycore bears on placement, and what it does is not modelled")
        if other == "5.0"
        else ("--map-by package", "mpirun: --map-by 'package' is not known")
    )
    _, notes = _read(text)
    assert notes[-1] == f"Open MPI {other} does otherwise: {reason.replace('-bycore', '--bycore')}"
    assert notes[0] == f"found is {number}"


def test_a_refusal_names_the_version(version):
    _, number, _ = version
    with pytest.raises(InputError) as refused:
        _read("--map-by nothing")
    assert refused.value.what == f"mpirun: --map-by 'nothing' is not known (found is {number})"
    assert refused.value.hint is not None and refused.value.hint.startswith("known are: slot, node, core, ")


@pytest.mark.parametrize("hosts", [(), ("alpha",)])
@pytest.mark.parametrize("zones", [CORES_IN_ORDER, [(0,), (1, 2)]])
def test_it_is_written_in_the_words_of_the_version(version, zones, hosts):
    rules, number, _ = version
    placed = Job(1, len(zones)).floating("any", zones)
    written, own = openmpi.write_openmpi(MACHINE, placed, hosts), rules.write_job(MACHINE, placed, hosts)
    assert (written.words, written.files) == (own.words, own.files)
    assert written.notes == (f"found is {number}", *own.notes)
