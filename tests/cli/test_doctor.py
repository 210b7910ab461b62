# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise doctor` on this machine, and on one where nothing is installed."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nodewise.api.doctor import MISSING, OFF, WORKS, Diagnosis, Part, diagnose
from nodewise.cli.commands.doctor import command
from nodewise.cli.masked_terminal import masked_terminal
from tests.started import started


def test_programs_that_are_missing_have_their_package(tmp_path: Path) -> None:
    for name, text in {
        "g++": "#!/bin/sh\n",
        "srun": "#!/bin/sh\necho srun: fatal: no configuration >&2\nexit 1\n",
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    parts = {part.name: part for part in diagnose({"PATH": str(tmp_path)}).parts}
    assert (parts["g++"].state, parts["g++"].found, parts["g++"].remedy) == (WORKS, str(tmp_path / "g++"), "")
    assert parts["srun"].state == OFF and parts["srun"].found.endswith("--version fails: srun: fatal: no configuration")
    assert parts["perf"].state == MISSING and "linux-perf" in parts["perf"].remedy
    assert all(bool(part.remedy) == (part.state != WORKS) and part.found for part in parts.values())
    assert {part.state for part in parts.values()} <= {WORKS, MISSING, OFF}


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_tried_is_drawn_over(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def diagnosis(on_part: Callable[[str], None]) -> Diagnosis:
        on_part("crun")
        return Diagnosis((Part("g++", "vec", WORKS, "/usr/bin/g++", ""),))

    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("nodewise.api.doctor.diagnose", diagnosis)
    with masked_terminal(["doctor"]):
        command.main([], standalone_mode=False)
    assert terminal.getvalue() == "\r\x1b[Ktrying crun …\r\x1b[K"


def test_it_says_what_works(tmp_path: Path) -> None:
    told = started("doctor", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    parts = json.loads(started("doctor", "--json", cwd=tmp_path).stdout)["parts"]
    lines = [line for line in told.stdout.splitlines() if line.startswith(("works", "missing", "off"))]
    assert [line.split()[0] for line in lines] == [part["state"] for part in parts]
    assert f"{sum(part['state'] == WORKS for part in parts)} of {len(parts)} parts work" in told.stdout
    assert list(tmp_path.iterdir()) == []
