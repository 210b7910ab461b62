# SPDX-License-Identifier: BSD-3-Clause
"""Learned: what a tune saw of the settings of a program, as later tunes may start from it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import PurePath

from nodewise.base.bounded_json import parse_json
from nodewise.base.errors import StoreError
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import Scalar, fit
from nodewise.records.earlier import SettingSeen, Width, width_of
from nodewise.records.experiment import Experiment
from nodewise.runner.loaded import Loaded, loaded_from_json
from nodewise.runner.setting import BASELINE
from nodewise.statistics.summary import MAD_TO_SIGMA, median
from nodewise.tuning.catalogue.choose import libraries_loaded
from nodewise.tuning.catalogue.read import load_catalogue
from nodewise.verdicts.pair import costs_of
from nodewise.verdicts.stored import Stored
from nodewise.verdicts.tune import TuneVerdict

#: Of more settings than this those that were seen most often, and the fastest, are kept.
MOST_SETTINGS = 150
#: Libraries that every program loads say nothing of what it does.
_EVERYONES = ("glibc-locks", "glibc-malloc")
#: What runs the kernels of studies.
WORKER = "nodewise-worker"
#: Programs that run what their first argument names.
_INTERPRETER = re.compile(
    rf"(?:{WORKER}|python|pypy|perl|ruby|node|Rscript|julia|lua|php|bash|dash|sh|zsh|java)[\d.]*$"
)
#: Their options whose value, the next word, is what is run; and those that have another value.
_RUNS, _VALUED = ("-m", "-jar", "-c", "-e"), ("-W", "-X", "-cp", "-classpath", "--class-path", "-I", "-r")
#: The least spread of single runs, in log time, and what it is taken for where no setting ran twice.
_LEAST_NOISE, _GUESSED_NOISE = 0.002, 0.02
#: So many runs of a setting say how they vary.
_MOST_RUNS = 50


@dataclass(frozen=True)
class Learned:
    """`program` is what was run, without its arguments and folders, `libraries` those of the catalogue that its first run loaded.

    `defaults` are by axis the program's own values; a machine of that `width` was its. `best` is the fastest setting confirmed, in words
    (empty: none), `ratio` how many times as fast as the program as it was started that was.
    """

    program: str
    libraries: tuple[str, ...]
    metric: str
    width: Width
    defaults: Mapping[str, Scalar]
    settings: Sequence[SettingSeen]
    best: str = ""
    ratio: float = 1.0


def program_named(command: Sequence[str]) -> str:
    """What a command runs, whatever its other arguments: its program, of an interpreter with the script or module; no folders."""
    if not command:
        return ""
    name = PurePath(command[0]).name
    if not _INTERPRETER.match(name):
        return name
    words = iter(command[1:])
    for word in words:
        if word in _RUNS:
            return " ".join([name, word, *[PurePath(w).name for w in [next(words, "")]]])
        if word in _VALUED:
            next(words, None)
        elif not word.startswith("-"):
            return f"{name} {PurePath(word).name}"
    return name


def libraries_of(loaded: Loaded | None) -> tuple[str, ...]:
    """The libraries that have something to set, of those loaded, in alphabetical order; none that every program loads."""
    if loaded is None:
        return ()
    found = {library.name for library in libraries_loaded(loaded, load_catalogue())}
    return tuple(sorted(found.difference(_EVERYONES)))


def learned_of(stored: Stored[TuneVerdict]) -> Learned | None:
    """What a tune leaves to later ones; None where it kept too little of how it was made, or nothing but the baseline ran."""
    experiment, verdict = stored.experiment, stored.verdict
    question = experiment.question
    settings = settings_seen(experiment)
    if "defaults" not in question or len(settings) < 2:
        return None
    loaded = question.get("loaded")
    won = verdict.best.key != BASELINE
    return Learned(
        program_named(question["command"]),
        libraries_of(None if loaded is None else loaded_from_json(loaded)),
        verdict.metric,
        width_of(stored.machine),
        question["defaults"],
        settings,
        verdict.best.key if won else "",
        verdict.ratio if won else 1.0,
    )


def settings_seen(experiment: Experiment) -> list[SettingSeen]:
    """Each setting that ran, the baseline first, then those with the most runs; nothing where the baseline never ran well."""
    costs = {key: costs_of(experiment, key) for key in experiment.settings}
    if not costs.get(BASELINE):
        return []
    noise = _noise(list(costs.values()))
    base = math.log(median(costs[BASELINE]))
    found = []
    for key, own in costs.items():
        runs = len(own)
        total = int(experiment.records.of(key).size)
        if not total:
            continue
        log = math.log(median(own)) - base if own else None
        deviation = noise * math.sqrt(1 / max(1, runs) + 1 / len(costs[BASELINE]))
        values = {} if key == BASELINE else dict(experiment.settings[key].values)
        found.append(SettingSeen(values, log, deviation, runs or total))
    found.sort(key=lambda s: (bool(s.values), -s.runs))
    if len(found) <= MOST_SETTINGS:
        return found
    half = MOST_SETTINGS // 2
    rest = sorted(found[half:], key=lambda s: math.inf if s.log is None else s.log)
    return [*found[:half], *rest[: MOST_SETTINGS - half]]


def _noise(costs: Sequence[Sequence[float]]) -> float:
    """The deviation of one run's log time, from settings that ran several times: from how any two runs of one differ, since the few
    that there are lie nearer to their own median than to the true one.
    """
    gaps = [abs(math.log(a / b)) for own in costs for a, b in combinations(own[:_MOST_RUNS], 2)]
    return max(_LEAST_NOISE, MAD_TO_SIGMA * median(gaps) / math.sqrt(2)) if gaps else _GUESSED_NOISE


def surface_text(learned: Learned) -> str:
    """What was seen, as one text."""
    return json.dumps(asdict(_Surface(learned.width, learned.defaults, learned.settings, learned.best, learned.ratio)))


def learned_from_text(program: str, libraries: str, metric: str, surface: str) -> Learned:
    """What `surface_text` wrote, with what stands beside it. Raises StoreError where it is damaged."""
    try:
        own: _Surface = fit(parse_json(surface), _Surface)
    except ValueError as problem:
        raise StoreError(
            f"what the history keeps of a tune of {program} is damaged: {problem}",
            "make it anew from the folders of your experiments: nodewise history --rebuild DIR…",
        ) from problem
    return Learned(
        program, tuple(libraries.split()), metric, own.width, own.defaults, own.settings, own.best, own.ratio
    )


@dataclass(frozen=True)
class _Surface:
    width: Width
    defaults: Mapping[str, Scalar]
    settings: Sequence[SettingSeen]
    best: str
    ratio: float
