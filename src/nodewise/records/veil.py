# SPDX-License-Identifier: BSD-3-Clause
"""Veil: what an experiment writes, with its secrets masked. Every text of a record passes here, and none goes around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nodewise.base.masking import Masks
from nodewise.records.columns import Record
from nodewise.records.sample_lines import Plan
from nodewise.records.secret_file import PLAIN
from nodewise.runner.setting import Setting, setting_from_json


def masked_question(question: Mapping[str, Any], masks: Masks) -> dict[str, Any]:
    """A question as it is written. The names of its commands are masked so from now on."""
    # what its user calls a variable is the best name for it
    masks.masked(question.get("start"))
    masked: dict[str, Any] = masks.masked({n: v for n, v in question.items() if n not in PLAIN})
    for then, now in zip(question.get("contenders", ()), masked.get("contenders", ()), strict=True):
        masks.keep(then["name"], now["name"])
    return {name: question[name] if name in PLAIN else masked[name] for name in question}


class Veil:
    """Makes the lines of an experiment's samples; a setting has one key in all of them, whatever becomes known later."""

    def __init__(self, masks: Masks):
        self.masks = masks

    def key(self, key: str) -> str:
        """A setting's key, as its own line has it."""
        masked: str = self.masks.masked(key)
        self.masks.keep(key, masked)
        return masked

    def setting(self, setting: Setting) -> dict[str, Any]:
        """The line of a setting."""
        line: dict[str, Any] = self.masks.masked(setting.to_json())
        line["key"] = self.key(setting.key)
        if setting_from_json(line).key != line["key"]:
            line["name"] = line["key"]
        return {"type": "setting", **line}

    def sample(self, record: Record) -> dict[str, Any]:
        """The line of a sample: of what the program printed only what is known as a secret is masked."""
        sample = self.masks.veiled(record.sample.to_json())
        if record.sample.error:
            # what nodewise itself says may name a command
            sample["error"] = self.masks.masked(record.sample.error)
        place = {
            "setting": self.key(record.setting),
            "phase": record.phase,
            "block": record.block,
            "position": record.position,
            "spent_s": record.spent_s,
        }
        return {"type": "sample", **place, **sample}

    def plan(self, plan: Plan) -> dict[str, Any]:
        """The line of a plan."""
        ablations = {axis: self.key(key) for axis, key in plan.ablations.items()}
        return {"type": "plan", **asdict(plan), "candidate": self.key(plan.candidate), "ablations": ablations}
