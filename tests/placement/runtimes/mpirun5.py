# SPDX-License-Identifier: BSD-3-Clause
"""The mpirun of Open MPI 5, asked where it would put ranks on machines that exist only as hwloc describes them."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from nodewise.machine.model import Machine
from tests.placement.runtimes import made_up, uneven

HERE = Path(__file__).parent
#: Shapes that synthetic texts cannot describe are recorded as this and their name.
_UNEVEN = "uneven:"


@cache
def machine_of(name: str) -> Machine:
    """The machine that a recorded name means."""
    return made_up.loaded(name if name.startswith(_UNEVEN) else f"synthetic:{name}")


class Asked:
    """A mpirun to be asked, with a folder for topologies and what is heard."""

    def __init__(self, mpirun: str, folder: Path):
        self.mpirun = mpirun
        self.folder = folder
        self.library = folder / "heard.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", str(self.library), str(HERE / "heard.c"), "-ldl"], check=True
        )
        self._topology = cache(self._made)

    def _made(self, machine: str) -> Path:
        path = self.folder / f"{abs(hash(machine))}.xml"
        if machine.startswith(_UNEVEN):
            return uneven.write_machine(path, uneven.SHAPES[machine.removeprefix(_UNEVEN)])
        subprocess.run(
            ["lstopo-no-graphics", "-i", machine, "--of", "xml", "-f", str(path)], check=True, capture_output=True
        )
        return path

    def zones(self, machine: str, options: Sequence[str], ranks: int) -> tuple[list[list[int]] | None, str]:
        """The processors of each rank in order, an empty list where it is not bound; None where it refused. And its words."""
        heard = self.folder / "heard"
        heard.unlink(missing_ok=True)
        words = [self.mpirun, "--prtemca", "hwloc_use_topo_file", str(self._topology(machine)), "--do-not-launch"]
        done = subprocess.run(
            [*words, "--display", "map", "-n", str(ranks), *options, "true"],
            env={
                **os.environ,
                "LD_PRELOAD": str(self.library),
                "NODEWISE_HEARD": str(heard),
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            },
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        texts = heard.read_text().split() if heard.exists() else []
        # it goes through them twice, first in the order of ranks
        listed = iter(texts[: len(texts) // 2])
        found = {
            int(rank): [] if bound == "UNBOUND" else _numbers(next(listed))
            for rank, bound in re.findall(r"Data for proc: \[\S+@\d+,(\d+)\][\s\S]*?Binding: (.*)", done.stdout)
        }
        return ([found[rank] for rank in sorted(found)] if found else None), done.stdout[-2000:] + done.stderr[-2000:]


def _numbers(text: str) -> list[int]:
    ends = [part.partition("-") for part in text.split(",")]
    return [n for first, _, last in ends for n in range(int(first), int(last or first) + 1)]


def question(dice: random.Random) -> tuple[str, str, int]:
    """A machine, options and a number of ranks."""
    if dice.random() < 0.15:
        machine = _UNEVEN + dice.choice(list(uneven.SHAPES))
    else:
        counts = {
            kind: dice.choice(some)
            for kind, some in (("pack", (0, 1, 2, 2, 4)), ("numa", (0, 0, 1, 2)), ("l3", (0, 0, 1, 2)))
        }
        cores, pus = dice.choice((1, 2, 3, 4, 5)), dice.choice((1, 2, 2, 4))
        total = cores
        for n in counts.values():
            total *= max(1, n)
        machine = "".join(f"{kind}:{n} " for kind, n in counts.items() if n) + f"core:{cores} pu:{pus}"
        if pus > 1 and dice.random() < 0.4:
            machine += "(indexes=" + ",".join(str(c + total * t) for c in range(total) for t in range(pus)) + ")"
    modifiers = [
        text
        for text, share in (
            (f"PE={dice.choice((1, 2, 2, 3, 4))}", 0.35),
            ("OVERSUBSCRIBE", 0.12),
            ("SPAN", 0.1),
            ("HWTCPUS", 0.12),
            ("NOOVERSUBSCRIBE", 0.03),
        )
        if dice.random() < share
    ]
    words: list[str] = []
    how = dice.random()
    kinds = ("core", "core", "package", "package", "socket", "numa", "l3cache", "hwthread", "slot", "node", "l2cache")
    if how < 0.65:
        words += ["--map-by", ":".join([dice.choice(kinds), *modifiers])]
    elif how < 0.8:
        each = ("package", "package", "numa", "l3cache", "core", "node", "hwthread", "socket")
        words += ["--map-by", ":".join(["ppr", str(dice.choice((1, 2, 2, 3))), dice.choice(each), *modifiers])]
    elif how < 0.86 and modifiers:
        words += ["--map-by", ":" + ":".join(modifiers)]
    if dice.random() < 0.5:
        bound = dice.choice(("core", "core", "hwthread", "package", "numa", "l3cache", "none", "socket"))
        more = dice.choice((":overload-allowed", ":if-supported", ":no-overload")) if dice.random() < 0.2 else ""
        words += ["--bind-to", bound + more]
    if dice.random() < 0.25:
        words += ["--rank-by", dice.choice(("slot", "node", "fill", "span", "core", "package"))]
    if dice.random() < 0.12:
        words += ["--use-hwthread-cpus"]
    return machine, " ".join(words), dice.choice((1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 12))
