# SPDX-License-Identifier: BSD-3-Clause
"""Commands that start ranks: how many, and where the program that each rank runs begins."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.policies import place
from nodewise.placement.say import say

LAUNCHERS = (
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "mpirun.mpich",
    "mpirun.openmpi",
    "mpiexec.openmpi",
    "orterun",
    "srun",
)
_COUNTS = ("-n", "-np", "--np", "--ntasks", "-ntasks")
#: Options of these launchers that are followed by so many words.
_VALUES = {
    1: [
        "-c",
        "-N",
        "-H",
        "-f",
        "-x",
        "-w",
        "-p",
        "-t",
        "-A",
        "-J",
        "-o",
        "-e",
        "-i",
        "-D",
        "-m",
        "--host",
        "--hosts",
        "-host",
        "-hosts",
        "--hostfile",
        "-hostfile",
        "--machinefile",
        "-machinefile",
        "--map-by",
        "-map-by",
        "--bind-to",
        "-bind-to",
        "--rank-by",
        "-rank-by",
        "--npernode",
        "-npernode",
        "-ppn",
        "--ppn",
        "-wdir",
        "--wdir",
        "-genvlist",
        "--cpu-bind",
        "--mem-bind",
        "--distribution",
        "--cpus-per-task",
        "--ntasks-per-node",
        "--nodes",
        "--partition",
        "--account",
        "--time",
        "--hint",
    ],
    2: ["--mca", "-mca", "--gmca", "-gmca", "--prtemca", "-env", "-genv"],
}
#: What keeps each launcher from binding ranks itself: a second layer would bind over the first.
UNBOUND = {
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "SLURM_CPU_BIND": "none",
}


@dataclass(frozen=True)
class Ranked:
    """A command that starts `ranks` ranks: `head` up to the number of ranks, `middle` from behind it, `program` with its arguments."""

    ranks: int
    head: tuple[str, ...]
    count: str
    middle: tuple[str, ...]
    program: tuple[str, ...]

    def command(self, ranks: int, wrapper: Sequence[str] = ()) -> list[str]:
        """The command for another number of ranks, each started through `wrapper`."""
        return [*self.head, self.count.replace("{n}", str(ranks)), *self.middle, *wrapper, *self.program]


def read_ranked(command: Sequence[str]) -> Ranked | None:
    """How a command starts ranks; None where its first word is no launcher, or no number of ranks is in it.

    Raises InputError where the program of the ranks cannot be found.
    """
    if not command or Path(command[0]).name not in LAUNCHERS:
        return None
    at: int | None = None
    count, i = "", 1
    ranks = 0
    while i < len(command):
        word = command[i]
        name, sign, value = word.partition("=")
        if word == "--":
            i += 1
            break
        if not word.startswith("-"):
            break
        if word in _COUNTS and i + 1 < len(command):
            at, count, value = i + 1, "{n}", command[i + 1]
            i += 1
        elif sign and name in _COUNTS:
            at, count = i, f"{name}={{n}}"
        elif joined := re.fullmatch(r"-n(\d+)", word):
            at, count, value = i, "-n{n}", joined[1]
        if at is not None and not ranks:
            if not value.isdecimal() or int(value) < 1:
                raise InputError(f"{command[0]}: {value!r} is no number of ranks")
            ranks = int(value)
        i += 1 + next((n for n, names in _VALUES.items() if word in names), 0)
    if at is None:
        return None
    if i >= len(command):
        raise InputError(
            f"no program is found behind the options of {command[0]}",
            "write -- before it, such as: mpirun -n 4 -- ./app",
        )
    return Ranked(ranks, tuple(command[:at]), count, tuple(command[at + 1 : i]), tuple(command[i:]))


def place_ranks(machine: Machine, policy: str, ranks: int, threads: int) -> Placement | None:
    """Where the threads of all ranks sit: the policy's places for all of them, cut into ranks; None where none is bound."""
    every = place(machine, policy, ranks * threads)
    if every is None:
        return None
    by_rank = [every.places[r * threads : (r + 1) * threads] for r in range(ranks)]
    return Job(threads, ranks).placement(policy, by_rank)


def rank_wrapper(machine: Machine, placement: Placement, threads: int, folder: Path) -> list[str]:
    """The words that start a rank, of so many threads, in its place: a script, written into `folder` once for each placement.

    OpenMP's variables place the threads. On this machine each rank is held to its processors besides, for programs that
    know nothing of OpenMP.
    """
    said = say("omp", machine, placement)
    places = placement.places
    masks = [
        ",".join(str(p) for p in sorted({p for place in places[i : i + threads] for p in place}))
        for i in range(0, len(places), threads)
    ]
    if not said.files:
        held = ["taskset", "-c", masks[0]] if machine.live and shutil.which("taskset") else []
        return [*held, "env", *(f"{k}={v}" for k, v in said.env.items())]
    text = next(iter(said.files.values()))
    if machine.live:
        cases = "".join(f"{rank}) mask={mask} ;;\n" for rank, mask in enumerate(masks))
        held_to = (
            f'case "$rank" in\n{cases}esac\n! command -v taskset >/dev/null || taskset -cp "$mask" $$ >/dev/null\n'
        )
        text = text.removesuffix('exec "$@"\n') + held_to + 'exec "$@"\n'
    path = folder / f"place-rank-{hashlib.sha256(text.encode()).hexdigest()[:12]}.sh"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text)
        part.replace(path)
    return ["sh", str(path.absolute())]
