# SPDX-License-Identifier: BSD-3-Clause
"""Commands that start ranks: how many, and where the program that each rank runs begins."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.placement.dialect import Starter
from nodewise.placement.job import Job, within
from nodewise.placement.near import near_zones
from nodewise.placement.placement import Placement
from nodewise.placement.policies import place
from nodewise.placement.registry import all_dialects
from nodewise.placement.render import place_rank_script
from nodewise.runner.over_nodes import ranks_on_node, read_per_node, refitted
from nodewise.runner.program import find_on_path
from nodewise.runner.setting import Setting


@dataclass(frozen=True)
class Ranked:
    """A command that starts `ranks` ranks: `head` up to the number of ranks, `middle` from behind it, `program` with its arguments."""

    ranks: int
    head: tuple[str, ...]
    count: str
    middle: tuple[str, ...]
    program: tuple[str, ...]

    def command(self, ranks: int, wrapper: Sequence[str] = (), each: int = 0) -> list[str]:
        """The command for another number of ranks, each started through `wrapper`; `each` of them on a node (0: as it says)."""
        start = [*self.head, self.count.replace("{n}", str(ranks)), *self.middle]
        return [*(refitted(start, ranks, each) if each else start), *wrapper, *self.program]

    def on_node(self, ranks: int, environment: Mapping[str, str] = os.environ) -> int:
        """How many of so many ranks the fullest node gets; other numbers than the command's are dealt out over as many nodes as that."""
        options = [*self.head, *self.middle]
        if ranks == self.ranks or not read_per_node(options):
            return ranks_on_node(options, ranks, environment)
        return ceil(ranks / ceil(self.ranks / ranks_on_node(options, self.ranks, environment)))

    def spread(self, ranks: int, wrapper: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> list[str]:
        """The command for another number of ranks on as many nodes, each started through `wrapper`."""
        anew = ranks != self.ranks and read_per_node([*self.head, *self.middle])
        return self.command(ranks, wrapper, self.on_node(ranks, environment) if anew else 0)


def _starters(command: Sequence[str]) -> tuple[list[Starter], int]:
    """The launchers that a command may start ranks by, and how many of its words name them; Open MPI and MPICH share names."""
    found: list[Starter] = []
    length = 0
    name = Path(command[0]).name if command else ""
    for starter in (dialect.starter for dialect in all_dialects() if dialect.starter is not None):
        for program in starter.programs:
            first, *rest = program.split()
            if name == first and list(command[1 : 1 + len(rest)]) == rest:
                found.append(starter)
                length = 1 + len(rest)
    return found, length


def read_ranked(command: Sequence[str]) -> Ranked | None:
    """How a command starts ranks; None where its first word is no launcher, or no number of ranks is in it.

    Raises InputError where the program of the ranks cannot be found.
    """
    starters, i = _starters(command)
    if not starters:
        return None
    counts = {option for starter in starters for option in starter.counts}
    followed = {
        option: words for starter in starters for words, options in starter.values.items() for option in options
    }
    at: int | None = None
    count = ""
    ranks = 0
    while i < len(command):
        word = command[i]
        name, sign, value = word.partition("=")
        if word == "--":
            i += 1
            break
        if not word.startswith("-"):
            break
        if word in counts and i + 1 < len(command):
            at, count, value = i + 1, "{n}", command[i + 1]
            i += 1
        elif sign and name in counts:
            at, count = i, f"{name}={{n}}"
        elif joined := re.fullmatch(r"-n(\d+)", word):
            at, count, value = i, "-n{n}", joined[1]
        if at is not None and not ranks:
            if not value.isdecimal() or int(value) < 1:
                raise InputError(f"{command[0]}: {value!r} is no number of ranks")
            ranks = int(value)
        i += 1 + followed.get(word, 0)
    if at is None:
        return None
    if i >= len(command):
        raise InputError(
            f"no program is found behind the options of {command[0]}",
            "write -- before it, such as: mpirun -n 4 -- ./app",
        )
    return Ranked(ranks, tuple(command[:at]), count, tuple(command[at + 1 : i]), tuple(command[i:]))


def _launcher_of(ranked: Ranked, environment: Mapping[str, str]) -> str:
    """The dialect of a command's launcher; empty where names are shared, and the file does not distinguish them."""
    name = ranked.head[0]
    starters = {d.name: d.starter for d in all_dialects() if d.starter in _starters(ranked.head)[0]}
    found = find_on_path(name, environment)
    resolved = found.resolve().name if found is not None else Path(name).name
    matching = [d for d, s in starters.items() if s is not None and any(part in resolved for part in s.unbound)]
    return (matching or [*starters, "", ""])[0] if len(matching) == 1 or len(starters) == 1 else ""


def with_ranks(setting: Setting, environment: Mapping[str, str] = os.environ) -> Setting:
    """The setting with what its command says of ranks, so that each is started and measured for itself.

    As it is where the command starts no ranks, or not the same program for all, or it is not certain which of its
    words is their program. Raises InputError as `read_ranked` does.
    """
    ranked = read_ranked(setting.command)
    if ranked is None or ":" in setting.command or "--multi-prog" in (*ranked.head, *ranked.middle):
        return setting
    _, program = read_wrapper(ranked.program)
    if "/" not in program[0] and find_on_path(program[0], setting.environment(environment)) is None:
        return setting
    return replace(
        setting,
        ranks=ranked.ranks,
        ranks_per_node=_per_node(ranked, environment),
        launcher=_launcher_of(ranked, environment),
        program_at=len(setting.command) - len(program),
    )


def _per_node(ranked: Ranked, environment: Mapping[str, str]) -> int:
    """How many ranks are on each node, 0 where nothing says that there are several."""
    each = ranked.on_node(ranked.ranks, environment)
    return each if each < ranked.ranks else read_per_node([*ranked.head, *ranked.middle])


def place_ranks(machine: Machine, policy: str, ranks: int, threads: int) -> Placement | None:
    """Where the threads of all ranks sit: the policy's places for all of them, cut into ranks; None where none is bound."""
    every = place(machine, policy, ranks * threads)
    if every is None:
        return None
    by_rank = [every.places[r * threads : (r + 1) * threads] for r in range(ranks)]
    return Job(threads, ranks).placement(policy, by_rank)


def place_near(machine: Machine, policy: str, devices: Sequence[str], job: Job) -> Placement:
    """Where the threads of all ranks sit near their devices, by the policy within each rank's zone (`os`: anywhere in it)."""
    by_rank = []
    for zone in near_zones(machine, devices, job.ranks):
        inside = place(within(machine, zone), policy, job.threads)
        by_rank.append([zone] * job.threads if inside is None else list(inside.places))
    return job.placement(policy, by_rank)


def unbound(ranked: Ranked, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that keep a command's launcher from binding the ranks itself."""
    name = ranked.head[0]
    found = find_on_path(name, environment)
    resolved = found.resolve().name if found is not None else Path(name).name
    known = [item for starter in _starters(ranked.head)[0] for item in starter.unbound.items()]
    own = next((variables for part, variables in known if part in resolved), None)
    # what cannot be distinguished is set for all: one launcher does not heed another's
    return dict(own) if own is not None else {k: v for _, variables in known for k, v in variables.items()}


def rank_wrapper(machine: Machine, placement: Placement, folder: Path, *, openmp: bool = True) -> list[str]:
    """The words that start a rank in its place: a script, written into `folder` once for each placement.

    OpenMP's variables place the threads of programs that read them. On this machine each rank is held to its processors
    besides.
    """
    text = place_rank_script(placement.by_rank, placement.used if machine.live else (), openmp=openmp)
    path = folder / f"place-rank-{hashlib.sha256(text.encode()).hexdigest()[:12]}.sh"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text)
        part.replace(path)
    return ["sh", str(path.absolute())]


def read_wrapper(program: Sequence[str]) -> tuple[Path | None, tuple[str, ...]]:
    """The script of `rank_wrapper` that a rank is started through (None: it is started by itself), and its own words."""
    if len(program) > 2 and program[0] == "sh" and re.fullmatch(r"place-rank-[0-9a-f]{12}\.sh", Path(program[1]).name):
        return Path(program[1]), tuple(program[2:])
    return None, tuple(program)
