# SPDX-License-Identifier: BSD-3-Clause
"""Values that a shell completes: of what is registered, as the commands themselves know it. Each is asked for when a shell asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

#: What click asks for the values of a parameter: the context, the parameter and what is typed of the word.
Completer = Callable[["click.Context", "click.Parameter", str], list[str]]


def completer(values: Callable[[], Iterable[str]], *, listed: bool = False, first: bool = False) -> Completer:
    """Those of the values that begin as the word does; of a list with commas (`listed`) its last part, and of words only the `first`."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        if first and context.params.get(parameter.name or ""):
            return []
        before, comma, part = begun.rpartition(",") if listed else ("", "", begun)
        named = before.split(",")
        return [f"{before}{comma}{v}" for v in values() if v.startswith(part) and v not in named]

    return complete


def between_strokes(metavar: str | None) -> list[str]:
    """The values that an option's metavar names, as `auto|openmp|mask` does; none where it names kinds of values, in capitals."""
    parts = (metavar or "").split("|")
    return parts if len(parts) > 1 and all(p.replace("-", "").isalpha() and p.islower() for p in parts) else []


def policies() -> Iterable[str]:
    """What places threads by a word."""
    from nodewise.api.place import NAMED

    return NAMED


def dialects() -> Iterable[str]:
    """What a placement can be written in."""
    from nodewise.placement.registry import writers

    return writers()


def huge_pages() -> Iterable[str]:
    """What huge pages a program may be given."""
    from nodewise.placement.huge_pages import HUGE_PAGES

    return HUGE_PAGES


def axes() -> Iterable[str]:
    """What may be searched: the axes and the knobs of the catalogue."""
    from nodewise.tuning.catalogue.read import load_catalogue
    from nodewise.tuning.known_axes import axis_names

    return [*axis_names(), *(knob.name for library in load_catalogue() for knob in library.knobs)]


def studies() -> Iterable[str]:
    """The studies that are installed."""
    from nodewise.studies.discovery import study_names

    return study_names()


def forms() -> Iterable[str]:
    """What a launch script is written for."""
    from nodewise.jobs.script import all_forms

    return all_forms()


def launchers() -> Iterable[str]:
    """What starts ranks."""
    from nodewise.runner.family import families

    return families()
