# SPDX-License-Identifier: BSD-3-Clause
"""What is said of kept recordings: each limit by itself, and nothing twice."""

import json
from pathlib import Path

import pytest

from nodewise.api import stored_profile
from nodewise.api.profile import keep_profile
from nodewise.api.stored_profile import KEPT, Kept, read_profile, read_recordings
from nodewise.profile.samples import read_samples

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
