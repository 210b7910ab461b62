# SPDX-License-Identifier: BSD-3-Clause
"""Against GNU's runtime, as the compiler here brings it, for settings made up here."""

import random

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from nodewise.placement.tongues.gnu_text import read_gomp
from tests.placement.runtimes import ask_gnu, runtime_folder  # noqa: F401

_SHAPES = (
    "pack:2 core:4 pu:2",
    "pack:2 numa:2 l3:1 core:3 pu:2",
    "core:5 pu:4",
    "numa:2 core:3 pu:1",
    "pack:2 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)",
)


def _setting(dice, count):
    if dice.random() < 0.35:
        items = []
        for _ in range(dice.randint(1, 4)):
            a, b = sorted((dice.randrange(count), dice.randrange(count)))
            items.append(dice.choice([str(a), f"{a}-{b}", f"{a}-{b}:{dice.randint(1, 3)}"]))
        env = {"GOMP_CPU_AFFINITY": dice.choice([" ", ","]).join(items)}
        return (
            env
            if dice.random() < 0.5
            else {**env, "OMP_PROC_BIND": dice.choice(["close", "spread", "primary", "true"])}
        )
    # how libgomp finds the last-level caches differs between its versions: they have a test of their own
    names = ["threads", "cores", "numa_domains", "sockets", "{0},{2:2},{1}", "{0:2}:3", "{1,3},{0}"]
    env = {"OMP_PROC_BIND": dice.choice(["close", "spread", "primary", "true", "master", "close,spread"])}
    if dice.random() < 0.85:
        name = dice.choice(names)
        env["OMP_PLACES"] = name + (f"({dice.randint(1, count)})" if name.isalpha() and dice.random() < 0.4 else "")
    return env


@pytest.mark.parametrize("shape", _SHAPES)
def test_agrees_with_the_runtime_itself(shape, runtime_folder):  # noqa: F811
    machine = load_machine(f"synthetic:{shape}")
    dice = random.Random(shape)
    count = len(machine.pus)
    for _ in range(25):
        env = _setting(dice, count)
        threads = dice.choice([2, 3, count, dice.randint(2, 2 * count + 1)])
        fields = {"GOMP_CPU_AFFINITY": "gomp", "OMP_PLACES": "places", "OMP_PROC_BIND": "bind"}
        request = Request(runtime="gnu", **{fields[k]: v for k, v in env.items()})
        mine = resolve(machine, Job(threads), request).placement
        assert list(mine.places) == ask_gnu(runtime_folder, machine, env, threads), (env, threads)


def test_a_version_finds_one_last_level_cache_or_all(runtime_folder):  # noqa: F811
    """libgomp 12 finds the first only, which is what is modelled and told."""
    machine = load_machine("synthetic:l3:2 core:2 pu:2")
    env = {"OMP_PLACES": "ll_caches", "OMP_PROC_BIND": "close"}
    real = ask_gnu(runtime_folder, machine, env, 2)
    assert real in ([(0, 1, 2, 3)] * 2, [(0, 1, 2, 3), (4, 5, 6, 7)])
    mine = resolve(machine, Job(2), Request(runtime="gnu", places="ll_caches", bind="close"))
    assert mine.placement.places == ((0, 1, 2, 3),) * 2
    assert any("only the first last-level cache" in note for note in mine.notes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0 3 1-2 4-15:2", (0, 3, 1, 2, 4, 6, 8, 10, 12, 14)), ("0,1 , 2", (0, 1, 2)), (" 7 ", (7,))],
)
def test_the_list_is_read(text, expected):
    assert read_gomp(text) == expected


@pytest.mark.parametrize(("text", "column"), [("", 1), ("0-", 3), ("3-1", 1), ("0 x", 3), ("0:2", 2), ("0-4:0", 1)])
def test_an_error_names_the_column(text, column):
    with pytest.raises(InputError, match=rf"column {column}:"):
        read_gomp(text)
