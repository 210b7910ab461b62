# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines, where a kernel for them is found: emulated ones, too, since nothing here is about times."""

from pathlib import Path

import pytest

from nodewise.isolation.launcher import EMULATED, STARTUP, IsolatedLauncher
from nodewise.runner.isolation import read_isolation
from nodewise.runner.launcher import RunOptions
from nodewise.runner.setting import Setting
from tests.isolation.runtimes import GUESTS, left, needs, state_of_the_system

_LIMIT_S = 240.0


@pytest.mark.parametrize("kind", GUESTS)
def test_a_program_runs_in_a_system_of_its_own(kind: str, tmp_path: Path) -> None:
    needs(kind)
    before = state_of_the_system()
    given = tmp_path / "in"
    given.write_text("one line\n")
    text = f"cat; uname -r > {tmp_path}/release; grep Cpus_allowed_list: /proc/self/status >&2; echo $VALUE $0; (echo no > /etc/written) 2>&-; exit 5"
    setting = Setting(
        ("sh", "-c", text, "a b"),
        env={"VALUE": "of mine"},
        isolation=read_isolation(f"{kind},volume={tmp_path}"),
        mask=(0,),
    )
    options = RunOptions(cwd=tmp_path, stdin=given, accepted=frozenset({5}), expect=None)
    with IsolatedLauncher(options) as launcher:
        sample = launcher.run(setting, timeout_s=_LIMIT_S)
    assert sample.ok, sample.error
    assert sample.usage["exit_code"] == 5 and 0 < sample.seconds < sample.wall_s and sample.metrics[STARTUP] > 0
    assert (tmp_path / "release").read_text().strip() and not Path("/etc/written").exists()
    assert left(before) == {}
    if any(mark.startswith(EMULATED) for mark in sample.marks):
        pytest.skip("emulated: what it saw was right, its times mean nothing")
