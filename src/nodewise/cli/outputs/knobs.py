# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise knobs --json` prints, of the catalogue and of a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from nodewise.base.frozen import dataclass
from nodewise.runner.loaded import Loaded
from nodewise.tuning.catalogue.knob import Follower, Knob, Library
from nodewise.tuning.catalogue.priority import Prioritized


@dataclass(frozen=True)
class CatalogueOutput:
    """Every library that the catalogue knows, with its knobs."""

    libraries: tuple[Library, ...]


@dataclass(frozen=True)
class KnobOutput(Knob):
    """A knob with the `share` of a run's time that it bears on (None: not known), and whether and why tune tries it."""

    share: float | None = None
    tried: bool = False
    reason: str = ""


@dataclass(frozen=True)
class KnobsOutput:
    """What a command loads, and what can be set of it.

    `libraries` are the names of those of the catalogue that it loads, with their `versions`; `chosen` is by knob what a
    library said that it takes by itself; `tried` are the names of the knobs that tune tries by itself.
    """

    loaded: Loaded
    libraries: tuple[str, ...]
    chosen: Mapping[str, str]
    versions: Mapping[str, str]
    knobs: tuple[KnobOutput, ...]
    followers: tuple[Follower, ...]
    tried: tuple[str, ...]


def knob_output(prioritized: Prioritized) -> KnobOutput:
    """A knob with what was found of it."""
    plain = {f.name: getattr(prioritized.knob, f.name) for f in fields(Knob)}
    return KnobOutput(**plain, share=prioritized.share, tried=prioritized.tried, reason=prioritized.reason)
