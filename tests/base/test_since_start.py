# SPDX-License-Identifier: BSD-3-Clause
"""How long a process has been running, as the kernel says."""

import os
import subprocess
import sys
import time

import pytest

from nodewise.base.since_start import STARTED_AT, since_start_s


def test_it_goes_on_with_the_clock() -> None:
    before, begin = since_start_s(), time.monotonic()
    time.sleep(0.05)
    after, passed = since_start_s(), time.monotonic() - begin
    # the kernel counts its beginning in hundredths of a second
    assert before > 0 and 0.04 < after - before < passed + 0.02


def test_a_script_says_when_it_became_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (f"{time.time() - 7:.6f}", f"{time.time() - 7:.6f}".replace(".", ",")):
        monkeypatch.setenv(STARTED_AT, text)
        assert 7 <= since_start_s() < 8
        # those that are started from here are others
        assert STARTED_AT not in os.environ
    for text in ("soon", "", "nan"):
        monkeypatch.setenv(STARTED_AT, text)
        assert since_start_s() >= 0
    monkeypatch.setenv(STARTED_AT, str(time.time() + 100))
    assert since_start_s() == 0


def test_it_counts_what_python_took_to_start() -> None:
    # a process that slept before it loaded anything of nodewise, under a name that is hard to read
    code = "import time; time.sleep(0.3); from nodewise.base.since_start import since_start_s; print(since_start_s())"
    begin = time.monotonic()
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 0.29 < float(said) < time.monotonic() - begin + 0.02
