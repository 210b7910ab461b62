# SPDX-License-Identifier: BSD-3-Clause
"""Large experiments, written as real ones are: `python -m benchmarks._stored tune|compare DIR SAMPLES SETTINGS`."""

from __future__ import annotations

import itertools
import math
import random
import sys
from pathlib import Path
from typing import Any

from benchmarks._surfaces import read_surfaces
from nodewise.experiments.compare import CompareQuestion
from nodewise.experiments.contenders import Contender
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Budget
from nodewise.records.columns import Record
from nodewise.records.experiment import Plan, Writer
from nodewise.runner.marks import find_marks
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.sequential import plan_looks
from nodewise.tuning.options import Options
from nodewise.tuning.wanted import Wanted

_WIDE = 100
_BLOCKS = 400
_ABLATIONS = 6


class _Runs:
    """Samples that carry all that a real run does: sixteen numbers and some from the program, marks, now and then an error."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._clock = 1.8e9
        self.spent = 0.0

    def sample(self, seconds: float, threads: int) -> Sample:
        dice = self._random
        t = seconds * math.exp(dice.gauss(0, 0.012)) * (1 + dice.expovariate(3) if dice.random() < 0.04 else 1)
        cpu = t * threads * dice.uniform(0.93, 0.99)
        usage = {
            "user_s": cpu * 0.97,
            "system_s": cpu * 0.03,
            "peak_bytes": float(dice.randrange(40_000, 48_000) * 4096),
            "context_switches": float(dice.randrange(200, 4000)),
            "involuntary_switches": float(dice.randrange(20, 900)),
            "migrations": float(dice.randrange(0, 60)),
            "minor_faults": float(dice.randrange(9_000, 15_000)),
            "major_faults": 0.0,
            "cycles": cpu * 2.1e9,
            "instructions": dice.uniform(3.1e11, 3.2e11),
        }
        steal = cpu * dice.expovariate(150)
        conditions = {
            "steal_s": round(steal, 2),
            "busy_s": round(cpu + dice.expovariate(60), 2),
            "pressure_cpu_s": t * dice.expovariate(100),
            "pressure_memory_s": 0.0,
            "pressure_io_s": t * dice.expovariate(500),
            "throttled_s": 0.0,
            "heat_events": 0.0,
            "frequency_hz": dice.uniform(2.05e9, 2.15e9),
            "base_frequency_hz": 2.0e9,
            "load_average": threads * dice.uniform(0.8, 1.1),
        }
        self._clock += t + 0.002
        self.spent += t + 0.002
        failed = dice.random() < 0.003
        return Sample(
            seconds=t,
            wall_s=t + 0.08,
            started_at=self._clock,
            source="program",
            metrics={"items": 1 << 27, "keys_per_s": (1 << 27) / t},
            usage=usage,
            conditions=conditions,
            marks=find_marks(t, usage, conditions),
            error="exit code 1" if failed else None,
            output="it could not allocate its buckets\n" * 20 if failed else "",
        )


def write_tune(path: Path, samples: int, settings: int) -> None:
    """A tune of so many samples of so many settings, with its plan and no verdict."""
    surface = next(s for s in read_surfaces() if s.name == "knc-sort")
    machine = surface.machine()
    axes = ("threads", "placement", "hugepages", "OMP_SCHEDULE")
    wanted = Wanted(variables={"OMP_SCHEDULE": ("static", "dynamic", "guided")})
    question = Question(
        ("./sort", "--class", "B"), machine, axes, path, Budget(None, samples), environment={}, wanted=wanted
    )
    options = Options(machine, question.command, axes, {}, wanted)
    dice = random.Random(1)
    open_axes = options.space.open
    points = [
        options.space.default.having(**dict(zip((a.name for a in open_axes), values, strict=True)))
        for values in itertools.product(*(a.values for a in open_axes))
    ]
    points = dice.sample(options.space.distinct(points), settings - 1)
    made = [options.setting(p) for p in points]
    times = [surface.seconds(s) for s in made]
    best = min(range(len(made)), key=times.__getitem__)
    baseline = Setting(command=question.command)
    threads = [int(s.values["threads"]) for s in made]
    arms = {
        name: s for name, s in ((a.name, _put_back(options, points[best], a.name)) for a in open_axes) if s is not None
    }
    runs = _Runs(2)
    with Writer(path, question.to_json()) as writer:
        writer.amend({"axes": {a.name: list(a.values) for a in options.space.axes}, "loaded": None, "knobs": {}})
        base_time = surface.seconds(baseline)
        tail = 2 * _BLOCKS + _ABLATIONS * (1 + len(arms))
        written = block = 0

        def add(setting: Setting, phase: str, position: int, seconds: float, count: int) -> None:
            nonlocal written
            sample = runs.sample(seconds, count)
            writer.add(Record(setting.key, phase, block, position, sample, runs.spent), setting)
            written += 1

        add(baseline, "warm-up", 0, base_time, 244)
        queue: list[int] = []
        while written < samples - tail:
            block += 1
            while len(queue) < _WIDE:
                queue += dice.sample(range(len(made)), len(made))
            now, queue = queue[:_WIDE], queue[_WIDE:]
            for position, i in enumerate(now[: samples - tail - written - 1]):
                add(made[i], "search", position, times[i], threads[i])
            add(baseline, "search", len(now), base_time, 244)
        looks = plan_looks(_BLOCKS)
        writer.add_plan(Plan(made[best].key, looks.at, looks.alpha, {n: s.key for n, s in arms.items()}))
        pair = [(baseline, base_time, 244), (made[best], times[best], threads[best])]
        for _ in range(_BLOCKS):
            block += 1
            for position, (setting, seconds, count) in enumerate(dice.sample(pair, 2)):
                add(setting, "confirm", position, seconds, count)
        sides = [pair[1], *((s, surface.seconds(s), int(s.values["threads"])) for s in arms.values())]
        for _ in range(_ABLATIONS):
            block += 1
            for position, (setting, seconds, count) in enumerate(dice.sample(sides, len(sides))):
                add(setting, "confirm", position, seconds, count)


def _put_back(options: Options, point: Any, name: str) -> Setting | None:
    default = options.space.default[name]
    return None if point[name] == default else options.setting(point.having(**{name: default}))


def write_compare(path: Path, samples: int, contenders: int) -> None:
    """A comparison of so many contenders in blocks of all of them, with no verdict."""
    machine = read_surfaces()[0].machine()
    names = [f"./solver --threads {n + 1} input.dat" for n in range(contenders)]
    made = tuple(
        Contender(Setting(("./solver", "--threads", str(n + 1), "input.dat"), {"t": str(n + 1)}, name=name), name)
        for n, name in enumerate(names)
    )
    question = CompareQuestion(made, machine, path, Budget(None, samples), environment={})
    dice = random.Random(3)
    runs = _Runs(4)
    with Writer(path, question.to_json()) as writer:
        for block in range(1, samples // contenders + 1):
            for position, n in enumerate(dice.sample(range(contenders), contenders)):
                sample = runs.sample(2.0 - 0.01 * n, n + 1)
                setting = made[n].setting
                writer.add(Record(setting.key, "compare", block, position, sample, runs.spent), setting)


if __name__ == "__main__":
    {"tune": write_tune, "compare": write_compare}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
