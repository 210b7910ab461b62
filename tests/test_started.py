# SPDX-License-Identifier: BSD-3-Clause
"""Processes that are forked for the tests end for the tests whatever becomes of those between."""

import os
import signal
import subprocess
from pathlib import Path

from tests.started import Begun


def test_one_whose_end_nobody_could_see_has_ended_and_does_no_harm_to_others(tmp_path: Path) -> None:
    one = Begun("run", "-r", "1", "--", "sleep", "60", cwd=tmp_path)
    stat = Path(f"/proc/{one.pid}/stat").read_text(errors="replace")
    # who waits for it, and it
    for pid in (int(stat.rpartition(")")[2].split()[1]), one.pid):
        os.kill(pid, signal.SIGKILL)
    assert one.wait(30) == -signal.SIGKILL == one.poll()
    one.stdout.close()
    one.stderr.close()
    assert subprocess.run(["true"], check=False).returncode == 0
