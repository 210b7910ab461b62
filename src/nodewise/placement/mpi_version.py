# SPDX-License-Identifier: BSD-3-Clause
"""Which Open MPI an environment's mpirun is of: 4 and 5 place ranks by rules of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

#: The version whose rules hold where no Open MPI is found.
ASSUMED = "5.0"


class OpenMpi(NamedTuple):
    """A version such as `5.0.11`, and how it was found out, for the user."""

    version: str
    why: str

    @property
    def major(self) -> int:
        """Its first number."""
        return int(self.version.partition(".")[0])


def open_mpi(environment: Mapping[str, str] | None = None) -> OpenMpi:
    """The version of the mpirun that is found on PATH; `ASSUMED` where there is none, or where it is not Open MPI's."""
    import shutil

    path = shutil.which("mpirun", path=(os.environ if environment is None else environment).get("PATH", os.defpath))
    version = _version_of(path) if path is not None else None
    if version is not None:
        return OpenMpi(version, f"the mpirun on PATH is of Open MPI {version}")
    return OpenMpi(ASSUMED, f"no mpirun of Open MPI is on PATH: taken for Open MPI {ASSUMED}")


@cache
def _version_of(path: str) -> str | None:
    import subprocess

    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    # "mpirun (Open MPI) 4.1.4", and the same of 5
    found = re.search(r"\(Open MPI\) (\d+\.\d+[\w.]*)", answer.stdout)
    return found[1] if found else None
