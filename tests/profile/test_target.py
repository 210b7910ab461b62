# SPDX-License-Identifier: BSD-3-Clause
"""Which call chains a program allows: by the unwind tables that its own code has."""

import random
import shutil
from pathlib import Path

import pytest

from nodewise.profile.target import chains_of, choose_chains
from tests.profile.programs import compiled


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
@pytest.mark.parametrize(
    ("flags", "kind", "why"),
    [
        (("-g0",), "dwarf", "it has unwind tables"),
        (("-g0", "-fno-asynchronous-unwind-tables"), "fp", "most of its code has no unwind tables"),
        (("-g0", "-static"), "fp", "linked statically"),
    ],
)
def test_tables_count_where_they_are_of_the_programs_own_code(
    flags: tuple[str, ...], kind: str, why: str, tmp_path: Path
) -> None:
    program = compiled(tmp_path, *flags)
    chosen = choose_chains(program, {})
    assert chosen.kind == kind and why in chosen.why
    # whoever asks for unwinding where that cannot be is told of it, and not of how much is copied
    asked = chains_of(program, {}, "dwarf")
    assert (asked.kind, asked.why) == ("dwarf", "asked for") and asked.lacks == chosen.lacks
    assert bool(chosen.lacks) == (kind == "fp") and chosen.why.startswith(chosen.lacks)
    # a damaged file is an answer, too
    whole, chance = program.read_bytes(), random.Random(1)
    for _ in range(30):
        broken = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.3 else whole)
        for _ in range(50):
            if broken:
                broken[chance.randrange(min(len(broken), 20_000))] = chance.randrange(256)
        program.write_bytes(broken)
        assert choose_chains(program, {}).kind in ("dwarf", "fp")
