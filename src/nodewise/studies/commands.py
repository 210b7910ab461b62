# SPDX-License-Identifier: BSD-3-Clause
"""The commands that run a study's contenders: ordinary programs that speak the sample protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.native import native_path
from nodewise.studies.contract import parse_knobs
from nodewise.studies.discovery import Found, find_study


@dataclass(frozen=True)
class Contender:
    """One row of a study: `kind` is `variant`, `peer` or `limit`; `not_run` says why it cannot run here, else None."""

    name: str
    kind: str
    command: tuple[str, ...]
    not_run: str | None = None


def worker_command(found: Found, variant: str, point: Mapping[str, str]) -> list[str]:
    """The worker that runs a variant once at a point; threads are OpenMP's, as the environment says."""
    knobs = [f"{k}={v}" for k, v in point.items()]
    return [str(native_path("nodewise-worker")), str(found.binary), "--variant", variant, *knobs]


def peer_command(peer: Path, point: Mapping[str, str]) -> list[str]:
    """The process that runs a peer once at a point."""
    return [sys.executable, "-m", "nodewise.studies.peer_worker", str(peer), *[f"{k}={v}" for k, v in point.items()]]


def default_command(name: str, words: Sequence[str]) -> list[str]:
    """What `tune study:NAME knob=value …` starts. Raises InputError for an unknown study or knob.

    `variant=NAME` chooses the variant.
    """
    found = find_study(name)
    knobs = parse_knobs(list(words))
    variant = knobs.pop("variant", found.study.default_variant)
    names = [c.name for c in variants(found, {})]
    if variant not in names:
        raise InputError(
            f"study {found.study.name} has no variant {variant!r}", f"its variants are: {', '.join(names)}"
        )
    return worker_command(found, variant, found.study.point(knobs))


def variants(found: Found, point: Mapping[str, str]) -> list[Contender]:
    """The native contenders: variants and limits, also those that this processor cannot run."""
    listing = [str(native_path("nodewise-worker")), str(found.binary), "--list"]
    done = subprocess.run(listing, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError(f"study {found.study.name} cannot be listed: {done.stderr.strip()}")
    return [
        Contender(
            v["name"],
            v["kind"],
            tuple(worker_command(found, v["name"], point)),
            f"needs {v['missing']}, which this processor lacks" if v["missing"] else None,
        )
        for v in json.loads(done.stdout)["variants"]
    ]


def peers(found: Found, point: Mapping[str, str]) -> list[Contender]:
    """The peers; one that is not installed is a contender with the reason."""
    contenders = []
    for path in found.peers:
        command = tuple(peer_command(path, point))
        asked = subprocess.run([*command[:4], "--available"], capture_output=True, text=True, check=False)
        reason = None if asked.returncode == 0 else (asked.stdout + asked.stderr).strip() or "it cannot be asked"
        contenders.append(Contender(path.stem, "peer", command, reason))
    return contenders
