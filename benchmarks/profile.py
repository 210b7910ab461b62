# SPDX-License-Identifier: BSD-3-Clause
"""What a profile costs a program, and how right its shares are, with 1 and 2 threads and either kind of call chains.

`profile` compares the program's own time (it says its seconds itself, so that what perf needs to start and to end is no part of it) plain and
recorded at 99 Hz, in interleaved blocks; perf's fixed cost stands apart. Then it records a program whose functions take 50, 30 and 20 % by
construction, which its own clock confirms, until there are enough samples. `--quick` is for trying the benchmark out: its figures mean little.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from nodewise.api.compare import compare
from nodewise.api.profile import conclude_profile, prepare_profile
from nodewise.base.errors import InputError

RATE, CHAINS, PARTS = 99, ("fp", "dwarf"), {"half": 0.5, "third": 0.3, "fifth": 0.2}
#: Longer by at most this, and shares within this.
_LONGER, _OFF = 0.03, 0.02
#: Seconds of a run that is compared, of a comparison, and of the recording whose shares are read: two and a half thousand samples, a share of 50 % to one point.
_RUN_S, _BUDGET_S, _RECORDED_S = 2.0, 300.0, 30.0
_QUICK_S = (0.2, 60.0, 10.0)
_SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile double sink;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
/* noipa: parts that are alike stay functions of their own names */
#define PART(name) \\
    __attribute__((noipa, aligned(64))) static void name(long n) { \\
        double x = 1; \\
        for (long i = 0; i < n; ++i) x = x * 1.0000001 + 1e-9; \\
        sink = x; \\
    }
PART(half)
PART(third)
PART(fifth)
/* rounds of some milliseconds, so that a program's parts are not a sampler's */
int main(int argc, char** argv) {
    long rounds = atol(argv[1]);
    double spent[3] = {0, 0, 0}, begin = now();
#pragma omp parallel for reduction(+ : spent[:3]) schedule(static)
    for (long k = 0; k < rounds; ++k) {
        const double a = now();
        half(500000);
        const double b = now();
        third(300000);
        const double c = now();
        fifth(200000);
        spent[0] += b - a;
        spent[1] += c - b;
        spent[2] += now() - c;
    }
    printf("{\\"nodewise\\": 1, \\"seconds\\": %.9f, \\"half\\": %.9f, \\"third\\": %.9f, \\"fifth\\": %.9f}\\n", now() - begin, spent[0],
           spent[1], spent[2]);
    return argc < 2;
}
"""


def _own(words: list[str]) -> dict[str, float]:
    """What the program says of itself."""
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    said: dict[str, float] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return said


def _costs(folder: Path, program: list[str], threads: int, budget_s: float) -> None:
    """The program's own time with each kind of call chains against that without a profile."""
    recorded = []
    for chains in CHAINS:
        into = folder / f"{chains}-{threads}"
        into.mkdir()
        recorded.append(list(prepare_profile(program, into, rate=RATE, chains=chains).words))
    verdict = compare(
        program,
        *recorded,
        names=["plain", *CHAINS],
        budget=budget_s,
        within=_LONGER,
        out=folder / f"compared-{threads}",
    )
    for contender in verdict.contenders:
        pair = contender.against_reference
        if pair is None:
            continue
        title = f"{contender.name:<6} {threads} threads: its own time"
        if pair.low is None or pair.high is None:
            print(f"{title} {pair.slowdown.ratio - 1:+.2%}, without an interval: {pair.sentence}")
            continue
        longer, least, most = (value - 1 for value in (pair.slowdown.ratio, pair.slowdown.low, pair.slowdown.high))
        held = "" if most <= _LONGER else "  MISSED" if least > _LONGER else "  undecided"
        spread = f"{least:+.2%} to {most:+.2%}, {contender.runs} runs, {contender.disturbed} of them disturbed"
        print(f"{title} {longer:+.2%} ({spread}), to be at most {_LONGER:+.0%}{held}")


def _fixed(folder: Path, program: list[str], threads: int) -> None:
    """What perf needs around the program: the time of the whole less the program's own, the median of five."""
    for chains in CHAINS:
        into = folder / f"fixed-{chains}-{threads}"
        into.mkdir()
        words = list(prepare_profile(program, into, rate=RATE, chains=chains).words)
        around = []
        for _ in range(5):
            begin = time.perf_counter()
            said = _own(words)
            around.append(time.perf_counter() - begin - said["seconds"])
        print(f"{chains:<6} {threads} threads: perf's fixed cost {sorted(around)[2]:.2f} s")


def _shares(folder: Path, program: list[str], threads: int) -> None:
    """The shares that a profile gives the three functions."""
    for chains in CHAINS:
        into = folder / f"shares-{chains}-{threads}"
        into.mkdir()
        prepared = prepare_profile(program, into, rate=RATE, chains=chains)
        begin = time.perf_counter()
        said = _own(list(prepared.words))
        result = conclude_profile(prepared, time.perf_counter() - begin, 0).result
        whole = sum(said[name] for name in PARTS)
        found = {f.function: f for f in result.functions if f.function in PARTS}
        parts, worst = [], 0.0
        for name, expected in PARTS.items():
            share = found[name].share if name in found else 0.0
            worst = max(worst, abs(share - expected))
            parts.append(f"{name} {share:.1%} (by its clock {said[name] / whole:.1%})")
        samples = sum(f.samples for f in found.values())
        held = "" if worst <= _OFF else "  MISSED"
        print(
            f"{chains:<6} {threads} threads: {', '.join(parts)}; off by {worst:.1%} of {samples} samples, to be at most {_OFF:.0%}{held}"
        )


def main(*options: str) -> None:
    """Print the two figures."""
    if unknown := [word for word in options if word != "--quick"]:
        raise InputError(f"no such option of profile: {unknown[0]}", "there is --quick")
    run_s, budget_s, recorded_s = _QUICK_S if "--quick" in options else (_RUN_S, _BUDGET_S, _RECORDED_S)
    most = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "parts.c").write_text(_SOURCE)
        flags = ("-O2", "-g", "-fopenmp", "-fno-omit-frame-pointer")
        subprocess.run(["cc", *flags, "parts.c", "-o", "parts"], cwd=folder, check=True)
        for threads in (1, 2):
            if threads > most:
                print(f"{threads} threads: there are only {most} processors")
                continue
            start = ["env", f"OMP_NUM_THREADS={threads}", str(folder / "parts")]
            speed = 200 / _own([*start, "200"])["seconds"]
            _costs(folder, [*start, str(round(run_s * speed))], threads, budget_s)
            _fixed(folder, [*start, str(round(run_s * speed))], threads)
            _shares(folder, [*start, str(round(recorded_s * speed))], threads)
