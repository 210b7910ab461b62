# SPDX-License-Identifier: BSD-3-Clause
"""`python -m nodewise`, and `nodewise`."""

import gc
import os
import sys

from nodewise import __version__

INTERRUPTED = 130
#: Objects that are made before the collector looks at them. Nearly all that a command makes at its start are to stay.
_COLLECTED_AFTER = 50_000


def start() -> int:
    """Run the command line; its exit code. Ctrl-C is answered while it is still being loaded, too."""
    if sys.argv[1:] in (["--version"], ["-V"]) and _said_version():
        return 0
    gc.set_threshold(_COLLECTED_AFTER)
    try:
        from nodewise.cli.main import main

        return main()
    except KeyboardInterrupt:
        return INTERRUPTED


def _said_version() -> bool:
    """Print the version, for which nothing has to be loaded; False where it cannot be written to who reads it, which the command line explains."""
    try:
        return os.write(1, f"nodewise, version {__version__}\n".encode()) > 0
    except BrokenPipeError:
        return True
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(start())
