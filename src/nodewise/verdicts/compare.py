# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a comparison, from its experiment alone."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.base.errors import InputError
from nodewise.base.units import format_seconds
from nodewise.records.experiment import Experiment
from nodewise.runner.objective import WORK, format_metric
from nodewise.statistics.compare import Ratio, ratio_interval
from nodewise.statistics.interval import median_interval
from nodewise.statistics.sequential import OpenLooks
from nodewise.statistics.spoiled import Mode, drift, first_run_differs, modes
from nodewise.statistics.summary import mad, median
from nodewise.statistics.verdict import Verdict, Word, format_ratio, judge
from nodewise.statistics.work import efficiency
from nodewise.verdicts.secondary import Beside, energy_notes
from nodewise.verdicts.tune import good_costs, paired_costs, seconds_spent

COMPARE, WARM_UP = "compare", "warm-up"
#: A drift, or a first run that differs, of less than this is not worth a word.
_DRIFT, _FIRST = 0.01, 0.1
#: With more contenders than this each is held against the reference only, since every pair more widens all intervals.
_ALL_PAIRS_UP_TO = 5
#: Wall time this many times the processor time: the program mostly waited.
_WAITING = 1.5
#: A shell's own start is a part of what is measured below this.
_SHORT_S = 0.005


def comparisons(names: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs that are compared: all of them, or with many contenders each with the first; at least one."""
    if len(names) <= _ALL_PAIRS_UP_TO:
        return list(itertools.combinations(names, 2))
    return [(names[0], other) for other in names[1:]]


def looks_of(pairs: int) -> OpenLooks:
    """When to look at so many comparisons, and at which level each: at 95 % all of them hold together."""
    return OpenLooks(0.05, max(1, pairs))


def reference_of(experiment: Experiment) -> str:
    """The name of the first contender."""
    return str(experiment.question["contenders"][0]["name"])


def _pair(experiment: Experiment, one: str, other: str, looks: OpenLooks) -> dict[str, Any]:
    """Two contenders: how many times faster `other` is than `one`."""
    costs = paired_costs(experiment, one, other, COMPARE)
    within = float(experiment.question["within"])
    if not costs[0]:
        return {"one": one, "other": other, **_told(Verdict(Word.UNDECIDED, Ratio(1.0, 0.0, math.inf, 0), within))}
    ratio = ratio_interval(*costs, looks.level(len(costs[0])))
    return {"one": one, "other": other, **_told(judge(ratio, within, final=True))}


def _told(verdict: Verdict) -> dict[str, Any]:
    ratio = verdict.ratio
    return {
        "ratio": ratio.ratio,
        "low": ratio.low if ratio.low > 0 else None,
        "high": ratio.high if math.isfinite(ratio.high) else None,
        "pairs": ratio.pairs,
        "verdict": verdict.word.value,
        "sentence": verdict.sentence,
    }


def _work(experiment: Experiment, key: str) -> tuple[str, float] | None:
    """What a contender's runs did, and how much of it (the median); None where nobody counted."""
    records = experiment.records
    own = records.of(key, COMPARE)
    own = own[records.ok[own]]
    groups = [("metrics", name) for name in WORK] + [("usage", "instructions")]
    for group, name in groups:
        if (group, name) in records.named:
            found = records.column(group, name)[own]
            found = found[found > 0]
            if found.size:
                return name, float(np.median(found))
    return None


def _medians(experiment: Experiment, key: str) -> dict[str, float]:
    """The medians of all that was counted for a contender's good runs."""
    records = experiment.records
    own = records.of(key, COMPARE)
    own = own[records.ok[own]]
    told = {name: records.column(group, name)[own] for group, name in records.named}
    told |= {"seconds": records.plain("seconds")[own], "wall_s": records.plain("wall_s")[own]}
    if {"user_s", "system_s"} <= told.keys():
        told["cpu_s"] = told["user_s"] + told["system_s"]
    return {name: float(np.nanmedian(column)) for name, column in told.items() if (~np.isnan(column)).any()}


def _row(
    experiment: Experiment, beside: Beside, contender: Mapping[str, Any], pair: Mapping[str, Any] | None
) -> dict[str, Any]:
    key = str(contender["name"])
    setting = experiment.settings.get(key)
    costs = good_costs(experiment, key, COMPARE)
    objective = experiment.objective
    values = [objective.value(c) for c in costs]
    low, high = median_interval(values) or (None, None)
    at = experiment.records.of(key, COMPARE)
    failure = experiment.records.failures().get(key)
    return {
        "name": key,
        "command": contender["text"],
        "shell": contender["shell"],
        "values": dict(setting.values) if setting is not None else {},
        "runs": len(values),
        "failed": int(at.size) - len(values),
        "error": None if failure is None else experiment.records[failure].sample.error,
        "median": median(values) if values else None,
        "mad": mad(values) if values else None,
        "low": low,
        "high": high,
        "mean": float(np.mean(values)) if values else None,
        "stddev": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "min": min(values) if values else None,
        "max": max(values) if values else None,
        "medians": _medians(experiment, key) if values else {},
        **(_shape(experiment, key) if values else {"modes": [], "drift": None, "first_run": None}),
        "metrics": beside.of(at) if values else {},
        "disturbed": int(experiment.records.marked[at].sum()),
        "against_reference": None if pair is None else {k: v for k, v in pair.items() if k not in ("one", "other")},
    }


def _with_work(experiment: Experiment, rows: list[dict[str, Any]]) -> None:
    """Speed, rate and redundancy side by side, for the contenders whose runs counted the same kind of work."""
    ran = [r for r in rows if r["runs"]]
    work = {r["name"]: _work(experiment, r["name"]) for r in ran}
    kind = next((w[0] for w in work.values() if w is not None), None)
    if not ran or ran[0] is not rows[0] or experiment.objective.metric not in ("seconds", "wall_s", "cpu_s"):
        return
    amounts = [w[1] if (w := work[r["name"]]) is not None and w[0] == kind else None for r in ran]
    times = [float(r["median"]) for r in ran]
    speedups = [r["against_reference"]["ratio"] if r["against_reference"] else 1.0 for r in ran]
    for row, one, amount in zip(ran, efficiency(times, amounts, 0, speedups), amounts, strict=True):
        if amount is not None:
            row["work"] = {"kind": kind, "amount": amount, "rate": one.rate}
            row["work"] |= {"rate_ratio": one.rate_ratio, "redundancy": one.redundancy}


#: So many contenders are named where several may be the best.
_NAMED = 6
#: A note that so many commands share is told once for all of them.
_SHARED = 3
_ALIKE = {
    "waits": "wait for something else than the processor (files, network, sleep), which is then what is measured",
    "shell": f"take less than {format_seconds(_SHORT_S)}, and the start of the shell is a part of it; with -N there is none",
    "disturbed": "were disturbed in many runs; `nodewise quiet` says by what",
    "noise": "cannot be told from the reference yet",
}
_MORE = {
    "runs": "more --runs would tell",
    "budget": "`--resume DIR --budget …` goes on with it",
    "interrupted": "`--resume DIR` goes on with it",
    "cut off": "`--resume DIR` goes on with it",
}


def _warnings(experiment: Experiment, rows: Sequence[Mapping[str, Any]], stopped: str) -> list[str]:
    found = [(row["name"], kind, text) for row in rows for kind, text in _notes(experiment, row, stopped)]
    counts = Counter(kind for _, kind, _ in found)
    warnings: dict[str, None] = {}
    for name, kind, text in found:
        if kind in _ALIKE and counts[kind] >= _SHARED:
            which = "all commands" if counts[kind] == len(rows) else f"{counts[kind]} of {len(rows)} commands"
            more = f": {_MORE[stopped]}" if kind == "noise" and stopped in _MORE else ""
            warnings[f"{which} {_ALIKE[kind]}{more}"] = None
        else:
            warnings[text if len(rows) == 1 else f"{name}: {text}"] = None
    return list(warnings)


def _notes(experiment: Experiment, row: Mapping[str, Any], stopped: str) -> list[tuple[str, str]]:
    """What is to be known of a contender's runs: a kind and a text for each."""
    notes = []
    if row["error"]:
        notes.append(("failed", f"failed in {_runs(row['failed'])} and was left out from then on: {row['error']}"))
    if not row["runs"]:
        return notes
    medians = row["medians"]
    cpu, wall = medians.get("cpu_s"), medians["wall_s"]
    disturbed = row["disturbed"] > 0.2 * (row["runs"] + row["failed"])
    if disturbed:
        told = f"{row['disturbed']} of {_runs(row['runs'])} were disturbed; `nodewise quiet` says by what"
        notes.append(("disturbed", told))
    elif cpu is not None and wall > _WAITING * cpu and wall - cpu > 0.005:
        notes.append(
            (
                "waits",
                f"it takes {format_seconds(wall)} but the processor only {format_seconds(cpu)}: it waits for something else "
                "(files, network, sleep), which is then what is measured",
            )
        )
    if row["shell"] and wall < _SHORT_S:
        told = f"it takes less than {format_seconds(_SHORT_S)}, and the start of the shell ({row['shell']}) is a part of it"
        notes.append(("shell", f"{told}; with -N there is none"))
    notes += [("shape", text) for text in _shape_warnings(experiment, row)]
    pair = row["against_reference"]
    if pair is not None and pair["verdict"] == Word.UNDECIDED.value and stopped != "failed":
        more = f": {_MORE[stopped]}" if stopped in _MORE else ""
        if pair["low"] is None:
            told = f"{_runs(pair['pairs'])} are too few for an interval"
        else:
            told = f"noise hides the answer after {_runs(pair['pairs'])}, {format_span(pair['low'], pair['high'])} is possible"
        notes.append(("noise", told + more))
    return notes


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"


def format_span(low: float, high: float) -> str:
    """`0.98× to 1.03×`."""
    return f"{low:.3f}× to {high:.3f}×"


def _shape(experiment: Experiment, key: str) -> dict[str, Any]:
    """What a contender's runs look like in their order: where they gather, whether they drift, how far the first was off.

    `modes` are values of the metric with the share of the runs around them, one where they gather at one place.
    """
    costs = good_costs(experiment, key, COMPARE)
    trend = drift(costs)
    # times that drift look as if they gathered at several places
    gathered = modes(costs)
    places = gathered.modes if gathered.bimodal and not trend.found else (Mode(median(costs), 1.0),)
    every = [*good_costs(experiment, key, WARM_UP), *costs]
    return {
        "modes": [{"value": experiment.objective.value(m.seconds), "share": m.share} for m in places],
        "drift": trend.size if trend.found else None,
        "first_run": first_run_differs(every),
    }


def _shape_warnings(experiment: Experiment, row: Mapping[str, Any]) -> list[str]:
    told = []
    metric = experiment.objective.metric
    if len(row["modes"]) > 1:
        places = ", ".join(f"{format_metric(metric, m['value'])} ({m['share']:.0%})" for m in row["modes"])
        told.append(
            f"its runs gather at {len(row['modes'])} places: {places}; the median is one of them by chance. Look for what "
            "differs between runs: placement, memory, turbo, a cache of files"
        )
    if row["drift"] is not None and abs(row["drift"]) >= _DRIFT:
        way = "more" if row["drift"] > 0 else "less"
        told.append(
            f"it drifted by {abs(row['drift']):.1%} to {way} over the comparison; pairs within a block cancel most of it"
        )
    if row["first_run"] is not None and abs(row["first_run"]) >= _FIRST:
        told.append(
            f"its first run took {1 + row['first_run']:.2f} times as much as the others: files were not cached, or something "
            "had to start; with --warmup it is left out"
            + (" (it was, here)" if int(experiment.question.get("warmup", 0)) else "")
        )
    return told


def weigh(experiment: Experiment, stopped: str) -> dict[str, Any]:
    """What `compare --json` prints; `stopped`: `decided`, `runs`, `budget`, `failed` or `interrupted`.

    All intervals hold together at 95 %, however early the comparison was ended. `fastest` are the contenders of which none
    other is surely better.
    """
    contenders = experiment.question["contenders"]
    names = [str(c["name"]) for c in contenders]
    pairs = comparisons(names)
    looks = looks_of(len(pairs))
    judged = [_pair(experiment, one, other, looks) for one, other in pairs]
    first = {p["other"]: p for p in judged if p["one"] == names[0]}
    beside = Beside(experiment)
    rows = [_row(experiment, beside, c, first.get(str(c["name"]))) for c in contenders]
    _with_work(experiment, rows)
    blocks = max((r["runs"] for r in rows), default=0)
    return {
        "kind": COMPARE,
        "metric": experiment.objective.metric,
        "maximise": experiment.objective.maximise,
        "shown": [o.metric for o in experiment.shown.metrics],
        "currency": experiment.shown.currency,
        "contenders": rows,
        "pairs": judged,
        "fastest": _fastest(rows, judged),
        "pareto": beside.fronts([{**r, "key": r["name"]} for r in rows]),
        "blocks": blocks,
        "runs": len(experiment.records),
        "within": experiment.question["within"],
        "level": looks.level(max(1, blocks)),
        "warnings": [*_warnings(experiment, rows, stopped), *energy_notes(experiment)],
        "seconds_spent": seconds_spent(experiment),
        "stopped": stopped,
        "experiment": str(experiment.path),
    }


def _fastest(rows: Sequence[Mapping[str, Any]], judged: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of those that may be the best: no other one is surely better than they are."""
    beaten = {p["one"] for p in judged if p["verdict"] == Word.FASTER.value}
    beaten |= {p["other"] for p in judged if p["verdict"] == Word.SLOWER.value}
    left = [r["name"] for r in rows if r["runs"] and not r["error"] and r["name"] not in beaten]
    if len(rows) <= _ALL_PAIRS_UP_TO:
        return left
    # held against the reference only: those whose intervals reach that of the best one
    against = {p["other"]: p for p in judged if p["low"] is not None}
    best = max((p["low"] for p in against.values()), default=1.0)
    if best <= 1.0:
        return left
    return [name for name, p in against.items() if p["high"] >= best]


def describe(experiment: Experiment, verdict: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> str:
    """The answer in one sentence; `labels` are shorter names of the contenders."""
    called = labels or {}
    rows = [r for r in verdict["contenders"] if r["runs"]]
    fastest = [called.get(n, n) for n in verdict["fastest"]]
    name = verdict["contenders"][0]["name"]
    if len(rows) < 2:
        value = experiment.objective.value(good_median(experiment, name))
        return f"{called.get(name, name)}: {format_metric(verdict['metric'], value, verdict['currency'])}"
    if len(rows) == 2:
        told = describe_pair({"one": name, "other": rows[1]["name"], **rows[1]["against_reference"]}, called)
        failed = [called.get(r["name"], r["name"]) for r in rows if r["error"]]
        return f"{' and '.join(failed)} failed; before that {told}" if failed else told
    if len(fastest) == 1:
        return f"{fastest[0]} is the best of {len(rows)}"
    if len(fastest) > _NAMED:
        return f"the best cannot be told apart: {', '.join(fastest[:_NAMED])} and {len(fastest) - _NAMED} more"
    return f"the best cannot be told apart: {', '.join(fastest)}"


def describe_pair(pair: Mapping[str, Any], called: Mapping[str, str]) -> str:
    """`./new is 1.47× faster than ./old (1.45–1.49)`: what was found of two contenders, in a sentence."""
    one, other = (called.get(pair[n], pair[n]) for n in ("one", "other"))
    ratio = Ratio(pair["ratio"], pair["low"] or 0.0, math.inf if pair["high"] is None else pair["high"], pair["pairs"])
    word = Word(pair["verdict"])
    if word is Word.SLOWER:
        ratio = Ratio(1 / ratio.ratio, 1 / ratio.high, 1 / ratio.low, ratio.pairs)
    if word in (Word.FASTER, Word.SLOWER):
        size, _, span = format_ratio(ratio).partition(" ")
        return f"{other} is {size} {word.value} than {one} {span}"
    told = str(pair["sentence"])
    return told if word is Word.NO_DIFFERENCE else f"{told}, {other} against {one}"


def good_median(experiment: Experiment, key: str) -> float:
    """The median cost of a contender. Raises InputError where it has no good run."""
    costs = good_costs(experiment, key, COMPARE)
    if not costs:
        raise InputError(f"{experiment.path} holds no good run of {key}", "nothing can be said of it; compare again")
    return median(costs)
