# SPDX-License-Identifier: BSD-3-Clause
"""Lines broken on purpose: what is changed and what is left alone, one change at a time."""

import ast
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from tools import native_mutants
from tools.mutants import broken, mutants_of
from tools.mutate import equivalents, key_of, kill, sample, sources

CODE = '''"""A module."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Held:
    """What is held."""

    most: int = 3


def first(values: list[int], least: float = 1.5) -> str | None:
    """The word of the first."""
    found = [v for v in values if v > 0]
    if not found or len(found) < 2:
        return None
    found.sort(key=abs, reverse=True)
    for one in found:
        if one is values:
            break
    for one, _ in zip(found, values, strict=True):
        print(one)
    return "word" if min(found) - 1 == least else f"a sentence of {found[0]} texts"
'''


def _changes(tmp_path: Path) -> set[tuple[str, str]]:
    (tmp_path / "code.py").write_text(CODE)
    return {(m.kind, m.change) for m in mutants_of(tmp_path / "code.py", tmp_path)}


def test_what_a_reader_would_call_another_behaviour_is_changed(tmp_path: Path) -> None:
    assert _changes(tmp_path) >= {
        ("number", "3 → 4"),
        ("number", "1.5 → 3.0"),
        ("comparison", "v > 0 → v >= 0"),
        ("comparison", "v > 0 → v <= 0"),
        ("condition", "for v in values if v > 0 → for v in values"),
        ("and/or", "not found or len(found) < 2 → not found and len(found) < 2"),
        ("operator", "not found → found"),
        ("comparison", "one is values → one is not values"),
        ("statement", "found.sort(key=abs, reverse=True) → nothing"),
        ("argument", "found.sort(key=abs) → found.sort()"),
        ("constant", "True → False"),
        ("statement", "break → continue"),
        ("word", "'word' → 'xword'"),
        ("call", "min → max"),
        ("operator", "min(found) - 1 → min(found) + 1"),
    }


def test_sentences_annotations_and_decorators_are_left_alone(tmp_path: Path) -> None:
    _changes(tmp_path)
    made = [ast.unparse(broken(m, tmp_path)) for m in mutants_of(tmp_path / "code.py", tmp_path)]
    for text in ('"""A module."""', "@dataclass(frozen=True)", "values: list[int], least: float", "-> str | None"):
        assert all(text in one for one in made), text
    assert all(" texts" in one for one in made if "\n    return None" not in one.partition("if one")[2])


def test_what_a_zip_checks_of_itself_is_left_alone(tmp_path: Path) -> None:
    _changes(tmp_path)
    for mutant in mutants_of(tmp_path / "code.py", tmp_path):
        assert "strict=True" in ast.unparse(broken(mutant, tmp_path)) or "zip(" in mutant.before


def test_each_breaks_one_place_of_a_module_that_python_takes(tmp_path: Path) -> None:
    _changes(tmp_path)
    whole = ast.unparse(ast.parse(CODE)).splitlines()
    for mutant in mutants_of(tmp_path / "code.py", tmp_path):
        lines = ast.unparse(broken(mutant, tmp_path)).splitlines()
        compile("\n".join(lines), "code", "exec")
        assert sum(a != b for a, b in zip(whole, lines, strict=True)) == 1, mutant
        assert mutant.function in ("", "Held", "first")


def test_a_sample_follows_its_seed() -> None:
    files = sources(["statistics/order.py", "statistics/steps.py", "statistics/dip.py", "statistics/modes.py"])
    assert sample(files, 1, 30) == sample(files, 1, 30)
    assert sample(files, 1, 30) != sample(files, 2, 30)
    assert len(sample(files, 1, 30)) == 30 - len({key_of(m) for m in _drawn(files)} & equivalents().keys())


def _drawn(files: list[Path]) -> list:
    from tools.mutate import SOURCES

    every = [m for file in files for m in mutants_of(file, SOURCES)]
    return random.Random(1).sample(every, 30)


@pytest.mark.long
def test_what_is_named_as_changing_nothing_is_there() -> None:
    from tools.mutate import SOURCES

    @cache
    def known(file: str) -> set[tuple[str, ...]]:
        native = file.endswith(".cpp")
        found = native_mutants.mutants_of(native_mutants.ROOT / file) if native else mutants_of(SOURCES / file, SOURCES)
        return {key_of(m)[1:] for m in found}

    for file, function, change in equivalents():
        assert (function, change) in known(file), (
            f"{file}: {function}: {change} is no longer a line that can be broken so"
        )


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "XZ"
    except OSError:
        return True


def test_of_a_mutant_nothing_goes_on_that_made_a_group_of_its_own() -> None:
    inner = "import os, subprocess; c = subprocess.Popen(['sleep', '60'], process_group=0); print(c.pid, flush=True); os._exit(0)"
    code = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {inner!r}]); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as mutant:
        assert mutant.stdout is not None
        orphan = int(mutant.stdout.readline())
        try:
            kill(mutant.pid)
            assert mutant.wait(10) == -signal.SIGKILL
            assert any(_ended(orphan) or time.sleep(0.01) for _ in range(500))
        finally:
            with contextlib.suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
