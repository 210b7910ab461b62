# SPDX-License-Identifier: BSD-3-Clause
"""What settings are called in tables and figures."""

from pathlib import Path

from nodewise.records.experiment import Experiment
from nodewise.report.tables import labels_of
from nodewise.runner.setting import Setting


def test_no_two_settings_of_a_tune_are_called_alike() -> None:
    spelled = {"threads": 1, "placement": "balanced", "hugepages": "default", "allocator": "tcmalloc"}
    bare = {"threads": 1, "placement": "balanced", "allocator": "tcmalloc"}
    other = {"threads": 1, "placement": "balanced", "allocator": "tcmalloc", "wait": "default", "knob": "default"}
    settings = [Setting(("app",)), *(Setting(("app",), values) for values in (bare, spelled, other))]
    labels = labels_of(Experiment(Path("x"), {}, {s.key: s for s in settings}))
    assert len(set(labels.values())) == len(labels) == 4
    assert labels[settings[0].key] == "baseline"
    assert labels[settings[3].key] == "1 thread, balanced, allocator tcmalloc"
    assert list(labels) == [s.key for s in settings]
