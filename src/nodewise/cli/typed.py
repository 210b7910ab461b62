# SPDX-License-Identifier: BSD-3-Clause
"""What was typed but does not arrive: input redirected to nodewise itself."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import termios
from pathlib import Path


def input_left_out(descriptor: int = 0) -> str:
    """A sentence where standard input holds something that a program run by nodewise does not get; else empty."""
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) and os.fstat(descriptor).st_size > 0:
            name = Path(f"/proc/self/fd/{descriptor}").readlink()
            return f"the program is not given nodewise's own input: name the file instead, --input {name}"
        if stat.S_ISFIFO(mode):
            (waiting,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
            if waiting:
                return "the program is not given what is piped into nodewise: put it into a file, --input FILE"
    except OSError:
        return ""
    return ""
