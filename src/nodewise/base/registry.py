# SPDX-License-Identifier: BSD-3-Clause
"""Registries: the things of one sort that nodewise knows by name, those of a folder, a file each, and those that installed packages bring."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.installed import entry_points_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Named(Protocol):
    """What is registered has a name."""

    @property
    def name(self) -> str:
        """What it is called."""


T = TypeVar("T", bound=Named)


@dataclass(frozen=True)
class Brought:
    """What an installed package brings: `what` it is, with its name, the package with its version, and the module."""

    what: str
    package: str
    module: str

    def __str__(self) -> str:
        return f"{self.what} of the package {self.package}"


#: All that was brought by packages, to all registries.
_brought: list[Brought] = []


def brought_by(problem: BaseException) -> Brought | None:
    """What a package brought whose own code stood between nodewise and the problem; None where no such code did."""
    import traceback

    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(problem.__traceback__)]
    for name in reversed(modules):
        root = name.partition(".")[0]
        mine = [one for one in _brought if one.module.partition(".")[0] == root and root != "nodewise"]
        if mine:
            # of several of one package that whose module it is
            return max(mine, key=lambda one: (f"{name}.".startswith(f"{one.module}."), len(one.module)))
    return None


class Registry(Generic[T]):
    """What is registered of one type, by name; the folder and the installed packages are read when it is first asked.

    `noun` is what one of them is called in messages, `folder` the package whose modules each have one in `attribute`. An
    installed package brings one by an entry point of `group`; `guide` is the document that says how. `wrong` says what is
    wrong with one, given those that are registered, None where nothing is.
    """

    def __init__(
        self,
        kind: type[T],
        noun: str,
        folder: str,
        attribute: str,
        group: str,
        guide: str,
        wrong: Callable[[T, Mapping[str, T]], str | None],
    ):
        self._kind, self._noun, self._folder, self._attribute = kind, noun, folder, attribute
        self._group, self.guide, self._wrong = group, guide, wrong
        self._registered: dict[str, T] = {}
        self._from: dict[str, Brought] = {}
        self._loaded = False

    def register(self, one: T) -> None:
        """Make one known from now on. Raises InputError where its name is taken, or something else is wrong with it."""
        self._load()
        self._add(one)

    def all(self) -> dict[str, T]:
        """All of them by name, those of the folder first. Raises InputError where an installed one cannot be had."""
        self._load()
        return dict(self._registered)

    def _add(self, one: T, brought: Brought | None = None) -> None:
        wrong = "another has its name" if one.name in self._registered else self._wrong(one, self._registered)
        if wrong is not None:
            of = f" of the package {brought.package}" if brought is not None else ""
            raise InputError(f"the {self._noun} {one.name!r}{of} cannot be registered: {wrong}", f"see {self.guide}")
        self._registered[one.name] = one
        if brought is not None:
            self._from[one.name] = brought

    def brought(self, name: str) -> Brought | None:
        """By which package the one of that name was brought; None for one of the house's own."""
        return self._from.get(name)

    def _load(self) -> None:
        """Register what is there, once; after an error nothing is, so that the next one who asks hears of it, too."""
        if self._loaded:
            return
        self._loaded = True
        try:
            for module in pkgutil.iter_modules(importlib.import_module(self._folder).__path__):
                self._add(getattr(importlib.import_module(f"{self._folder}.{module.name}"), self._attribute))
            for entry in entry_points_of(self._group):
                package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "without a name"
                brought = Brought(f"the {self._noun} {entry.name!r}", package, entry.module)
                if brought not in _brought:
                    _brought.append(brought)
                self._add(self._outside(entry, brought), brought)
        except BaseException:
            self._loaded = False
            self._registered.clear()
            raise

    def _outside(self, entry: EntryPoint, brought: Brought) -> T:
        """What an installed package brings. Raises InputError where it cannot be loaded or is something else."""
        try:
            found = entry.load()
        except Exception as problem:
            raise InputError(
                f"{brought} cannot be loaded: {type(problem).__name__}: {problem}", "repair or remove that package"
            ) from problem
        if not isinstance(found, self._kind):
            raise InputError(f"{brought} is no {self._kind.__name__}: {found!r}", "have its entry point lead to one")
        return found
