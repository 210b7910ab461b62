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
    configured, rule = build / "configured-by", _state_of(build_rule())
    steps = [[cmake, "--build", str(build)]]
    if not configured.is_file() or configured.read_text() != rule:
        steps.insert(0, [cmake, "-S", str(build_rule()), "-B", str(build), f"-DSTUDY={folder}"])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            printed = (done.stdout + done.stderr).strip()
            raise InputError(
                f"the study in {folder} does not compile:\n{printed[-3000:]}", "correct its sources and run again"
            )
    configured.write_text(rule)
    return build / f"{folder.name}.so"


def _state_of(rule: Path) -> str:
    """What changes with any of its files: what was configured by it need not be again, as CMake itself sees what else changes."""
    stats = [(path.relative_to(rule), path.stat()) for path in sorted(rule.rglob("*"))]
    known = [str(rule), *(f"{path} {about.st_mtime_ns} {about.st_size}" for path, about in stats)]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()
