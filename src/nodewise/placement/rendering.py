# SPDX-License-Identifier: BSD-3-Clause
"""Rendering: a placement written in one dialect; and the error of a dialect that cannot express one."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from nodewise.base.arguments import checked
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors


class NotExpressibleError(InputError):
    """A placement that a dialect cannot express: `what` says why."""

    def __init__(self, dialect: str, why: str):
        super().__init__(f"{dialect} cannot express this placement: {why}", "name another dialect with --to")


@dataclass(frozen=True)
class Rendering:
    """Variables, words before the program, and files (name and contents) that those words name; notes for the user."""

    env: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def located(self, folder: Path) -> Rendering:
        """The same where its files lie in a folder, under the path as it is given. Raises InputError where a word cannot hold that path."""

        def moved(word: str) -> str:
            for name in self.files:
                path = str(folder / name)
                if word in (name, f"./{name}"):
                    return path if "/" in path else word
                before, named, after = word.partition(f":file={name}")
                if named and after[:1] in ("", ":"):
                    if ":" in path:
                        raise InputError(
                            f"{before} has no words for a path with a colon: {path}",
                            "name another directory for --files",
                        )
                    return f"{before}{named.removesuffix(name)}{path}{after}"
            return word

        return replace(self, env={k: moved(v) for k, v in self.env.items()}, words=tuple(map(moved, self.words)))

    @checked
    def line(self, command: Sequence[str] = ("PROGRAM",)) -> str:
        """The line to paste into a shell."""
        assigned = [f"{k}={shlex.quote(v)}" for k, v in self.env.items()]
        return " ".join([*assigned, shlex.join([*self.words, *command])])


def left_out(processors: Collection[int]) -> list[str]:
    """The note on processors that a text names and that cannot be used; none where there are none."""
    if not processors:
        return []
    one = len(set(processors)) == 1
    said = f"processor{'s' * (not one)} {format_processors(processors)} {'is' if one else 'are'}"
    return [f"{said} not there or not allowed: left out"]


def single(dialect: str, places: Sequence[tuple[int, ...]]) -> list[int]:
    """The one processor of each place; raises NotExpressibleError where a place has several."""
    wide = next((i for i, place in enumerate(places) if len(place) != 1), None)
    if wide is not None:
        raise NotExpressibleError(
            dialect,
            f"it binds a thread to one processor, and thread {wide} may use {format_processors(places[wide])}",
        )
    return [place[0] for place in places]


def common(dialect: str, places: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The set that all threads have; raises NotExpressibleError where they differ."""
    apart = next((i for i, place in enumerate(places) if place != places[0]), None)
    if apart is not None:
        raise NotExpressibleError(
            dialect,
            f"it holds all threads to one set, and thread 0 is to use {format_processors(places[0])}, "
            f"thread {apart} {format_processors(places[apart])}",
        )
    return places[0]
