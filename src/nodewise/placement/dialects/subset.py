# SPDX-License-Identifier: BSD-3-Clause
"""subset: KMP_HW_SUBSET and the older KMP_PLACE_THREADS, with which Intel's and LLVM's runtimes use a part of the machine."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Dialect, Places, Text
from nodewise.placement.layers import layers_of
from nodewise.placement.openmp.affinity import apply_affinity, read_affinity
from nodewise.placement.openmp.runtimes import KMP, OPENMP, check_kmp
from nodewise.placement.openmp.subset import apply_subset, read_subset
from nodewise.placement.rendering import NotExpressibleError, Rendering

if TYPE_CHECKING:
    from nodewise.placement.resolve import Request


def write_subset(machine: Machine, places: Places) -> Rendering:
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
            newer = "Intel's runtime and LLVM's from 19 on; older ones of LLVM read it differently"
            readers = "Intel's and LLVM's runtimes" if same else newer
            return Rendering(env, notes=(f"read by {readers}; GNU's does not know it",))
    raise NotExpressibleError(
        "KMP_HW_SUBSET", "no type of KMP_AFFINITY puts its threads so within the subset; --to kmp lists them"
    )


def _check(request: Request) -> None:
    if len(DIALECT.given(request)) > 1:
        raise InputError("KMP_HW_SUBSET and KMP_PLACE_THREADS are both given", "they are one setting: name one")
    check_kmp(request)


def _explain(machine: Machine, request: Request) -> list[str]:
    subset = request.texts[DIALECT.given(request)[0].name]
    return [f"The subset {subset} takes a part of the machine; what it leaves out is not used at all."]


DIALECT = Dialect(
    name="subset",
    texts=(
        Text(
            "subset",
            "KMP_HW_SUBSET, such as 2s,8c,1t or 15c@30,4t.",
            variable="KMP_HW_SUBSET",
            read=read_subset,
            runtimes=KMP,
            binds=False,
        ),
        Text(
            "place_threads",
            "The older KMP_PLACE_THREADS, such as 15Cx4T,30O.",
            variable="KMP_PLACE_THREADS",
            runtimes=KMP,
            binds=False,
        ),
    ),
    threads=OPENMP,
    write_process=write_subset,
    check=_check,
    explain=_explain,
)
