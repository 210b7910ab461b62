# SPDX-License-Identifier: BSD-3-Clause
"""What a sample costs in a real tune or comparison of `true`: `python -m benchmarks._live tune|compare DIR SAMPLES SETTINGS`.

Prints JSON: for the first and the last samples the median, mean and 99th percentile in milliseconds of what lies between
one run's begin and the next one's, less the program's wall time; and the same of `hyperfine -N`, which takes turns.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import Contender
from nodewise.experiments.tune import tune
from nodewise.experiments.tune_question import Question
from nodewise.machine.sources import load_machine
from nodewise.records.budget import Budget
from nodewise.runner.local import LocalLauncher
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.tuning.wanted import Wanted

TRUE = shutil.which("true") or "/bin/true"
_TURN, _PEER_RUNS, _PART = 500, 60, 1000


class Timed(LocalLauncher):
    """Notes when each run begins, and what it took; now and then hyperfine takes a turn, which counts for nothing."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.begins: list[float] = []
        self.walls: list[float] = []
        self.peers: list[float] = []
        self._folder = folder
        self._lost = 0.0

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """A run, its times noted."""
        begin = time.perf_counter()
        self.begins.append(begin - self._lost)
        if len(self.begins) % _TURN == 0 and shutil.which("hyperfine"):
            self.peers.append(self._hyperfine())
            self._lost += time.perf_counter() - begin
        sample = super().run(setting, timeout_s=timeout_s)
        self.walls.append(sample.wall_s)
        return sample

    def _hyperfine(self) -> float:
        """What hyperfine needs for a run besides the program's time, its start and end apart."""
        out = self._folder.with_suffix(".peer.json")
        took = []
        for runs in (2, 2 + _PEER_RUNS):
            command = [
                "hyperfine",
                "-N",
                "-w",
                "0",
                "-r",
                str(runs),
                "--style",
                "none",
                "--export-json",
                str(out),
                TRUE,
            ]
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            took.append(time.perf_counter() - begin - sum(json.loads(out.read_text())["results"][0]["times"]))
        return (took[1] - took[0]) / _PEER_RUNS


def _told(costs: np.ndarray) -> list[float]:
    return [float(f) * 1e3 for f in (np.median(costs), np.mean(costs), np.quantile(costs, 0.99))]


def main() -> None:
    """Measure and print."""
    kind, out, samples = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    machine = load_machine(None, None)
    shown: list[object] = []
    with Timed(out) as launcher:
        if kind == "tune":
            values = {"n": tuple(str(n) for n in range(int(sys.argv[4])))}
            question = Question((TRUE, "{n}"), machine, ("n",), out, Budget(None, samples), wanted=Wanted(values))
            tune(question, launcher, shown.append)
        else:
            pair = tuple(Contender(Setting((TRUE, name), name=name), f"true {name}") for name in ("one", "other"))
            asked = CompareQuestion(
                pair,
                machine,
                out,
                Budget(None, None),
                fewest=samples // 2,
                most=samples // 2,
                environment=dict(os.environ),
            )
            compare(asked, launcher, shown.append)
    costs = np.diff(launcher.begins) - np.array(launcher.walls[:-1])
    part = min(_PART, costs.size // 2)
    parts = {f"first {part}": _told(costs[20:part]), f"last {part}": _told(costs[-part:])}
    if launcher.peers:
        parts["hyperfine -N"] = _told(np.array(launcher.peers))
    status = Path("/proc/self/status").read_text()
    megabytes = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"samples": len(launcher.walls), "parts": parts, "megabytes": megabytes}))


if __name__ == "__main__":
    main()
