# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher a command starts ranks by, and what keeps that one from binding them itself."""

from pathlib import Path

import pytest

from nodewise.tuning.ranks import read_ranked, unbound

OPEN_MPI_4 = {"OMPI_MCA_hwloc_base_binding_policy": "none"}
OPEN_MPI_5 = {"PRTE_MCA_hwloc_default_binding_policy": "none"}


@pytest.mark.parametrize(
    ("name", "file", "expected"),
    [
        ("mpirun", "orterun", OPEN_MPI_4),
        ("mpirun", "prterun", OPEN_MPI_5),
        ("mpiexec", "mpiexec.hydra", {}),
        ("mpirun", "a-script-of-the-site", OPEN_MPI_4 | OPEN_MPI_5),
        ("srun", "srun", {"SLURM_CPU_BIND": "none"}),
    ],
)
def test_a_launcher_is_kept_from_binding_by_the_file_that_its_name_leads_to(
    tmp_path: Path, name: str, file: str, expected: dict[str, str]
) -> None:
    (tmp_path / file).write_text("#!/bin/sh\n")
    (tmp_path / file).chmod(0o755)
    if name != file:
        (tmp_path / name).symlink_to(tmp_path / file)
    ranked = read_ranked([name, "-n", "2", "./app"])
    assert ranked is not None
    assert unbound(ranked, {"PATH": str(tmp_path)}) == expected


def test_options_of_one_launcher_are_not_those_of_another() -> None:
    hold = read_ranked(["srun", "-H", "-n", "2", "./app"])
    host = read_ranked(["mpirun", "-H", "here", "-n", "2", "./app"])
    assert hold is not None and hold.ranks == 2
    assert host is not None and host.ranks == 2 and host.program == ("./app",)
