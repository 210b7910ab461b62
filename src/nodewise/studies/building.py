# SPDX-License-Identifier: BSD-3-Clause
"""Compiling a study's folder on first use, by the rule that all are compiled with: native/outside of the installation."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.native import native_path


def build_rule() -> Path:
    """The folder with study.cmake and the headers, which a distribution of studies is built with, too."""
    return native_path("outside")


def build_folder(folder: Path) -> Path:
    """The shared object of a study's folder, built where something has changed, below NODEWISE_CACHE or ~/.cache.

    Raises InputError with the compiler's words, UnavailableError without CMake.
    """
    cmake = shutil.which("cmake")
    if cmake is None:
        raise UnavailableError(
            "a study outside nodewise has to be compiled, and there is no cmake", "apt-get install cmake g++"
        )
    cache = Path(os.environ.get("NODEWISE_CACHE") or Path.home() / ".cache" / "nodewise")
    build = cache / f"{folder.name}-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    for step in (
        [cmake, "-S", str(build_rule()), "-B", str(build), f"-DSTUDY={folder}"],
        [cmake, "--build", str(build)],
    ):
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            printed = (done.stdout + done.stderr).strip()
            raise InputError(
                f"the study in {folder} does not compile:\n{printed[-3000:]}", "correct its sources and run again"
            )
    return build / f"{folder.name}.so"
