# SPDX-License-Identifier: BSD-3-Clause
"""Which mpirun is on PATH, shown by programs that stand for it."""

import pytest

from nodewise.placement.mpi_version import open_mpi


@pytest.mark.parametrize(
    ("text", "version", "why"),
    [
        ("mpirun (Open MPI) 4.1.4\\n\\nReport bugs to …", "4.1.4", "on PATH is of Open MPI 4.1.4"),
        ("mpirun (Open MPI) 5.1.0rc2", "5.1.0rc2", "on PATH is of Open MPI 5.1.0rc2"),
        ("HYDRA build details:\\n    Version: 4.0.2", "5.0", "no mpirun of Open MPI"),
        ("\\377\\n", "5.0", "no mpirun of Open MPI"),
    ],
)
def test_the_mpirun_on_path_decides(tmp_path, text, version, why):
    program = tmp_path / "mpirun"
    program.write_text(f"#!/bin/sh\nprintf '{text}'\n")
    program.chmod(0o755)
    found = open_mpi({"PATH": f"{tmp_path}:/usr/bin"})
    assert found.version == version and why in found.why and found.major == int(version[0])


def test_without_any_the_current_one_is_assumed(tmp_path):
    assert open_mpi({"PATH": str(tmp_path)}).version == "5.0"
    (tmp_path / "mpirun").write_text("no program")
    (tmp_path / "mpirun").chmod(0o755)
    assert open_mpi({"PATH": str(tmp_path)}).version == "5.0"


def test_it_is_asked_for_its_version_and_answers_on_standard_output(tmp_path, monkeypatch):
    program = tmp_path / "mpirun"
    program.write_text(
        '#!/bin/sh\n[ "$*" = --version ] && echo "mpirun (Open MPI) 4.0.1"; echo "(Open MPI) 9.9" >&2; exit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = open_mpi()
    assert (found.version, found.major) == ("4.0.1", 4)
    assert found.why == "the mpirun on PATH is of Open MPI 4.0.1"
    assert open_mpi({"PATH": "/nowhere"}).why == "no mpirun of Open MPI is on PATH: taken for Open MPI 5.0"
