# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a tune, from its experiment alone: what was recorded says all, so it can be drawn again anywhere."""

from __future__ import annotations

import math
from typing import Any

from nodewise.api.experiment import Experiment, Record
from nodewise.runner.setting import Setting
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.interval import bootstrap_median
from nodewise.statistics.sequential import Looks
from nodewise.statistics.summary import mad, median
from nodewise.statistics.verdict import Verdict, Word, judge

BASELINE = "baseline"


def confirmed_pairs(experiment: Experiment, one: str, other: str) -> tuple[list[float], list[float]]:
    """Seconds of two settings in the blocks of the confirmation in which both ran well, in the same order."""
    return _pairs(experiment, one, other, "confirm")


def _pairs(experiment: Experiment, one: str, other: str, phase: str | None) -> tuple[list[float], list[float]]:
    first = {r.block: r.sample.seconds for r in experiment.of(one, phase) if r.sample.ok}
    second = {r.block: r.sample.seconds for r in experiment.of(other, phase) if r.sample.ok}
    blocks = sorted(first.keys() & second.keys())
    return [first[b] for b in blocks], [second[b] for b in blocks]


def _candidate(experiment: Experiment) -> str:
    """The setting that was confirmed; where it did not come to that, the best median of those that ran more than once.

    One that ever failed is never the candidate.
    """
    failed = {r.setting for r in experiment.records if not r.sample.ok}
    if experiment.plan is not None and experiment.plan.candidate not in failed:
        return experiment.plan.candidate
    times: dict[str, list[float]] = {}
    for record in experiment.records:
        if record.setting not in failed and record.setting != BASELINE:
            times.setdefault(record.setting, []).append(record.sample.seconds)
    if not times:
        return BASELINE
    repeated = {k: t for k, t in times.items() if len(t) > 1} or times
    return min(repeated, key=lambda k: median(repeated[k]))


def _compare(experiment: Experiment, candidate: str) -> Verdict:
    within = float(experiment.question["within"])
    plan = experiment.plan
    if candidate == BASELINE:
        return Verdict(Word.UNDECIDED, Ratio(1.0, 0.0, math.inf, 0), within)
    if plan is not None and plan.candidate == candidate:
        pairs = confirmed_pairs(experiment, BASELINE, candidate)
        if pairs[0]:
            return judge(ratio_interval(*pairs, level=Looks(plan.looks, plan.alpha).level), within, final=True)
    # without a confirmation there is a guess but no interval: the candidate was picked for its good luck, too
    guess = median([r.sample.seconds for r in experiment.of(BASELINE) if r.sample.ok]) / median(
        [r.sample.seconds for r in experiment.of(candidate) if r.sample.ok]
    )
    return Verdict(Word.UNDECIDED, Ratio(guess, 0.0, math.inf, 0), within)


def _shares(experiment: Experiment, candidate: str, verdict: Verdict) -> dict[str, float]:
    """How much of the gain each axis brought: what is lost when that axis alone is put back, all adding up to 1."""
    shares = dict.fromkeys(experiment.question["axes"], 0.0)
    plan = experiment.plan
    if plan is None or verdict.word is not Word.FASTER:
        return shares
    for axis, key in plan.ablations.items():
        without, best = confirmed_pairs(experiment, key, candidate)
        if without:
            shares[axis] = max(0.0, math.log(ratio_interval(without, best).ratio))
    if not plan.ablations and len(changed := _changed(experiment, candidate)) == 1:
        shares[changed[0]] = 1.0
    total = sum(shares.values())
    return {name: share / total if total > 0 else 0.0 for name, share in shares.items()}


def _changed(experiment: Experiment, candidate: str) -> list[str]:
    return list(experiment.settings[candidate].values)


def _summary(experiment: Experiment, setting: Setting, last_block: int) -> dict[str, Any]:
    records = experiment.of(setting.key)
    times = [r.sample.seconds for r in records if r.sample.ok]
    searched = [r.block for r in records if r.phase == "search"]
    low, high = bootstrap_median(times) if times else (None, None)
    return {
        "key": setting.key,
        "values": dict(setting.values),
        "runs": len(records),
        "failed": sum(not r.sample.ok for r in records),
        "median_s": median(times) if times else None,
        "mad_s": mad(times) if times else None,
        "low_s": low,
        "high_s": high,
        "dropped_after": max(searched) if searched and max(searched) < last_block else None,
    }


def _notes(experiment: Experiment, verdict: Verdict) -> list[str]:
    notes = []
    question = experiment.question
    if not question["machine_is_live"]:
        notes.append("the machine is not this one: settings were handed over by environment, nothing was bound")
    for name, values in question["axes"].items():
        if len(values) == 1:
            notes.append(f"{name}: nothing to choose from here")
    failed = {r.setting: r for r in experiment.records if not r.sample.ok and not r.sample.cut_off}
    notes += [f"{key} was left out: {_failure(record)}" for key, record in failed.items()]
    if verdict.word is Word.SLOWER:
        notes.append(f"the best setting found was {verdict.sentence} than the baseline, which therefore stays")
    if experiment.damaged_lines:
        notes.append(f"{experiment.damaged_lines} damaged lines of samples.jsonl were skipped")
    return notes


def _failure(record: Record) -> str:
    return (record.sample.error or "it failed").splitlines()[0]


def _chosen(experiment: Experiment, setting: Setting) -> dict[str, Any]:
    data = setting.to_json()
    places = setting.places
    threads = setting.values.get("threads", len(places) if places else None)
    return {
        **{k: data[k] for k in ("key", "values", "env", "unset", "command", "mask", "places")},
        "placement": setting.values.get("placement", "os"),
        "threads": threads,
        "launch_line": setting.launch_line(experiment.question["environment"]),
    }


def conclude(experiment: Experiment, stopped: str) -> dict[str, Any]:
    """What `tune --json` prints; `stopped` says what ended it: `decided`, `budget` or `interrupted`.

    `low` and `high` are None where there were too few runs for an interval. `best` is the baseline unless the verdict is
    that another setting is faster, or may be.
    """
    candidate = _candidate(experiment)
    verdict = _compare(experiment, candidate)
    ratio = verdict.ratio
    keep = verdict.word in (Word.SLOWER, Word.NO_DIFFERENCE)
    word = Word.NO_DIFFERENCE if keep else verdict.word
    baseline = experiment.settings[BASELINE]
    best = baseline if keep else experiment.settings[candidate]
    last_block = max((r.block for r in experiment.records if r.phase == "search"), default=0)
    summaries = [_summary(experiment, s, last_block) for s in experiment.settings.values()]
    base = next(s for s in summaries if s["key"] == BASELINE)
    return {
        "best": _chosen(experiment, best),
        "candidate": candidate,
        "baseline": {**_chosen(experiment, baseline), "median_s": base["median_s"], "mad_s": base["mad_s"]},
        "ratio": ratio.ratio,
        "low": ratio.low if ratio.low > 0 else None,
        "high": ratio.high if math.isfinite(ratio.high) else None,
        "verdict": word.value,
        "sentence": verdict.sentence,
        "within": verdict.within,
        "beyond": verdict.beyond if math.isfinite(verdict.beyond) else None,
        "runs": len(experiment.records),
        "seconds_spent": _spent(experiment.records),
        "axes": _shares(experiment, candidate, verdict),
        "settings": sorted(summaries, key=lambda s: s["median_s"] if s["median_s"] is not None else math.inf),
        "notes": _notes(experiment, verdict),
        "stopped": stopped,
        "experiment": str(experiment.path),
    }


def _spent(records: list[Record]) -> float:
    if not records:
        return 0.0
    last = max(records, key=lambda r: r.sample.started_at).sample
    return last.started_at + last.wall_s - min(r.sample.started_at for r in records)
