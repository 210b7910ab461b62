# SPDX-License-Identifier: BSD-3-Clause
"""Which settings of a tune never ran to an end, so that nothing but a bound is known of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nodewise.base.escaping import one_line
from nodewise.base.units import format_seconds
from nodewise.records.experiment import Experiment
from nodewise.runner.setting import BASELINE

#: So many runs of a comparison that were cut off end it.
MOST_CUT = 2
_CUT_OFF, _FAILED, _NOW_AND_THEN = "was cut off", "failed", "was cut off now and then"
#: Of more than this only their number is said.
_MOST_NAMED = 6


def cut_counts(experiment: Experiment, key: str, phase: str | None = None) -> tuple[int, int, float]:
    """How many runs of a setting there were, how many of them were cut off, and the longest of these, in seconds."""
    at, records = experiment.records.of(key, phase), experiment.records
    cut = [s.wall_s for i in at[~records.ok[at]] if (s := records[int(i)].sample).cut_off]
    return int(at.size), len(cut), max(cut, default=0.0)


def _ended(experiment: Experiment, key: str) -> bool:
    """Whether a run of a setting ended well."""
    return bool(np.any(experiment.records.ok[experiment.records.of(key)]))


def given_up(experiment: Experiment, phase: str) -> list[str]:
    """Settings whose runs were cut off in the `phase` that compares them, so often that this ended it."""
    others = (key for key in experiment.settings if key != BASELINE)
    return [key for key in others if cut_counts(experiment, key, phase)[1] >= MOST_CUT]


def why_no_other(experiment: Experiment, phase: str) -> str:
    """Why no setting is left that could be held against the program as it is: `every other setting was cut off or failed`."""
    others = [key for key in experiment.settings if key != BASELINE and cut_counts(experiment, key)[0]]
    gone = given_up(experiment, phase)
    if not others:
        return "no other setting ran"
    found = {_how_it_went(experiment, key, key in gone) for key in others}
    how = [words for words in (_CUT_OFF, _FAILED, _NOW_AND_THEN) if words in found]
    return f"{'every' if len(others) > 1 else 'the only'} other setting {' or '.join(how)}"


def _how_it_went(experiment: Experiment, key: str, given_up: bool) -> str:
    runs, cut, _ = cut_counts(experiment, key)
    if cut == runs:
        return _CUT_OFF
    return _NOW_AND_THEN if given_up and _ended(experiment, key) else _FAILED


def cut_off_notes(experiment: Experiment, phase: str) -> list[str]:
    """A sentence on each value with which runs were only ever cut off, and on each setting that was `given_up`."""
    notes = []
    blamed = _blamed(experiment)
    for items, keys in blamed[:_MOST_NAMED]:
        notes.append(f"{_named(items)} {_how(experiment, keys)}")
    if len(blamed) > _MOST_NAMED:
        notes.append(f"{len(blamed) - _MOST_NAMED} more settings or values were cut off, too, in all of their runs")
    for key in given_up(experiment, phase):
        runs, cut, longest = cut_counts(experiment, key)
        if cut < runs:
            notes.append(f"{key} was cut off in {cut} of {runs} runs, the longest after {format_seconds(longest)}")
    return notes


def _how(experiment: Experiment, keys: Iterable[str]) -> str:
    """`was cut off in its only run, after 0.8 s`."""
    counts = [cut_counts(experiment, key) for key in keys]
    runs, cut = sum(c[0] for c in counts), sum(c[1] for c in counts)
    after = format_seconds(max(c[2] for c in counts))
    if runs == 1:
        return f"was cut off in its only run, after {after}"
    rest = f", and failed in the other{'s' * (runs - cut > 1)}" if cut < runs else ""
    return f"was cut off in {'all' if cut == runs else cut} of {'its ' * (cut == runs)}{runs} runs, the longest after {after}{rest}"


def _named(items: tuple[tuple[str, Any], ...]) -> str:
    return " with ".join(one_line(f"{name}={value}") for name, value in items)


def _blamed(experiment: Experiment) -> list[tuple[tuple[tuple[str, Any], ...], list[str]]]:
    """The values, or values together, that no run ended with and of which some were cut off, each with the settings that have them.

    Of a setting without a good run those of its values are to blame that are in no setting with one, all of them where each
    is; what a smaller blame explains is not blamed again.
    """
    fine: set[tuple[str, str]] = set()
    never: dict[str, tuple[tuple[str, Any], ...]] = {}
    for key, setting in experiment.settings.items():
        items = tuple(setting.values.items())
        if _ended(experiment, key):
            fine |= {(name, str(value)) for name, value in items}
        elif key != BASELINE and items:
            never[key] = items
    found: dict[tuple[tuple[str, str], ...], tuple[tuple[tuple[str, Any], ...], list[str]]] = {}
    suspects = {k: tuple(i for i in items if (i[0], str(i[1])) not in fine) or items for k, items in never.items()}
    for key in sorted(suspects, key=lambda k: len(suspects[k])):
        own = {(name, str(value)) for name, value in suspects[key]}
        wider = next((small for small in found if set(small) <= own), None)
        at = tuple((name, str(value)) for name, value in suspects[key]) if wider is None else wider
        found.setdefault(at, (suspects[key], []))[1].append(key)
    return [(items, keys) for items, keys in found.values() if any(cut_counts(experiment, key)[1] for key in keys)]
