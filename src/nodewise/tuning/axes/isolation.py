# SPDX-License-Identifier: BSD-3-Clause
"""The axis of isolation: a plain process, and the containers and virtual machines that work here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from nodewise.base.errors import InputError, UnavailableError
from nodewise.isolation.kind import Kind, all_kinds, kind_of
from nodewise.isolation.prepare import check_rankable
from nodewise.isolation.probe import working_way
from nodewise.runner.isolation import PROCESS, Isolation, read_isolation
from nodewise.search.space import Axis
from nodewise.tuning.known import KnownAxis, Surroundings
from nodewise.tuning.option import Draft, Option


def isolated_by(texts: Sequence[str]) -> Isolation | None:
    """What all settings are isolated by, where that is no axis. Raises what `check_rankable` does, and InputError for several."""
    if len(texts) > 1:
        raise InputError("several kinds of --isolation are named", "name the axis, too: --axes isolation")
    found = read_isolation(texts[0]) if texts else None
    check_rankable(found)
    return found


def isolation_option(texts: Sequence[str], ranked: bool) -> Option:
    """The axis over the `texts`, each beside a plain process; without any, over all kinds that work here unemulated.

    Raises InputError where there is nothing to choose or one is emulated, UnavailableError for a kind that is named and does not work.
    """
    if ranked:
        raise InputError(
            "the axis isolation is of programs that start no ranks", "isolate each rank by `nodewise place --isolation`"
        )
    named = [text for text in texts if text != PROCESS]
    for text in named:
        check_rankable(read_isolation(text))
    values = (PROCESS, *(named or _working()))
    if len(values) == 1:
        raise InputError("no kind of isolation works here", "`nodewise doctor` says what each needs")
    return Option(Axis("isolation", values, values, PROCESS), _set, _about)


def _working() -> list[str]:
    return [name for name, kind in all_kinds().items() if kind.start is not None and _works_unemulated(kind)]


def _works_unemulated(kind: Kind) -> bool:
    """Whether a kind works in one of the ways that can be timed; the others are not started, which takes an emulated guest seconds."""
    with suppress(UnavailableError):
        return not working_way(kind, emulated=False).emulated
    return False


def _set(draft: Draft, value: Any, point: Mapping[str, Any]) -> None:
    del point
    draft.isolation = read_isolation(str(value))


def _make(around: Surroundings) -> Option:
    return isolation_option(around.wanted.isolation, around.holding.ranked is not None)


def _about(value: Any) -> str:
    one = read_isolation(str(value))
    kind = kind_of(PROCESS if one is None else one.kind)
    return f"runs as a {kind.title}" if one is None else f"runs in {kind.title}"


AXIS = KnownAxis("isolation", _make, order=70)
