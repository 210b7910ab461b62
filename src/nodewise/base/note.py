# SPDX-License-Identifier: BSD-3-Clause
"""Notes: what a caller hears besides progress and a result."""

from __future__ import annotations

from nodewise.base.frozen import dataclass


@dataclass(frozen=True)
class Note:
    """Something to know while an experiment runs that is no part of its result.

    `kind` is `warning`, `note`, or `waiting` where `text` says for whom.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"waiting for {self.text}" if self.kind == "waiting" else f"{self.kind}: {self.text}"
