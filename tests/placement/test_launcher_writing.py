# SPDX-License-Identifier: BSD-3-Clause
"""What is written for launchers, in full: lines, files and notes, or why a launcher cannot do it, and that it is read as it was meant."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.registry import all_dialects
from nodewise.placement.rendering import NotExpressibleError
from nodewise.placement.resolve import Request, resolve
from tests.placement.test_launcher_lines import machine_of
from tests.placement.whole import hold

LAUNCHERS = ["openmpi4", "openmpi5", "mpich", "slurm", "aprun"]
#: The zones of a node's ranks, by the name of a machine: cores, several of them, sockets, threads, shared and odd ones.
ZONES: dict[str, list[list[tuple[int, ...]]]] = {
    "smt": [
        [(0, 8), (1, 9)],
        [(0, 8), (4, 12)],
        [(0, 1, 8, 9), (2, 3, 10, 11)],
        [(0, 1, 8, 9), (4, 5, 12, 13)],
        [(0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)],
        [(0, 1, 2, 8, 9, 10), (4, 5, 6, 12, 13, 14)],
        [(0, 8), (1, 2, 9, 10)],
        [(0,), (8,)],
        [(0,), (1,)],
        [(0, 1), (1, 2)],
        [(0, 8), (0, 8)],
        [tuple(range(16))] * 2,
        [(0, 8)],
        [(0, 8)] * 9,
        [(0,)] * 17,
        [(3, 11), (2, 10), (1, 9)],
        [(0, 40), (1,)],
    ],
    "plain": [
        [(0,), (1,)],
        [(0,), (4,)],
        [(0, 1), (2, 3)],
        [(0, 2), (1, 3)],
        [(0, 1, 2, 3), (4, 5, 6, 7)],
        [(7,), (0,)],
    ],
    "part": [[(1, 9), (2, 10)], [(3,), (4,)], [(1,), (9,)], [(0, 8), (1, 9)]],
    "mixed": [[(0, 1, 2, 3), (4,)], [(4,), (5, 6)], [(0,), (1,)]],
    "caches": [[(0,), (2,)], [(0, 1), (2, 3)], [(2, 3), (0, 1)]],
    "one": [[(0,)], [(0,)] * 2],
}
#: How many ranks of how many threads there are over how many nodes, and in which order.
SHAPES = [(1, 1, "block"), (2, 1, "block"), (1, 2, "block"), (1, 2, "cyclic"), (1, 3, "even"), (1, 2, "plane=2")]


def _placements(name: str) -> list[tuple[str, Placement]]:
    found = []
    for zones in ZONES[name]:
        for threads, nodes, order in SHAPES if name == "smt" and len(zones) == 2 else SHAPES[:3]:
            # the last node has one less where there are several
            ranks = len(zones) * nodes - (nodes > 1 and len(zones) > 1)
            job = Job(threads, ranks, nodes, len(zones))
            try:
                placed = job.floating("any", zones, order)
            except InputError:
                continue
            found.append((f"{name} {threads}x{ranks}/{nodes} {order} {zones if len(zones) < 9 else zones[:1]}", placed))
    return found


@pytest.mark.parametrize("dialect", LAUNCHERS)
def test_all_that_is_written_for_a_launcher(dialect: str) -> None:
    write = next(one.write_job for one in all_dialects() if one.name == dialect)
    assert write is not None
    said = []
    for name in ZONES:
        for shown, placed in _placements(name):
            for hosts in ((), ("alpha", "beta", "gamma")[: placed.nodes]) if "smt 1x" in shown else ((),):
                said.append(f"# {shown}{' hosts' * bool(hosts)}")
                try:
                    made = write(machine_of(name), placed, hosts)
                except NotExpressibleError as problem:
                    said.append(f"  {problem.what} | {problem.hint}")
                    continue
                variables = [f"{variable}={value}" for variable, value in made.env.items()]
                said.append("  " + " ".join([*variables, *made.words]))
                said += [f"  {file}: {content!r}" for file, content in made.files.items()]
                said += [f"  {note}" for note in made.notes if not note.startswith("modelled ")]
    hold(f"written {dialect}", said)


@pytest.mark.parametrize("dialect", ["openmpi4", "openmpi5", "mpich", "slurm"])
def test_what_is_written_as_options_is_read_as_it_was_meant(dialect: str) -> None:
    write = next(one.write_job for one in all_dialects() if one.name == dialect)
    assert write is not None
    read = 0
    for name in ("smt", "plain"):
        for _, placed in _placements(name):
            try:
                made = write(machine_of(name), placed, ())
            except NotExpressibleError:
                continue
            # a file of ranks is not read, and processors that are not there are not either
            if placed.nodes > 1 or made.files or not set(placed.mask) <= set(machine_of(name).pus):
                continue
            found = resolve(machine_of(name), Job(1), Request(**{dialect: " ".join(made.words)})).placement
            assert found.zones == placed.zones, made.words
            read += 1
    assert read >= 15
