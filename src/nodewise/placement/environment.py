# SPDX-License-Identifier: BSD-3-Clause
"""What the variables of a process ask for: which of them place its threads, and as which request."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.placement.openmp.runtimes import RUNTIMES
from nodewise.placement.registry import all_dialects, variable_texts
from nodewise.placement.resolve import Request


def asked_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Those variables that ask for a placement."""
    return {name: environment[name] for name in variable_texts() if environment.get(name)}


def heeded_environment(environment: Mapping[str, str], library: str) -> dict[str, str]:
    """Those that a process heeds which has loaded this OpenMP runtime (empty: none), by the beginning of its library's name."""
    runtime = _runtime(library)
    texts = variable_texts()
    read = {
        name: value
        for name, value in asked_environment(environment).items()
        if not texts[name].runtimes or runtime in texts[name].runtimes
    }
    given = {texts[name].name for name in read}
    lost = {
        loser
        for dialect in all_dialects()
        for silence in dialect.silences
        if silence.winner in given and (not silence.runtimes or runtime in silence.runtimes)
        for loser in silence.losers
    }
    return {name: value for name, value in read.items() if texts[name].name not in lost}


def environment_request(heeded: Mapping[str, str], library: str) -> Request:
    """The request that heeded variables make."""
    texts = variable_texts()
    return Request(runtime=_runtime(library) or "intel", **{texts[name].name: value for name, value in heeded.items()})


def _runtime(library: str) -> str | None:
    return next((runtime.name for runtime in RUNTIMES.values() if library in runtime.libraries), None)
