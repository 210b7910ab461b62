# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of `nodewise scale` on pretend programs of known law, at four times the largest count that was measured.

Of each program ten blocks of runs with noise of 5 % are given. Said are how many were answered, how often the interval held
the true time, how far off the prediction was in the median, and beside it Extra-P's with the same runs. Extra-P is no
dependency: what it found is kept in `scaling-peers.jsonl`; `scaling --extrap PYTHON` asks a Python that has it, where that is missing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks._scaling_programs import CLASSIC, MORE, NOISES, OTHERS, Program, program
from nodewise.statistics.scaling import Fits

#: The peer, and the file that keeps what it found.
PEER, KEPT = "extrap 4.2.5", Path(__file__).with_name("scaling-peers.jsonl")

#: At most so many programs of each law that is not fitted, and of each noise that is not normal.
_OTHERS = 30


@dataclass(frozen=True)
class Row:
    """Of one program: whether it was answered, whether the interval held the truth, its width, and the error."""

    answered: bool
    held: bool
    wide: float
    error: float


def _ours(one: Program) -> Row:
    found = Fits(np.array(one.counts, float), np.array(one.runs))
    said = found.time(one.target)
    return Row(found.fits, said.low <= one.truth <= said.high, said.high / said.low, abs(said.value / one.truth - 1))


def _peer_answers() -> dict[str, list[float | None]]:
    lines = [] if not KEPT.exists() else [json.loads(line) for line in KEPT.read_text().splitlines()]
    return {line["program"]: line["seconds"] for line in lines if line["peer"] == PEER}


def ask_peer(python: str, programs: Sequence[Program]) -> None:
    """Ask Extra-P of the programs of which nothing is kept, and keep it."""
    known = _peer_answers()
    new = list({p.digest: p for p in programs if p.digest not in known}.values())
    if not new:
        return
    asked = json.dumps([{"counts": p.counts, "runs": p.runs, "target": p.target} for p in new])
    script = Path(__file__).with_name("_extrap_predict.py")
    done = subprocess.run([python, str(script)], input=asked, capture_output=True, text=True, check=True)
    with KEPT.open("a") as file:
        for one, seconds in zip(new, json.loads(done.stdout), strict=True):
            line = {"peer": PEER, "law": one.law, "noise": one.noise, "seed": one.seed, "program": one.digest}
            file.write(json.dumps({**line, "seconds": seconds}, separators=(",", ":")) + "\n")


def _print(name: str, programs: Sequence[Program]) -> None:
    rows = [_ours(p) for p in programs]
    answered = [r for r in rows if r.answered]
    known = _peer_answers()
    # its better choice for each group: with the exponents that it offers for strong scaling, or without
    peers = []
    for choice in (0, 1):
        found = [(known[p.digest][choice], p.truth) for p in programs if p.digest in known]
        if len(found) == len(programs):
            peers.append(median(abs(s / truth - 1) if s is not None else np.inf for s, truth in found))
    held, wide = np.mean([r.held for r in answered]), median(r.wide for r in answered)
    peer = f"{min(peers):>10.1%}" if peers else f"{'not asked':>10}"
    print(
        f"{name:<26}{len(rows):>6}{len(answered) / len(rows):>10.0%}{held:>9.0%}{wide:>8.2f}×"
        f"{median(r.error for r in answered):>9.1%}{peer}",
        flush=True,
    )


def main(*words: str) -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(prog="scaling")
    parser.add_argument("--seeds", type=int, default=67, help="programs of each law")
    parser.add_argument(
        "--extrap", metavar="PYTHON", help="a Python that has extrap 4.2.5, asked where nothing is kept"
    )
    given = parser.parse_args(words)
    seeds = range(given.seeds)
    sets = {law: [program(law, "normal", s) for s in seeds] for law in CLASSIC}
    sets = {"classic laws": [p for some in sets.values() for p in some], **sets}
    for law in MORE:
        sets[law] = [program(law, "normal", s) for s in seeds[:_OTHERS]]
    others = {law: [program(law, "normal", s) for s in seeds[:_OTHERS]] for law in OTHERS}
    sets |= {"others, not fitted": [p for some in others.values() for p in some], **others}
    for noise in list(NOISES)[1:]:
        sets[f"classic laws, {noise}"] = [program(law, noise, s) for law in CLASSIC for s in seeds[:_OTHERS]]
    if given.extrap:
        ask_peer(given.extrap, [p for some in sets.values() for p in some])
    print(f"{'programs':<26}{'':>6}{'answered':>10}{'held':>9}{'width':>9}{'error':>9}{'Extra-P':>10}")
    for name, programs in sets.items():
        _print(name, programs)
