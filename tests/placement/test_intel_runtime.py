# SPDX-License-Identifier: BSD-3-Clause
"""Against Intel's runtime: recorded answers, and new ones from the runtime itself, for settings made up here."""

import json
import math
import random
from functools import cache
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors
from nodewise.machine.sources import load_machine
from nodewise.placement.job import Job
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes import ask_intel, runtime_folder  # noqa: F401

#: What intel-openmp 2026.2.0 answered under KMP_AFFINITY=verbose, one case a line.
RECORDED = [json.loads(x) for x in (Path(__file__).parent / "recorded/intel-openmp.jsonl").read_text().splitlines()]
_FIELDS = {"KMP_AFFINITY": "affinity", "KMP_HW_SUBSET": "subset", "OMP_PLACES": "places", "OMP_PROC_BIND": "bind"}


@cache
def synthetic(text):
    return load_machine(f"synthetic:{text}")


def modelled(machine, env, threads):
    """As the recorded environments have it: KMP_AFFINITY=verbose by itself is no setting."""
    said = {_FIELDS[k]: v for k, v in env.items()}
    if said.get("affinity") == "verbose" and ("places" in said or "bind" in said):
        del said["affinity"]
    return resolve(machine, Job(threads), Request(**said))


@pytest.mark.parametrize(
    "case", RECORDED, ids=lambda c: f"{c['machine']}-{c['threads']}-{'-'.join(c['env'].values())}"[:100]
)
def test_agrees_with_what_was_recorded(case):
    placement = modelled(synthetic(case["synthetic"]), case["env"], int(case["threads"])).placement
    assert {str(t): list(p) for t, p in enumerate(placement.places)} == case["places"]


_GRANULARITIES = [
    "fine",
    "thread",
    "core",
    "socket",
    "tile",
    "die",
    "node",
    "numa_domain",
    "ll_cache",
    "l3_cache",
    "l2_cache",
    "0",
    "1",
    "2",
    "3",
]


def _machine(dice):
    levels = [("pack", (1, 2, 2, 4), 0.6), ("numa", (1, 2, 3), 0.4), ("l3", (1, 2), 0.4), ("l2", (1, 2), 0.3)]
    parts = [(name, dice.choice(counts)) for name, counts, share in levels if dice.random() < share]
    parts += [("core", dice.choice((2, 3, 4, 5))), ("pu", dice.choice((1, 2, 2, 4)))]
    count = math.prod(n for _, n in parts)
    allowed = list(range(count))
    if dice.random() < 0.35:
        allowed = sorted(dice.sample(allowed, dice.randint(1, count)))
    return load_machine("synthetic:" + " ".join(f"{k}:{n}" for k, n in parts), format_processors(allowed))


def _affinity(dice, count):
    kind = dice.choice(["compact", "scatter", "balanced", "logical", "physical", "explicit"])
    words = [f"granularity={dice.choice(_GRANULARITIES)}"] if dice.random() < 0.9 else []
    if dice.random() < 0.15:
        words.append(dice.choice(["nodups", "dups", "respect", "noreset", "nowarnings"]))
    if kind == "explicit":
        items = []
        for _ in range(dice.randint(1, 4)):
            a, b = sorted((dice.randrange(count), dice.randrange(count)))
            items.append(
                dice.choice([f"{a}", f"{a}-{b}", f"{a}-{b}:{dice.randint(1, 3)}", f"{b}-{a}:-2", f"{{{a},{b}}}"])
            )
        words.append(f"proclist=[{','.join(items)}]")
    words.append(kind)
    if kind in ("compact", "scatter", "balanced") and dice.random() < 0.5:
        words += [str(dice.randint(0, 4)), str(dice.randint(0, count + 2))]
    if kind in ("logical", "physical") and dice.random() < 0.5:
        words.append(str(dice.randint(0, count)))
    return ",".join(words)


def _places(dice, count):
    if dice.random() < 0.6:
        names = ["threads", "cores", "ll_caches", "numa_domains", "sockets"]
        return dice.choice(names) + (f"({dice.randint(1, count)})" if dice.random() < 0.4 else "")
    entries = []
    for _ in range(dice.randint(1, 3)):
        a, n, s = dice.randrange(count), dice.randint(1, 3), dice.randint(1, 3)
        entry = dice.choice(
            [f"{{{a}}}", f"{{{a}:{n}}}", f"{{{a}:{n}:{s}}}", f"{{{a},{dice.randrange(count)}}}", f"{a}"]
        )
        entry = "!" * (dice.random() < 0.15) + entry
        if dice.random() < 0.4:
            entry += f":{dice.randint(1, 4)}" + (f":{dice.randint(-3, 4)}" if dice.random() < 0.6 else "")
        entries.append(entry)
    return ",".join(entries)


def _environment(dice, count):
    env = {}
    if dice.random() < 0.6:
        env["KMP_AFFINITY"] = _affinity(dice, count)
    else:
        env["OMP_PLACES"] = _places(dice, count)
        env["OMP_PROC_BIND"] = dice.choice(["close", "spread", "primary", "master", "true", "close,spread"])
    if dice.random() < 0.3:
        items = []
        for kind in dice.sample(["s", "n", "l3", "l2", "c", "t", "ll", "d"], dice.randint(1, 3)):
            offset = f"@{dice.randint(0, 2)}" if dice.random() < 0.4 else ""
            items.append(dice.choice([str(dice.randint(1, 4)), "*", ""]) + kind + offset)
        env["KMP_HW_SUBSET"] = ",".join(items)
    return env


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_the_runtime_itself(seed, runtime_folder):  # noqa: F811
    dice = random.Random(seed)
    agreed = 0
    for _ in range(40):
        machine = _machine(dice)
        count = len(machine.pus)
        env = _environment(dice, count)
        threads = max(2, dice.choice([3, count, dice.randint(2, 2 * count)]))
        try:
            mine = modelled(machine, env, threads)
        except InputError:
            # what we refuse to read, the runtime only warns of
            continue
        try:
            real = ask_intel(runtime_folder, machine, env, threads)
        except RuntimeError:
            # a few subsets make the runtime itself abort
            continue
        if real is None:
            continue
        assert list(mine.placement.places) == real, (machine.source, machine.allowed, env, threads, mine.notes)
        agreed += 1
    assert agreed >= 25
