# SPDX-License-Identifier: BSD-3-Clause
"""A small program of a user, which mypy reads and nothing runs."""

from functools import partial

import nodewise


def show(progress: nodewise.Progress) -> None:
    print(progress.phase, progress.runs)


def best(command: list[str]) -> str:
    verdict: nodewise.TuneVerdict = nodewise.tune(command, budget=30, axes=["threads"], timeout="10s", progress=show)
    if verdict.verdict is nodewise.Word.FASTER and verdict.low is not None:
        return f"{verdict.best.launch_line}: {verdict.ratio:.2f}x, at least {verdict.low:.2f}x"
    return verdict.baseline.launch_line


def main() -> None:
    try:
        compared = nodewise.compare(partial(sorted, [3, 1, 2]), partial(sorted, [1, 2, 3]), runs=7)
    except nodewise.ProgramError as problem:
        print(problem.what, problem.hint)
        return
    centres: list[float | None] = [row.median for row in compared.contenders]
    alone: float = nodewise.run("sleep 0.01", runs=3, env={"X": 1}).median_s
    rows: int = len(nodewise.study("is", knobs={"class": "S"}, quick=True).rows)
    here: nodewise.Machine = nodewise.machine()
    there = nodewise.machine("synthetic:core:4 pu:2", allow=[0, 1])
    print(centres, alone, rows, len(here.cores), len(there.allowed), best(["./solver"]))
