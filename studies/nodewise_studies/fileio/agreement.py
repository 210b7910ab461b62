# SPDX-License-Identifier: BSD-3-Clause
"""Whether fio, asked for the same pattern, takes the same time: the study's clock and calls compared with another's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.statistics.compare import Ratio, ratio_interval

#: Two times agree that are no more than so many times each other.
_AGREE = 1.1
_AGREED = "within 10%"

#: fio's clock counts milliseconds; below this, in seconds, a step of it is 2% and more.
_COARSE = 0.05

#: Those whose requests can be so small that what a program does between two of them counts.
_SMALL = ("-element", "-row")

#: Those whose requests have the same memory again and again with knob `memory`, as all of fio's have.
_BY_BLOCK = ("write-row", "direct-", "mmap-", "uring-")


def against_fio(
    rows: Mapping[str, Mapping[str, Any]], point: Mapping[str, str], folder: int, folders: int
) -> list[str]:
    """Each variant compared with fio on the same pattern: a line for each of fio's rows, on a folder (from 1) of several.

    The interval is of the ratios in the blocks that both ran in; a row's times are of all folders, so with several there
    is none.
    """
    lines, apart = [], []
    for name, peer in rows.items():
        own = rows.get(name.removeprefix("fio-"))
        key = f"f{folder}_seconds"
        if name.startswith("fio-") and own and own["metrics"].get(key) and peer["metrics"].get(key):
            theirs, ours = peer["metrics"][key], own["metrics"][key]
            ratio = _paired(own, peer) if folders == 1 else None
            ratio = ratio or Ratio(theirs / ours, theirs / ours, theirs / ours, 1)
            line = f"{own['contender']}: {_shown(ratio)} times the rate of fio on the same pattern"
            factor, without = _alike(own, peer, folder)
            if factor != 1.0:
                ratio = Ratio(ratio.ratio * factor, ratio.low * factor, ratio.high * factor, ratio.pairs)
                line += f"; {_shown(ratio)} without {without}"
            line += "; fio counts in ms" if theirs < _COARSE else ""
            verdict = _agreement(ratio)
            lines.append(f"  {line}: {verdict}")
            if verdict != _AGREED and own["contender"].startswith(_BY_BLOCK):
                apart.append(own["contender"])
    if apart and point.get("memory") != "block":
        lines.append(
            f"  fio moves one block again and again, which stays in the cache: --memory block has {apart[0]} do so"
        )
    return lines


def _paired(own: Mapping[str, Any], peer: Mapping[str, Any]) -> Ratio | None:
    """fio's time over ours in the blocks that both ran in; None where there are too few to tell."""
    pairs = [
        (theirs, ours)
        for theirs, ours in zip(peer.get("times") or (), own.get("times") or (), strict=False)
        if theirs and ours
    ]
    if not pairs:
        return None
    ratio = ratio_interval([theirs for theirs, _ in pairs], [ours for _, ours in pairs])
    return ratio if ratio.low > 0 else None


def _alike(own: Mapping[str, Any], peer: Mapping[str, Any], folder: int) -> tuple[float, str]:
    """What the ratio is multiplied with, so that it is of what both do, and what is left out then."""
    theirs, ours = (row["metrics"][f"f{folder}_seconds"] for row in (peer, own))
    if unmapping := own["metrics"].get(f"f{folder}_unmapping_seconds"):
        # a mapping's end is in our time and not in fio's
        return ours / (ours - unmapping), "unmapping"
    users = [row["metrics"].get(f"f{folder}_user_seconds") for row in (peer, own)]
    if own["contender"].endswith(_SMALL) and None not in users and users[0] < theirs and users[1] < ours:
        return (1 - users[0] / theirs) / (1 - users[1] / ours), "either's own time in user mode"
    return 1.0, ""


def _shown(ratio: Ratio) -> str:
    return f"{ratio.ratio:.2f}" + (f" ({ratio.low:.2f} to {ratio.high:.2f})" if ratio.high > ratio.low else "")


def _agreement(ratio: Ratio) -> str:
    if ratio.low >= 1 / _AGREE and ratio.high <= _AGREE:
        return _AGREED
    if ratio.low > _AGREE or ratio.high < 1 / _AGREE:
        return "more than 10% apart"
    return "too noisy to tell whether within 10%"
