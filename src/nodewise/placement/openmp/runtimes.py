# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP's runtimes: which are modelled, and where each puts threads for all that it reads together."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.placement.dialect import Outcome, ThreadReader
from nodewise.placement.layers import Layers, layers_of
from nodewise.placement.openmp.affinity import Affinity, apply_affinity, read_affinity, read_kmp_gomp
from nodewise.placement.openmp.gnu import apply_gnu
from nodewise.placement.openmp.gnu_text import read_gomp
from nodewise.placement.openmp.lengths import longest, overlong
from nodewise.placement.openmp.places import Places, apply_places, processors_of_count, read_bind, read_places
from nodewise.placement.openmp.subset import Subset, apply_subset, read_subset

if TYPE_CHECKING:
    from nodewise.machine.model import Machine
    from nodewise.placement.resolve import Request

_PLACE_THREADS = (
    "today's runtimes ignore KMP_PLACE_THREADS: modelled is what it meant; to have it so, set KMP_HW_SUBSET={}"
)
_LEVELS = "OMP_PROC_BIND names nested levels: shown are the threads of the outermost region; --threads {},N shows teams of N within them"


@dataclass(frozen=True)
class Runtime:
    """A runtime by the name that `--runtime` takes; `whose` it is, and how the libraries are called that are modelled by it."""

    name: str
    whose: str
    libraries: tuple[str, ...] = ()


#: LLVM's from 19 on is as Intel's; its library does not say its version, and is taken for that.
RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        Runtime("intel", "Intel's", ("libiomp5", "libomp")),
        Runtime("llvm", "LLVM's"),
        Runtime("gnu", "GNU's", ("libgomp",)),
    )
}
#: Those that read KMP_ variables.
KMP = ("intel", "llvm")


def whose(names: Collection[str]) -> str:
    """`Intel's and LLVM's`."""
    return " and ".join(RUNTIMES[name].whose for name in names)


def active(request: Request, levels: Sequence[int]) -> tuple[Request, list[str]]:
    """A request for teams of so many threads by level, as far as OMP_MAX_ACTIVE_LEVELS has it, and notes.

    Beyond as many levels with several threads teams are of one. Raises InputError for what is no number.
    """
    text = request.texts.get("max_active_levels")
    if text is None:
        return request.nested(levels), []
    most = read_levels(text)
    kept: list[int] = []
    for threads in levels:
        kept.append(threads if sum(n > 1 for n in kept) < most else 1)
    notes = [f"OMP_MAX_ACTIVE_LEVELS={text.strip()}: teams of further levels are of one thread"]
    return request.nested(kept), notes if kept != [*levels] else []


def read_levels(text: str) -> int:
    """Read a value of OMP_MAX_ACTIVE_LEVELS. Raises InputError where the runtimes refuse it."""
    if not re.fullmatch(r"\s*\+?[0-9]{1,9}\s*", text):
        raise InputError(f"OMP_MAX_ACTIVE_LEVELS={text!r} is no number of levels", "give a number, such as 2")
    return int(text)


def check_kmp(request: Request) -> None:
    """Raises InputError where GNU's runtime is to read a variable of Intel's."""
    if request.runtime == "gnu":
        raise InputError(
            "GNU's OpenMP runtime reads no KMP_ variable", "leave out --runtime gnu, or use --places and --bind"
        )


def _place(machine: Machine, threads: int, request: Request) -> Outcome | None:
    """Where the threads of the innermost parallel region that the request counts go; None where no text does."""
    found = _placed(machine, request.levels or (threads,), request)
    unread = "gomp" in request.texts and request.runtime != "gnu"
    if found is not None and not request.levels and "," in request.texts.get("bind", "") and not unread:
        return replace(found, notes=(*found.notes, _LEVELS.format(threads)))
    return found


def _placed(machine: Machine, levels: tuple[int, ...], request: Request) -> Outcome | None:
    given, cut = _as_far_as_read(request)
    threads = prod(levels)
    if not {"places", "bind", "affinity", "gomp", "subset", "place_threads"} & given.keys():
        return None
    if request.runtime == "gnu":
        return apply_gnu(machine, levels, given.get("places"), given.get("gomp"), given.get("bind"))
    try:
        places, binds, affinity = _read(given, request.runtime)
    except InputError as problem:
        if cut:
            raise InputError(cut[0], f"write it shorter, or in several parts: {problem.what[-80:]}") from None
        raise
    if affinity is not None and affinity.type == "disabled":
        # so that one that is spelt wrong does not matter
        named = "subset" in given or "place_threads" in given
        unread = ("KMP_AFFINITY=disabled: the runtime does not read KMP_HW_SUBSET either",) if named else ()
        return Outcome((tuple(sorted(machine.allowed)),) * threads, unread)
    subset = _subset(request)
    layers, notes = _part(machine, request, subset, respect=affinity is None or affinity.respect)
    notes = (*cut, *notes)
    if "place_threads" in given:
        notes = (_PLACE_THREADS.format(subset), *notes)
    # without a type it leaves the places to OpenMP's own variables, where those are set
    if affinity is not None and (affinity.typed or (places is None and not binds)):
        if len(levels) > 1 and affinity.type != "none":
            raise InputError(
                f"{'GOMP_CPU_AFFINITY' if 'gomp' in given else 'KMP_AFFINITY'} binds threads in the order in which the runtime made them, and inner teams are made in any order: "
                "where their threads go differs from run to run",
                "place nested teams by --places and --bind, such as --places cores --bind spread,close",
            )
        outcome = apply_affinity(layers, affinity, threads)
    else:
        granularity = None if affinity is None else affinity.granularity
        outcome = apply_places(layers, places, binds, levels, granularity)
    return replace(outcome, notes=(*notes, *outcome.notes))


def _read(given: Mapping[str, str], runtime: str) -> tuple[Places | None, tuple[str, ...], Affinity | None]:
    """What Intel's or LLVM's runtime takes from the texts; GOMP_CPU_AFFINITY goes before OpenMP's own variables."""
    if "gomp" in given:
        return None, (), read_kmp_gomp(given["gomp"], runtime)
    return (
        read_places(given["places"], runtime) if "places" in given else None,
        read_bind(given["bind"]) if "bind" in given else (),
        read_affinity(given["affinity"], runtime) if "affinity" in given else None,
    )


def _as_far_as_read(request: Request) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The texts without what Intel's runtime cuts off, and a note for each that it does."""
    if request.runtime != "intel":
        return request.texts, ()
    texts, notes = dict(request.texts), []
    for name, variable in (("places", "OMP_PLACES"), ("bind", "OMP_PROC_BIND"), ("affinity", "KMP_AFFINITY")):
        most = longest(variable)
        if name in texts and most is not None and len(texts[name]) > most:
            notes += overlong({variable: texts[name]})
            texts[name] = texts[name][:most]
    return texts, tuple(notes)


def _subset(request: Request) -> Subset | None:
    if "subset" in request.texts:
        return read_subset(request.texts["subset"])
    if "place_threads" in request.texts:
        return read_subset(request.texts["place_threads"], "KMP_PLACE_THREADS")
    return None


def _part(machine: Machine, request: Request, subset: Subset | None, respect: bool) -> tuple[Layers, tuple[str, ...]]:
    """The layers as the runtime asked for sees them, of what its subset leaves."""
    llvm = request.runtime == "llvm"
    layers = layers_of(machine, respect, native=llvm)
    return (layers, ()) if subset is None else apply_subset(layers, subset, strict=llvm)


def _listed(machine: Machine, request: Request) -> int | None:
    if request.runtime == "gnu":
        with suppress(InputError):
            return len(read_gomp(request.texts["gomp"])) if "gomp" in request.texts else None
        return None
    return _unmasked(machine, request)


def _unmasked(machine: Machine, request: Request) -> int | None:
    """How many threads a runtime has that minds no mask: `disabled` and `norespect` count all processors of the machine."""
    if "affinity" not in request.texts:
        return None
    with suppress(InputError):
        affinity = read_affinity(request.texts["affinity"], request.runtime)
        if affinity.type == "disabled":
            return len(machine.pus)
        if not affinity.respect:
            return len(_part(machine, request, _subset(request), respect=False)[0].rows)
    return None


def _usable(machine: Machine, request: Request) -> int | None:
    subset = _subset(request)
    layers = _part(machine, request, subset, respect=True)[0]
    usable = None if subset is None else len(layers.rows)
    if request.runtime != "intel":
        return usable
    # Intel's counts the processors of so many cores, and those of a list not
    try:
        places, binds, affinity = _read(request.texts, "intel")
    except InputError:
        return usable
    if places is None or binds[:1] == ("false",) or (affinity is not None and affinity.typed):
        return usable
    counted = processors_of_count(layers, places)
    return usable if counted is None else counted


#: What the OpenMP runtimes make of the texts of all their dialects together.
OPENMP = ThreadReader(_place, _listed, _usable)
