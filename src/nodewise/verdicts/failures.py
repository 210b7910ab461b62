# SPDX-License-Identifier: BSD-3-Clause
"""Which settings of a tune failed, how often, and whether that is theirs or the program's own."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.escaping import one_line
from nodewise.records.answers import is_wrong
from nodewise.records.experiment import Experiment
from nodewise.runner.sample import Sample
from nodewise.runner.setting import BASELINE
from nodewise.search.failures import fails_more

#: So often a setting may fail before it has run well.
_TRIES = 2
#: Of more settings that failed only the number is said.
_MOST_NAMED = 8


def failures_of(experiment: Experiment, key: str) -> tuple[int, int]:
    """How many runs of a setting failed, and how many ran to an end; what was cut off did neither."""
    at = experiment.records.of(key)
    bad = [int(i) for i in at[~experiment.records.ok[at]]]
    cut = sum(experiment.records[i].sample.cut_off for i in bad)
    return len(bad) - cut, int(at.size) - cut


def fails_by_chance(sample: Sample, bad: int, good: int) -> bool:
    """Whether a setting that tune found in spite of failures goes on after one: `bad` of its runs failed so far, `good` ran well.

    No more than twice before the first good run, and no more often than it runs well; what hangs or gives a wrong result is no chance.
    """
    return not sample.cut_off and not is_wrong(sample) and bad <= max(_TRIES, good)


def went_on(experiment: Experiment, key: str, phase: str) -> bool:
    """Whether a contender of a repetition went on, whatever failed of its runs: one of them failed before, and this one by chance."""
    promise = experiment.question.get("promise")
    if not (isinstance(promise, Mapping) and promise.get("flaky")):
        return False
    at = experiment.records.of(key, phase)
    bad = [int(i) for i in at[~experiment.records.ok[at]]]
    return not bad or fails_by_chance(experiment.records[bad[-1]].sample, len(bad), int(at.size) - len(bad))


def shared_failures(experiment: Experiment, candidate: str) -> list[str]:
    """A sentence for each value that a setting shares with others which failed, where none failed without that value."""
    others = {key: failures_of(experiment, key) for key in experiment.settings if key not in (BASELINE, candidate)}
    notes = []
    for name, value in experiment.settings[candidate].values.items():
        shared = [key for key in others if experiment.settings[key].values.get(name) == value]
        failed, runs = (sum(others[key][i] for key in shared) for i in (0, 1))
        if failed and failed == sum(f for f, _ in others.values()):
            notes.append(
                f"other settings with {one_line(f'{name}={value}')} failed in {failed} of {runs} runs, and none without it: "
                "more runs would show whether this one does, too"
            )
    return notes


def settings_to_blame(experiment: Experiment) -> dict[str, str]:
    """Settings that fail more often than the program as it is, each with how often, and the error of its last failure."""
    own = failures_of(experiment, BASELINE)
    found = {}
    for key, last in experiment.records.failures().items():
        if key != BASELINE and fails_more(*failures_of(experiment, key), *own):
            error = (experiment.records[last].sample.error or "it failed").splitlines()[0]
            failed, runs = failures_of(experiment, key)
            found[key] = (
                f"was left out: {error}"
                if failed == runs
                else f"failed in {failed} of {runs} runs and was left out: {error}"
            )
    return found


def left_out_notes(to_blame: Mapping[str, str]) -> list[str]:
    """A sentence for each of `settings_to_blame`, of many for some, and how many more there are."""
    notes = [f"{key} {how}" for key, how in to_blame.items()]
    if len(notes) <= _MOST_NAMED + 1:
        return notes
    return [*notes[:_MOST_NAMED], f"{len(notes) - _MOST_NAMED} more settings failed and were left out"]
