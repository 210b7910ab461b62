# SPDX-License-Identifier: BSD-3-Clause
"""Ask likwid's own code which processors expressions mean, on machines that are not here, and record its answers.

    .venv/bin/python tools/likwid.py SOURCES [--cases 12] [--seed N] [--record FILE]

SOURCES is a folder with likwid's sources of one version. Without --record the answers are held against our reader.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nodewise.machine.model import Machine  # noqa: E402
from nodewise.placement.objects import last_level_caches, objects  # noqa: E402
from tests.placement.likwid_answers import difference  # noqa: E402
from tests.placement.runtimes.mpirun5 import machine_of  # noqa: E402

MACHINES = (
    "pack:1 numa:1 core:2 pu:1",
    "pack:2 numa:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
    "pack:2 numa:1 l3:1 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)",
    "pack:2 numa:1 l3:1 core:4 pu:2(indexes=0,8,2,10,4,12,6,14,1,9,3,11,5,13,7,15)",
    "pack:2 numa:2 l3:2 core:4 pu:1",
    "pack:1 numa:1 l3:2 core:4 pu:2",
    "pack:2 numa:2 l3:1 core:3 pu:2",
    "pack:4 numa:1 l3:1 core:6 pu:1",
    "pack:1 numa:4 l3:2 core:4 pu:4",
    "pack:12 numa:1 l3:1 core:2 pu:1",
)
_ALWAYS = ("E:N:4", "N:scatter", "L:0-1", "S0:0@S1:0", "M0:0-1@M1:0-1", "N:999", "S10:0", "E:C11:2", "1-0", "S0@E:N")
_SOURCES = ("affinity", "cpustring", "tree", "bstrlib", "bstrlib_helper")


def built(sources: Path, folder: Path) -> Path:
    """The program that asks the code in a folder."""
    files = [p for name in _SOURCES if (p := sources / "src" / f"{name}.c").exists()]
    own = ROOT / "tests/placement/runtimes/likwid.c"
    command = ["gcc", "-w", "-g", "-D_GNU_SOURCE", "-DMAX_NUM_THREADS=1024", f"-I{sources / 'src/includes'}"]
    subprocess.run([*command, "-o", folder / "ask", own, *files, "-lm"], check=True)
    return folder / "ask"


def told(machine: Machine) -> str:
    """A machine, as the program reads it."""
    sockets = objects(machine, "package") or [machine.pus]
    threads = [
        (pu, at, number, socket)
        for socket, inside in enumerate(sockets)
        for number, core in enumerate(machine.cores)
        if set(core.pus) <= set(inside)
        for at, pu in enumerate(core.pus)
    ]
    per_core = max(len(core.pus) for core in machine.cores)
    head = (
        len(sockets),
        len(machine.cores) // len(sockets),
        per_core,
        len(last_level_caches(machine)[0]),
        len(threads),
    )
    nodes = [[one[0] for one in threads if one[0] in node] for node in objects(machine, "numa") or [machine.pus]]
    lines = [head, *threads, (len(nodes),), *((len(node), *node) for node in nodes)]
    return "\n".join(" ".join(map(str, line)) for line in lines)


def made_up(dice: random.Random, machine: Machine) -> str:
    """An expression."""
    count = len(machine.pus)
    levels = {"S": objects(machine, "package"), "M": objects(machine, "numa"), "C": last_level_caches(machine)}
    domains = [
        "N",
        *(f"{letter}{i}" for letter, found in {**levels, "D": levels["S"]}.items() for i in range(len(found))),
    ]

    def numbers() -> str:
        pairs = [(dice.randrange(count), dice.randrange(count)) for _ in range(dice.choice([1, 1, 2, 3]))]
        return ",".join(str(a) if dice.random() < 0.3 else f"{a}-{b}" for a, b in pairs)

    def part() -> str:
        domain, threads = dice.choice(domains), dice.randint(1, count + 2)
        rows = f"{dice.choice([1, 1, 2, 3, 4])}:{dice.choice([1, 2, 3, 4, 6])}"
        offset = f":{dice.randrange(4)}" if dice.random() < 0.2 else ""
        how = dice.choice(["scatter", "balanced", "cbalanced"]) + (f":{threads}" if dice.random() < 0.5 else "")
        kinds = [numbers(), f"{domain}:{numbers()}", f"L:{domain}:{numbers()}", f"E:{domain}:{threads}", domain]
        kinds += [f"E:{domain}:{threads}:{rows}{offset}", f"E:{domain}", f"{dice.choice('NSMCD')}:{how}"]
        return dice.choice(kinds)

    return "@".join(part() for _ in range(dice.choice([1, 1, 1, 1, 2])))


def answers(program: Path, seed: int, cases: int) -> list[dict[str, Any]]:
    """What it says. Left out are expressions of which it passes over a part that it finds wrong, and goes on."""
    dice, found = random.Random(seed), []
    for spec in MACHINES:
        machine = machine_of(spec)
        for text in dict.fromkeys([*_ALWAYS, *(made_up(dice, machine) for _ in range(cases))]):
            asked = f"{told(machine)}\n{text}\n"
            try:
                said = subprocess.run([program], input=asked, capture_output=True, text=True, check=False, timeout=2)
            except subprocess.TimeoutExpired:
                # it goes round and round
                found.append({"machine": spec, "text": text, "processors": "beyond"})
                continue
            line = next((one for one in said.stdout.splitlines() if one.startswith("answer ")), "")
            count, *numbers = map(int, line.split()[1:] or ["-1"])
            if said.returncode or count > len(machine.pus):
                # it wrote past the end of its list
                found.append({"machine": spec, "text": text, "processors": "beyond"})
            elif not (numbers and said.stderr):
                found.append({"machine": spec, "text": text, "processors": numbers or None})
    return found


def main() -> int:
    """Record, or compare; exit code 1 where answers differ from what we read."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=12)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = answers(built(options.sources, Path(folder)), options.seed, options.cases)
    if options.record:
        options.record.write_text("".join(f"{json.dumps(one)}\n" for one in found))
        return 0
    wrong = [text for one in found if (text := difference(one)) is not None]
    print("\n".join([*wrong, f"{len(found)} answers, {len(wrong)} differ"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
