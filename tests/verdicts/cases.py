# SPDX-License-Identifier: BSD-3-Clause
"""Experiments made of numbers, and verdicts held against what was said of them in full.

`NODEWISE_RECORD=1` writes down what is said now: what changes in tests/verdicts/whole is then to be read.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from nodewise.experiments.scale import ScaleQuestion
from nodewise.records.columns import Record
from nodewise.records.experiment import Experiment, Writer, read_experiment
from nodewise.records.sample_lines import Plan
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.order import BalancedOrder
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.scale import SCALE
from tests.questions import compare_question, tune_question
from tests.statistics.series import uneven
from tests.surfaces import machine

WHOLE = Path(__file__).parent / "whole"
BUSY = "other load: it waited 0.5 s for processors that others used"


@dataclass(frozen=True)
class Runs:
    """A setting's runs, one a block: seconds with so much noise; `change` has fields of samples by the number of the run."""

    seconds: float
    noise: float = 0.01
    fields: Mapping[str, Any] = field(default_factory=dict)
    change: Callable[[int], Mapping[str, Any]] = lambda run: {}
    missing: frozenset[int] = frozenset()

    def sample(self, which: int, run: int, at: float) -> Sample:
        """Of a run of the setting of this number."""
        seconds = self.seconds * (1 + self.noise * uneven(run + 1, which % 4)[run])
        made: dict[str, Any] = {
            "seconds": seconds,
            "wall_s": seconds,
            "started_at": at,
            **self.fields,
            **self.change(run),
        }
        return Sample(**made)


def usage(run: float, **more: float) -> dict[str, float]:
    """What the kernel counted: all of the time on a processor."""
    return {"user_s": 0.75 * run, "system_s": 0.25 * run, **more}


def compared(
    path: Path, runs: Mapping[str, Runs], blocks: int = 20, warmed: Sequence[str] = (), **question: Any
) -> Experiment:
    """A comparison of these in balanced orders; `warmed` names those that ran once before."""
    settings = {name: Setting((name,), name=name) for name in runs}
    at = 0.0
    with Writer(path, compare_question(*runs, **question)) as writer:
        for name in warmed:
            sample = Sample(2.0, 2.0, at, error="exit code 3" if name.endswith("!") else None)
            writer.add(Record(name.rstrip("!"), "warm-up", 0, 0, sample), settings[name.rstrip("!")])
        order, names = BalancedOrder(Random(1)), list(runs)
        for block in range(blocks):
            for position, name in enumerate(order.next([n for n in names if block not in runs[n].missing])):
                sample = runs[name].sample(names.index(name), block, at)
                at += sample.wall_s
                writer.add(Record(name, "compare", block + 1, position, sample, at), settings[name])
    return read_experiment(path)


def tuned(
    path: Path,
    search: Sequence[tuple[Setting, Runs, Sequence[int]]],
    confirm: Mapping[str, Runs] | None = None,
    blocks: int = 20,
    ablations: Mapping[str, tuple[str, Runs]] | None = None,
    candidate: str = "",
    plans: int = 1,
    **question: Any,
) -> Experiment:
    """A tune: settings with the blocks of the search that each ran in, then those that were confirmed, then those put back."""
    by_key = {setting.key: setting for setting, _, _ in search}
    at, count = 0.0, dict.fromkeys(by_key, 0)
    with Writer(path, tune_question(**{"machine_is_live": True, **question})) as writer:
        for block in range(1, 1 + max(max(where) for _, _, where in search)):
            for position, (setting, one, where) in enumerate(search):
                if block in where:
                    sample = one.sample(position, count[setting.key], at)
                    count[setting.key] += 1
                    at += sample.wall_s
                    writer.add(Record(setting.key, "search", block, position, sample), setting)
        back = {axis: key for axis, (key, _) in (ablations or {}).items()}
        for n in range(plans if candidate else 0):
            writer.add_plan(Plan(candidate, tuple(dict.fromkeys((min(7, blocks), blocks))), 0.05 / 2**n, back))
        arms = {**(confirm or {}), **dict((ablations or {}).values())}
        order, keys = BalancedOrder(Random(1)), list(arms)
        for block in range(blocks if arms else 0):
            for position, key in enumerate(order.next(keys)):
                sample = arms[key].sample(keys.index(key), block, at)
                at += sample.wall_s
                writer.add(Record(key, "confirm", block + 100, position, sample), by_key[key])
    return read_experiment(path)


def _plain(value: Any, path: str) -> Any:
    """Without the place that it was kept at, and numbers to the digits that every machine agrees on."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, str):
        return value.replace(path, "PATH")
    if isinstance(value, dict):
        return {k: _plain(v, path) for k, v in value.items()}
    return [_plain(v, path) for v in value] if isinstance(value, list) else value


def hold(name: str, verdict: Any, path: Path) -> dict[str, Any]:
    """Asserts that all of a verdict is what was written down under that name; it, as plain values."""
    said: dict[str, Any] = _plain(json.loads(json.dumps(encode(verdict))), str(path))
    file = WHOLE / f"{name}.json"
    if os.environ.get("NODEWISE_RECORD"):
        WHOLE.mkdir(exist_ok=True)
        file.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")
    assert said == json.loads(file.read_text())
    return said


#: The numbers of threads of a scaling.
COUNTS = (1, 2, 4, 8, 16)


def scaled(
    path: Path,
    time: Callable[[int], float] = lambda n: 0.5 + 9.5 / n,
    counts: tuple[int, ...] = COUNTS,
    blocks: int = 10,
    change: Callable[[int, int], Mapping[str, Any]] = lambda count, block: {},
    **question: Any,
) -> Experiment:
    """A stored scaling, its runs with noise of 2%; `change` has fields of samples by count and block."""
    asked = ScaleQuestion(
        ("a",), machine(16, 1), Path("e"), "threads", counts, environment={}, asked=("nodewise", "scale", "a")
    )
    noise = np.random.default_rng(5).normal(0, 0.02, (blocks, len(counts)))
    at = 0.0
    with Writer(path, {**asked.to_json(), **question}) as writer:
        for block in range(blocks):
            for i, n in enumerate(counts):
                seconds = time(n) * float(np.exp(noise[block, i]))
                sample = Sample(**{"seconds": seconds, "wall_s": seconds, "started_at": at, **change(n, block)})
                at += seconds
                setting = Setting(("a",), values={"threads": n})
                writer.add(Record(setting.key, SCALE, block + 1, i, sample, at), setting)
    return read_experiment(path)
