# SPDX-License-Identifier: BSD-3-Clause
"""The registry of dialects: those of `placement/dialects`, a file each, and those that installed packages bring.

A package brings one by an entry point of the group `nodewise.dialects` that leads to a `Dialect`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from importlib.metadata import entry_points

from nodewise.base.errors import InputError
from nodewise.base.lists import listed
from nodewise.placement import dialects as _folder
from nodewise.placement.dialect import Dialect, Text
from nodewise.placement.openmp.runtimes import RUNTIMES

GROUP = "nodewise.dialects"
#: What a Request has besides texts.
_TAKEN = ("policy", "zones", "runtime")
_registered: dict[str, Dialect] = {}
#: Whether the dialects that are installed have been registered.
_loaded = [False]


def register(dialect: Dialect) -> None:
    """Make a dialect known, from then on, to all that reads, writes, checks or explains placements.

    Raises InputError where its name or a text's is taken or no name, where something is registered that nothing reads, or
    where it neither reads nor writes.
    """
    _load()
    _add(dialect)


def _add(dialect: Dialect) -> None:
    if (wrong := _wrong(dialect)) is not None:
        raise InputError(f"the dialect {dialect.name!r} cannot be registered: {wrong}", "see docs/adding-a-dialect.md")
    _registered[dialect.name] = dialect


def _wrong(dialect: Dialect) -> str | None:
    """What is wrong with a dialect beside those that are registered; None where nothing is."""
    readers = [r for r in (dialect.launch, dialect.mask, dialect.threads) if r is not None]
    names = [text.name for text in dialect.texts]
    variables = [text.variable for text in dialect.texts if text.variable]
    others = {text.name: d.name for d in _registered.values() for text in d.texts}
    held = {text.variable: d.name for d in _registered.values() for text in d.texts if text.variable}
    if not dialect.name.isidentifier() or dialect.name in _registered:
        return "another has its name" if dialect.name in _registered else "its name is no identifier"
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


def _load() -> None:
    """Register what is installed, once."""
    if _loaded[0]:
        return
    _loaded[0] = True
    try:
        for module in pkgutil.iter_modules(_folder.__path__):
            _add(importlib.import_module(f"{_folder.__name__}.{module.name}").DIALECT)
        for entry in entry_points(group=GROUP):
            _add(_outside(entry.name, entry.load))
    except BaseException:
        _loaded[0] = False
        _registered.clear()
        raise


def _outside(name: str, load: Callable[[], object]) -> Dialect:
    """What an installed package brings. Raises InputError where it cannot be loaded or is no dialect."""
    try:
        found = load()
    except Exception as problem:
        raise InputError(
            f"the dialect {name!r}, which an installed package brings, cannot be loaded: {type(problem).__name__}: {problem}",
            "repair or remove that package",
        ) from problem
    if not isinstance(found, Dialect):
        raise InputError(
            f"the dialect {name!r}, which an installed package brings, is no Dialect: {found!r}",
            "have its entry point lead to one",
        )
    return found


def all_dialects() -> tuple[Dialect, ...]:
    """All dialects: those that place threads, masks, launchers, then those that only write; each by name."""
    _load()
    return tuple(sorted(_registered.values(), key=lambda d: (_kind(d), d.name)))


def _kind(dialect: Dialect) -> int:
    kinds = (dialect.threads, dialect.mask, dialect.launch)
    return next((i for i, reader in enumerate(kinds) if reader is not None), len(kinds))


def all_texts() -> dict[str, Text]:
    """All texts that can be given, by name, in the order of their dialects."""
    return {text.name: text for dialect in all_dialects() for text in dialect.texts}


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
