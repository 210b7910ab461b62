# SPDX-License-Identifier: BSD-3-Clause
"""How much of a variable Intel's runtime reads: 4096 characters of `NAME=value`; LLVM's 14 and GNU's read it all."""

from __future__ import annotations

from collections.abc import Mapping

#: Variables of which the rest is cut off; GOMP_CPU_AFFINITY is read whole.
_CUT = ("OMP_PLACES", "OMP_PROC_BIND", "KMP_AFFINITY", "KMP_HW_SUBSET")
_MOST = 4096


def longest(variable: str) -> int | None:
    """The most characters of a variable's value that Intel's runtime reads; None where it reads them all."""
    return _MOST - len(variable) - 1 if variable in _CUT else None


def overlong(env: Mapping[str, str]) -> list[str]:
    """For each value that Intel's runtime would not read to its end, a sentence that says so."""
    return [
        f"{name} is {len(value)} characters long, of which Intel's runtime reads the first {most}"
        for name, value in env.items()
        if (most := longest(name)) is not None and len(value) > most
    ]
