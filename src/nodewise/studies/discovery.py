# SPDX-License-Identifier: BSD-3-Clause
"""Finding studies: by name those that are installed, and any folder that a user names by its path."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from nodewise.base.distributions import how_to_install
from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant
from nodewise.studies.contract import Study
from nodewise.studies.shelves import Shelf, elsewhere, shelf_of, shelves


@dataclass(frozen=True)
class Found:
    """A study and where it lies: its folder, and its shared object, built."""

    study: Study
    folder: Path
    binary: Path

    @property
    def scripts(self) -> list[tuple[str, Path]]:
        """The files of contenders in Python, each of which runs in a process of its own, with their kind."""
        kinds = {"programs": "variant", "peers": "peer"}
        return [(kind, path) for name, kind in kinds.items() for path in sorted((self.folder / name).glob("*.py"))]


def study_names() -> list[str]:
    """The names of the studies that are installed, sorted."""
    return sorted(name for shelf in shelves() for name in shelf.names())


def find_study(name: str) -> Found:
    """The study of that name, or in the folder of that path, which is built where it has to be.

    Raises InputError for a name or folder that is not a study, or whose sources do not compile, and UnavailableError for a study
    that would have to be installed.
    """
    shelf = shelf_of(name) if re.fullmatch(r"[\w-]+", name) else None
    if shelf is not None and (folder := shelf.folder(name)) is not None:
        return Found(_described(folder, f"{shelf.package}.{name}"), folder, _built(folder, shelf))
    # links that lead in a circle are no folder
    folder = Path(os.path.realpath(name))
    if not (folder / "study.py").is_file():
        if source := elsewhere().get(name):
            raise UnavailableError(
                f"the study {name} is in {source}, which is not installed",
                how_to_install(source),
            )
        if folder.is_dir():
            raise InputError(
                f"{name} is no study: it has no study.py", "docs/adding-a-study.md says what it is made of"
            )
        raise InputError(
            f"unknown study: {name!r}{meant(name, study_names())}",
            f"the studies are: {', '.join(study_names())}; or give a folder with a study.py",
        )
    return Found(_described(folder, package_of(folder)), folder, _built(folder, None))


def binary_of(folder: Path) -> Path:
    """The shared object of a study's folder: as it was installed, else built. Raises what `building.build_folder` does."""
    return _built(folder, next((s for s in shelves() if s.folder(folder.name) == folder), None))


def program_of(folder: Path) -> Path:
    """The program of a study's folder that has a `program.cpp`: beside its shared object where that was built, else among the scripts.

    Raises UnavailableError where it is not installed, and what `building.build_folder` does.
    """
    import sysconfig

    name = f"nodewise-{folder.name}"
    places = (binary_of(folder).parent, Path(sysconfig.get_path("scripts")), Path(sys.executable).parent)
    for place in places:
        if (place / name).is_file():
            return place / name
    if (found := shutil.which(name)) is not None:
        return Path(found)
    raise UnavailableError(f"the program {name} is not installed", "install nodewise-studies again")


def _built(folder: Path, shelf: Shelf | None) -> Path:
    if shelf is not None and (made := shelf.binary(folder.name)) is not None:
        return made
    # not at the top: hardly any use of a study builds one
    from nodewise.studies.building import build_folder

    return build_folder(folder)


def package_of(folder: Path) -> str:
    """The name of a package that is a study's folder, loaded again: its files import each other with `from .other import f`."""
    word = re.sub(r"\W", "_", folder.name)
    name = f"nodewise_study_{word}_{sha256(str(folder).encode()).hexdigest()[:8]}"
    for loaded in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
        del sys.modules[loaded]
    package = ModuleType(name, f"The study in {folder}.")
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    # what was written since the folder was last read
    importlib.invalidate_caches()
    return name


def load_script(script: Path) -> ModuleType:
    """A contender in Python as a module: it may import its neighbours (`from .other`) and the study's files (`from ..other`)."""
    return importlib.import_module(f"{package_of(script.resolve().parents[1])}.{script.parent.name}.{script.stem}")


def _described(folder: Path, package: str) -> Study:
    try:
        study = importlib.import_module(f"{package}.study").STUDY
    except Exception as problem:
        raise InputError(
            f"{folder / 'study.py'} cannot be read: {type(problem).__name__}: {problem}", _remedy(folder, problem)
        ) from problem
    if not isinstance(study, Study) or study.name != folder.name:
        raise InputError(
            f"{folder / 'study.py'} has no STUDY named {folder.name!r}",
            "it says STUDY = Study(name=…), as the folder is called",
        )
    return study


def _remedy(folder: Path, problem: Exception) -> str:
    missing = problem.name if isinstance(problem, ModuleNotFoundError) else None
    if missing and ((folder / f"{missing}.py").is_file() or (folder / missing).is_dir()):
        return f"import a file of the same folder with a dot: from .{missing} import …"
    return "correct it and run again"
