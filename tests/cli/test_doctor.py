# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise doctor` on this machine, and on one where nothing is installed."""

import json
from pathlib import Path

from nodewise.api.doctor import MISSING, OFF, WORKS, diagnose
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


def test_it_says_what_works(tmp_path: Path) -> None:
    told = started("doctor", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    parts = json.loads(started("doctor", "--json", cwd=tmp_path).stdout)["parts"]
    lines = [line for line in told.stdout.splitlines() if line.startswith(("works", "missing", "off"))]
    assert [line.split()[0] for line in lines] == [part["state"] for part in parts]
    assert f"{sum(part['state'] == WORKS for part in parts)} of {len(parts)} parts work" in told.stdout
    assert list(tmp_path.iterdir()) == []
