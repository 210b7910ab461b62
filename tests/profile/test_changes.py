# SPDX-License-Identifier: BSD-3-Clause
"""What changed between two profiles of known truth, and how it is told."""

from __future__ import annotations

from random import Random

from nodewise.profile.changes import Since, function_changes
from nodewise.profile.samples import Frame, Taken
from nodewise.report.text.profile import profile_text
from tests.profile.profiles import profiled, taken


def _samples(seed: int, **counts: int) -> list[Taken]:
    found = [one for name, count in counts.items() for one in taken(f"main;{name}", count)]
    Random(seed).shuffle(found)
    return found


BEFORE = _samples(1, grew=100, shrank=500, same=400)
AFTER = _samples(2, grew=400, shrank=170, same=430)


def test_functions_that_surely_changed_come_first_and_by_how_much() -> None:
    changes = function_changes(BEFORE, AFTER)
    assert [(one.function, round(one.difference, 3), one.sure) for one in changes] == [
        ("shrank", -0.33, True),
        ("grew", 0.3, True),
        ("same", 0.03, False),
    ]
    assert all(part.low < part.share < part.high for one in changes for part in (one.before, one.after))


def test_what_only_one_of_them_has_had_no_share_in_the_other() -> None:
    changes = {
        one.function: one for one in function_changes(_samples(1, old=50, same=950), _samples(2, new=50, same=950))
    }
    assert changes["new"].before.share == changes["old"].after.share == 0
    assert changes["new"].sure and changes["old"].sure and not changes["same"].sure


def test_other_builds_have_their_functions_elsewhere() -> None:
    moved = [Taken(1, 1, t.time, tuple(Frame(f.function, "/other/app", 7) for f in t.chain)) for t in BEFORE]
    assert all(one.difference == 0 for one in function_changes(BEFORE, moved))


def test_equal_programs_rarely_change() -> None:
    told = 0
    for seed in range(100):
        dice = Random(seed)
        before, after = (
            [one for _ in range(400) for one in taken(dice.choices("abcd", (5, 3, 1, 1))[0])] for _ in "12"
        )
        told += sum(one.sure for one in function_changes(before, after))
    assert told <= 4


def test_of_no_samples_nothing_is_told() -> None:
    assert function_changes([], AFTER) == function_changes(BEFORE, []) == ()
    text = profile_text(profiled(AFTER).result, since=Since("2026-11-22", ()))
    assert "one of the two has no samples" in text.replace("\n", " ")


def test_the_terminal_has_both_intervals_of_what_changed() -> None:
    text = profile_text(profiled(AFTER).result, 15, 100, Since("2026-11-22", function_changes(BEFORE, AFTER)))
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Since the profile of 2026-11-22"))
    assert "2 functions changed by more than chance" in " ".join(lines[at : at + 2])
    table = lines[at + 2 : at + 5]
    assert table[0].split() == ["before", "95%", "interval", "now", "95%", "interval", "function"]
    assert [row.split()[::2][:1] + row.split()[-1:] for row in table[1:]] == [["50%", "shrank"], ["10%", "grew"]]
    assert all(row.count("–") == 2 for row in table[1:])
    same = profile_text(profiled(AFTER).result, 15, 100, Since("2026-11-22", function_changes(AFTER, AFTER)))
    assert "no function's share changed" in same.replace("\n", " ") and "0 ns" in same
