# SPDX-License-Identifier: BSD-3-Clause
"""How long this process has been running: what a user who waits for it has waited."""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from pathlib import Path

#: When a script that ends in `exec nodewise` did so, as bash's EPOCHREALTIME: to the kernel both are one process.
STARTED_AT = "NODEWISE_STARTED_AT"


def since_start_s() -> float:
    """Seconds since the process began, by the kernel (proc_pid_stat(5), starttime) or `STARTED_AT`; 0 where neither says."""
    with suppress(KeyError, ValueError):
        # it is of this process alone; bash writes it with the decimal point of its locale
        said = time.time() - float(os.environ.pop(STARTED_AT).replace(",", "."))
        return said if 0 <= said < math.inf else 0.0
    try:
        # the name of the program, in brackets, may hold anything
        fields = Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)
    except (OSError, ValueError, IndexError):
        return 0.0
