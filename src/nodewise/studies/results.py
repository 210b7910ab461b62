# SPDX-License-Identifier: BSD-3-Clause
"""What a study computes, for whoever wants it and not how long it takes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.studies.commands import native_contenders
from nodewise.studies.contract import Table
from nodewise.studies.discovery import Found


@dataclass(frozen=True)
class Result:
    """What `variant` computed at a point in so many seconds, checked by the study, as tables by their names."""

    study: str
    point: Mapping[str, str]
    variant: str
    seconds: float
    tables: Mapping[str, Table]


def compute(found: Found, point: Mapping[str, str], threads: int) -> Result:
    """Run the study's own choice of a variant once and take what it has filled.

    Raises InputError where the study has no result, or refuses the point; UnavailableError where the variant cannot run here,
    or what it made is wrong.
    """
    study = found.study
    if study.result is None:
        raise InputError(f"study {study.name} hands back no result", "its contenders are only timed and checked")
    chosen = {c.name: c for c in native_contenders(found, point)}[study.default_variant]
    if chosen.not_run is not None:
        raise UnavailableError(f"{chosen.name} cannot run: {chosen.not_run}")
    with tempfile.TemporaryDirectory(prefix="nodewise-") as folder:
        command = [*chosen.command, "--threads", str(threads), "--outputs", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **chosen.env})
        if done.returncode != 0:
            what, _, hint = done.stderr.strip().partition("\nhint: ")
            what = what.removeprefix("nodewise-worker: ").removeprefix("layout: ")
            kind = UnavailableError if "wrong result" in what else InputError
            raise kind(f"study {study.name}: {what}", hint or "`nodewise study` lists its knobs with their meaning")
        arrays = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
    seconds = json.loads(done.stdout.splitlines()[0])["seconds"]
    return Result(study.name, dict(point), chosen.name, seconds, study.result(arrays, point))
