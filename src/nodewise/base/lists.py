# SPDX-License-Identifier: BSD-3-Clause
"""Lists within a sentence or a line."""

from __future__ import annotations

from collections.abc import Sequence


def listed(parts: Sequence[str], word: str = "and") -> str:
    """Parts as English lists them: `a`, `a and b`, `a, b and c`; empty for none."""
    return f" {word} ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def apart(parts: Sequence[str]) -> str:
    """Parts one after the other; by semicolons where one of them holds a comma: `static; static,16`."""
    return ("; " if any("," in part for part in parts) else ", ").join(parts)
