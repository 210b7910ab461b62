# SPDX-License-Identifier: BSD-3-Clause
"""What is exported is read back by those for whom it is: speedscope 1.25 in a browser, and inferno."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from playwright.sync_api import Browser

from nodewise.profile.samples import UNKNOWN
from nodewise.profile.stacks import collapsed, speedscope, summed
from tests.profile.programs import SHARES, compiled, need_perf
from tests.profile.test_exports import HOSTILE, taken
from tests.profile.viewers import read_by_inferno, read_by_speedscope, share, speedscope_page, speedscope_schema
from tests.report.conftest import browser  # noqa: F401
from tests.started import started

pytestmark = pytest.mark.long

#: How each of the hostile names is shown.
_SHOWN = {
    "new\nline": "new line",
    "tab\there": "tab here",
    "\x1b[31m": "[31m",
    "": UNKNOWN,
    " ": UNKNOWN,
    "\r": UNKNOWN,
    "\x9f1m": "1m",
    "line\u2028and\u2029paragraph": "line and paragraph",
    "\x85": UNKNOWN,
}

#: How they are shown in collapsed stacks besides, where a semicolon and a number at the end have a meaning.
_IN_LINES = {"a;b": "a:b", "ends in 12": "ends in_12"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both exports of a real profile."""
    need_perf()
    folder = tmp_path_factory.mktemp("profile")
    program = compiled(folder, "-fno-omit-frame-pointer")
    done = started(
        *("profile", "--rate", "499", "--out", "kept", "--collapsed", "work.folded", "--speedscope"),
        *("work.speedscope.json", "--", str(program), "2000000"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


def _check_shares(own: Callable[[str], float]) -> None:
    for name, expected in SHARES.items():
        # wide enough for a machine that others use
        assert abs(own(name) - expected) < 0.1, (name, own(name))


def test_a_profile_is_read_back_by_speedscope(recorded: Path, browser: Browser, tmp_path: Path) -> None:  # noqa: F811
    speedscope_page()
    for name in ("work.speedscope.json", "work.folded"):
        found = read_by_speedscope(browser, recorded / name, tmp_path)
        _check_shares(lambda function, found=found: share(found[function][1]))  # type: ignore[misc]
        assert share(found["main"][0]) > 0.9 > 0.1 > share(found["main"][1])
    jsonschema.validate(json.loads((recorded / "work.speedscope.json").read_text()), speedscope_schema())  # type: ignore[arg-type]


def test_a_profile_is_read_back_by_inferno(recorded: Path) -> None:
    found = read_by_inferno(recorded / "work.folded")
    lines = (recorded / "work.folded").read_text().splitlines()
    assert found["all"] == sum(int(line.rpartition(" ")[2]) for line in lines)
    _check_shares(lambda function: found[function] / found["all"])


def test_hostile_names_are_read_back_by_speedscope(browser: Browser, tmp_path: Path) -> None:  # noqa: F811
    speedscope_page()
    samples = [taken([name, "caller", "main"], i / 99) for i, name in enumerate(HOSTILE)]
    own = tmp_path / "own.speedscope.json"
    own.write_text(speedscope({"app (1)": samples, "none (2)": []}, 99, 'it\'s "app"\n'))
    jsonschema.validate(json.loads(own.read_text()), speedscope_schema())  # type: ignore[arg-type]
    names = {_SHOWN.get(name, name) for name in HOSTILE}
    assert set(read_by_speedscope(browser, own, tmp_path)) == {*names, "caller", "main"}
    lines = tmp_path / "stacks.folded"
    lines.write_text(collapsed(summed(samples)))
    found = read_by_speedscope(browser, lines, tmp_path)
    assert set(found) == {*(_IN_LINES.get(name, name) for name in names), "caller", "main"}
    assert share(found["caller"][0]) == 1


def test_hostile_names_are_read_back_by_inferno(tmp_path: Path) -> None:
    file = tmp_path / "stacks.folded"
    file.write_text(collapsed(summed([taken([name, "caller"]) for name in HOSTILE])))
    found = read_by_inferno(file)
    names = {_IN_LINES.get(name, _SHOWN.get(name, name)) for name in HOSTILE}
    assert set(found) == {*names, "caller", "all"} and found["caller"] == found["all"] == len(HOSTILE)
    assert found["a:b"] == 1 and found[UNKNOWN] == 4
