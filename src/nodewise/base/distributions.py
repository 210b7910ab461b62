# SPDX-License-Identifier: BSD-3-Clause
"""How the other distributions of nodewise are installed, which no registry has: from a checkout, or by the wheels made there."""

from __future__ import annotations

_IN_A_CHECKOUT = {"nodewise-studies": "./dev studies", "nodewise-transport": "pip install ./transport"}


def how_to_install(distribution: str) -> str:
    """What to do for a part of nodewise that is not installed, as a hint says it."""
    return f"in a checkout of nodewise: {_IN_A_CHECKOUT[distribution]}; elsewhere pip install its wheel, which ./dev wheel makes there"
