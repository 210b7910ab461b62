# SPDX-License-Identifier: BSD-3-Clause
"""`python -m nodewise`, and `nodewise`."""

import sys

INTERRUPTED = 130


def start() -> int:
    """Run the command line; its exit code. Ctrl-C is answered while it is still being loaded, too."""
    try:
        from nodewise.cli.main import main

        return main()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(start())
