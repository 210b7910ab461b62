# SPDX-License-Identifier: BSD-3-Clause
"""The registry of dialects: those of `placement/dialects`, a file each, and those that installed packages bring.

A package brings one by an entry point of the group `nodewise.dialects` that leads to a `Dialect`.
"""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.lists import listed
from nodewise.base.registry import Registry
from nodewise.placement.dialect import Dialect, Text
from nodewise.placement.openmp.runtimes import RUNTIMES

#: What a Request has besides texts.
_TAKEN = ("policy", "zones", "runtime")


def _wrong(dialect: Dialect, registered: Mapping[str, Dialect]) -> str | None:
    """What is wrong with a dialect, given those that are registered; None where nothing is."""
    readers = [r for r in (dialect.launch, dialect.mask, dialect.threads) if r is not None]
    names = [text.name for text in dialect.texts]
    variables = [text.variable for text in dialect.texts if text.variable]
    others = {text.name: d.name for d in registered.values() for text in d.texts}
    held = {text.variable: d.name for d in registered.values() for text in d.texts if text.variable}
    if not dialect.name.isidentifier():
        return "its name is no identifier"
    if odd := next(
        (n for n in names if not n.isidentifier() or n in _TAKEN or n in others or names.count(n) > 1), None
    ):
        return f"its text {odd!r} is taken by {others[odd]}" if odd in others else f"{odd!r} is no name for a text"
    if twice := next((v for v in variables if v in held or variables.count(v) > 1), None):
        return f"{twice} is the variable of {held.get(twice, 'two of its texts')}"
    runtimes = {name for text in dialect.texts for name in text.runtimes}
    runtimes |= {name for silence in dialect.silences for name in silence.runtimes}
    if unknown := sorted(runtimes - set(RUNTIMES)):
        return f"{unknown[0]!r} is no OpenMP runtime: known are {', '.join(RUNTIMES)}"
    if names and len(readers) != 1:
        return f"{listed(names)} must have one reader: launch, mask or threads"
    if dialect.threads is None and len(names) != len(readers):
        return "a launcher or a mask reads one text"
    if readers and not names:
        return "it has a reader, and no text"
    if dialect.write_process is not None and dialect.write_job is not None:
        return "it writes either a process or a job"
    if not readers and not dialect.writes:
        return "it neither reads nor writes"
    return None


DIALECTS = Registry(
    Dialect,
    "dialect",
    "nodewise.placement.dialects",
    "DIALECT",
    "nodewise.dialects",
    "docs/adding-a-dialect.md",
    _wrong,
)


#: The dialects as they were registered when they were put in order, and in order: a tune asks for each of its settings.
_ordered: list[tuple[tuple[Dialect, ...], tuple[Dialect, ...]]] = []


def register(dialect: Dialect) -> None:
    """Make a dialect known, from then on, to all that reads, writes, checks or explains placements.

    Raises InputError where its name or a text's is taken or no name, where something is registered that nothing reads, or
    where it neither reads nor writes.
    """
    DIALECTS.register(dialect)


def all_dialects() -> tuple[Dialect, ...]:
    """All dialects: those that place threads, masks, launchers, then those that only write; each by name."""
    known = tuple(DIALECTS.all().values())
    of, ordered = next(iter(_ordered), ((), ()))
    if of != known:
        ordered = tuple(sorted(known, key=lambda d: (_kind(d), d.name)))
        _ordered[:] = [(known, ordered)]
    return ordered


def _kind(dialect: Dialect) -> int:
    kinds = (dialect.threads, dialect.mask, dialect.launch)
    return next((i for i, reader in enumerate(kinds) if reader is not None), len(kinds))


def all_texts() -> dict[str, Text]:
    """All texts that can be given, by name, in the order of their dialects."""
    return {text.name: text for dialect in all_dialects() for text in dialect.texts}


def placing(texts: Mapping[str, str | None]) -> bool:
    """Whether any of the texts that are given, by name, says where threads go, other than how many there are."""
    known = all_texts()
    return any(text is not None and not (name in known and known[name].counts) for name, text in texts.items())


def variable_texts() -> dict[str, Text]:
    """The texts that an environment variable holds, by the variable."""
    return {text.variable: text for text in all_texts().values() if text.variable}


def binding_variables() -> tuple[str, ...]:
    """The variables that place threads: one dialect's are set, all others cleared, since some silence others."""
    return tuple(variable_texts())


def launchers() -> tuple[Dialect, ...]:
    """The dialects of launchers."""
    return tuple(d for d in all_dialects() if d.launch is not None)


def writers() -> dict[str, Dialect]:
    """The dialects that a placement can be written in, by name."""
    return {d.name: d for d in all_dialects() if d.writes}


def rank_variables() -> tuple[str, ...]:
    """The variables by which launchers give a process its rank in the job; the first that is set counts."""
    return tuple(dict.fromkeys(name for dialect in _inner_first() for name in dialect.rank))


def local_rank_variables() -> tuple[str, ...]:
    """The variables by which launchers give a process its number among those of its node; the first that is set counts."""
    return tuple(dict.fromkeys(name for dialect in _inner_first() for name in dialect.local_rank))


def _inner_first() -> list[Dialect]:
    """All, those last whose variables are set in whatever runs within their allocation."""
    return sorted(all_dialects(), key=lambda dialect: dialect.allocator)
