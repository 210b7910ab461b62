# SPDX-License-Identifier: BSD-3-Clause
"""A study's contenders as ranks: what a launcher starts, where each rank's threads sit, and who cannot take part."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.runner.family import families, starters_of
from nodewise.runner.mpi import family_in, find_launcher, library_for, start_words
from nodewise.runner.setting import Setting
from nodewise.studies.commands import Contender, rank_command
from nodewise.studies.discovery import Found, find_study, study_names
from nodewise.tuning.ranks import place_ranks, rank_wrapper, read_ranked, unbound, with_ranks

#: The folder of an experiment that has the scripts by which its ranks take their places.
_SCRIPTS = "launch"
_LIBRARY = "--library"


@dataclass(frozen=True)
class StudyRanks:
    """So many ranks, started by a launcher of that name, `per_node` on each node (0: as it deals them)."""

    launcher: str
    ranks: int
    per_node: int = 0


def asked_ranks(
    found: Found,
    launcher: str | None,
    ranks: int | None,
    per_node: int | None,
    environment: Mapping[str, str] = os.environ,
) -> StudyRanks | None:
    """The ranks that were asked for; None where none were. Raises InputError where the study or the launcher has none."""
    if launcher is None and ranks is None and per_node is None:
        return None
    if launcher is None or ranks is None:
        raise InputError(
            "--launcher and --ranks say together how ranks are started, and one of them is missing",
            "give both: --launcher mpich --ranks 2",
        )
    if found.study.joined is None:
        able = [name for name in study_names() if find_study(name).study.joined is not None]
        raise InputError(
            f"study {found.study.name} does not run over ranks",
            f"these do: {', '.join(able)}" if able else "leave --launcher and --ranks out",
        )
    start_words(launcher, ranks, per_node or 0, environment)
    return StudyRanks(launcher, ranks, per_node or 0)


def able_to_join(contender: Contender, ranks: StudyRanks, environment: Mapping[str, str]) -> Contender:
    """The contender, with the reason where it cannot take part in these ranks."""
    if contender.not_run is not None:
        return contender
    if "--variant" not in contender.command:
        return replace(contender, not_run="it runs in one process, not over ranks")
    if contender.library is not None and _LIBRARY in contender.command:
        file = contender.command[contender.command.index(_LIBRARY) + 1]
        family = families()[ranks.launcher]
        own = family_in(Path(file), environment)
        if own and family.libraries and own not in family.libraries:
            other = next((f.name for f in starters_of(own)), "")
            return replace(
                contender,
                not_run=f"its library is of {own}, the ranks of {family.title}"
                + (f": --launcher {other}" if other else ""),
            )
    return contender


def ranked_setting(
    setting: Setting,
    contender: Contender,
    machine: Machine,
    ranks: StudyRanks,
    threads: int,
    folder: Path,
    environment: Mapping[str, str] = os.environ,
) -> Setting:
    """A contender's setting in one process, as ranks with so many threads each in places of their own.

    `folder` is that of the experiment. Raises InputError where the launcher is not here.
    """
    family, _ = find_launcher(ranks.launcher, environment)
    library = library_for(family.name, environment)
    words = rank_command(setting.command, library, ranks.ranks, threads)
    start = start_words(ranks.launcher, ranks.ranks, ranks.per_node, environment)
    ranked = read_ranked([*start, *words])
    assert ranked is not None, "the launcher was found by its name"
    placement = None
    each = ranked.on_node(ranks.ranks, environment)
    if each * threads <= len(machine.allowed):
        placement = place_ranks(machine, "balanced", each, threads)
    wrapper: Sequence[str] = ()
    env = dict(setting.env)
    if placement is not None:
        wrapper = rank_wrapper(machine, placement, folder / _SCRIPTS, openmp=contender.kind != "peer")
        env |= unbound(ranked, {**environment, **env})
    command = tuple(ranked.command(ranks.ranks, wrapper))
    started = replace(setting, command=command, env=env, mask=None)
    started = with_ranks(started, environment)
    return replace(started, places=None if placement is None else placement.places)
