# SPDX-License-Identifier: BSD-3-Clause
"""What a search is told of a run: a search only ever sees points and seconds."""

from __future__ import annotations

from nodewise.base.frozen import dataclass


@dataclass(frozen=True)
class AtLeast:
    """What is known of a run that was cut off: it would have taken at least so many seconds."""

    seconds: float


#: What came of a run: its seconds, a bound below them, or None where it failed.
Outcome = float | AtLeast | None
