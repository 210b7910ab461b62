# SPDX-License-Identifier: BSD-3-Clause
"""KMP_AFFINITY: its grammar, and where it puts threads.

Modelled is Intel's runtime (libiomp5), whose rules LLVM's libomp shares but for a few words; GNU's libgomp does not read this
variable. Both read GOMP_CPU_AFFINITY as an explicit list of single processors.
"""

from __future__ import annotations

from dataclasses import field

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.placement.dialect import Outcome
from nodewise.placement.layers import KINDS, Layers, Row
from nodewise.placement.openmp.balanced import balanced
from nodewise.placement.rendering import left_out
from nodewise.placement.scan import LONGEST_RANGE, Scanner

TYPES = ("none", "scatter", "compact", "logical", "physical", "explicit", "balanced", "disabled")
_SWITCHES = {
    "verbose": ("verbose", True),
    "noverbose": ("verbose", False),
    "warnings": ("warnings", True),
    "nowarnings": ("warnings", False),
    "respect": ("respect", True),
    "norespect": ("respect", False),
    "reset": ("reset", True),
    "noreset": ("reset", False),
    "duplicates": ("duplicates", True),
    "dups": ("duplicates", True),
    "noduplicates": ("duplicates", False),
    "nodups": ("duplicates", False),
}
_GRANULARITIES = {
    **{kind: kind for kind in KINDS},
    "fine": "thread",
    "package": "socket",
    "node": "numa_domain",
    "core_type": "core_type",
    "core_eff": "core_eff",
    "core_efficiency": "core_eff",
    "group": "group",
}

#: What a runtime takes for a word that it does not know.
_UNKNOWN = {"llvm": ("reset", "noreset")}
_WHOSE = {"intel": "Intel's", "llvm": "LLVM's"}


@dataclass(frozen=True)
class Affinity:
    """A KMP_AFFINITY as read. `granularity` is a layer's name, a number of innermost layers to float over, or None.

    `typed` is false where no type was named, which leaves the places to OpenMP's own variables.
    """

    type: str = "none"
    permute: int = 0
    offset: int = 0
    granularity: str | int | None = None
    proclist: tuple[tuple[int, ...], ...] = ()
    respect: bool = True
    duplicates: bool = True
    switches: dict[str, bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    typed: bool = True


def read_proclist(scanner: Scanner, close: str = "") -> tuple[tuple[int, ...], ...]:
    """Read single numbers, ranges `a-b` and `a-b:stride`, and sets in braces, up to `close` or the end."""
    places: list[tuple[int, ...]] = []
    while not scanner.done and scanner.peek() != close:
        if scanner.take("{"):
            members = [scanner.number("a processor's number")]
            while not scanner.take("}"):
                scanner.take(",")
                members.append(scanner.number("a processor's number, ',' or '}'"))
            places.append(tuple(sorted(set(members))))
        else:
            places += [(p,) for p in _range(scanner)]
        scanner.take(",")
    if not places:
        raise scanner.error("a processor's number or '{'")
    return tuple(places)


def _range(scanner: Scanner) -> range:
    scanner.skip_space()
    start_at = scanner.at
    first = scanner.number("a processor's number or '{'")
    if not scanner.take("-"):
        return range(first, first + 1)
    last = scanner.number("the number at which the range ends")
    stride = 1
    if scanner.take(":"):
        sign = -1 if scanner.take("-") else 1
        stride = sign * scanner.number("a stride")
    if stride == 0 or (last - first) * stride < 0:
        raise scanner.error("a range whose stride leads from its first number to its last", start_at)
    if (last - first) // stride > LONGEST_RANGE:
        raise scanner.error(f"a range of at most {LONGEST_RANGE} processors", start_at)
    return range(first, last + (1 if stride > 0 else -1), stride)


def read_affinity(text: str, runtime: str = "intel") -> Affinity:
    """Read a value of KMP_AFFINITY as `intel` or `llvm` does.

    Raises InputError with the column where the runtime would warn of its syntax, and for what crashes LLVM's.
    """
    scanner = Scanner("KMP_AFFINITY", text)
    parts = _Parts(runtime)
    if scanner.done:
        raise scanner.error(f"a type ({', '.join(TYPES)}) or a modifier")
    while not scanner.done:
        start = scanner.at
        if scanner.peek().isdigit():
            parts.numbers.append(scanner.number())
            if len(parts.numbers) > 2:
                raise scanner.error("no third number: there are only permute and offset", start)
        elif not _word(scanner, parts):
            _ignore(scanner, parts, start)
        if not scanner.done:
            scanner.need(",", "','")
            if scanner.done:
                raise scanner.error("a type, a modifier or a number")
    return _checked(scanner, parts)


@dataclass
class _Parts:
    """What has been read of a value so far, and by which runtime."""

    runtime: str
    kind: str | None = None
    granularity: str | int | None = None
    proclist: tuple[tuple[int, ...], ...] = ()
    switches: dict[str, bool] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_kmp_gomp(text: str, runtime: str = "intel") -> Affinity:
    """Read a value of GOMP_CPU_AFFINITY as Intel's and LLVM's runtimes do: a proclist, each thread on one processor of its own.

    Raises InputError with the column where they bind nothing, which ends a program with LLVM's 14 when some was read before.
    """
    try:
        proclist = read_proclist(Scanner("GOMP_CPU_AFFINITY", text))
    except InputError as problem:
        ends = "binds nothing, or crashes" if runtime == "llvm" else "binds nothing"
        raise InputError(problem.what, f"{_WHOSE[runtime]} runtime warns of it and {ends}") from None
    return Affinity("explicit", granularity="thread", proclist=proclist)


def _ignore(scanner: Scanner, parts: _Parts, start: int) -> None:
    """Go past a word that this runtime does not know, and what it passes over with that: each next item led by a blank."""
    text = scanner.text
    ignored: list[str] = []
    while True:
        end = text.find(",", start if ignored else scanner.at)
        end = len(text) if end < 0 else end
        ignored.append(text[start:end].strip())
        start = end + 1
        if text[start : start + 1] not in tuple(" \t"):
            break
    scanner.at = end
    first, *more = ignored
    note = f"{_WHOSE[parts.runtime]} runtime does not know {first} and ignores it"
    if more:
        note += f", and, since a blank follows, {', '.join(more)} as well"
    parts.notes.append(note)


def _word(scanner: Scanner, parts: _Parts) -> bool:
    """Read a word; False where it is another runtime's."""
    start = scanner.at
    word = scanner.word().lower()
    if word in TYPES:
        if parts.kind is not None:
            raise scanner.error(f"one type only, and {parts.kind} was given", start)
        parts.kind = word
    elif word in _SWITCHES:
        if word in _UNKNOWN.get(parts.runtime, ()):
            return False
        name, value = _SWITCHES[word]
        # of two that contradict each other the first one counts
        parts.switches.setdefault(name, value)
    elif word in ("granularity", "gran"):
        if parts.granularity is not None:
            raise scanner.error("granularity only once", start)
        found = _granularity(scanner)
        if found == "group":
            return False
        if parts.runtime == "llvm" and isinstance(found, str) and found.startswith("core_"):
            # it reads the first word of the name
            parts.granularity = "core"
            return False
        parts.granularity = found
    elif word == "proclist":
        scanner.need("=")
        scanner.need("[")
        parts.proclist = read_proclist(scanner, "]")
        scanner.need("]", "',' or ']'")
    else:
        raise scanner.error(f"a type ({', '.join(TYPES)}), a modifier or a number", start)
    return True


def _granularity(scanner: Scanner) -> str | int:
    scanner.need("=")
    if scanner.peek().isdigit():
        return scanner.number()
    word = scanner.choice(_GRANULARITIES, "a granularity")
    return _GRANULARITIES[word]


def _checked(scanner: Scanner, parts: _Parts) -> Affinity:
    kind, granularity, proclist = parts.kind, parts.granularity, parts.proclist
    switches, numbers = parts.switches, parts.numbers
    notes = parts.notes
    if proclist and kind not in (None, "explicit") and parts.runtime == "llvm":
        raise InputError(
            f"{scanner.what}={scanner.text!r}: LLVM's runtime 14 crashes on a proclist with the type {kind}",
            "leave the proclist out, or name explicit",
        )
    if proclist and kind is None:
        kind = "explicit"
        notes.append("a proclist without a type is read as explicit")
    elif proclist and kind != "explicit":
        notes.append(f"the proclist is ignored: the type is {kind}, not explicit")
        proclist = ()
    if kind == "explicit" and not proclist:
        raise InputError(
            f"{scanner.what}={scanner.text!r}: explicit needs a proclist", "such as proclist=[0-3],explicit"
        )
    permute, offset = [*numbers, 0, 0][:2]
    if kind in ("logical", "physical"):
        if len(numbers) > 1:
            notes.append(f"{kind} takes one number, the offset: {numbers[1]} is ignored")
        permute, offset = 0, permute
    elif kind in ("none", "disabled", "explicit", None):
        if numbers:
            notes.append(f"{kind or 'no type'} takes no numbers: they are ignored")
        permute, offset = 0, 0
    return Affinity(
        type=kind or "none",
        permute=permute,
        offset=offset,
        granularity=granularity,
        proclist=proclist,
        respect=switches.get("respect", True),
        duplicates=switches.get("duplicates", True),
        switches=switches,
        notes=tuple(notes),
        typed=kind is not None,
    )


def float_levels(layers: Layers, granularity: str | int | None) -> tuple[int, str, list[str]]:
    """Over how many innermost layers a thread floats, the name it was asked by, and what to know of it."""
    if isinstance(granularity, int):
        return min(granularity, layers.depth), f"{granularity} layers", []
    asked = granularity or "core"
    notes = []
    if asked in ("core_type", "core_eff"):
        notes.append(f"granularity={asked}: this machine has one kind of cores, so cores are used")
        asked = "core"
    real = layers.equivalent(asked)
    if real is None:
        real = layers.equivalent("core") or "thread"
        notes.append(f"this machine has no layer {asked}: {real} is used")
        asked = real
    return layers.depth - 1 - layers.kinds.index(real), asked, notes


def apply_affinity(layers: Layers, affinity: Affinity, threads: int) -> Outcome:
    """Where Intel's runtime binds each of `threads` threads on these layers (of which a subset may have been taken)."""
    everything = tuple(sorted(r.processor for r in layers.rows))
    notes = list(affinity.notes)
    if affinity.type in ("none", "disabled"):
        return Outcome((everything,) * threads, tuple(notes))
    if affinity.type == "balanced" and threads == 1:
        return Outcome((everything,), (*notes, "balanced does not bind a thread that is alone"))
    if isinstance(affinity.granularity, str) and affinity.granularity.startswith("core_"):
        kinds = {r.core_kind for r in layers.rows}
        if len(kinds) > 1:
            groups = [
                [r for r in layers.rows if r.core_kind == kind]
                for kind in dict.fromkeys(r.core_kind for r in layers.rows)
            ]
            return _bound(layers, affinity, threads, groups, affinity.granularity, notes)
    granularity = affinity.granularity
    if affinity.type == "balanced" and isinstance(granularity, int):
        notes.append("balanced takes no number as its granularity: core is used")
        granularity = "core"
    levels, name, more = float_levels(layers, granularity)
    return _bound(layers, affinity, threads, layers.groups(levels), name, notes + more)


def _bound(
    layers: Layers, affinity: Affinity, threads: int, groups: list[list[Row]], name: str, notes: list[str]
) -> Outcome:
    everything = tuple(sorted(r.processor for r in layers.rows))
    place_of = {r.processor: tuple(sorted(m.processor for m in group)) for group in groups for r in group}
    if affinity.type == "explicit":
        masks = _explicit(affinity.proclist, place_of, notes)
        if not masks:
            return Outcome((everything,) * threads, (*notes, "no processor of the list may be used: nothing is bound"))
        return Outcome(tuple(masks[t % len(masks)] for t in range(threads)), tuple(notes))
    if affinity.type == "balanced":
        bound = balanced(layers, threads, fine=_balanced_is_fine(layers, name))
        if bound is None:
            return Outcome(
                (everything,) * threads, (*notes, "balanced is not available on this machine: nothing is bound")
            )
        return Outcome(bound, tuple(notes))
    permute, offset = _sorting(layers, affinity)
    leaders = {group[0].processor for group in groups}
    masks = [place_of[r.processor] for r in layers.sorted(permute) if affinity.duplicates or r.processor in leaders]
    return Outcome(tuple(masks[(t + offset) % len(masks)] for t in range(threads)), tuple(notes))


def _explicit(
    proclist: tuple[tuple[int, ...], ...], place_of: dict[int, tuple[int, ...]], notes: list[str]
) -> list[tuple[int, ...]]:
    unknown = sorted({p for place in proclist for p in place if p not in place_of})
    notes += left_out(unknown)
    joined = (sorted({q for p in place if p in place_of for q in place_of[p]}) for place in proclist)
    return [tuple(place) for place in joined if place]


def _balanced_is_fine(layers: Layers, name: str) -> bool:
    """Whether balanced binds to single hardware threads: it does so too where a core or a socket is only one."""
    thread, core, socket = layers.level("thread"), layers.level("core"), layers.level("socket")
    if name == "core":
        return layers.ratio(thread, core) <= 1
    if name == "socket":
        return layers.ratio(core, socket) <= 1
    return name == "thread"


def _sorting(layers: Layers, affinity: Affinity) -> tuple[int, int]:
    """The permutation of the layers and the first place."""
    depth = layers.depth
    per_core = layers.ratio(layers.level("thread"), layers.level("core"))
    if affinity.type in ("logical", "physical"):
        permute = 1 if affinity.type == "physical" and per_core > 1 else 0
        return permute, first_place(layers, affinity) % len(layers.rows)
    if affinity.type == "scatter":
        return (0 if affinity.permute >= depth else depth - 1 - affinity.permute), affinity.offset
    return min(affinity.permute, depth - 1), affinity.offset


def first_place(layers: Layers, affinity: Affinity) -> int:
    """Which place in the runtime's order thread 0 takes; it may lie past the last, from where counting starts over."""
    if affinity.type in ("logical", "physical"):
        return layers.ratio(layers.level("thread"), layers.level("core")) * affinity.offset
    return affinity.offset
