# SPDX-License-Identifier: BSD-3-Clause
"""Machines and settings made up at random, for asking a real runtime and the model of it the same."""

from __future__ import annotations

import hashlib
import math
import random
import tempfile
from functools import lru_cache
from pathlib import Path

from nodewise.base.processors import format_processors
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from tests.placement.runtimes import uneven

_WORDS = [
    "threads",
    "cores",
    "sockets",
    "ll_caches",
    "numa_domains",
    "Threads",
    "CORES",
    "dice",
    "l2_caches",
    "core",
    "croes",
    "close",
]
_BINDS = [
    "close",
    "spread",
    "primary",
    "true",
    "master",
    "close,spread",
    "SPREAD",
    " close ",
    "false",
    "closer",
    "close,",
]


_FOLDER = tempfile.TemporaryDirectory()


@lru_cache(maxsize=64)
def loaded(source: str) -> Machine:
    """As load_machine, kept; `uneven:NAME` or `uneven:NAME:3,1,2,0` is one of `uneven` that does not report kinds of cores."""
    if not source.startswith("uneven:"):
        return load_machine(source)
    _, name, numbers = f"{source}:".split(":")[:3]
    path = Path(_FOLDER.name, f"{hashlib.sha256(source.encode()).hexdigest()[:24]}.xml")
    listed = [int(n) for n in numbers.split(",") if n]
    return load_machine(f"xml:{uneven.write_machine(path, uneven.SHAPES[name], listed, reported=False)}")


def uneven_machine(dice: random.Random) -> tuple[str, str | None]:
    """The name of a machine whose sockets or cores are unlike each other, and which of its processors are allowed."""
    name = dice.choice(list(uneven.SHAPES))
    count = uneven.processors(uneven.SHAPES[name])
    numbers = f":{','.join(map(str, dice.sample(range(count), count)))}" if dice.random() < 0.3 else ""
    allow = format_processors(dice.sample(range(count), dice.randint(1, count))) if dice.random() < 0.3 else None
    return f"uneven:{name}{numbers}", allow


def numbering(dice: random.Random, shape: list[tuple[str, int]], gaps: bool) -> list[int] | None:
    """The system's numbers of the processors in the tree's order, with gaps or without; None as they come."""
    counts = [n for _, n in shape]
    count = math.prod(counts)
    kind = dice.choice(
        ["tree", "threads last", "alternating", "shuffled", "last core first", "gaps"][: 6 if gaps else 5]
    )
    if kind == "tree" or count < 2:
        return None
    if kind == "shuffled":
        return dice.sample(range(count), count)
    if kind == "last core first":
        return [(i + 1) % count for i in range(count)]
    if kind == "gaps":
        return sorted(dice.sample(range(2 * count), count))
    # mixed radix: the hardware thread varies slowest; or the outermost object fastest
    order = list(range(len(counts)))
    order = [order[-1], *order[:-1]] if kind == "threads last" else order[::-1]
    numbers = []
    for i in range(count):
        digits, rest = [0] * len(counts), i
        for level in reversed(range(len(counts))):
            rest, digits[level] = divmod(rest, counts[level])
        number = 0
        for level in order:
            number = number * counts[level] + digits[level]
        numbers.append(number)
    return numbers


def machine(dice: random.Random, plain: bool = False, gaps: bool = True) -> Machine:
    """A machine of up to a few hundred processors, numbered in some way; of a third of them a part is allowed.

    A plain one has sockets, cores and hardware threads alone.
    """
    levels = [("pack", (1, 2, 2, 4), 0.6), ("numa", (1, 2, 3), 0.4), ("l3", (1, 2), 0.4), ("l2", (1, 2), 0.3)]
    levels = levels[: 1 if plain else len(levels)]
    shape = [(name, dice.choice(counts)) for name, counts, share in levels if dice.random() < share]
    shape += [("core", dice.choice((1, 2, 3, 4, 5))), ("pu", dice.choice((1, 2, 2, 4)))]
    numbers = numbering(dice, shape, gaps)
    parts = [f"{kind}:{count}" for kind, count in shape]
    nodes = [n for n, (kind, _) in enumerate(shape) if kind == "numa"]
    if nodes and dice.random() < 0.3:
        count = math.prod(n for _, n in shape[: nodes[0] + 1])
        parts[nodes[0]] += f"(indexes={','.join(map(str, dice.sample(range(count), count)))})"
    if numbers is not None:
        parts[-1] += f"(indexes={','.join(map(str, numbers))})"
    found = loaded("synthetic:" + " ".join(parts))
    if dice.random() < 0.35:
        some = dice.sample(found.pus, dice.randint(1, len(found.pus)))
        return load_machine(found.source, format_processors(some))
    return found


def _interval(dice: random.Random, count: int) -> str:
    text = str(dice.randrange(count))
    if dice.random() < 0.4:
        text += f":{dice.randint(0, 4)}" + (f":{dice.randint(-2, 3)}" if dice.random() < 0.4 else "")
    return text


def places(dice: random.Random, count: int) -> str:
    """A value of OMP_PLACES for a machine whose numbers are below `count`; some are wrong."""
    if dice.random() < 0.45:
        word = dice.choice(_WORDS[: dice.choice([5, 5, 5, len(_WORDS)])])
        stride = f":{dice.randint(0, 3)}" if dice.random() < 0.1 else ""
        return word + (f"({dice.randint(0, count)}{stride})" if dice.random() < 0.35 else "")
    entries: list[str] = []
    for _ in range(dice.randint(1, 4)):
        members = [_interval(dice, count) for _ in range(dice.choice([1, 1, 1, 2, 3]))]
        if dice.random() < 0.1:
            members.append(f"!{dice.randrange(count)}")
        entry = "{" + ",".join(members) + "}" if dice.random() < 0.85 else members[0]
        if dice.random() < 0.35:
            entry += f":{dice.randint(1, 5)}" + (f":{dice.randint(-3, 4)}" if dice.random() < 0.6 else "")
        if dice.random() < 0.12:
            entry = "!" + (dice.choice(entries) if entries and dice.random() < 0.7 else entry)
        entries.append(entry)
    return ",".join(entries)


def spoilt(dice: random.Random, text: str) -> str:
    """The text with one character more, less, or another."""
    at = dice.randrange(len(text) + 1)
    put = dice.choice(["", *" ,:{}!()-+x09\t"])
    return text[:at] + put + text[at + dice.randint(0, 1) :]


def gomp(dice: random.Random, count: int) -> str:
    """A value of GOMP_CPU_AFFINITY."""
    items = []
    for _ in range(dice.randint(1, 4)):
        a, b = sorted((dice.randrange(count), dice.randrange(count)))
        items.append(dice.choice([str(a), str(b), f"{a}-{b}", f"{a}-{b}:{dice.randint(1, 3)}", hex(a), f"0{a}"]))
    return dice.choice([" ", ",", ", ", "  "]).join(items)


def gnu_setting(dice: random.Random, machine: Machine) -> dict[str, str]:
    """Variables that GNU's runtime reads."""
    count = max(machine.pus) + 1
    env = {}
    kind = dice.random()
    if kind < 0.3:
        env["GOMP_CPU_AFFINITY"] = gomp(dice, count + dice.choice([0, 0, 0, 2]))
    if kind > 0.25 and dice.random() < 0.9:
        env["OMP_PLACES"] = places(dice, count + dice.choice([0, 0, 0, 3]))
    if dice.random() < (0.5 if kind < 0.3 else 0.85):
        env["OMP_PROC_BIND"] = dice.choice(_BINDS[: dice.choice([6, 6, len(_BINDS)])])
    for name in list(env):
        if dice.random() < 0.06:
            env[name] = spoilt(dice, env[name])
    return env


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
    "group",
    "package",
    "0",
    "1",
    "2",
    "3",
]


def affinity(dice: random.Random, count: int) -> str:
    """A value of KMP_AFFINITY."""
    kind = dice.choice(["compact", "scatter", "balanced", "logical", "physical", "explicit", "none", "disabled"])
    words = [f"granularity={dice.choice(_GRANULARITIES)}"] if dice.random() < 0.8 else []
    if dice.random() < 0.2:
        words.append(dice.choice(["nodups", "dups", "respect", "norespect", "reset", "noreset", "nowarnings"]))
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
    if kind != "explicit" and dice.random() < 0.03:
        words.insert(0, f"proclist=[{dice.randrange(count)}]")
    return dice.choice([",", ",", ",", ",", ", "]).join(words)


def subset(dice: random.Random) -> str:
    """A value of KMP_HW_SUBSET."""
    items = []
    for kind in dice.choices(
        ["s", "n", "l3", "l2", "c", "t", "ll", "d"], weights=[3, 1, 1, 1, 4, 3, 1, 1], k=dice.randint(1, 3)
    ):
        offset = f"@{dice.randint(0, 2)}" if dice.random() < 0.4 else ""
        attribute = dice.choice([":intel_core", ":intel_atom", ":eff0", ":eff1"]) if dice.random() < 0.08 else ""
        items.append(dice.choice([str(dice.randint(1, 4)), "*", ""]) + kind + attribute + offset)
    return ":" * (dice.random() < 0.3) + ",".join(items)


def intel_setting(dice: random.Random, machine: Machine) -> dict[str, str]:
    """Variables that Intel's and LLVM's runtimes read."""
    count = max(machine.pus) + 1
    env = {}
    kind = dice.random()
    if kind < 0.55:
        env["KMP_AFFINITY"] = affinity(dice, count)
    if kind > 0.5 and dice.random() < 0.9:
        env["OMP_PLACES"] = places(dice, count)
    if kind > 0.5 and dice.random() < 0.9:
        env["OMP_PROC_BIND"] = dice.choice(_BINDS[: dice.choice([6, 6, 6, len(_BINDS)])])
    if "KMP_AFFINITY" not in env and dice.random() < 0.15:
        env["GOMP_CPU_AFFINITY"] = gomp(dice, count)
    if dice.random() < 0.3:
        env["KMP_HW_SUBSET"] = subset(dice)
    for name in list(env):
        if dice.random() < 0.04:
            env[name] = spoilt(dice, env[name])
    return env


def threads(dice: random.Random, machine: Machine) -> int:
    """A number of threads, mostly from 2 to some more than there are processors."""
    count = min(len(machine.pus), 48)
    return max(
        1 + (dice.random() < 0.95),
        dice.choice([1, 3, count, dice.randint(1, count + 1), dice.randint(1, 2 * count + 1)]),
    )


def levels(dice: random.Random) -> tuple[int, ...]:
    """Threads of the teams of two or three levels."""
    return tuple(dice.choice([1, 2, 2, 3, 4, 5, 7]) for _ in range(dice.choice([2, 2, 3])))


def nested_setting(dice: random.Random, env: dict[str, str]) -> dict[str, str]:
    """Variables with policies of several levels, most of them; what makes threads' places a matter of chance is left out."""
    env = {name: text for name, text in env.items() if name != "KMP_AFFINITY"}
    if dice.random() < 0.85:
        env["OMP_PROC_BIND"] = ",".join(
            dice.choice(["close", "spread", "spread", "primary"]) for _ in range(dice.randint(1, 3))
        )
    if dice.random() < 0.25:
        env["OMP_MAX_ACTIVE_LEVELS"] = str(dice.randint(0, 3))
    return env
