# SPDX-License-Identifier: BSD-3-Clause
"""kmp: KMP_AFFINITY, of Intel's and LLVM's OpenMP runtimes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Places, Silence, Text, Trap
from nodewise.placement.layers import layers_of
from nodewise.placement.openmp.affinity import Affinity, apply_affinity, first_place, float_levels, read_affinity
from nodewise.placement.openmp.lengths import overlong
from nodewise.placement.openmp.runtimes import KMP, OPENMP, check_kmp
from nodewise.placement.placement import Placement
from nodewise.placement.rendering import NotExpressibleError, Rendering

if TYPE_CHECKING:
    from nodewise.placement.resolve import Request

_TYPES = {
    "none": "does not bind threads",
    "disabled": "switches the runtime's binding off altogether",
    "compact": "puts each thread as near as possible to the one before it, filling a core before the next",
    "scatter": "puts each thread as far as possible from the ones before it, going round sockets and cores",
    "balanced": "spreads threads over all cores, with consecutive numbers on the same core",
    "explicit": "binds threads to the entries of the proclist, in turn",
    "logical": "goes through the hardware threads in the machine's order",
    "physical": "goes through the cores, taking the first hardware thread of each before the second of any",
}


def write_kmp(machine: Machine, places: Places) -> Rendering:
    """`KMP_AFFINITY` with a list of the places, in braces where a thread may use several processors.

    Raises NotExpressibleError on a part of a machine whose single hardware threads the runtime does not distinguish. A list
    that is longer than Intel's runtime reads is written as a type, where one places threads so.
    """
    listed = ",".join(str(p[0]) if len(p) == 1 else "{" + ",".join(map(str, p)) + "}" for p in places)
    text = f"granularity=fine,proclist=[{listed}],explicit"
    if apply_affinity(layers_of(machine), read_affinity(text), len(places)).places != tuple(places):
        raise NotExpressibleError(
            "KMP_AFFINITY", "with only some processors allowed the runtime takes layers of this machine for one another"
        )
    notes = ("read by Intel's and LLVM's runtimes; GNU's does not know it",)
    if overlong({"KMP_AFFINITY": text}):
        layers = [layers_of(machine), layers_of(machine, native=True)]
        for kind, fine in product(("compact", "scatter", "balanced", "compact,1"), ("fine", "core")):
            typed = f"granularity={fine},{kind}"
            affinity = read_affinity(typed)
            if all(apply_affinity(one, affinity, len(places)).places == tuple(places) for one in layers):
                text = typed
                break
    env = {"OMP_NUM_THREADS": str(len(places)), "KMP_AFFINITY": text}
    return Rendering(env, notes=notes)


def _explain(machine: Machine, request: Request) -> list[str]:
    affinity = read_affinity(request.texts["affinity"], request.runtime)
    does = _TYPES[affinity.type]
    # what is filled first is another thing once the levels are permuted
    sentences = [f"KMP_AFFINITY of type {affinity.type} {does.partition(',')[0] if affinity.permute else does}."]
    return sentences if affinity.type in ("none", "disabled") else [*sentences, *_modifiers(machine, affinity)]


def _modifiers(machine: Machine, affinity: Affinity) -> list[str]:
    sentences = []
    layers = layers_of(machine, affinity.respect)
    levels, name, _ = float_levels(layers, affinity.granularity)
    if levels == 0:
        sentences.append("granularity=fine: a thread stays on its hardware thread.")
    else:
        size = max(len(g) for g in layers.groups(levels))
        default = "" if affinity.granularity is not None else ", which is the default"
        free = "is its only hardware thread" if size == 1 else f"has up to {size} hardware threads it may move among"
        sentences.append(
            f"granularity={name}{default}: a thread is held to its {name.replace('_', ' ')}, which {free}; fine usually wins."
        )
    if affinity.permute:
        sentences.append(
            f"permute {affinity.permute} takes the innermost {'level' if affinity.permute == 1 else f'{affinity.permute} levels'} of the "
            "machine as the outermost, so that neighbouring threads differ in the others first."
        )
    if affinity.offset:
        count = len(layers.rows)
        start = first_place(layers, affinity)
        sentences.append(f"Thread 0 starts at number {start} of {count} places.")
        if start >= count:
            sentences.append(
                f"The offset {start} is past the end of {count} places: counting starts over, at number {start % count}."
            )
    return sentences


def _traps(machine: Machine, placement: Placement, request: Request, environment: Mapping[str, str]) -> list[Trap]:
    if "norespect" not in request.texts.get("affinity", ""):
        return []
    return [
        Trap(
            "second layer",
            "norespect has the runtime bind over the mask that launcher or taskset gave the process",
            "use respect, which is the default",
        )
    ]


DIALECT = Dialect(
    name="kmp",
    texts=(
        Text(
            "affinity",
            "KMP_AFFINITY, such as granularity=fine,compact,1,0.",
            variable="KMP_AFFINITY",
            read=read_affinity,
            runtimes=KMP,
        ),
    ),
    threads=OPENMP,
    write_process=write_kmp,
    check=check_kmp,
    explain=_explain,
    traps=_traps,
    silences=(Silence("affinity", ("bind", "places", "gomp"), KMP),),
)
