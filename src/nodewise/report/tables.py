# SPDX-License-Identifier: BSD-3-Clause
"""An experiment as rows of plain values, for figures, pages and CSV."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from nodewise.base.escaping import one_line
from nodewise.base.masking import shell_text
from nodewise.machine.model import Machine
from nodewise.placement.policies import POLICIES, place
from nodewise.records.columns import WARM_UP
from nodewise.records.experiment import Experiment
from nodewise.runner.setting import BASELINE, Setting
from nodewise.verdicts.compare import COMPARE, RUN, CompareVerdict, ContenderSummary
from nodewise.verdicts.question import machine_of
from nodewise.verdicts.tune import SettingSummary, TuneVerdict

#: A command longer than this is shortened, to no fewer letters than the second on either side of a cut.
_LONG, _LEAST = 46, 9
#: A setting of more axes than the first is named by as many as the second.
_MOST_WORDS, _SHOWN_WORDS = 5, 3
#: Figures of single runs choose among more than these.
MOST_POINTS = 3000


def in_words(series: str) -> str:
    """The name of a line as people read it: `os` is what tables call left to the system."""
    return ", ".join("left to the system" if word == "os" else word for word in series.split(", "))


def label(values: Mapping[str, Any]) -> str:
    """A setting in words: `183 threads, balanced, hugepages transparent`; the baseline has no values."""
    if not values:
        return BASELINE
    words = []
    for axis, value in values.items():
        if axis == "threads":
            words.append(f"{value} thread{'s' * (value != 1)}")
        elif axis == "placement":
            words.append("left to the system" if value == "os" else one_line(str(value)))
        elif value != "default":
            words.append(one_line(f"{axis} {value}"))
    return ", ".join(words)


def labels_of(experiment: Experiment) -> dict[str, str]:
    """What each setting is called in figures and tables, by its key; no two alike.

    Commands that differ in their parameters alone are called by these; of long ones what all of them have is cut in its middle.
    """
    settings = experiment.settings
    if not any(s.name for s in settings.values()):
        return _brief(_apart({key: label(s.values) for key, s in settings.items()}, settings))
    names = {key: ", ".join(one_line(f"{k}={v}") for k, v in s.values.items()) for key, s in settings.items()}
    if not all(names.values()) or len(set(names.values())) < len(names):
        lines = {key: shell_text(key) for key in settings}
        names = _shortened(lines)
    return names if len(set(names.values())) == len(names) else {key: shell_text(key) for key in settings}


def _shortened(lines: Mapping[str, str]) -> dict[str, str]:
    """Lines of which what is long and in all of them is cut in its middle; a word that one of them lacks stays as it is."""
    words = {key: line.split(" ") for key, line in lines.items()}
    common = set.intersection(*(set(one) for one in words.values())) if words else set()
    return {key: _cut(words[key], common) if len(line) > _LONG else line for key, line in lines.items()}


def _cut(words: Sequence[str], common: Collection[str]) -> str:
    runs = [(shared, " ".join(run)) for shared, run in groupby(words, lambda word: word in common)]
    room = _LONG - sum(len(text) for shared, text in runs if not shared)
    half = max(_LEAST, room // (2 * max(1, sum(shared for shared, _ in runs))))
    return " ".join(
        f"{text[:half].rstrip()} … {text[-half:].lstrip()}" if shared and len(text) > 2 * half + 3 else text
        for shared, text in runs
    )


def _apart(labels: Mapping[str, str], settings: Mapping[str, Setting]) -> dict[str, str]:
    """Labels of a tune's settings, no two alike: a default may be spelled out in one and be left alone in another."""
    used: dict[str, str] = {}
    for key in sorted(labels, key=lambda k: -len(settings[k].values)):
        texts = (labels[key], f"{labels[key]}, all else as it is", key)
        used[next(text for text in texts if text not in used)] = key
    made = {key: text for text, key in used.items()}
    return {key: made[key] for key in labels}


def _brief(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels of which those that name many axes name the first ones and say how many more, as long as no two are then alike."""
    made = {key: _first_words(text) for key, text in labels.items()}
    often = Counter(made.values())
    return {key: text if often[text] == 1 else labels[key] for key, text in made.items()}


def _first_words(text: str) -> str:
    words = text.split(", ")
    return (
        text
        if len(words) <= _MOST_WORDS
        else f"{', '.join(words[:_SHOWN_WORDS])}, and {len(words) - _SHOWN_WORDS} more"
    )


def _series(values: Mapping[str, Any]) -> str:
    rest = [f"{k} {v}" for k, v in values.items() if k not in ("threads", "placement") and v != "default"]
    return ", ".join([str(values.get("placement", "os")), *rest])


def _aliases(machine: Machine, setting: Setting) -> list[str]:
    """The placements that put this setting's threads just where they are, so that each line has all its points."""
    if setting.places is None:
        return [str(setting.values.get("placement", "os"))]
    same = []
    for policy in POLICIES:
        placed = place(machine, policy, len(setting.places))
        if placed is not None and placed.places == setting.places:
            same.append(policy)
    return same or [str(setting.values.get("placement", "os"))]


def thread_rows(experiment: Experiment, summaries: Sequence[SettingSummary]) -> list[dict[str, Any]]:
    """A row for each setting and each name of its placement: its key, threads, series, median and interval in the metric's unit."""
    machine = machine_of(experiment)
    if not any("threads" in one.values for one in summaries):
        return []
    # one that leaves the number alone has as many as the program by itself
    usual = experiment.question.get("defaults", {}).get("threads")
    rows: list[dict[str, Any]] = []
    for one in summaries:
        threads = one.values.get("threads", usual)
        if not isinstance(threads, int) or one.median is None:
            continue
        for policy in _aliases(machine, experiment.settings[one.key]):
            series = _series({**one.values, "placement": policy})
            numbers = {"median": one.median, "low": one.low, "high": one.high, "runs": one.runs}
            rows.append({"key": one.key, "threads": threads, "series": series, "placement": policy, **numbers})
    # of two at one place, of which one leaves the number alone, that with more runs
    rows = list({(r["series"], r["threads"]): r for r in sorted(rows, key=lambda r: int(r["runs"]))}.values())
    names = _brief({r["series"]: r["series"] for r in rows})
    rows = [{**r, "series": names[r["series"]]} for r in rows]
    return sorted(rows, key=lambda r: (r["series"], r["threads"]))


def leaders(verdict: CompareVerdict | TuneVerdict, most: int = 6) -> list[ContenderSummary] | list[SettingSummary]:
    """The summaries worth a closer look: the baseline, the candidate, and the best that ran three times or more, the best first.

    Of a comparison all contenders, as long as they can be distinguished in a figure.
    """
    if isinstance(verdict, CompareVerdict):
        return [r for r in verdict.contenders if r.runs][: 5 * most]
    wanted = {BASELINE, verdict.candidate}
    first = [s for s in verdict.settings if s.key in wanted and s.median is not None]
    more = [s for s in verdict.settings if s.key not in wanted and s.runs > 2 and s.median is not None]
    sign = -1.0 if verdict.maximise else 1.0
    return sorted(first + more[: most - len(first)], key=lambda s: sign * (s.median or 0.0))


def sample_rows(
    experiment: Experiment, keys: Sequence[str] | None = None, most: int = MOST_POINTS
) -> list[dict[str, Any]]:
    """A row for each good sample (of the given settings): order, value, ratio to its setting's median, phase, marks.

    Of more than `most` an even choice, to which those that lie far out are added, up to as many again.
    """
    records = experiment.records
    # a run that does not count is shown, too, with what disturbed it
    costs, codes = records.costs(experiment.objective), records.codes
    values = records.values(experiment.objective.metric)
    good = ~np.isnan(costs)
    if keys is not None:
        good &= np.isin(codes, [i for i, k in enumerate(records.keys) if k in set(keys)])
    at = np.flatnonzero(good)
    counts = np.bincount(codes[at], minlength=len(records.keys))
    centres = np.full(len(records.keys), np.nan)
    for code in np.flatnonzero(counts):
        own = records.of(records.keys[code])
        counted = own[good[own] & experiment.counted[own]]
        centres[code] = np.median(costs[counted])
    relative = costs[at] / centres[codes[at]]
    if at.size > most:
        even = np.arange(at.size) % math.ceil(at.size / most) == 0
        out = np.flatnonzero(~even & ((relative < 0.8) | (relative > 1.25)))
        chosen = np.sort(np.concatenate([np.flatnonzero(even), out[:: math.ceil(max(1, out.size) / most)]]))
    else:
        chosen = np.arange(at.size)
    marked, phases, phase_codes = records.marked, records.phases, records.phase_codes
    if experiment.question.get("kind") == RUN:
        # one command is compared with nothing
        phases = [RUN if phase == COMPARE else phase for phase in phases]
    labels = labels_of(experiment)
    names = records.keys
    rows = []
    for j in chosen:
        i = int(at[j])
        key = names[codes[i]]
        row = {"order": i + 1, "setting": labels[key], "key": key, "value": float(values[i])}
        row |= {"relative": float(relative[j]), "alone": bool(counts[codes[i]] == 1), "phase": phases[phase_codes[i]]}
        state = "disturbed" if marked[i] else "undisturbed"
        rows.append({**row, "state": state, "marks": "; ".join(records.marks(i))})
    return rows


def condition_rows(experiment: Experiment, keys: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """What the kernel counted for the leaders: names of the columns, and a row of medians for each setting."""
    records = experiment.records
    labels = labels_of(experiment)
    good = {key: (own := records.of(key))[(records.ok & ~records.in_phase(WARM_UP))[own]] for key in keys}
    rows: list[dict[str, Any]] = [
        {"label": labels[key], "runs": int(own.size), "marked": int(records.marked[own].sum())}
        for key, own in good.items()
    ]
    names = [(group, name) for group, name in records.named if group in ("usage", "conditions")]
    for group, name in names:
        # one at a time: all of them together are most of what a large experiment takes up
        column = records.column(group, name)
        for row, own in zip(rows, good.values(), strict=True):
            found = column[own[experiment.counted[own]]]
            if (~np.isnan(found)).any():
                row[name] = float(np.nanmedian(found))
    return [name for _, name in names if any(name in row for row in rows)], rows
