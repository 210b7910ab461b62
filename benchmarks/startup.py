# SPDX-License-Identifier: BSD-3-Clause
"""How long commands take to start, beside bare Python and `import click`, which every command needs, in interleaved rounds.

`python -m benchmarks startup [--program FILE] [--rounds 40]`: the program is this environment's own; one that was installed from a
wheel starts sooner, as an editable installation has a finder of its own.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

from nodewise.statistics.compare import ratio_interval
from nodewise.statistics.summary import median

#: What is held against `import click`: the command, and how many times its time it may take.
COMMANDS = {"--version": 1.2, "--help": 3.0, "place compact --threads 2": 3.0}
_PEER = "import click"


def main(*words: str) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks startup")
    parser.add_argument("--program", type=Path, default=Path(sys.executable).with_name("nodewise"))
    parser.add_argument("--rounds", type=int, default=40)
    asked = parser.parse_args(list(words))
    python = asked.program.with_name("python")
    lines = {"python": [python, "-c", "pass"], _PEER: [python, "-c", _PEER]}
    lines |= {name: [asked.program, *name.split()] for name in COMMANDS}
    times: dict[str, list[float]] = {name: [] for name in lines}
    for turn in range(asked.rounds + 1):
        for name in random.sample(list(lines), len(lines)):
            begin = time.perf_counter()
            subprocess.run(lines[name], check=True, stdout=subprocess.DEVNULL)
            # the first of each reads files that are not in memory yet
            if turn:
                times[name].append(time.perf_counter() - begin)
    print(f"{'':<28}{'least':>8}{'median':>9}    times {_PEER}")
    for name, seconds in times.items():
        line = f"{name:<28}{1e3 * min(seconds):>5.0f} ms{1e3 * median(seconds):>6.0f} ms"
        if name in COMMANDS:
            # how many times as fast the peer is
            found = ratio_interval(seconds, times[_PEER])
            line += f"    {found.ratio:.2f} ({found.low:.2f}–{found.high:.2f}), to be {COMMANDS[name]:g}"
        print(line)
