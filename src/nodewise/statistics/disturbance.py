# SPDX-License-Identifier: BSD-3-Clause
"""What disturbed a series of runs: marks that ask for a repetition or forbid a word, and the conditions that all runs met alike.

Nothing is left out here: a block that is repeated keeps its samples, and what is found is reported with the verdict.
"""

import math
from collections import Counter
from collections.abc import Sequence

from nodewise.base.frozen import dataclass
from nodewise.base.stolen_time import ROUNDING_S, SHARE

#: Kinds of marks (the word before the colon) of what comes and goes: another run may be free of it. The others, such as a
#: quota or a program that binds itself elsewhere, would be there again.
PASSING = ("steal", "other load", "heat", "clock", "paging", "memory pressure", "stopped")
#: Kinds that are a condition of an experiment where all of its runs met them alike.
_CONSTANT = ("clock",)
#: Runs in which less is rounding are looked at together. A share of stolen time that differs by more than `SHARE` from that of the
#: other runs disturbed a run.
_TOGETHER_S = ROUNDING_S / SHARE
#: This share of the runs counts as all of them.
_ALL = 0.9
#: Less steal is not named.
_NAMED = 0.01
#: Others rest between the runs where they were looked at so often then, and worked no more than this share of that time.
_RESTS, _RESTING = 3, 0.05


def repeat_worthy(marks: Sequence[str]) -> bool:
    """Whether a run with these marks (`kind: what was seen`) was disturbed by something that another run may be spared."""
    return bool(passing_kinds(marks))


def passing_kinds(marks: Sequence[str]) -> set[str]:
    """The kinds of marks (`kind: what was seen`) of what comes and goes."""
    return {mark.partition(":")[0] for mark in marks} & {*PASSING}


def repeats_due(disturbed: int, blocks: int, most: float = 0.25) -> int:
    """How many more blocks to make, for the `disturbed` ones (with a run that is `repeat_worthy`) of so many.

    At most the share `most` of the blocks, rounded up: where more are disturbed, that is how the machine is. A whole block is
    repeated, never a run of it, and by its marks alone, never by its times: else the choice would favour a setting.
    """
    return min(disturbed, math.ceil(most * blocks))


@dataclass(frozen=True)
class Met:
    """What one run met: its block, its contender, its marks, and in seconds its processor time and what was stolen of it.

    `used_s` is the larger of its processor time and its duration, as in `runner.marks`; `stolen_s` is that of
    `runner.marks.stolen_s`. `rest_s` is how long its processors were looked at before it, while nothing of the experiment ran,
    and `rest_busy_s` their processor time meanwhile, in seconds. `served_s` is what servers worked for it.
    """

    block: int
    contender: str
    marks: Sequence[str] = ()
    used_s: float = 0.0
    stolen_s: float = 0.0
    rest_s: float = 0.0
    rest_busy_s: float = 0.0
    served_s: float = 0.0


@dataclass(frozen=True)
class Disturbance:
    """How much of an experiment was disturbed by what comes and goes, and under what constant conditions it ran.

    A block is disturbed where any of its runs is. `kinds` are those of the marks that disturbed, the most frequent first;
    `conditions` are in words, such as `steal of 8% in all runs`; `which` are the numbers of the blocks.
    """

    blocks: int
    disturbed_blocks: int
    runs: int
    disturbed_runs: int
    kinds: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    which: frozenset[int] = frozenset()

    @property
    def reason(self) -> str:
        """Why nothing is claimed: `the machine was busy (120 of 120 runs, other load)`, `(21 of 80 runs, in 21 of 40 blocks, steal)`;
        empty where nothing was disturbed."""
        if not self.disturbed_runs:
            return ""
        busy = "busy" if self.kinds[0] in ("other load", "steal") else "disturbed"
        seen = [f"{self.disturbed_runs} of {self.runs} runs"]
        if not mostly(self.disturbed_runs, self.runs):
            # a run spoils the others of its block, too
            seen.append(f"in {self.disturbed_blocks} of {self.blocks} blocks")
        return f"the machine was {busy} ({', '.join([*seen, *self.kinds])})"


def mostly(disturbed: int, of: int) -> bool:
    """Whether so many of the runs, or blocks, that are to decide were disturbed that the machine was busy: more than half."""
    return 2 * disturbed > of


def disturbance(runs: Sequence[Met], quota: float | None = None) -> Disturbance:
    """What disturbed the runs that decide, given in the order in which they were made.

    Steal that all runs met alike (nine of ten within 5 percentage points) is a condition, and so is a clock below its base in
    all runs of a contender, as wide vectors bring it about; what passes is a disturbance. Load of others that comes with most blocks
    and is not seen between runs, as of a database that the program asks, is named, too; it disturbs all the same, since work that
    comes and goes by a clock may look alike. `quota` is the processor time that
    the control group grants, in processors, None without one.
    """
    ordinary, stolen = _steal(runs)
    always = _always(runs)
    spoiled = [
        {k for k in _kinds(run) if k in PASSING and k != "steal" and (run.contender, k) not in always}
        | ({"steal"} if unusual else set())
        for run, unusual in zip(runs, stolen, strict=True)
    ]
    conditions = []
    if _rests(runs, spoiled):
        conditions.append(
            "others' load came with the runs and rested between them: where it works for the program, as a database does, let it "
            "count by --accept-disturbed"
        )
    if any(run.served_s > SHARE * run.used_s for run in runs):
        conditions.append("servers that it is connected to worked for it: their processor time counts as its own")
    counts = Counter(kind for kinds in spoiled for kind in sorted(kinds))
    if ordinary >= _NAMED:
        conditions.append(f"steal of {ordinary * 100:.0f}% in all runs")
    for kind in _CONSTANT:
        contenders = sorted({c for c, k in always if k == kind})
        if contenders:
            every = len(contenders) == len({run.contender for run in runs})
            conditions.append(
                f"the {kind} below its base in all runs" + ("" if every else f" of {', '.join(contenders)}")
            )
    if quota is not None:
        conditions.append(f"a quota of {quota:g} processors")
    elif any("throttled" in _kinds(run) for run in runs):
        conditions.append("a quota that held runs back")
    which = frozenset(run.block for run, kinds in zip(runs, spoiled, strict=True) if kinds)
    return Disturbance(
        blocks=len({run.block for run in runs}),
        disturbed_blocks=len(which),
        runs=len(runs),
        disturbed_runs=sum(map(bool, spoiled)),
        kinds=tuple(kind for kind, _ in counts.most_common()),
        conditions=tuple(conditions),
        which=which,
    )


def _rests(runs: Sequence[Met], spoiled: Sequence[set[str]]) -> bool:
    """Whether others' load may be what the program itself brings about: it is in most blocks, and in no rest between runs."""
    loud = {run.block for run, kinds in zip(runs, spoiled, strict=True) if "other load" in kinds}
    if 2 * len(loud) <= len({run.block for run in runs}):
        return False
    rests = [run for run in runs if run.rest_s > 0]
    busy, seconds = sum(run.rest_busy_s for run in rests), sum(run.rest_s for run in rests)
    return len(rests) >= _RESTS and busy <= _RESTING * seconds + ROUNDING_S


def _kinds(run: Met) -> set[str]:
    return {mark.partition(":")[0] for mark in run.marks}


def _always(runs: Sequence[Met]) -> set[tuple[str, str]]:
    """Contenders with a kind of mark that all of their runs have, and that is then a condition."""
    made = Counter(run.contender for run in runs)
    marked = Counter((run.contender, kind) for run in runs for kind in _kinds(run) if kind in _CONSTANT)
    return {(c, kind) for (c, kind), count in marked.items() if count >= _ALL * made[c]}


def _steal(runs: Sequence[Met]) -> tuple[float, list[bool]]:
    """The share of steal that all runs met, 0 where it came and went; and of each run whether it met another one.

    Runs too short to tell are taken together with those that follow them.
    """
    groups: list[tuple[float, float, int]] = []
    begin, used, stolen = 0, 0.0, 0.0
    for n, run in enumerate(runs, 1):
        used += run.used_s + run.stolen_s
        stolen += run.stolen_s
        if used >= _TOGETHER_S or n == len(runs):
            groups.append((used, stolen, n - begin))
            begin, used, stolen = n, 0.0, 0.0

    def differs(used: float, stolen: float, share: float) -> bool:
        return abs(stolen - share * used) > max(SHARE * used, ROUNDING_S)

    by_share = sorted(groups, key=lambda g: g[1] / g[0] if g[0] else 0.0)
    cut = int((1 - _ALL) * len(groups))
    middle = by_share[cut : len(groups) - cut]
    total = sum(g[0] for g in middle)
    usual = sum(g[1] for g in middle) / total if total else 0.0
    alike = sum(not differs(u, s, usual) and s >= usual * u / 2 for u, s, _ in groups) >= _ALL * len(groups)
    ordinary = usual if alike else 0.0
    # less than a twentieth is no harm, so it excuses nothing
    excused = ordinary if ordinary > SHARE else 0.0
    return ordinary, [differs(u, s, excused) for u, s, count in groups for _ in range(count)]
