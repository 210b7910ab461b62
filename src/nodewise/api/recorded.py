# SPDX-License-Identifier: BSD-3-Clause
"""How programs are run, as plain values: kept with a question, and read back for whoever repeats it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

from nodewise.api.given import seconds_of
from nodewise.base.arguments import checked_arguments
from nodewise.base.errors import InputError
from nodewise.base.escaping import one_line
from nodewise.records.kept_variables import KEPT_VARIABLES
from nodewise.runner.same_output import SameOutput, same_output_from_json

#: Flags of a regular expression by the letter that sets them in its text; those of one that is given as text have MULTILINE.
_FLAGS = {"i": re.IGNORECASE, "s": re.DOTALL, "x": re.VERBOSE, "a": re.ASCII}
_OWN_FLAGS = re.compile(r"\(\?[aimsux]+\)")


def environment_then(then: Mapping[str, str]) -> dict[str, str]:
    """The current environment, with the variables that bear on a run as they were `then`, when the question was asked."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith(KEPT_VARIABLES)}, **then}


def text_of(pattern: str | re.Pattern[str]) -> str:
    """A regular expression as text that, with MULTILINE, finds the same."""
    if isinstance(pattern, str):
        return pattern
    plain = _OWN_FLAGS.sub("", pattern.pattern, count=1) if _OWN_FLAGS.match(pattern.pattern) else pattern.pattern
    on = "".join(letter for letter, flag in _FLAGS.items() if pattern.flags & flag)
    off = "" if pattern.flags & re.MULTILINE else "-m"
    # a comment at its end would hide the bracket
    end = "\n)" if pattern.flags & re.VERBOSE else ")"
    return f"(?{on}{off}:{plain}{end}" if on or off else plain


def plain_how(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of `nodewise.HowToRun` as JSON holds them, without those that say nothing; paths are whole."""
    found = {name: value for name, value in given.items() if value not in (None, False, "") and value != ()}
    for name in ("cwd", "stdin") & found.keys():
        found[name] = str(Path(found[name]).absolute())
    for name in ("timeout", "wait_quiet") & found.keys():
        found[name] = seconds_of(found[name], f"--{name.replace('_', '-')}")
    for name in ("expect", "work") & found.keys():
        found[name] = text_of(found[name])
    if "metrics" in found:
        found["metrics"] = {one_line(name): text_of(pattern) for name, pattern in found["metrics"].items()}
    for name in ("env", "limits") & found.keys():
        found[name] = {key: str(value) for key, value in found[name].items()}
    for name in ("show", "over_ranks", "isolation") & found.keys():
        found[name] = list(found[name])
    return {name: value for name, value in found.items() if value not in ({}, [])}


def recorded_how(question: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], SameOutput]:
    """What is kept of how the runs of an experiment were made: keywords of `HowToRun`, and the rule of outputs.

    Raises InputError where that is damaged.
    """
    from nodewise.api.options import choose_run

    kept = dict(question.get("how") or {})
    try:
        checked_arguments(choose_run, (), kept)
        rule = same_output_from_json(question["same_output"]) if question.get("same_output") else SameOutput()
    except (InputError, ValueError, KeyError) as problem:
        raise InputError(f"{folder / 'question.json'} is damaged: how: {problem}", "ask again") from problem
    return kept, rule


def over(then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords given then, replaced by those given now; of named or listed values both are kept."""
    made = {**then, **now}
    for name in ("env", "metrics", "limits"):
        if then.get(name) and now.get(name):
            made[name] = {**then[name], **now[name]}
    if then.get("show") and now.get("show"):
        made["show"] = [*then["show"], *now["show"]]
    # one number decides, and codes are accepted by one of two
    for name, other in (*permutations(("minimize", "maximize")), *permutations(("ignore_failure", "accept_codes"))):
        if now.get(name):
            made.pop(other, None)
    return made
