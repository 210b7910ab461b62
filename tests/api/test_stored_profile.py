# SPDX-License-Identifier: BSD-3-Clause
"""What is said of kept recordings: each limit by itself, and nothing twice."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import pytest

from nodewise.api import stored_profile
from nodewise.api.profile import keep_profile
from nodewise.api.stored_profile import KEPT, Kept, read_profile, read_recordings, recordings_in
from nodewise.base.errors import NodewiseError, ProgramError
from nodewise.profile.perf import script_lines
from nodewise.profile.samples import read_samples
from nodewise.profile.stacks import speedscope
from nodewise.report.pages.profile import by_thread, profile_page
from nodewise.report.text.profile import profile_text
from tests.profile.programs import need_perf

SAID = "work 1/1 {}: cpu-clock/freq=99/u:  1139 half (/tmp/work)\nwork 1/1 {}: PERF_RECORD_LOST lost 7\n"
ASKED = Kept(("work",), "m", "t", 1.0, 0, "cpu-clock", 99, "none", "asked for", False, "6", ("said before",))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two ranks, whose recordings have 100 and 60 bytes and end at 12 and 15 s."""
    for rank, size in ((0, 100), (1, 60)):
        (tmp_path / "node").mkdir(exist_ok=True)
        (tmp_path / f"node/perf.data.{rank}").write_bytes(b"x" * size)
    ends = {"perf.data.0": 12.0, "perf.data.1": 15.0}
    said = {name: SAID.format("10.0", "10.0") + SAID.format(end, end) for name, end in ends.items()}
    monkeypatch.setattr(stored_profile, "_recorded", lambda path: read_samples(said[path.name].splitlines()))
    return tmp_path


@pytest.mark.parametrize(("count", "seconds", "said"), [(30, 0.002, True), (9, 0.002, False), (30, 0.02, False)])
def test_of_processes_too_short_to_be_sampled_it_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, seconds: float, said: bool
) -> None:
    lines = SAID.format("10.0", "10.0").splitlines()
    for pid in range(2, 2 + count):
        lines += [f"expr {pid}/{pid} {t}: PERF_RECORD_SWITCH IN" for t in (11.0, 11.0 + seconds)]
    monkeypatch.setattr(stored_profile, "_recorded", lambda path: read_samples(lines))
    notes = read_recordings(folder, ASKED).result.notes
    assert any(f"{2 * count} of {2 * count + 2} processes ended before their first sample" in n for n in notes) == said
    # running longer would show no more
    assert any("let it run longer" in n for n in notes) != said


@pytest.mark.parametrize(("chains", "share", "said"), [("fp", 0.03, True), ("fp", 0.015, False), ("none", 0.03, False)])
def test_from_a_fiftieth_on_callers_that_are_missing_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chains: str, share: float, said: bool
) -> None:
    monkeypatch.setattr(stored_profile, "cut_share", lambda _: share)
    notes = read_recordings(folder, replace(ASKED, chains=chains)).result.notes
    assert any(note.startswith("outer callers are missing of 3%") for note in notes) == said


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (100, "the limit of 100 B was reached by 1 of 2 ranks 2.0 s after the start: what came later is missing"),
        (60, "the limit of 60 B was reached by 2 of 2 ranks 2.0 s after the start: what came later is missing"),
        (160, ""),
        (0, ""),
    ],
)
def test_the_limit_of_a_recording_is_that_of_each_rank(folder: Path, most: int, words: str) -> None:
    notes = read_recordings(folder, ASKED, most).result.notes
    assert [n for n in notes if "limit" in n] == ([words] if words else [])


def test_what_was_said_when_it_was_kept_is_said_once(folder: Path) -> None:
    first = read_recordings(folder, ASKED)
    keep_profile(first, folder)
    again = read_profile(folder)
    assert again.result.notes == first.result.notes and len(set(again.result.notes)) == len(again.result.notes) > 2
    keep_profile(again, folder)
    assert read_profile(folder).result.notes == first.result.notes
    assert json.loads((folder / KEPT).read_text())["notes"] == list(first.result.notes)


#: Python's own words, which nobody is to read.
_PYTHONS = re.compile(
    r"NoneType|object is not|indices must|Error\b|not iterable|invalid literal|'[a-z_]+'$|unhashable|<class|zip\("
)
WRONG: tuple[object, ...] = (None, True, -1, 0, 0.5, 1e99, "", "x\x1b\n", [], [None], {}, {"a": 1})
SPIED = {
    "shared": {"frames": [{"name": "run", "file": "/a.py", "line": 3}, {"name": "main", "file": "/a.py", "line": 9}]},
    "profiles": [{"name": 'Process 7 Thread 8 "work"', "samples": [[1, 0], [1]], "weights": [0.01, 0.02]}],
}


def _message(folder: Path) -> str:
    """What is said of a stored profile, empty where it is read."""
    try:
        profiled = read_profile(folder)
    except NodewiseError as problem:
        assert problem.hint and not _PYTHONS.search(problem.what), problem.what
        assert str(folder) in problem.what and "\n" not in problem.what
        return problem.what
    # what was read can be shown
    profile_text(profiled.result)
    profile_page(profiled)
    speedscope(by_thread(profiled), profiled.result.rate, "app")
    return ""


def _changed(value: object) -> Iterator[object]:
    """The value with each part of it replaced by what it is not, or left out."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield {k: v for k, v in value.items() if k != name}
            yield from ({**value, name: other} for other in (*WRONG, *_changed(inner)))
    elif isinstance(value, list):
        yield value[1:]
        for i, inner in enumerate(value):
            yield from ([*value[:i], other, *value[i + 1 :]] for other in (*WRONG, *_changed(inner)))


def test_of_a_damaged_profile_one_message_is_told(folder: Path) -> None:
    keep_profile(read_recordings(folder, ASKED), folder)
    path = folder / KEPT
    text = path.read_text()
    kept = json.loads(text)
    refused = 0
    for value in ({name: kept[name] for name in asdict(ASKED)}, *WRONG):
        for other in (value, *_changed(value)):
            path.write_text(json.dumps(other))
            refused += bool(_message(folder))
    assert refused > 150
    for cut in range(0, len(text) - 2, 23):
        path.write_text(text[:cut])
        assert _message(folder)
    for chains in ("dwarf,", "dwarf,much", "lbr", "dwarf,99999999999999999999"):
        path.write_text(json.dumps(kept | {"chains": chains}))
        assert "is damaged" in _message(folder)
    path.write_bytes(b"\xff\xfe{}")
    assert "is damaged" in _message(folder)
    path.unlink()
    assert "a recording that was broken off" in _message(folder)
    path.mkdir()
    assert "it is no regular file" in _message(folder)
    assert "Not a directory" in _message(folder / "node/perf.data.0")
    assert "holds no profile: profile.json: No such file" in _message(folder / "none")


def test_of_a_damaged_recording_of_py_spy_one_message_is_told(tmp_path: Path) -> None:
    spied = replace(ASKED, event="py-spy", chains="py-spy")
    (tmp_path / KEPT).write_text(json.dumps(asdict(spied)))
    path = tmp_path / "py-spy.json"
    text = json.dumps(SPIED)
    path.write_text(text)
    assert _message(tmp_path) == "" and read_profile(tmp_path).result.samples == 2
    refused = 0
    for other in (*WRONG, *_changed(SPIED)):
        path.write_text(json.dumps(other))
        refused += bool(_message(tmp_path))
    assert refused > 50
    for cut in range(0, len(text) - 1, 7):
        path.write_text(text[:cut])
        assert "is damaged" in _message(tmp_path)


@pytest.mark.long
def test_of_a_damaged_recording_of_perf_one_message_is_told(tmp_path: Path) -> None:
    need_perf()
    path = tmp_path / "perf.data"
    words = ["perf", "record", "-q", "-o", str(path), "-e", "cpu-clock/freq=499/", "--switch-events", "--", "sh", "-c"]
    subprocess.run([*words, "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"], check=True)
    (tmp_path / KEPT).write_text(json.dumps(asdict(ASKED)))
    whole, dice = path.read_bytes(), Random(1)
    assert _message(tmp_path) == ""
    said = []
    for i in range(12):
        broken = bytearray(whole if i % 2 else whole[: dice.randrange(len(whole))])
        for _ in range(i % 2 * 20):
            broken[dice.randrange(min(len(broken), 5000 if i % 4 == 1 else len(broken)))] = dice.randrange(256)
        path.write_bytes(broken)
        said.append(_message(tmp_path))
    assert sum("perf cannot read" in one for one in said) > 4


def test_what_perf_complains_of_at_length_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (perf := tmp_path / "perf").write_text("#!/bin/sh\nyes 'something is wrong' | head -c 300000 >&2\nkill -SEGV $$\n")
    perf.chmod(0o755)
    with pytest.raises(ProgramError, match=r"perf cannot read .*: something is wrong"):
        list(script_lines(str(perf), tmp_path / "perf.data"))
    perf.write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(ProgramError, match="it ended by SIGSEGV"):
        list(script_lines(str(perf), tmp_path / "perf.data"))


def test_files_that_are_only_called_alike_are_no_recordings(tmp_path: Path) -> None:
    (tmp_path / "perf.data.²").touch()
    (tmp_path / "perf.data.3").mkdir()
    (tmp_path / "perf.data.4").touch()
    assert list(recordings_in(tmp_path)) == [4]
