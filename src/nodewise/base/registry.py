# SPDX-License-Identifier: BSD-3-Clause
"""Registries: the things of one sort that nodewise knows by name, those of a folder, a file each, and those that installed packages bring."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from nodewise.base.errors import InputError


class Named(Protocol):
    """What is registered has a name."""

    @property
    def name(self) -> str:
        """What it is called."""


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """What is registered of one type, by name; the folder and the installed packages are read when it is first asked.

    `noun` is what one of them is called in messages, `folder` the package whose modules each have one in `attribute`. An
    installed package brings one by an entry point of `group`; `guide` is the document that says how. `wrong` says what is
    wrong with one beside those that are registered, None where nothing is.
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
        self._group, self._guide, self._wrong = group, guide, wrong
        self._registered: dict[str, T] = {}
        self._loaded = False

    def register(self, one: T) -> None:
        """Make one known from now on. Raises InputError where its name is taken, or something else is wrong with it."""
        self._load()
        self._add(one)

    def all(self) -> dict[str, T]:
        """All of them by name, those of the folder first. Raises InputError where an installed one cannot be had."""
        self._load()
        return dict(self._registered)

    def _add(self, one: T) -> None:
        wrong = "another has its name" if one.name in self._registered else self._wrong(one, self._registered)
        if wrong is not None:
            raise InputError(f"the {self._noun} {one.name!r} cannot be registered: {wrong}", f"see {self._guide}")
        self._registered[one.name] = one

    def _load(self) -> None:
        """Register what is there, once; after an error nothing is, so that the next one who asks hears of it, too."""
        if self._loaded:
            return
        self._loaded = True
        try:
            for module in pkgutil.iter_modules(importlib.import_module(self._folder).__path__):
                self._add(getattr(importlib.import_module(f"{self._folder}.{module.name}"), self._attribute))
            for entry in entry_points(group=self._group):
                self._add(self._outside(entry))
        except BaseException:
            self._loaded = False
            self._registered.clear()
            raise

    def _outside(self, entry: EntryPoint) -> T:
        """What an installed package brings. Raises InputError where it cannot be loaded or is something else."""
        brought = f"the {self._noun} {entry.name!r}, which an installed package brings,"
        try:
            found = entry.load()
        except Exception as problem:
            raise InputError(
                f"{brought} cannot be loaded: {type(problem).__name__}: {problem}", "repair or remove that package"
            ) from problem
        if not isinstance(found, self._kind):
            raise InputError(f"{brought} is no {self._kind.__name__}: {found!r}", "have its entry point lead to one")
        return found
