# SPDX-License-Identifier: BSD-3-Clause
"""Whether a study keeps the contract that all studies keep, of a folder of its user's own, too."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

from nodewise.base.errors import NodewiseError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.studies.discovery import Found, find_study
from nodewise.studies.rules import Rule, contract
from nodewise.tuning.known_axes import axis_names


@dataclass(frozen=True)
class Checked:
    """A rule of the contract, and what is wrong with the study by it: nothing where it holds."""

    demands: str
    faults: tuple[str, ...]


def check_study(name: str) -> Iterator[Checked]:
    """Hold the study of that name, or in that folder, to each rule; one result as soon as it is known.

    Raises InputError for what is no study or does not compile, UnavailableError where a tool for it is missing.
    """
    found = find_study(name)
    for rule in contract(axis_names()):
        yield Checked(rule.demands, tuple(_faults(rule, found)))


def _faults(rule: Rule, found: Found) -> Iterator[str]:
    """The faults; what the study's own Python raises is one of them."""
    try:
        yield from rule.faults(found)
    except UnavailableError:
        raise
    except NodewiseError as problem:
        # what one rule cannot be asked of does not keep the others from being asked
        yield problem.what
    except Exception as problem:
        own = [f for f in traceback.extract_tb(problem.__traceback__) if Path(f.filename).is_relative_to(found.folder)]
        where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
        yield f"{type(problem).__name__}: {problem}{where}"
