# SPDX-License-Identifier: BSD-3-Clause
"""Where a user keeps what can be made again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """nodewise's folder below XDG_CACHE_HOME, or below ~/.cache. Raises RuntimeError where there is no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "nodewise"
