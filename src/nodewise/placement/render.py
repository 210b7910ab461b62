# SPDX-License-Identifier: BSD-3-Clause
"""Render: a Placement written in a dialect, as variables, words before the program, and files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product

from nodewise.base.errors import InputError
from nodewise.base.meant import meant
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Places
from nodewise.placement.job import within
from nodewise.placement.layers import layers_of
from nodewise.placement.openmp.gnu import apply_gnu
from nodewise.placement.openmp.lengths import overlong
from nodewise.placement.openmp.places import apply_places, openmp_environment, read_places
from nodewise.placement.placement import PlaceList, Placement
from nodewise.placement.registry import binding_variables, local_rank_variables, writers
from nodewise.placement.rendering import NotExpressibleError, Rendering

#: What else writers' dialects are called.
_CALLED = {
    **dict.fromkeys(("openmp", "omp_places", "places"), "omp"),
    **dict.fromkeys(("libgomp", "gnu"), "gomp"),
    **dict.fromkeys(("intel", "kmp_affinity", "affinity"), "kmp"),
    **dict.fromkeys(("srun", "sbatch"), "slurm"),
    **dict.fromkeys(("mpirun", "orterun", "ompi"), "openmpi"),
    **dict.fromkeys(("mpiexec", "hydra"), "mpich"),
    **dict.fromkeys(("hwloc-bind",), "hwloc"),
    **dict.fromkeys(("likwid-pin",), "likwid"),
}


def render(
    dialect: str,
    machine: Machine,
    placement: Placement,
    hosts: Sequence[str] = (),
    runtime: str = "",
    alone: bool = True,
) -> Rendering:
    """The placement written in a dialect; a process's for several ranks becomes a script that each rank is started through.

    `runtime` is the OpenMP runtime that is to read it, where one is named: what Intel's would not read to its end is then an
    error, and else a note. Where it is not `alone` with its process, a launcher's words go with it, which may hold that to a part of the machine.
    Raises NotExpressibleError with the reason where the dialect cannot express it, InputError for an unknown dialect or hosts
    that do not match the nodes.
    """
    writer = writers().get(dialect)
    if writer is None and "," in dialect:
        raise InputError(
            f"{dialect!r} are several dialects", "one is written at a time: --to " + dialect.partition(",")[0]
        )
    if writer is None:
        raise InputError(
            f"unknown dialect: {dialect!r}{meant(dialect, writers(), _CALLED)}", f"known are: {', '.join(writers())}"
        )
    if hosts and len(hosts) != placement.nodes:
        raise InputError(
            f"{len(hosts)} host{' is' if len(hosts) == 1 else 's are'} named for {placement.nodes} node{'s' * (placement.nodes != 1)}",
            "name one for each node",
        )
    odd = next((host for host in hosts if not host.isprintable() or " " in host), None)
    if odd is not None:
        raise InputError(f"no name of a host: {odd!r}", "name hosts without blanks and line feeds")
    outside = set(placement.mask) - set(machine.allowed)
    if outside and not writer.outside:
        if writer.write_process is not None and set(placement.mask) <= set(machine.limits.cpuset):
            wide = render(dialect, within(machine, placement.mask), placement, hosts, runtime, alone)
            return wide if writer.replaces else _widened(wide, placement)
        raise NotExpressibleError(
            dialect,
            f"processors {format_processors(outside)} are outside of what this process may use, where threads are bound "
            f"only by: {', '.join(d.name for d in writers().values() if d.outside)}",
        )
    if writer.write_job is not None:
        if writer.with_threads and len(placement.levels) > 1:
            raise NotExpressibleError(dialect, "it places the threads of one team, and these are of teams within teams")
        launcher = writer.write_job(machine, placement, hosts)
        return _with_threads(machine, placement, launcher, alone=writer.with_threads, runtime=runtime)
    inner = placement.inner or (None,) * len(placement.by_rank)
    plain = len(placement.by_rank) == 1 and not (placement.levels or placement.inner)
    if alone and plain and writer.write_familiar is not None:
        found = writer.write_familiar(machine, placement.by_rank[0])
        if found is not None:
            return found
    of_ranks = [
        _whole(dialect, machine, places, _process(dialect, writer, machine, places, placement.levels, one), runtime)
        for places, one in zip(placement.by_rank, inner, strict=True)
    ]
    return of_ranks[0] if len(of_ranks) == 1 else _wrapper(of_ranks)


def _process(
    name: str, writer: Dialect, machine: Machine, places: Places, levels: tuple[int, ...], inner: PlaceList | None
) -> Rendering:
    assert writer.write_process is not None
    if (levels or inner is not None) and writer.write_teams is not None:
        return writer.write_teams(machine, places, levels, inner)
    if len(levels) > 1 and writer.mask is None:
        raise NotExpressibleError(name, "it places the threads of one team, and these are of teams within teams")
    found = writer.write_process(machine, places)
    if inner is None:
        return found
    return replace(found, notes=(*found.notes, "what OMP_PROC_BIND says of inner teams is written by --to omp alone"))


def _whole(dialect: str, machine: Machine, places: Places, written: Rendering, runtime: str) -> Rendering:
    """What was written, with a note where Intel's runtime cuts it off; an error where that is to read it."""
    cut = overlong(written.env) if runtime in ("", "intel") else []
    if not cut:
        return written
    way = ""
    if dialect == "omp" and not written.env.get("OMP_NUM_THREADS", "").count(","):
        with suppress(NotExpressibleError):
            shorter = writers()["kmp"].write_process
            way = "; --to kmp is shorter" if shorter and not overlong(shorter(machine, places).env) else ""
    # of what is written for Intel's runtime and LLVM's alone the first would throw all away
    if runtime == "intel" or dialect == "kmp":
        raise NotExpressibleError(
            dialect, cut[0] + (way if dialect != "kmp" else "; --runtime llvm writes it for that one")
        )
    return replace(written, notes=(*written.notes, *(one + way for one in cut)))


def _widened(written: Rendering, placement: Placement) -> Rendering:
    """What was written for a process that may use all of the placement's processors, where this one may not."""
    return replace(written, words=("taskset", "-c", format_processors(placement.mask), *written.words))


def launch_rendering(machine: Machine, placement: Placement, runtime: str = "") -> Rendering:
    """The placement of one process in the dialect that most programs read: OpenMP's own where it can express it."""
    outside = not set(placement.mask) <= set(machine.limits.cpuset or machine.allowed)
    names = [*(name for name, one in writers().items() if outside and one.outside), "omp"]
    for name in names:
        with suppress(NotExpressibleError):
            return render(name, machine, placement, runtime=runtime)
    return render("kmp", machine, placement, runtime=runtime)


def _wrapper(of_ranks: Sequence[Rendering]) -> Rendering:
    """A shell script that starts its arguments as the rank's own rendering says."""
    notes = dict.fromkeys(note for one in of_ranks for note in one.notes)
    script = _script([_as_lines(one) for one in of_ranks], _clearing())
    return Rendering(words=("./place-rank.sh",), files={"place-rank.sh": script}, notes=tuple(notes))


def place_rank_script(
    by_rank: Sequence[Sequence[tuple[int, ...]]], masks: Sequence[Sequence[int]], *, openmp: bool
) -> str:
    """A shell script that starts its arguments in the places of its rank's threads, by OpenMP's variables or none.

    With `masks`, one for each rank, it is held to those processors by taskset, where the system has that.
    """
    lines = [_as_lines(Rendering(openmp_environment(places))) if openmp else [] for places in by_rank]
    for of_rank, mask in zip(lines, masks, strict=False):
        of_rank.append(f"    ! command -v taskset >/dev/null || taskset -cp {format_processors(mask)} $$ >/dev/null")
    return _script(lines, _clearing() if openmp else [])


def _clearing() -> list[str]:
    return [f"unset {' '.join(binding_variables())}"]


def _as_lines(rendering: Rendering) -> list[str]:
    lines = [f"    export {k}={shlex.quote(v)}" for k, v in rendering.env.items()]
    return [*lines, f'    set -- {shlex.join(rendering.words)} "$@"'] if rendering.words else lines


def _script(by_rank: Sequence[Sequence[str]], first: Sequence[str]) -> str:
    """A script that sets up its rank and then becomes its arguments."""
    variables = local_rank_variables()
    chain = "0" if len(by_rank) == 1 else ""
    for name in reversed(variables):
        chain = f"${{{name}{':-' + chain if chain else ''}}}"
    lines = ["#!/bin/sh", "# Starts a program with the placement of its rank: mpirun … ./place-rank.sh program"]
    lines += [*first, f"rank={chain}", 'case "$rank" in']
    for rank, of_rank in enumerate(by_rank):
        lines += [f"{rank})", *of_rank, "    ;;"]
    lines += [
        "*)",
        f'    echo "place-rank.sh: no rank among 0 to {len(by_rank) - 1} in {", ".join(variables)}" >&2',
        "    exit 2",
        "    ;;",
    ]
    return "\n".join([*lines, "esac", 'exec "$@"']) + "\n"


def _with_threads(
    machine: Machine, placement: Placement, launcher: Rendering, *, alone: bool, runtime: str
) -> Rendering:
    """A launcher's rendering with the OpenMP setting that places the threads within each rank's zone, unless it does so alone."""
    threads = {len(places) for places in placement.by_rank}
    count = {"OMP_NUM_THREADS": str(threads.pop())} if len(threads) == 1 else {}
    if len(levels := placement.levels) > 1:
        count = {"OMP_NUM_THREADS": ",".join(map(str, levels)), "OMP_MAX_ACTIVE_LEVELS": str(len(levels))}
    floating = all(
        place == zone for places, zone in zip(placement.by_rank, placement.zones, strict=True) for place in places
    )
    nested = len(placement.levels) > 1 or any(placement.inner)
    common = {} if floating or alone else None if nested else common_openmp(machine, placement)
    if common is not None:
        return Rendering({**launcher.env, **count, **common}, launcher.words, launcher.files, launcher.notes)
    script = render("omp", machine, placement, runtime=runtime, alone=False)
    notes = (*launcher.notes, *(note for note in script.notes if "characters long" in note))
    if script.files:
        notes = (
            *notes,
            "no single OpenMP setting places the threads of all ranks: each is started through place-rank.sh",
        )
    env, files = {**launcher.env, **script.env}, {**launcher.files, **script.files}
    return Rendering(env, (*launcher.words, *script.words), files, notes)


def common_openmp(machine: Machine, placement: Placement) -> dict[str, str] | None:
    """One OMP_PLACES and OMP_PROC_BIND that place the threads of every rank within its zone, by every runtime; or None."""
    parts = {zone: within(machine, zone) for zone in placement.zones}
    layers = {zone: layers_of(part) for zone, part in parts.items()}
    for kind, bind in product(
        ("cores", "threads", "ll_caches", "numa_domains", "sockets"), ("close", "spread", "primary")
    ):
        places = read_places(kind)
        if all(
            apply_places(layers[zone], places, (bind,), (len(asked),)).places == asked
            and apply_gnu(parts[zone], (len(asked),), kind, None, bind).places == asked
            for zone, asked in zip(placement.zones, placement.by_rank, strict=True)
        ):
            return {"OMP_PLACES": kind, "OMP_PROC_BIND": bind}
    return None
