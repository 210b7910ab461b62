# SPDX-License-Identifier: BSD-3-Clause
"""Render: a Placement written in a dialect, as variables, words before the program, and files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from itertools import product

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.placement.dialects.aprun import write_aprun
from nodewise.placement.dialects.gnu import apply_gnu, write_gomp
from nodewise.placement.dialects.hwloc import write_hwloc
from nodewise.placement.dialects.kmp_affinity import apply_affinity, read_affinity, write_kmp
from nodewise.placement.dialects.kmp_subset import apply_subset, read_subset
from nodewise.placement.dialects.likwid import write_likwid
from nodewise.placement.dialects.masks import write_numactl, write_taskset
from nodewise.placement.dialects.mpich import write_mpich
from nodewise.placement.dialects.openmp import apply_places, openmp_environment, read_places
from nodewise.placement.dialects.openmpi import write_openmpi
from nodewise.placement.dialects.rendering import BINDING_VARIABLES, NotExpressibleError, Rendering
from nodewise.placement.dialects.slurm import write_slurm
from nodewise.placement.job import within
from nodewise.placement.layers import layers_of
from nodewise.placement.placement import Placement


def _write_omp(machine: Machine, places: Sequence[tuple[int, ...]]) -> Rendering:
    return Rendering(openmp_environment(places))


#: Dialects that place the threads of one process.
PROCESS: dict[str, Callable[[Machine, Sequence[tuple[int, ...]]], Rendering]] = {
    "omp": _write_omp,
    "kmp": write_kmp,
    "gomp": write_gomp,
    "taskset": write_taskset,
    "numactl": write_numactl,
    "likwid": write_likwid,
    "hwloc": write_hwloc,
}
#: Dialects of launchers, that place the ranks of a job.
JOB: dict[str, Callable[[Machine, Placement, Sequence[str]], Rendering]] = {
    "slurm": write_slurm,
    "openmpi": write_openmpi,
    "mpich": write_mpich,
    "aprun": write_aprun,
}
DIALECTS = (*PROCESS, "subset", *JOB)

#: The variables by which launchers give a process its number among those of its node.
LOCAL_RANK = (
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "SLURM_LOCALID",
    "PALS_LOCAL_RANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
)


def render(dialect: str, machine: Machine, placement: Placement, hosts: Sequence[str] = ()) -> Rendering:
    """The placement written in a dialect. A process's dialect for several ranks becomes a script that each rank is started through.

    Raises NotExpressibleError with the reason where the dialect cannot express it, InputError for an unknown dialect or hosts
    that do not match the nodes.
    """
    if dialect not in DIALECTS:
        raise InputError(f"unknown dialect: {dialect!r}", f"known are: {', '.join(DIALECTS)}")
    if hosts and len(hosts) != placement.nodes:
        raise InputError(f"{len(hosts)} hosts are named for {placement.nodes} nodes", "name one for each node")
    outside = set(placement.mask) - set(machine.allowed)
    if outside and dialect != "gomp":
        raise NotExpressibleError(
            dialect,
            f"processors {format_processors(outside)} are outside of what this process may use, where GNU's runtime alone binds "
            "threads, by GOMP_CPU_AFFINITY",
        )
    if dialect in JOB:
        return _with_threads(dialect, machine, placement, JOB[dialect](machine, placement, hosts))
    write = write_subset if dialect == "subset" else PROCESS[dialect]
    if len(placement.by_rank) == 1:
        return write(machine, placement.places)
    return _wrapper([write(machine, places) for places in placement.by_rank])


def _wrapper(rendering: Sequence[Rendering]) -> Rendering:
    """A shell script that starts its arguments as the rank's own rendering has it."""
    notes = dict.fromkeys(note for one in rendering for note in one.notes)
    script = _script([_as_lines(one) for one in rendering], [f"unset {' '.join(BINDING_VARIABLES)}"])
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
    return _script(lines, [f"unset {' '.join(BINDING_VARIABLES)}"] if openmp else [])


def _as_lines(rendering: Rendering) -> list[str]:
    lines = [f"    export {k}={shlex.quote(v)}" for k, v in rendering.env.items()]
    return [*lines, f'    set -- {shlex.join(rendering.words)} "$@"'] if rendering.words else lines


def _script(by_rank: Sequence[Sequence[str]], first: Sequence[str]) -> str:
    """A script that does what its rank is to do and then becomes its arguments."""
    chain = "0" if len(by_rank) == 1 else ""
    for name in reversed(LOCAL_RANK):
        chain = f"${{{name}{':-' + chain if chain else ''}}}"
    lines = ["#!/bin/sh", "# Starts a program with the placement of its rank: mpirun … ./place-rank.sh program"]
    lines += [*first, f"rank={chain}", 'case "$rank" in']
    for rank, of_rank in enumerate(by_rank):
        lines += [f"{rank})", *of_rank, "    ;;"]
    lines += [
        "*)",
        f'    echo "place-rank.sh: no rank among 0 to {len(by_rank) - 1} in {", ".join(LOCAL_RANK)}" >&2',
        "    exit 2",
        "    ;;",
    ]
    return "\n".join([*lines, "esac", 'exec "$@"']) + "\n"


def _with_threads(dialect: str, machine: Machine, placement: Placement, rendering: Rendering) -> Rendering:
    """What a launcher is given, with the OpenMP setting that places the threads within each rank's zone."""
    threads = {len(places) for places in placement.by_rank}
    count = {"OMP_NUM_THREADS": str(threads.pop())} if len(threads) == 1 else {}
    floating = all(
        place == zone for places, zone in zip(placement.by_rank, placement.zones, strict=True) for place in places
    )
    if floating or dialect == "aprun":
        return Rendering({**rendering.env, **count}, rendering.words, rendering.files, rendering.notes)
    env = common_openmp(machine, placement)
    if env is not None:
        return Rendering({**rendering.env, **count, **env}, rendering.words, rendering.files, rendering.notes)
    script = render("omp", machine, placement) if len(placement.by_rank) > 1 else _write_omp(machine, placement.places)
    notes = (
        (
            *rendering.notes,
            "no one OpenMP setting places the threads of all ranks: each is started through place-rank.sh",
        )
        if script.files
        else rendering.notes
    )
    return Rendering(
        {**rendering.env, **script.env}, (*rendering.words, *script.words), {**rendering.files, **script.files}, notes
    )


def common_openmp(machine: Machine, placement: Placement) -> dict[str, str] | None:
    """One OMP_PLACES and OMP_PROC_BIND that place the threads of every rank within its zone, by every runtime; or None."""
    parts = {zone: within(machine, zone) for zone in placement.zones}
    layers = {zone: layers_of(part) for zone, part in parts.items()}
    for kind, bind in product(
        ("cores", "threads", "ll_caches", "numa_domains", "sockets"), ("close", "spread", "primary")
    ):
        places = read_places(kind)
        if all(
            apply_places(layers[zone], places, bind, len(asked)).places == asked
            and apply_gnu(parts[zone], len(asked), kind, None, bind).places == asked
            for zone, asked in zip(placement.zones, placement.by_rank, strict=True)
        ):
            return {"OMP_PLACES": kind, "OMP_PROC_BIND": bind}
    return None


def write_subset(machine: Machine, places: Sequence[tuple[int, ...]]) -> Rendering:
    """KMP_HW_SUBSET with a KMP_AFFINITY type, where they place threads so; raises NotExpressibleError where they do not."""
    mask = {p for place in places for p in place}
    cores = [c.pus for c in machine.allowed_cores]
    used = [i for i, core in enumerate(cores) if mask & set(core)]
    per_core = max((len(mask & set(core)) for core in cores), default=0)
    text = f":{len(used)}c{f'@{used[0]}' if used and used[0] else ''},{per_core}t"
    layers, notes = apply_subset(layers_of(machine), read_subset(text))
    if notes or {row.processor for row in layers.rows} != mask:
        raise NotExpressibleError(
            "KMP_HW_SUBSET", "its processors are not the same hardware threads of neighbouring cores"
        )
    for kind, fine in product(("compact", "scatter", "balanced", "compact,1", "none"), ("fine", "core")):
        affinity = f"granularity={fine},{kind}" if kind != "none" else "none"
        if apply_affinity(layers, read_affinity(affinity), len(places)).places == tuple(places):
            env = {"OMP_NUM_THREADS": str(len(places)), "KMP_HW_SUBSET": text, "KMP_AFFINITY": affinity}
            older, _ = apply_subset(layers_of(machine, native=True), read_subset(text), strict=True)
            same = {row.processor for row in older.rows} == mask
            readers = (
                "Intel's and LLVM's runtimes"
                if same
                else "Intel's runtime and LLVM's from 19 on, otherwise by older ones"
            )
            return Rendering(env, notes=(f"read by {readers}; GNU's does not know it",))
    raise NotExpressibleError(
        "KMP_HW_SUBSET", "no type of KMP_AFFINITY puts its threads so within the subset; --to kmp lists them"
    )
