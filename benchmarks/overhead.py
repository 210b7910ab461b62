# SPDX-License-Identifier: BSD-3-Clause
"""What it costs to start and time a program that does nothing, against `hyperfine -N`, in interleaved rounds.

`told` is the time that the tool says a run of `true` took (all of it overhead), `spread` its MAD, `cost` the wall time
that the tool needs for a run altogether. The limit is posix_spawn and waitpid, called from a loop in C.
"""

import ctypes
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from nodewise.runner.local import LocalLauncher
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.summary import mad, median

ROUNDS, RUNS = 15, 60
TRUE = shutil.which("true") or "/bin/true"

_SPAWN = """
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
extern char** environ;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
void spawn_times(const char* program, int runs, double* times) {
    char* words[] = {(char*)program, 0};
    for (int i = 0; i < runs; ++i) {
        pid_t pid;
        double begin = now();
        posix_spawn(&pid, program, 0, 0, words, environ);
        waitpid(pid, 0, 0);
        times[i] = now() - begin;
    }
}
"""


def _nodewise(launcher: LocalLauncher) -> tuple[list[float], float]:
    setting = Setting(command=(TRUE,))
    begin = time.perf_counter()
    times = [launcher.run(setting).wall_s for _ in range(RUNS)]
    return times, (time.perf_counter() - begin) / RUNS


def _hyperfine(folder: Path) -> tuple[list[float], float]:
    out = folder / "out.json"
    command = ["hyperfine", "-N", "-w", "0", "-r", str(RUNS), "--style", "none", "--export-json", str(out), TRUE]
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    cost = (time.perf_counter() - begin) / RUNS
    return json.loads(out.read_text())["results"][0]["times"], cost


def _limit(folder: Path) -> ctypes.CDLL:
    (folder / "spawn.c").write_text(_SPAWN)
    library = folder / "spawn.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(folder / "spawn.c"), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def _spawn(library: ctypes.CDLL) -> tuple[list[float], float]:
    times = (ctypes.c_double * RUNS)()
    begin = time.perf_counter()
    library.spawn_times(TRUE.encode(), RUNS, times)
    return list(times), (time.perf_counter() - begin) / RUNS


def main() -> None:
    """Print the table and the ratios."""
    with tempfile.TemporaryDirectory() as name, LocalLauncher() as launcher:
        folder = Path(name)
        library = _limit(folder)
        contenders = {
            "nodewise": lambda: _nodewise(launcher),
            "hyperfine -N": lambda: _hyperfine(folder),
            "posix_spawn (limit)": lambda: _spawn(library),
        }
        rounds: dict[str, list[tuple[float, float, float]]] = {k: [] for k in contenders}
        for i in range(ROUNDS + 1):
            order = list(contenders)
            for who in order[i % 3 :] + order[: i % 3]:
                times, cost = contenders[who]()
                if i:  # the first round warms up
                    rounds[who].append((median(times), mad(times), cost))
    print(f"{'':<22}{'told':>10}{'spread':>10}{'cost':>10}   (µs, medians of {ROUNDS} rounds of {RUNS} runs of `true`)")
    for who, values in rounds.items():
        told, spread, cost = (median(column) * 1e6 for column in zip(*values, strict=True))
        print(f"{who:<22}{told:>10.0f}{spread:>10.1f}{cost:>10.0f}")
    for column, what in ((0, "told"), (1, "spread"), (2, "cost")):
        peer = [v[column] for v in rounds["hyperfine -N"]]
        own = [v[column] for v in rounds["nodewise"]]
        r = ratio_interval(peer, own)
        print(f"hyperfine's {what} over nodewise's: {r.ratio:.2f}x ({r.low:.2f}-{r.high:.2f})")
