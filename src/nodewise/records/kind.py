# SPDX-License-Identifier: BSD-3-Clause
"""Kind: all that nodewise has to know of one kind of experiment, in one place."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nodewise.base.frozen import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of experiment: the shape of its question, and where its verdict, text, page, figures, rows and command are found.

    `name` is what `question.json` has as `kind`, and the name of its command. `question` is the typed dictionary that the
    question is checked against (`records.question` has those to begin with), `check` what must hold besides; it raises ShapeError.

    The others are references (`NEEDED` are those that each kind has), `package.module:name`, which are followed when they are first needed: who reads a
    question loads no page. `judge` leads to a function that is given the experiment (`records.experiment.Experiment`) and gives its
    verdict; where it is empty, `keeps` is the name under which `verdict.json` keeps what was found, one or a list.
    `verdict` is the frozen dataclass of that. `page`, `figures` and `rows` are functions of a `verdicts.stored.Stored`: the HTML; charts,
    or texts of SVG, by the names of their files, the main one first; and a table as CSV. `text` is one of that and the columns
    of a terminal: the answer in lines.

    `command` leads to the command of click that asks the question: an empty one is that of another kind. `printed` is the
    dataclass that it prints with --json where that is another one than `verdict`, `written` names the files that this JSON names
    besides. `phase` is that of the runs that decide. `promise` leads to a function that gives the pair (`PairVerdict`) of an
    experiment which `nodewise confirm` repeats, or raises InputError; without it nothing is promised. `points` leads to a function of a `Stored` that gives what history keeps of it, a list
    of `nodewise.history.entry.Point`; without it an experiment of that kind is not looked at over time. `learned` leads to one that
    gives what later tunes may start from (`nodewise.history.learned.Learned`), or None. `again` is the
    command line that makes a verdict that cannot be read again, with `{folder}`; empty where --resume does. Where `undisturbed` is
    set, runs that were disturbed do not count (`records.experiment.Experiment.counted`): those of a kind that pairs no runs, whose blocks cannot be left out.
    """

    name: str
    question: type
    verdict: str = ""
    text: str = ""
    page: str = ""
    figures: str = ""
    rows: str = ""
    judge: str = ""
    keeps: str = ""
    check: Callable[[Mapping[str, Any]], None] | None = None
    command: str = ""
    printed: str = ""
    written: tuple[str, ...] = ("report",)
    phase: str = "compare"
    promise: str = ""
    points: str = ""
    learned: str = ""
    again: str = ""
    undisturbed: bool = False

    def load(self, what: str) -> Any:
        """What the reference in a field leads to. Raises ImportError or AttributeError where it leads nowhere."""
        return pkgutil.resolve_name(getattr(self, what))

    def remake_line(self, folder: Path) -> str:
        """The command line that makes again what is in a directory, from what was measured or by measuring it again."""
        return (self.again or f"nodewise {self.name} --resume {{folder}}").format(folder=folder)


#: The fields that hold references, and those that each kind has.
REFERENCES = (
    "judge",
    "verdict",
    "text",
    "page",
    "figures",
    "rows",
    "command",
    "printed",
    "promise",
    "points",
    "learned",
)
NEEDED = ("verdict", "text", "page", "figures", "rows")
