# SPDX-License-Identifier: BSD-3-Clause
"""Where studies come from: nodewise's own, and what installed packages bring by an entry point.

An entry point of the group `nodewise.studies` names a package: each folder in it that holds a study.py is a study, as
one of a user's own is, and `native/NAME.so` in the package is what was built of it. Where that is not there, it is built
on first use as a user's own is.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path

GROUP = "nodewise.studies"


@dataclass(frozen=True)
class Shelf:
    """A package that holds studies: its name, its folders, and the distribution that it came with (None: nodewise)."""

    package: str
    folders: tuple[Path, ...]
    distribution: str | None = None

    def names(self) -> list[str]:
        """The names of its studies, sorted."""
        return sorted(path.parent.name for folder in self.folders for path in folder.glob("*/study.py"))

    def folder(self, name: str) -> Path | None:
        """The folder of a study, or None where it has none of that name."""
        return next((f / name for f in self.folders if (f / name / "study.py").is_file()), None)

    def binary(self, name: str) -> Path | None:
        """The shared object that was built of a study, or None. Raises UnavailableError where one of nodewise's is missing."""
        if self.distribution is None:
            return native_path(f"studies/{name}.so")
        # an instrumented build has them all in one place
        other = Path(os.environ.get("NODEWISE_NATIVE") or os.devnull, "studies", f"{name}.so")
        if other.is_file():
            return other
        made = (folder / "native" / f"{name}.so" for folder in self.folders)
        return next((path for path in made if path.is_file()), None)


@cache
def shelves() -> tuple[Shelf, ...]:
    """All shelves, nodewise's own first. Raises InputError where an installed package's cannot be found."""
    return (own_shelf(), *_installed())


def own_shelf() -> Shelf:
    """The studies that nodewise brings itself: those that measure the machine's limits, and the demo's."""
    return Shelf("nodewise.studies", (Path(__file__).parent,))


def _installed() -> list[Shelf]:
    # not at the top: nodewise's own studies do without
    from importlib.util import find_spec

    from nodewise.base.installed import entry_points_of

    found = []
    for entry in sorted(entry_points_of(GROUP), key=lambda e: (e.dist.name if e.dist else "", e.name)):
        source = entry.dist.name if entry.dist else entry.name
        try:
            spec = find_spec(entry.module)
        except (ImportError, ValueError):
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise InputError(
                f"the studies {entry.name!r}, which the installed package {source} brings, cannot be found: there is no "
                f"package {entry.module}",
                f"repair or remove that package: pip install --force-reinstall {source}",
            )
        found.append(Shelf(entry.module, tuple(map(Path, spec.submodule_search_locations)), source))
    return found


def shelf_of(name: str) -> Shelf | None:
    """The shelf on which a study of that name is, or None. Raises InputError where two installed packages bring it."""
    if own_shelf().folder(name):
        return own_shelf()
    holding = [shelf for shelf in shelves() if shelf.folder(name)]
    if len(holding) > 1:
        raise InputError(
            f"two installed packages bring a study {name!r}: {' and '.join(str(s.distribution) for s in holding)}",
            f"remove one, or name the folder: nodewise study {holding[0].folder(name)}",
        )
    return holding[0] if holding else None


def elsewhere() -> dict[str, str]:
    """The studies that are not installed, each with the distribution that would bring it: as known when nodewise was built."""
    here = {name for shelf in shelves() for name in shelf.names()}
    return {name: source for name, source in _known().items() if name not in here}


def published() -> frozenset[str]:
    """The studies that nodewise and its distribution of studies bring, installed or not."""
    return frozenset((*own_shelf().names(), *_known()))


def _known() -> dict[str, str]:
    """The studies of the other distribution, as known when nodewise was built, each with its name."""
    known = native_path("elsewhere/nodewise-studies.txt")
    return dict.fromkeys(known.read_text().split(), known.stem)
