# SPDX-License-Identifier: BSD-3-Clause
"""The study of governors, on folders written by hand: what is compared, what is counted, and that all is put back."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nodewise.api import governors
from nodewise.api.governors import study_governors
from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.native import native_path
from tests.machine.frequency_tree import frequency_tree, governor_file

HERE = min(os.sched_getaffinity(0))
GOVERNOR = str(native_path("nodewise-governor"))


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are slept after: of so few a run takes a twentieth of a second."""
    monkeypatch.setattr(governors, "_QUICK", 100)


def _line(root: Path) -> str:
    return governor_file(root, HERE).read_text().strip()


def test_governors_are_compared_workload_by_workload_and_put_back(tmp_path: Path) -> None:
    root = frequency_tree(tmp_path / "root", [HERE])
    asked = {"change": True, "only": ("performance", "powersave"), "quick": True, "root": root}
    found = study_governors(HERE, out=tmp_path / "out", **asked)  # type: ignore[arg-type]
    assert found.governors == ("performance", "powersave") and found.changed and len(found.experiments) == 3
    names = [(row.workload, row.governor) for row in found.rows]
    workloads = ("three that sleep", "one alone", "three without sleep")
    assert names == [(workload, governor) for workload in workloads for governor in asked["only"]]  # type: ignore[attr-defined]
    # the counts of these folders stand still
    assert {(row.transitions, row.into_top) for row in found.rows} == {(0.0, 0.0)}
    assert all(row.median_s and row.runs >= 6 for row in found.rows)
    assert [row.times is None for row in found.rows] == [True, False] * 3
    assert _line(root) == "schedutil" and found.notes == ()
    # of other sizes nothing was published
    assert found.rows_each == (7, 8, 9) and found.published_into_top == ()


def test_as_it_is_nothing_is_set(tmp_path: Path) -> None:
    root = frequency_tree(tmp_path / "root", [HERE], counted=False)
    written = governor_file(root, HERE).stat().st_mtime_ns
    found = study_governors(HERE, change=False, quick=True, out=tmp_path / "out", root=root)
    assert found.governors == ("schedutil",) and not found.changed
    assert governor_file(root, HERE).stat().st_mtime_ns == written
    assert [row.workload for row in found.rows] == ["three that sleep", "one alone", "three without sleep"]
    assert {row.transitions for row in found.rows} == {None}
    assert [note.split(":")[0].split(",")[0] for note in found.notes] == [
        "the kernel counts no changes of frequency here (module cpufreq_stats)",
        "only schedutil",
    ]


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    root, out = frequency_tree(tmp_path / "root", [HERE]), tmp_path / "out"
    with pytest.raises(UnavailableError, match="no driver sets the frequency"):
        study_governors(HERE + 1, change=True, out=out, root=root)
    with pytest.raises(InputError, match="no such governor here: ondemand"):
        study_governors(HERE, change=True, only=("ondemand",), out=out, root=root)
    with pytest.raises(InputError, match="only one governor"):
        study_governors(HERE, change=True, only=("powersave",), out=out, root=root)
    with pytest.raises(InputError, match="only one governor"):
        study_governors(HERE, change=True, only=("powersave", "powersave"), out=out, root=root)
    with pytest.raises(InputError, match="only run where they may be set"):
        study_governors(HERE, change=False, only=("powersave",), out=out, root=root)
    with pytest.raises(InputError, match="only run where they may be set"):
        study_governors(HERE + 1, change=False, only=("nope",), quick=True, out=out, root=root)
    assert not out.exists() and _line(root) == "schedutil"


def test_who_may_not_set_governors_is_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = frequency_tree(tmp_path / "root", [HERE]), tmp_path / "out"
    # root may write everything
    monkeypatch.setattr(governors.os, "access", lambda path, mode: False)
    with pytest.raises(UnavailableError, match="may not be set here"):
        study_governors(HERE, change=True, out=out, root=root)
    assert not out.exists()


@pytest.mark.parametrize("kills", [12, pytest.param(100, marks=pytest.mark.long)])
def test_a_governor_is_put_back_however_its_program_is_killed(tmp_path: Path, kills: int) -> None:
    root, dice = frequency_tree(tmp_path, [HERE]), random.Random(kills)
    words = [GOVERNOR, "--sys", str(root / "sys"), "--set", "powersave", str(HERE), "--", "sleep", "60"]
    for kill in range(kills):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
        # half of them at any moment of the start, when nothing may have been set yet
        if kill % 2:
            _until(lambda: _line(root) == "powersave")
        time.sleep(dice.uniform(0, 0.01))
        number = dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        if dice.random() < 0.5:
            os.kill(process.pid, number)
        else:
            os.killpg(process.pid, number)
        process.wait(timeout=30)
        _until(lambda: _line(root) == "schedutil")
        time.sleep(0.01)
        assert _line(root) == "schedutil"


def test_a_count_is_the_difference_and_a_failure_is_handed_on(tmp_path: Path) -> None:
    root = frequency_tree(tmp_path, [HERE])
    folder = governor_file(root, HERE).parent / "stats"
    table = (folder / "trans_table").read_text().replace("         0         5 ", "         0         9 ")
    more = f"printf '%s' '{table}' > {folder}/trans_table; sed -i 's/1000000: *3/1000000: 10/' {folder}/trans_table"
    done = subprocess.run(
        [GOVERNOR, "--sys", str(root / "sys"), str(HERE), "--", "sh", "-c", more],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert (found["transitions"], found["into_top"]) == (4 + 7, 7)
    failed = [GOVERNOR, "--sys", str(root / "sys"), str(HERE), "--", "true", "+", "sh", "-c", "exit 5"]
    assert subprocess.run(failed, capture_output=True, check=False).returncode == 5


def test_a_governor_stays_until_the_last_command_has_ended(tmp_path: Path) -> None:
    """Whatever ends before it, be it one of the commands or what one has left behind."""
    root = frequency_tree(tmp_path, [HERE])
    slow = f"(sleep 0.05 &) ; sleep 0.3; cat {governor_file(root, HERE)}"
    words = [GOVERNOR, "--sys", str(root / "sys"), "--set", "powersave", str(HERE), "--", "true", "+", "sh", "-c", slow]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("powersave") and _line(root) == "schedutil"
    assert json.loads(done.stdout)["seconds"] >= 0.3


def test_what_a_governor_was_told_is_there_again(tmp_path: Path) -> None:
    """The kernel forgets it when the governor is another one."""
    root = frequency_tree(tmp_path, [HERE])
    folder = governor_file(root, HERE).parent
    (folder / "scaling_governor").write_text("userspace\n")
    (folder / "scaling_setspeed").write_text("2000000\n")
    (folder / "userspace").mkdir()
    (folder / "userspace/up_threshold").write_text("71\n")
    change = f"echo 3000000 > {folder}/scaling_setspeed; echo 95 > {folder}/userspace/up_threshold; cat {folder}/scaling_setspeed"
    words = [GOVERNOR, "--sys", str(root / "sys"), "--set", "powersave", str(HERE), "--", "sh", "-c", change]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("3000000")
    found = [
        (folder / name).read_text().strip()
        for name in ("scaling_governor", "scaling_setspeed", "userspace/up_threshold")
    ]
    assert found == ["userspace", "2000000", "71"]


def test_two_at_once_leave_the_governor_that_was(tmp_path: Path) -> None:
    """The second would else put back what the first has set."""
    root = frequency_tree(tmp_path, [HERE])
    words = [GOVERNOR, "--sys", str(root / "sys"), "--set"]
    first = subprocess.Popen([*words, "powersave", str(HERE), "--", "sleep", "0.5"], stdout=subprocess.DEVNULL)
    _until(lambda: _line(root) == "powersave")
    second = subprocess.run(
        [*words, "performance", str(HERE), "--", "sleep", "0.7"], capture_output=True, text=True, check=True
    )
    assert first.wait(timeout=30) == 0 and "waits for another one" in second.stderr
    assert _line(root) == "schedutil"


@pytest.mark.parametrize("before", [False, True])
def test_a_module_is_unloaded_only_by_who_loaded_it_also_after_a_kill_amid_the_loading(
    tmp_path: Path, before: bool
) -> None:
    root = frequency_tree(tmp_path / "root", [HERE], counted=False)
    loaded, begun = root / "sys/module/cpufreq_stats", tmp_path / "begun"
    loaded.parent.mkdir(parents=True)
    if before:
        loaded.mkdir()
    tool = tmp_path / "bin/modprobe"
    tool.parent.mkdir()
    # written by hand: as slow as a kernel that is busy, and not to be ended in the midst of it
    tool.write_text(f"#!/bin/sh\n[ $1 = -r ] && exec rm -r {loaded}\n: > {begun}; sleep 0.4; mkdir {loaded}\n")
    tool.chmod(0o755)
    words = [GOVERNOR, "--sys", str(root / "sys"), "--load", "cpufreq_stats", "--set", "powersave", str(HERE)]
    environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    process = subprocess.Popen([*words, "--", "sleep", "60"], stdout=subprocess.DEVNULL, env=environment)
    _until(lambda: begun.exists() or (before and _line(root) == "powersave"))
    process.kill()
    process.wait(timeout=30)
    time.sleep(0.6)
    _until(lambda: loaded.exists() == before and _line(root) == "schedutil")
    assert begun.exists() != before


@pytest.mark.parametrize(("change", "each_s"), [(True, 20.0), (False, 60.0)])
def test_workloads_share_the_budget_where_each_is_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: bool, each_s: float
) -> None:
    budgets = []

    class EnoughError(Exception):
        pass

    def asked(*_: object, budget: float, **__: object) -> None:
        budgets.append(budget)
        raise EnoughError

    monkeypatch.setattr(governors, "compare", asked)
    root = frequency_tree(tmp_path / "root", [HERE])
    with pytest.raises(EnoughError):
        study_governors(HERE, change=change, budget=60.0, out=tmp_path / "out", root=root)
    assert budgets == [each_s]
