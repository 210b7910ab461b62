# SPDX-License-Identifier: BSD-3-Clause
"""Experiments that run on one machine at the same time."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from nodewise.records import neighbours as module
from nodewise.records.budget import Budget, Meter
from nodewise.records.experiment import Writer, read_experiment
from nodewise.records.neighbours import Running, neighbours, turn
from nodewise.records.recorder import Recorder
from nodewise.records.sample_lines import Neighbour
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.questions import tune_question

_STAY = """
import sys, time
from pathlib import Path
from nodewise.records.neighbours import Running
running = Running("tune", Path("/there"), Path(sys.argv[1]))
running.enter()
print("there", flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without other experiments."""
    monkeypatch.setattr(module, "shared_folder", lambda: tmp_path / "running")
    return tmp_path / "running"


class _Launcher:
    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """One second."""
        del setting, timeout_s
        return Sample(1.0, 1.0, 0.0)

    def close(self) -> None:
        """Nothing."""


def test_who_is_there_is_seen_until_it_leaves(folder: Path) -> None:
    one, other = Running("tune", Path("/a")), Running("run", Path("/b"))
    one.enter()
    assert one.others() == [] and [n.directory for n in neighbours()] == ["/a"]
    other.enter()
    assert [n.kind for n in one.others()] == ["run"] and other.others()[0].pid == os.getpid()
    other.leave()
    assert [n.directory for n in neighbours()] == ["/a"]
    third = Running("run", Path("/c"))
    third.enter()
    # who was there all along has met them both, who came later has not
    assert sorted(n.directory for n in one.others()) == ["/b", "/c"]
    assert [n.directory for n in third.others()] == ["/a"]
    for running in (third, one):
        running.leave()
    assert neighbours() == []


def test_a_killed_one_is_not_there_any_more(folder: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", _STAY, str(folder)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"there\n"
    assert [n.pid for n in neighbours()] == [process.pid]
    process.kill()
    process.wait()
    assert neighbours() == []
    for file in folder.iterdir():
        os.utime(file, (1, 1))
    later = Running("run", Path("/b"))
    later.enter()
    assert later.others() == [] and len(list(folder.iterdir())) == 1
    later.leave()


def test_nonsense_in_the_folder_is_passed_over(folder: Path) -> None:
    folder.mkdir()
    (folder / "text").write_text("{")
    (folder / "link").symlink_to("/dev/zero")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    assert neighbours() == []


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_folder_in_which_others_can_take_files_away_is_not_read(folder: Path, mode: int) -> None:
    running = Running("run", Path("/a"))
    running.enter()
    assert neighbours()
    folder.chmod(mode)
    assert neighbours() == []
    folder.chmod(mode | 0o1000)
    assert neighbours()
    running.leave()


def test_a_folder_of_any_name_is_told_in_one_line(tmp_path: Path) -> None:
    (kept := tmp_path / "a\nb\x1b[2J").mkdir()
    named = str(Neighbour(1, "me", "run", str(kept)))
    assert named == f"nodewise run of me (process 1), kept in {tmp_path}/a\\x0ab\\x1b[2J"


def test_a_link_in_the_place_of_the_turn_is_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (folder / "turn").symlink_to(tmp_path / "made")
    with turn(lambda _: None):
        assert not (tmp_path / "made").exists()


def test_both_results_say_so(folder: Path, tmp_path: Path) -> None:
    assert not folder.exists()
    with Writer(tmp_path / "one", tune_question()) as one, Writer(tmp_path / "two", tune_question()) as two:
        for writer in (one, two):
            Recorder(writer, _Launcher(), Meter(Budget(None))).sample(Setting(("a",)), "search", 1, 0, None)
    for name, other in (("one", "two"), ("two", "one")):
        reported = read_experiment(tmp_path / name).remarks
        assert len(reported) == 1 and f"process {os.getpid()}), kept in {tmp_path / other}" in reported[0]


def test_who_waits_begins_once_the_others_have_ended(folder: Path) -> None:
    running = Running("tune", Path("/a"), folder)
    running.enter()
    reported: list[str] = []
    began: list[float] = []

    def wait() -> None:
        with turn(reported.append):
            began.append(time.monotonic())

    waiting = [threading.Thread(target=wait) for _ in range(2)]
    for thread in waiting:
        thread.start()
    while not reported:
        time.sleep(0.01)
    assert not began
    running.leave()
    for thread in waiting:
        thread.join(20)
    assert len(began) == 2 and any("nodewise tune" in text for text in reported)


def test_a_pipe_in_the_place_of_the_turn_holds_nobody_up(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "turn")
    with turn(lambda _: None):
        pass


@pytest.mark.parametrize(("ahead_s", "met"), [(0.5, True), (2.0, False), (1e5, False)])
def test_a_time_that_is_still_to_come_makes_no_neighbour_of_one_that_has_ended(
    folder: Path, tmp_path: Path, ahead_s: float, met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time() + 1
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now))
    ended, here = Running("tune", tmp_path / "a", folder), Running("tune", tmp_path / "b", folder)
    ended.enter()
    (file,) = folder.iterdir()
    here.enter()
    ended.leave()
    os.utime(file, (now + ahead_s,) * 2)
    # clocks of files are a little apart
    assert bool(here.others()) == met
    here.leave()
    assert file.exists() == met


def test_one_that_ended_after_another_began_was_there_however_long_before_it_had_begun(folder: Path) -> None:
    early, late = Running("tune", Path("/early")), Running("run", Path("/late"))
    early.enter()
    # times of files have the step of the kernel's tick
    time.sleep(0.03)
    late.enter()
    time.sleep(0.03)
    early.leave()
    assert [n.directory for n in late.others()] == ["/early"]
    late.leave()


def test_who_waits_where_others_own_the_folder_does_not_wait_for_ever(folder: Path) -> None:
    """A turn that is no file is nobody's; one that another holds is waited for, with one word of it."""
    folder.mkdir()
    (folder / "turn").mkdir()
    with turn(pytest.fail):
        pass
    (folder / "turn").rmdir()
    heard: list[str] = []
    began = threading.Event()

    def wait() -> None:
        with turn(heard.append):
            began.set()

    with turn(pytest.fail):
        assert (folder / "turn").stat().st_mode & 0o777 == 0o644
        second = threading.Thread(target=wait)
        second.start()
        assert not began.wait(0.5)
    second.join(20)
    assert began.is_set() and heard == ["another experiment that waits, or waited, for its turn"]


def test_a_folder_is_for_all_users_whatever_mask_is_set(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        running = Running("tune", Path("/a"))
        running.enter()
    finally:
        os.umask(before)
    (file,) = folder.iterdir()
    assert folder.stat().st_mode & 0o7777 == 0o1777 and file.stat().st_mode & 0o777 == 0o644
    running.leave()
    # who has left may do so once more
    running.leave()


def test_a_file_that_was_just_made_is_left_to_its_maker(folder: Path) -> None:
    """It is not locked yet; one of two seconds ago never will be."""
    folder.mkdir()
    folder.chmod(0o1777)
    new, old = folder / "1-new", folder / "2-old"
    for path in (new, old):
        path.write_text("")
    os.utime(old, (time.time() - 2,) * 2)
    here = Running("tune", Path("/a"))
    here.enter()
    assert new.exists() and not old.exists()
    here.leave()


def test_what_a_running_one_may_have_met_is_not_taken_away_by_a_third(folder: Path) -> None:
    late = Running("run", Path("/late"))
    late.enter()
    (own,) = folder.iterdir()
    met, before = folder / "1-met", folder / "2-before"
    for path, ago in ((own, 100), (met, 50), (before, 200)):
        path.touch()
        os.utime(path, (time.time() - ago,) * 2)
    third = Running("tune", Path("/third"))
    third.enter()
    assert met.exists() and not before.exists()
    third.leave()
    late.leave()


def test_one_that_ended_as_another_began_was_not_there_with_it(folder: Path) -> None:
    running = Running("tune", Path("/a"))
    running.enter()
    (file,) = folder.iterdir()
    running.leave()
    file.write_text(json.dumps({"pid": 1, "user": "me", "kind": "run", "directory": "/b"}))
    os.utime(file, (1000.0, 1000.0))
    assert neighbours(folder, since=1000.0) == []
    assert [n.directory for n in neighbours(folder, since=999.5)] == ["/b"]
    # its own file is nobody else's
    assert neighbours(folder, own=file.name, since=999.5) == []
