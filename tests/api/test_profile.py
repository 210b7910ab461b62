# SPDX-License-Identifier: BSD-3-Clause
"""What a profile's recording is prepared as, before anything runs."""

from pathlib import Path

import pytest

from nodewise.api.profile import _warnings, prepare_profile
from nodewise.profile.perf import Perf, Recording

#: As it is found where it is installed; nothing is recorded here.
PERF = Perf("/usr/bin/perf", "6.1", "cpu-clock:u", False)


@pytest.mark.parametrize(("most_bytes", "word"), [(1 << 20, "--max-size=1048576B"), (0, "")])
def test_a_limit_of_size_is_perfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most_bytes: int, word: str) -> None:
    monkeypatch.setattr("nodewise.api.profile.find_perf", lambda off_cpu: PERF)
    words = prepare_profile(["/bin/true"], tmp_path, most_bytes=most_bytes).words
    assert [w for w in words if w.startswith("--max-size")] == [word] * bool(word)


@pytest.mark.parametrize(
    ("rate", "chains", "most_bytes", "said"),
    [
        (99, "fp", 0, []),
        (20_000, "dwarf", 0, ["slow the program down noticeably", "the recording may grow by"]),
        (20_000, "dwarf", 1 << 30, ["slow the program down noticeably"]),
    ],
)
def test_what_a_recording_may_cost_is_said(
    tmp_path: Path, rate: int, chains: str, most_bytes: int, said: list[str]
) -> None:
    found = _warnings(Recording(PERF, tmp_path / "x", rate, chains, False, most_bytes))
    assert len(found) == len(said) and all(text in warning for text, warning in zip(said, found, strict=True))
