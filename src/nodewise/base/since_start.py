# SPDX-License-Identifier: BSD-3-Clause
"""How long this process has been running: what a user who waits for it has waited."""

from __future__ import annotations

import os
import time
from pathlib import Path


def since_start_s() -> float:
    """Seconds since the process began, by the kernel (proc_pid_stat(5), starttime); 0 where it does not say."""
    try:
        # the name of the program, in brackets, may hold anything
        fields = Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)
    except (OSError, ValueError, IndexError):
        return 0.0
