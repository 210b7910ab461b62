# SPDX-License-Identifier: BSD-3-Clause
"""likwid's answers compared with our reader of its expressions."""

from collections.abc import Mapping
from typing import Any

from nodewise.base.errors import InputError
from nodewise.placement.dialects.likwid import read_likwid
from tests.placement.runtimes.mpirun5 import machine_of


def difference(answer: Mapping[str, Any], version: str = "") -> str | None:
    """How our reading differs from an answer that a version gave, in words; None where it does not."""
    real = answer["processors"]
    try:
        read, notes = read_likwid(machine_of(answer["machine"]), answer["text"])
    except InputError as problem:
        # an offset with which likwid reads what lies beyond the domain is refused, and what only one version takes
        reported = "offset" in problem.what or (version in ("", "5.4.1") and "likwid 5.4 takes" in problem.what)
        return None if reported or real in (None, "beyond") else f"{answer}: {problem.what}"
    versions = ("", "5.5.1")
    if any("past the end of its list" in n and (version in versions or "likwid 5.5 runs" not in n) for n in notes):
        # what it finds there is not foreseeable
        return None
    if real == "beyond":
        return f"{answer}: it is not warned of"
    if any("likwid 5.4 takes" in note for note in notes) and version in ("", "5.4.1"):
        return None if version == "" or read != real else f"{answer}: 5.4.1 takes it as others do"
    return None if read == real else f"{answer}: {read}"
