# SPDX-License-Identifier: BSD-3-Clause
"""Standard streams that nobody reads, that are full, and that a program has left as one that does not wait."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.started import Begun

NODEWISE = (sys.executable, "-m", "nodewise")


def test_an_experiment_goes_on_where_nobody_reads_its_progress(tmp_path: Path) -> None:
    """As in `nodewise suite run 2>&1 | head -1`."""
    (tmp_path / "nodewise.toml").write_text("[defaults]\nruns = 4\nbudget = '5s'\n[command.a]\nrun = 'true'\n")
    unread, progress = os.pipe()
    os.close(unread)
    try:
        done = Begun("suite", "run", cwd=tmp_path, stderr=progress)
    finally:
        os.close(progress)
    assert b"median" in done.communicate(timeout=100)[0] and done.returncode == 0


def test_a_full_standard_error_takes_no_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            (*NODEWISE, "run", "-r", "2", "--", "true"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert done.returncode == 0 and done.stdout


def test_an_output_that_was_left_not_waiting_is_waited_for(tmp_path: Path) -> None:
    """Programs that share it leave it so; more is written here than a full one holds, and read once that is seen."""
    end, given = os.pipe()
    held = fcntl.fcntl(given, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(given, False)
    with subprocess.Popen((*NODEWISE, "machine", "--json"), cwd=tmp_path, stdout=given) as nodewise:
        os.close(given)
        select.select([end], [], [])
        time.sleep(0.2)
        with open(end, "rb") as reading:  # noqa: PTH123 - a descriptor
            read = reading.read()
    assert nodewise.returncode == 0 and len(read) > held and json.loads(read)


def test_an_end_is_not_kept_up_by_who_does_not_read(tmp_path: Path) -> None:
    end, given = os.pipe()
    held = fcntl.fcntl(given, fcntl.F_SETPIPE_SZ, 4096)
    os.write(given, b"x" * held)
    with subprocess.Popen(
        (*NODEWISE, "compare", "--budget", "30s", "sleep 0.01", "sleep 0.02"),
        cwd=tmp_path,
        stdout=given,
        stderr=given,
        env={**os.environ, "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    ) as nodewise:
        try:
            samples = "nodewise-experiments/*/samples.jsonl"
            until = time.monotonic() + 20
            # it waits to write of its progress by now, or soon
            while not any(path.stat().st_size for path in tmp_path.glob(samples)) and time.monotonic() < until:
                time.sleep(0.05)
            nodewise.send_signal(signal.SIGINT)
            assert nodewise.wait(20) == 130
        finally:
            nodewise.kill()
            os.close(given)
            os.close(end)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_is_said_is_said_at_once(unbuffered: str) -> None:
    # containers and CI set PYTHONUNBUFFERED
    said = "from nodewise.cli.streams import open_standard_streams; import os, sys; open_standard_streams(); "
    said += "print('heard', file=sys.stderr); os._exit(0)"
    env = {
        **{k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        **({"PYTHONUNBUFFERED": "1"} if unbuffered else {}),
    }
    done = subprocess.run([sys.executable, "-c", said], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == "heard\n"
