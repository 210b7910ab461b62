# SPDX-License-Identifier: BSD-3-Clause
"""What was probably meant by a word that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def meant(word: str, known: Iterable[str], also: Mapping[str, str] | None = None) -> str:
    """`; did you mean omp?` for the known word that is nearest, by its spelling or since it is `also` called so; else empty."""
    import difflib

    names = list(known)
    other = (also or {}).get(word.lower(), "")
    near = (
        [other]
        if other in names
        else difflib.get_close_matches(word, names, 1) or difflib.get_close_matches(word.lower(), names, 1)
    )
    return f"; did you mean {near[0]}?" if near else ""
