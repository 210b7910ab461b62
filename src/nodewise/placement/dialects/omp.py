# SPDX-License-Identifier: BSD-3-Clause
"""omp: OMP_PLACES and OMP_PROC_BIND, OpenMP's own, which every runtime reads."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from itertools import product
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Places, Silence, Text
from nodewise.placement.layers import layers_of
from nodewise.placement.openmp.gnu import apply_gnu
from nodewise.placement.openmp.gnu_text import read_gnu_places
from nodewise.placement.openmp.lengths import overlong
from nodewise.placement.openmp.places import apply_places, openmp_environment, read_bind, read_places
from nodewise.placement.openmp.runtimes import OPENMP, RUNTIMES, read_levels
from nodewise.placement.rendering import Rendering

if TYPE_CHECKING:
    from nodewise.placement.placement import PlaceList
    from nodewise.placement.resolve import Request

_BINDS = {
    "false": "threads are not bound",
    "true": "threads are bound; how they are dealt out is the runtime's choice (Intel: spread, GNU: close)",
    "primary": "all threads share the first thread's place",
    "close": "threads take neighbouring places in order",
    "spread": "threads are dealt out evenly over the places",
}


def write_omp(machine: Machine, places: Places) -> Rendering:
    """`OMP_PLACES` with a list of the places, which threads take in order.

    A note says where Intel's runtime, of a part of a machine, would take processors for one another.
    """
    together = [{row.processor for row in group} for group in layers_of(machine).groups(0) if len(group) > 1]
    lost = sorted({p for group in together for place in places if not group <= set(place) for p in group & set(place)})
    notes = (
        f"of what is allowed here Intel's runtime does not tell processors {format_processors(lost)} apart: it binds a thread of "
        "one of them to others, too",
    )
    env = openmp_environment(places)
    if overlong(env):
        env |= _by_name(machine, places)
    return Rendering(env, notes=notes if lost else ())


def _by_name(machine: Machine, places: Places) -> dict[str, str]:
    """The two variables with the name of a kind of object, where every runtime so places threads just as the list does."""
    layers = [layers_of(machine), layers_of(machine, native=True)]
    threads, asked = (len(places),), tuple(places)
    for kind, bind in product(("cores", "threads", "sockets"), ("close", "spread")):
        named = read_places(kind)
        if apply_gnu(machine, threads, kind, None, bind).places == asked and all(
            apply_places(one, named, (bind,), threads).places == asked for one in layers
        ):
            return {"OMP_PLACES": kind, "OMP_PROC_BIND": bind}
    return {}


def write_familiar(machine: Machine, places: Places) -> Rendering | None:
    """`OMP_PLACES=cores` and the like, where every runtime makes just these places of it on this machine, None elsewhere.

    A name stands for what the process may use when it starts: only on a machine of which all may be used is that known now.
    """
    if set(machine.allowed) != set(machine.pus):
        return None
    named = _by_name(machine, places)
    return Rendering({"OMP_NUM_THREADS": str(len(places)), **named}) if named else None


def write_teams(machine: Machine, places: Places, levels: tuple[int, ...], inner: PlaceList | None) -> Rendering:
    """The same for threads of nested teams; where their sizes are not known, what the runtime has for them."""
    return Rendering(openmp_environment(places, levels, inner))


def _check(request: Request) -> None:
    if (text := request.texts.get("max_active_levels")) is not None:
        read_levels(text)


def _explain(machine: Machine, request: Request) -> list[str]:
    """Of what GNU's runtime refuses, a note has what it does instead."""
    gnu = request.runtime == "gnu"
    sentences = []
    with suppress(InputError) if gnu else nullcontext():
        if (text := request.texts.get("places")) is not None:
            places = read_gnu_places(text) if gnu else read_places(text, request.runtime)
            kind = f"each of the {places.kind.replace('_', ' ')}s" if places.kind else "each entry of the list"
            limit = f", the first {places.limit}" if places.limit else ""
            sentences.append(f"OMP_PLACES={text}: {kind} is a place{limit}.")
    with suppress(InputError) if gnu else nullcontext():
        if (text := request.texts.get("bind")) is not None:
            outer, *inner = read_bind(text)
            sentences.append(f"OMP_PROC_BIND={text}: {_BINDS[outer]}.")
            sentences += [f"Level {level} of nested teams: {_BINDS[bind]}." for level, bind in enumerate(inner, 2)]
    return sentences


DIALECT = Dialect(
    name="omp",
    texts=(
        Text(
            "places",
            "OMP_PLACES, such as cores or {0:4}:8:4.",
            variable="OMP_PLACES",
            read=read_places,
            runtimes=tuple(RUNTIMES),
        ),
        Text(
            "bind",
            "OMP_PROC_BIND, such as close or spread.",
            variable="OMP_PROC_BIND",
            read=read_bind,
            runtimes=tuple(RUNTIMES),
        ),
        # no variable that binds: one that a program was started with stays
        Text(
            "max_active_levels",
            "OMP_MAX_ACTIVE_LEVELS: on how many levels teams are more than one thread.",
            read=read_levels,
            runtimes=tuple(RUNTIMES),
            binds=False,
            counts=True,
        ),
    ),
    threads=OPENMP,
    compatible=("kmp", "gomp"),
    write_process=write_omp,
    write_teams=write_teams,
    write_familiar=write_familiar,
    check=_check,
    explain=_explain,
    silences=(Silence("places", ("gomp",), ("gnu",)),),
)
