# SPDX-License-Identifier: BSD-3-Clause
"""Outside of the guest there is nothing to collect here, and in each of the two guests what is meant for it."""

import os

#: `1` in the guest with many processors, `governors` in the one with frequencies.
_GUEST = os.environ.get("NODEWISE_GUEST", "")
collect_ignore_glob = [
    *([] if _GUEST == "1" else ["test_*.py"]),
    *([] if _GUEST == "governors" else ["governors/test_*.py"]),
]
