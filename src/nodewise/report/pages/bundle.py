# SPDX-License-Identifier: BSD-3-Clause
"""The JavaScript that draws a page's figures, which is made where nodewise is built."""

from __future__ import annotations

from functools import lru_cache

from nodewise.base.native import native_path


@lru_cache(maxsize=1)
def bundle() -> str:
    """A script that sets `vegaEmbed`, to stand in a page's script element. Raises UnavailableError where it is not installed."""
    return native_path("page.js").read_text(encoding="utf-8")
