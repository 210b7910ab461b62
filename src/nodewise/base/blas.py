# SPDX-License-Identifier: BSD-3-Clause
"""Keeps NumPy's own threads out of the way: small matrices gain nothing by them, and the program measured would feel them."""

from __future__ import annotations

import contextlib
import ctypes
from functools import cache
from pathlib import Path

_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
)


@cache
def use_one_thread() -> bool:
    """Hold the BLAS that NumPy has loaded to one thread in this process; whether one was found that allows it.

    By a call, not by a variable of the environment, which programs started later would inherit.
    """
    found = False
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/maps").read_text().splitlines()
        paths = dict.fromkeys(line[line.index("/") :] for line in lines if "/" in line)
        for path in paths:
            name = path.rpartition("/")[2]
            if "openblas" in name or "libmkl_rt" in name or "libblas" in name:
                found |= _limit(path)
    return found


def _limit(path: str) -> bool:
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(path)
        for setter in _SETTERS:
            if hasattr(library, setter):
                getattr(library, setter)(1)
                return True
    return False
