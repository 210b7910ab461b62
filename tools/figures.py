# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/figures.md and of the README, made from benchmarks/figures.jsonl, a line for each figure on each processor.

.venv/bin/python -m tools.figures          writes them again

A figure has `what` was measured and on which `processor`; what nodewise took or reached (`ours`), what it is held against (`peer`) and
their `ratio`, above 1 where nodewise is faster, with its 95% confidence interval where there is one; the `command` that measures it again; and the day on which
it was `recorded`. Those with `readme` stand there, too. A figure that is worse than its peer's stays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT / "benchmarks/figures.jsonl"
PAGES = {ROOT / "docs/figures.md": False, ROOT / "README.md": True}
#: These have a column of their own.
PROCESSORS = ("AMD EPYC (Zen 5)", "Intel Xeon (Emerald Rapids)")
_BEGIN, _END = "<!-- figures: made by tools/figures.py -->\n", "<!-- end of figures -->"


@dataclass(frozen=True)
class Figure:
    """One line of the data."""

    what: str
    processor: str
    command: str
    recorded: str
    ours: str = ""
    peer: str = ""
    ratio: str = ""
    readme: bool = False

    @property
    def answer(self) -> str:
        """What stands below its processor."""
        return self.ratio or self.ours


def read_figures(path: Path = DATA) -> list[Figure]:
    """All of them. Raises TypeError for a field that none has, or one that is missing."""
    return [Figure(**json.loads(line)) for line in path.read_text().splitlines()]


def table(figures: Sequence[Figure], dates: bool) -> str:
    """A row for each thing that was measured, a column for each processor; with `dates` also the day on which each was recorded."""
    heads = ["what", *PROCESSORS, "elsewhere", "nodewise against", *(["recorded"] if dates else []), "to repeat"]
    rows = []
    for what in dict.fromkeys(figure.what for figure in figures):
        several = [figure for figure in figures if figure.what == what]
        own = [next((f.answer for f in several if f.processor == name), "not measured") for name in PROCESSORS]
        others = [f"{f.processor}: {f.answer}" for f in several if f.processor not in PROCESSORS]
        if others:
            own = [text if text != "not measured" else "" for text in own]
        row = [what, *own, "; ".join(others), "; ".join(_compared(f, len(several) > 1) for f in several)]
        row += [", ".join(dict.fromkeys(f.recorded for f in several))] if dates else []
        rows.append([*row, f"`{several[0].command}`"])
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows]) + "\n"


def _compared(figure: Figure, several: bool) -> str:
    """What was held against what; of several processors with the name's first word."""
    ours = figure.ours if figure.ratio else ""
    text = f"{ours} against {figure.peer}" if ours and figure.peer else ours or figure.peer
    return f"{figure.processor.split()[0]}: {text}" if several and text else text


def page(path: Path, figures: Sequence[Figure]) -> str:
    """The text of a page with its table as the data has it."""
    text = path.read_text()
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    short = PAGES[path]
    shown = [figure for figure in figures if figure.readme or not short]
    return f"{before}{_BEGIN}{table(shown, dates=not short)}{_END}{after}"


def main() -> None:
    """Write the tables."""
    figures = read_figures()
    for path in PAGES:
        path.write_text(page(path, figures))


if __name__ == "__main__":
    main()
