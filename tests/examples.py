# SPDX-License-Identifier: BSD-3-Clause
"""How many examples a property is tried with: all of them in the long suite, of which the short one takes a quarter."""

import os

#: Whether this is the long suite; said by `conftest.py` before any test is read.
whole = bool(os.environ.get("NODEWISE_EXPLORE"))


def examples(count: int) -> int:
    """So many of `count` examples as this suite tries."""
    return count if whole else count // 4
