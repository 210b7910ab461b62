# SPDX-License-Identifier: BSD-3-Clause
"""What is said of lines for launchers, in full: places, order over nodes, notes, and refusals with their hints.

The lines, in `launcher lines.txt`, are those at whose edges a launcher's answer turns: as many ranks as there is room for and one more, each word that an option
takes, options that go together and that do not. That places are the launchers' own is what test_launchers compares.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes import made_up
from tests.placement.whole import hold

#: By a short name: two sockets of four cores of two hardware threads, and such ones without threads, part of the first, others.
MACHINES = {
    "smt": ("synthetic:pack:2 numa:1 l3:1 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)", None),
    "part": ("synthetic:pack:2 numa:1 l3:1 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)", "1-6,9-10"),
    "plain": ("synthetic:pack:2 numa:2 core:2 pu:1", None),
    "caches": ("synthetic:pack:1 l3:2 core:2 pu:1", None),
    "one": ("synthetic:core:1 pu:1", None),
    "bare": ("synthetic:core:3 pu:2", None),
    "holes": ("synthetic:pack:2 core:2 pu:1", "0,3"),
    "uneven": ("uneven:uneven sockets", None),
    "kinds": ("uneven:2 fast and 8 slow", None),
    "mixed": ("uneven:uneven cores", None),
}


#: What beside a line says how many threads, ranks and nodes there are.
JOBS = (Job(2, 4), Job(1, 4, 2), Job(3, 5, 2), Job(1, 2, 2), Job(1, 3, 3))


def machine_of(name: str) -> Machine:
    text, allow = MACHINES[name]
    return load_machine(text, allow) if allow else made_up.loaded(text)


def _shown(placement: Placement) -> str:
    """The processors of each of a node's ranks, and where ranks are on several nodes the node of each."""
    ranks = "; ".join(
        ",".join(dict.fromkeys(format_processors(place) for place in rank)).replace(",", " ")
        for rank in placement.by_rank
    )
    over = f" on {placement.nodes} by {placement.order}: {''.join(str(node) for node, _ in placement.seats())}"
    return f"{placement.policy.split()[0]}: {ranks}" + (over if placement.nodes > 1 else "")


def _lines(dialect: str) -> Iterator[tuple[str, Job, str]]:
    """Each machine's name, job and line that the file has for a launcher."""
    head: list[str] = []
    for line in (Path(__file__).parent / "launcher lines.txt").read_text().splitlines():
        if line.startswith("["):
            head = line.strip("[]").split()
        elif head and head[0] == dialect:
            beside = head[1:] == ["beside"]
            yield from (
                (name, job, line)
                for name in (["smt"] if beside else head[1:])
                for job in (JOBS if beside else [Job(1)])
            )


@pytest.mark.parametrize("dialect", ["openmpi4", "openmpi5", "mpich", "slurm", "aprun"])
def test_all_that_is_said_of_a_line(dialect: str) -> None:
    said = []
    for name, job, line in _lines(dialect):
        said.append(f"# {name} {job.threads}x{job.ranks}/{job.nodes} {line}")
        try:
            made = resolve(machine_of(name), job, Request(**{dialect: line}))
        except InputError as problem:
            said.append(f"  {problem.what} | {problem.hint}")
            continue
        # what each reading has, whatever the line
        notes = [note for note in made.notes if not note.startswith("modelled ")]
        said += [f"  {_shown(made.placement)}", *(f"  {note}" for note in notes)]
    hold(f"lines {dialect}", said)
