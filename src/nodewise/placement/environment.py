# SPDX-License-Identifier: BSD-3-Clause
"""What the variables of a process ask for: which of them place its threads, and as which request."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.placement.openmp.runtimes import RUNTIMES
from nodewise.placement.registry import all_dialects, variable_texts
from nodewise.placement.resolve import Request


def heeded_environment(environment: Mapping[str, str], library: str) -> dict[str, str]:
    """The variables on placement that a process heeds, which has loaded this OpenMP runtime's library (empty: none)."""
    runtime = _runtime(library)
    texts = variable_texts()
    read = {
        name: value
        for name, text in texts.items()
        if (value := environment.get(name)) and (not text.runtimes or runtime in text.runtimes)
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
    return Request(runtime=_runtime(library), **{texts[name].name: value for name, value in heeded.items()})


def _runtime(library: str) -> str | None:
    return next((runtime.name for runtime in RUNTIMES.values() if library in runtime.libraries), None)
