# SPDX-License-Identifier: BSD-3-Clause
"""Finding studies: every folder here that holds a study.py, and any folder that a user names by its path."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.native import native_path
from nodewise.studies.contract import Study

_HERE = Path(__file__).parent


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
    """The names of the studies that ship with nodewise."""
    return sorted(p.parent.name for p in _HERE.glob("*/study.py"))


def find_study(name: str) -> Found:
    """The study of that name, or in the folder of that path, which is built where it has to be.

    Raises InputError for a name or folder that is none, or whose sources do not compile.
    """
    if name in study_names():
        folder = _HERE / name
        return Found(_load(folder), folder, native_path(f"studies/{name}.so"))
    # links that lead in a circle are no folder
    folder = Path(os.path.realpath(name))
    if not (folder / "study.py").is_file():
        raise InputError(
            f"unknown study: {name!r}", f"the studies are: {', '.join(study_names())}; or give a folder with a study.py"
        )
    return Found(_load(folder), folder, _build(folder))


def load_module(path: Path, name: str) -> ModuleType:
    """Import a file by its path: a study may be called what Python keeps for itself, such as `is`."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load(folder: Path) -> Study:
    try:
        module = load_module(folder / "study.py", f"nodewise_study_{folder.name}")
        study = module.STUDY
    except Exception as problem:
        raise InputError(
            f"{folder / 'study.py'} cannot be read: {type(problem).__name__}: {problem}", "correct it and run again"
        ) from problem
    if not isinstance(study, Study) or study.name != folder.name:
        raise InputError(
            f"{folder / 'study.py'} has no STUDY named {folder.name!r}",
            "it says STUDY = Study(name=…), as the folder is called",
        )
    return study


def _build(folder: Path) -> Path:
    """Compile a folder outside nodewise with the rule that the shipped ones are compiled with."""
    # not at the top: hardly any use of a study builds one
    import hashlib
    import shutil
    import subprocess

    cmake = shutil.which("cmake")
    if cmake is None:
        raise UnavailableError(
            "a study outside nodewise has to be compiled, and there is no cmake", "apt-get install cmake g++"
        )
    cache = Path(os.environ.get("NODEWISE_CACHE") or Path.home() / ".cache" / "nodewise")
    build = cache / f"{folder.name}-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    rule = native_path("outside")
    for step in (
        [cmake, "-S", str(rule), "-B", str(build), f"-DSTUDY={folder}"],
        [cmake, "--build", str(build)],
    ):
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()
            raise InputError(
                f"the study in {folder} does not compile:\n{said[-3000:]}", "correct its sources and run again"
            )
    return build / f"{folder.name}.so"
