# SPDX-License-Identifier: BSD-3-Clause
"""What settings are called in tables and figures."""

from pathlib import Path

from nodewise.records.experiment import Experiment
from nodewise.report.tables import _shortened, labels_of
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


def test_what_makes_commands_differ_is_never_cut() -> None:
    rest = "./solver --grid 4096x4096 --steps 1000 --input a-very-long-name-of-a-file.dat"
    lines = [rest, f"env OMP_PROC_BIND=close OMP_SCHEDULE=dynamic,16 OMP_NUM_THREADS=128 {rest}", f"{rest} --fast"]
    labels = list(_shortened({line: line for line in lines}).values())
    assert all(label.count("…") == 1 and len(label) < len(line) for label, line in zip(labels, lines, strict=True))
    assert labels[1].startswith("env OMP_PROC_BIND=close OMP_SCHEDULE=dynamic,16 OMP_NUM_THREADS=128 ./solver")
    assert labels[2].endswith(" --fast") and len(set(labels)) == 3
    assert len(_shortened({rest: rest})[rest]) <= 50
    assert _shortened({"a": "./a 1", "b": "./b 1"}) == {"a": "./a 1", "b": "./b 1"}
