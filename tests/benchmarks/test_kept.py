# SPDX-License-Identifier: BSD-3-Clause
"""What peers found is run once, and again where the case is another one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import _kept
from benchmarks._cases import FAILS, HANGS, case, case_of
from benchmarks._kept import FILE, Kept, Trace, digest
from benchmarks._surfaces import gain_surface, random_surface

TRACE: Trace = [(3, 5.0), (6, 5.0), (9, 1.23456), (12, 1.23456)]


def test_what_is_kept_is_not_run_again_and_what_is_of_another_case_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_kept, "version", lambda _: "1.0")
    ran = []

    def ask(kept: Kept, surface: int, seed: int = 0, best: float = 1.0, peer: str = "SMAC3") -> Trace:
        one = case_of(random_surface(surface)) if surface else case_of(gain_surface())
        return kept.trace(peer, one, best, 12, 0.05, seed, lambda: ran.append((surface, seed, best)) or TRACE)

    path = tmp_path / "peers.jsonl"
    short = [(3, 5.0), (9, 1.235), (12, 1.235)]
    assert ask(Kept(path), 0) == short
    assert ask(Kept(path), 0) == short and len(ran) == 1
    ask(Kept(path), 0, seed=1)
    ask(Kept(path), 0, best=2.0)
    ask(Kept(path), 1000)
    assert len(ran) == 4
    assert ask(Kept(path, again=True), 0) == short and len(ran) == 5
    monkeypatch.setattr(_kept, "version", lambda _: "1.1")
    ask(Kept(path), 0)
    assert len(ran) == 6
    # a search that no package brings is nothing to keep
    assert ask(Kept(path), 0, peer="random, 3 runs") == TRACE and len(ran) == 7
    assert len(path.read_text().splitlines()) == 6


def test_what_a_case_does_beyond_its_surface_is_a_part_of_what_it_is() -> None:
    one = case_of(gain_surface())
    plain = digest(one, 1.0, 12)
    crashing = replace(one, effect=lambda s: FAILS if s.values else 1.0)
    others = [crashing, replace(one, effect=lambda s: HANGS if s.values else 1.0), replace(one, effect=lambda _: 0.9)]
    digests = {plain, *(digest(other, 1.0, 12) for other in others)}
    assert len(digests) == 4
    # what does nothing is what it was before effects counted, and the same function is the same case each time
    assert digest(replace(one, effect=lambda _: 1.0), 1.0, 12) == plain and digest(crashing, 1.0, 12) in digests


def test_what_is_kept_is_of_todays_cases() -> None:
    kept = {(line["surface"], line["case"]) for line in map(json.loads, FILE.read_text().splitlines())}
    for name in ("crash", "hang", "24 x 2", "allocator"):
        one = case(name)
        assert (name, digest(one, one.best(200), 200)) in kept
    assert len({known for name, known in kept if name in ("crash", "hang", "24 x 2")}) == 3
