# SPDX-License-Identifier: BSD-3-Clause
"""What is said on a busy machine: programs of known truth beside other users' load, live and replayed.

`busy` makes all parts of all cells, `busy:live`, `busy:replay` and `busy:elsewhere` one, `busy:live,bursts` that of one cell, `busy:live,2 threads` what is
compared with that command. `elsewhere` is a machine of 128 processors that is computed, with load on those that the program does not need. Programs do a known amount of work: two that differ by 0, 3 and
30 %, and one whose second thread halves its time where nothing else runs, and costs time where it waits for a processor. What two threads
bring moves with the host, so its truth is that of the quiet seconds before and after each live experiment, as far as these
know it: where it moved by more, the experiment counts for nothing, and how many did is printed. A word is
wrong where it says faster or slower and the quiet machine says otherwise, or no difference beyond a size where there is more
of one. An interval is good where the quiet truth is inside. NODEWISE_EXPERIMENTS are the live experiments of each
cell (20 for the bar), NODEWISE_REPLAYED the replayed ones (200), NODEWISE_SERIES a folder in which recorded series are
kept and found again, NODEWISE_SERIES_SECONDS how long each is.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from benchmarks._busy import elsewhere
from benchmarks._busy.load import CELLS, build, calibrate, load
from benchmarks._busy.series import MOST, read_series, record, replay
from benchmarks._busy.truth import Said, Truth, around, exactly
from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine

LIVE = int(os.environ.get("NODEWISE_EXPERIMENTS", "3"))
REPLAYED = int(os.environ.get("NODEWISE_REPLAYED", "200"))
RECORDED_S = float(os.environ.get("NODEWISE_SERIES_SECONDS", "40"))
BUDGET, WITHIN = "6s", 0.01
WRONG, INSIDE = 15 / 200, 185 / 200
#: How long the quiet machine is looked at before and after an experiment whose truth moves with it.
_QUIET_S = 2.0
#: How much slower a program is beside load elsewhere, and this share of differences of that size is told at least.
_ELSEWHERE, _TOLD_OF, TOLD = (1.0, 1.03, 1.3), 1.3, 0.95
#: Commands whose quiet truth is that of another's work over its own.
_SIZES = {"base": 1.0, "same": 1.0, "3 %": 1.03, "30 %": 1.3}
_STREAMS = {"stream": 1.0, "stream 30 %": 1.3}


def _commands(program: Path) -> dict[str, tuple[str, ...]]:
    units, passes = calibrate(program, "compute"), calibrate(program, "stream")
    found: dict[str, tuple[str, ...]] = {
        name: (str(program), "compute", f"{units * size:.3f}") for name, size in _SIZES.items()
    }
    found |= {f"{n} threads": (str(program), "team", str(n), f"{units:.3f}") for n in (1, 2)}
    return found | {name: (str(program), "stream", f"{passes * size:.3f}") for name, size in _STREAMS.items()}


#: What is compared, and the first's time over the second's on a quiet machine.
PAIRS: dict[tuple[str, str], float | None] = {
    ("base", "same"): 1.0,
    ("base", "3 %"): 1 / 1.03,
    ("base", "30 %"): 1 / 1.3,
    ("stream", "stream 30 %"): 1 / 1.3,
    ("1 threads", "2 threads"): None,
}


def _truths(folder: Path) -> dict[tuple[str, str], Truth]:
    """The ratios of the quiet machine: known where the work is, else of the fastest twentieth of runs, which none disturbed."""
    series = read_series(folder / "quiet.json")
    truths = {}
    for (one, other), known in PAIRS.items():
        fast = [sorted(b[name].seconds for b in series.blocks)[len(series.blocks) // 20] for name in (one, other)]
        truths[one, other] = exactly(fast[0] / fast[1] if known is None else known)
    return truths


def _row(cell: str, pair: tuple[str, str], judged: Iterable[tuple[Said, Truth]]) -> str:
    """The line of a cell's pair, of what was said and the truth that it is held against."""
    every = list(judged)
    pairs = [(s, t) for s, t in every if t.known]
    truth = f"{statistics.median((t.low * t.high) ** 0.5 for _, t in pairs):6.3f}" if pairs else f"{'?':>6}"
    wrong = sum(s.wrong(t) for s, t in pairs)
    inside = [s.inside(t) for s, t in pairs if s.inside(t) is not None]
    answered = sum(s.word != "undecided" for s, _ in every)
    bad = wrong > WRONG * len(pairs) or sum(map(bool, inside)) < INSIDE * len(inside)
    return (
        f"{cell:12} {' / '.join(pair):40} {truth} {wrong:4} of {len(pairs):3} {sum(map(bool, inside)):4} of {len(inside):3}"
        f" {answered:4} of {len(every):3}{'   below the bar' if bad else ''}"
        f"{f'   truth not known in {len(every) - len(pairs)}' if len(pairs) < len(every) else ''}"
    )


_HEAD = f"{'beside':12} {'compared':40} {'truth':>6} {'wrong words':>11} {'truth inside':>11} {'answered':>11}"


def _recorded(folder: Path, program: Path, cells: Iterable[str]) -> None:
    commands = _commands(program)
    for cell in cells:
        path = folder / f"{cell}.json"
        if not path.exists():
            print(f"recording {cell}, {RECORDED_S:.0f} s", file=sys.stderr)
            with load(cell, program):
                series = record(commands, RECORDED_S)
            series.save(path)


def _replayed(folder: Path, cells: Iterable[str], truths: Mapping[tuple[str, str], Truth]) -> Iterator[str]:
    machine = load_machine()
    for cell in cells:
        series = read_series(folder / f"{cell}.json")
        marked = sum(bool(s.marks) for b in series.blocks for s in b.values())
        yield f"{cell}: {len(series.blocks)} blocks, {marked / sum(map(len, series.blocks)):.0%} of the runs disturbed"
        for pair, truth in truths.items():
            dice = random.Random(f"{cell} {pair}")
            found = (replay(series, pair, machine, dice).contenders[1].against_reference for _ in range(REPLAYED))
            yield _row(
                cell, pair, [(Said(str(f.verdict), f.low, f.high, WITHIN), truth) for f in found if f is not None]
            )


def _elsewhere() -> Iterator[str]:
    machine = load_machine(f"synthetic:core:{elsewhere.PROCESSORS // 2} pu:2")
    for case in elsewhere.CASES:
        for slowdown in _ELSEWHERE:
            made = elsewhere.series(case, slowdown)
            dice = random.Random(f"{case} {slowdown}")
            found = (
                replay(made, ("base", "other"), machine, dice).contenders[1].against_reference for _ in range(REPLAYED)
            )
            said = [Said(str(f.verdict), f.low, f.high, WITHIN) for f in found if f is not None]
            told = sum(one.word in ("faster", "slower") for one in said)
            few = slowdown == _TOLD_OF and told < TOLD * len(said)
            named = (f"{case}", f"{slowdown - 1:.0%}")
            row = _row("elsewhere", named, [(one, exactly(1 / slowdown)) for one in said])
            yield row + ("   too few told" if few else "")


def _live(program: Path, cells: Iterable[str], truths: Mapping[tuple[str, str], Truth]) -> Iterator[str]:
    commands = _commands(program)
    for cell in cells:
        for pair, known in truths.items():
            judged, truth = [], known
            quiet = [] if PAIRS[pair] else [_quiet_ratios(commands, pair)]
            for n in range(LIVE):
                with load(cell, program, seed=1000 * n), tempfile.TemporaryDirectory() as out:
                    words = [
                        sys.executable,
                        "-m",
                        "nodewise",
                        "compare",
                        "--json",
                        "--budget",
                        BUDGET,
                        "--out",
                        f"{out}/x",
                    ]
                    texts = [" ".join(commands[name]) for name in pair]
                    done = subprocess.run(
                        [*words, "-N", "-n", pair[0], "-n", pair[1], *texts], capture_output=True, text=True, check=True
                    )
                found = json.loads(done.stdout)["contenders"][1]["against_reference"]
                if quiet:
                    quiet.append(_quiet_ratios(commands, pair))
                    truth = around(quiet[-2], quiet[-1])
                judged.append((Said(found["verdict"], found["low"], found["high"], WITHIN), truth))
            yield _row(cell, pair, judged)


def _quiet_ratios(commands: Mapping[str, tuple[str, ...]], pair: tuple[str, str]) -> list[float]:
    """The first's time over the second's in some seconds of interleaved runs beside no load."""
    blocks = record({name: commands[name] for name in pair}, _QUIET_S).blocks
    return [block[pair[0]].seconds / block[pair[1]].seconds for block in blocks]


#: What can be made by itself.
_PARTS = ("elsewhere", "replay", "live")


def main(*parts: str) -> None:
    """Print a table of each part: wrong words, intervals that hold the quiet truth, and how often a word was said."""
    seconds = [other for _, other in PAIRS]
    unknown = [part for part in parts if part not in (*_PARTS, *CELLS, *seconds)]
    if unknown:
        known = ", ".join([*_PARTS, *CELLS, *seconds])
        raise InputError(f"no such part: {', '.join(unknown)}", f"there are {known}")
    cells = [cell for cell in CELLS if cell in parts] or list(CELLS)
    named_parts = [part for part in _PARTS if part in parts] or _PARTS
    live, replayed = "live" in named_parts, "replay" in named_parts
    if "elsewhere" in named_parts:
        print(
            f"a machine of {elsewhere.PROCESSORS} processors, computed, with load elsewhere; the bar: of 30 % {TOLD:.0%} answered"
        )
        print(_HEAD)
        for line in _elsewhere():
            print(line, flush=True)
    if not live and not replayed:
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.environ.get("NODEWISE_SERIES", scratch))
        folder.mkdir(parents=True, exist_ok=True)
        program = build(Path(scratch))
        # the truth of some is what the quiet machine says
        _recorded(folder, program, dict.fromkeys(["quiet", *(cells if replayed else [])]))
        named = set(parts) & set(seconds)
        truths = {pair: truth for pair, truth in _truths(folder).items() if not named or pair[1] in named}
        if replayed:
            print(
                f"replayed from recorded series, at most {MOST} blocks each; the bar: {WRONG:.1%} wrong, {INSIDE:.1%} inside"
            )
            print(_HEAD)
            for line in _replayed(folder, cells, truths):
                print(line, flush=True)
        if live:
            print(f"live, `nodewise compare` with a budget of {BUDGET}")
            print(_HEAD)
            for line in _live(program, cells, truths):
                print(line, flush=True)
