# SPDX-License-Identifier: BSD-3-Clause
"""Processes that a program leaves when it ends: they are ended before the next run, and are nothing that disturbed it."""

from __future__ import annotations

from nodewise.base.units import format_count
from nodewise.records.experiment import Experiment
from nodewise.runner.marks import LEFT_BEHIND


def left_behind_notes(experiment: Experiment, key: str) -> list[str]:
    """What the last run of a setting left that left something, and how many did; empty where none did."""
    runs = [experiment.records.marks(int(i)) for i in experiment.records.of(key)]
    left = [mark for marks in runs for mark in marks if _is_left(mark)]
    return [f"{left[-1]} (in {len(left)} of {format_count(len(runs), 'run')})"] if left else []


def _is_left(mark: str) -> bool:
    return mark.startswith(f"{LEFT_BEHIND}: ")
