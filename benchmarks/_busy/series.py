# SPDX-License-Identifier: BSD-3-Clause
"""Long series of runs, recorded once beside a load, and experiments that are made of stretches of them."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import Contender
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget
from nodewise.runner.local import LocalLauncher
from nodewise.runner.marks import find_marks
from nodewise.runner.sample import Sample, sample_from_json
from nodewise.runner.setting import Setting
from nodewise.verdicts.compare import CompareVerdict

#: Blocks that a replayed experiment may take, without those that repeat disturbed ones.
MOST = 40


@dataclass(frozen=True)
class Series:
    """Samples by block and command, as they came."""

    blocks: tuple[Mapping[str, Sample], ...]

    def save(self, path: Path) -> None:
        """Write them as a JSON file."""
        path.write_text(json.dumps([{name: s.to_json() for name, s in block.items()} for block in self.blocks]))


def read_series(path: Path) -> Series:
    """A recorded series; its marks are found again, by the rules of today."""
    blocks = json.loads(path.read_text())
    return Series(tuple({name: _marked(sample_from_json(s)) for name, s in block.items()} for block in blocks))


def _marked(sample: Sample) -> Sample:
    return replace(sample, marks=find_marks(sample.wall_s, sample.usage, sample.conditions))


def record(commands: Mapping[str, tuple[str, ...]], seconds: float, seed: int = 0) -> Series:
    """Run all commands in random interleaved blocks for so long."""
    order, dice, blocks = list(commands), random.Random(seed), []
    end = time.monotonic() + seconds
    with LocalLauncher() as launcher:
        while time.monotonic() < end:
            dice.shuffle(order)
            blocks.append({name: launcher.run(Setting(command=commands[name], name=name)) for name in order})
    return Series(tuple(blocks))


class Replay:
    """A Launcher that gives what was recorded, from block `begin` on, and from the first one again after the last.

    A run that was recorded as that of `first` or `second` is given for the first or second command.
    """

    def __init__(self, series: Series, begin: int, names: Sequence[str]):
        self._series = series
        self._next = dict.fromkeys(names, begin)

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """The next run of that command."""
        at = self._next[setting.key]
        self._next[setting.key] = at + 1
        return self._series.blocks[at % len(self._series.blocks)][setting.key]

    def close(self) -> None:
        """Nothing is kept."""


def replay(series: Series, names: Sequence[str], machine: Machine, dice: random.Random) -> CompareVerdict:
    """One comparison of two recorded commands, on a stretch of the series that chance picks."""
    contenders = tuple(Contender(Setting(command=(name,), name=name), name) for name in names)
    with tempfile.TemporaryDirectory() as folder:
        question = CompareQuestion(
            contenders,
            machine,
            Path(folder, "experiment"),
            Budget(None, None),
            most=MOST,
            warmup=0,
            seed=dice.randrange(1 << 30),
            environment={},
        )
        return compare(question, Replay(series, dice.randrange(len(series.blocks)), names))
