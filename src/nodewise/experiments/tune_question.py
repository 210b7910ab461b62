# SPDX-License-Identifier: BSD-3-Clause
"""What a tune is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from nodewise.base.difference import WITHIN
from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget
from nodewise.records.inherited import inherited_facts
from nodewise.runner.launch import Start
from nodewise.runner.objective import SECONDS, Objective, Shown
from nodewise.runner.same_output import SameOutput
from nodewise.tuning.wanted import Wanted


@dataclass(frozen=True)
class Question:
    """What is asked: the fastest way to run `command` on `machine`, over `axes`, within a budget.

    `within` is the difference that counts as none (0.01: 1%), `out` the experiment's directory, `asked` the command
    line that repeats the question, `environment` what programs inherit, `start` what its user gave of that, `same` what of a
    setting's output has to be as the baseline's. `resume`: go on with what `out` holds. Without `axes` they are chosen by what
    the program loads; `wanted` are axes of the user's own. With `accept_disturbed` blocks decide that something disturbed, too.
    `how` says how the runs are made, as plain values; with `sweep` every setting of the axes is run, and none is left out.
    """

    command: tuple[str, ...]
    machine: Machine
    axes: tuple[str, ...] | None
    out: Path
    budget: Budget = field(default_factory=Budget)
    within: float = WITHIN
    seed: int = 0
    timeout_s: float | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    asked: tuple[str, ...] = ()
    objective: Objective = SECONDS
    shown: Shown = field(default_factory=Shown)
    resume: bool = False
    wanted: Wanted = field(default_factory=Wanted)
    start: Start = field(default_factory=Start)
    same: SameOutput = field(default_factory=SameOutput)
    accept_disturbed: bool = False
    how: Mapping[str, Any] = field(default_factory=dict)
    sweep: bool = False

    def to_json(self) -> dict[str, Any]:
        """What `question.json` holds; of the environment only what bears on threads and memory."""
        return {
            "kind": "tune",
            "command": list(self.command),
            "axes": {},
            "wanted": asdict(self.wanted),
            "start": self.start.to_json(),
            "budget": {"seconds": self.budget.seconds, "runs": self.budget.runs},
            "within": self.within,
            "accept_disturbed": self.accept_disturbed,
            "objective": asdict(self.objective),
            "shown": asdict(self.shown),
            "same_output": self.same.to_json("baseline"),
            "seed": self.seed,
            "how": dict(self.how),
            **inherited_facts(self.machine, self.environment, self.asked),
        }
