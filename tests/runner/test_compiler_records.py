# SPDX-License-Identifier: BSD-3-Clause
"""What compilers recorded of other people's code, read; where it is from is in recorded_compilers/README.md."""

import gzip
import io
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.runner.compilers import gcc_record
from nodewise.runner.compilers.attempt import Attempt, Outcome
from nodewise.runner.compilers.clang_record import read_clang_record
from nodewise.runner.compilers.gcc_record import message_text, read_gcc_stream
from nodewise.runner.compilers.toolchain import Compiler, compile_recorded
from nodewise.vectorization.causes import UNKNOWN, find_cause, load_causes

RECORDED = Path(__file__).parent / "recorded_compilers"
FILES = sorted(RECORDED.glob("*.gz"))


def kind_of(path: Path) -> str:
    return "gcc" if path.name.endswith(".json.gz") else "clang"


def attempts_of(path: Path) -> list[Attempt]:
    with gzip.open(path, "rt") as stream:
        if kind_of(path) == "gcc":
            return read_gcc_stream(stream, path.name)
        return read_clang_record(stream, path.name)


def kernel(name: str, compiler: str, line: int) -> Attempt:
    (path,) = RECORDED.glob(f"tsvc-{name}.{compiler}.*")
    (found,) = (a for a in attempts_of(path) if a.function == name and a.place.line == line)
    return found


def cause(a: Attempt, kind: str, body: str = "") -> str:
    return find_cause(load_causes(), kind, a.why, body).name


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_reason_is_known(path: Path) -> None:
    attempts = attempts_of(path)
    assert attempts
    missed = [a for a in attempts if a.outcome is Outcome.MISSED]
    assert all(a.why for a in missed)
    assert [a for a in missed if cause(a, kind_of(path)) == UNKNOWN] == []


@pytest.mark.parametrize(("compiler", "width", "interleave"), [("gcc-12", 32, None), ("clang-14", None, 4)])
def test_a_vectorized_loop_has_its_width(compiler: str, width: int | None, interleave: int | None) -> None:
    a = kernel("s000", compiler, 17)
    assert (a.outcome, a.width_bytes, a.elements, a.interleave) == (Outcome.VECTORIZED, width, 8, interleave)


def test_a_sum_in_order_is_distinguished_from_one_that_is_not() -> None:
    a = kernel("s311", "gcc-12", 19)
    assert a.outcome is Outcome.VECTORIZED and any("in-order" in note for note in a.notes)
    assert kernel("s000", "gcc-12", 17).notes == ()


@pytest.mark.parametrize(
    ("name", "compiler", "line", "wanted"),
    [
        ("s000", "gcc-12", 16, "call"),
        ("s1113", "gcc-12", 17, "dependence"),
        ("s1113", "clang-14", 17, "dependence"),
        ("s1113", "clang-19", 17, "dependence"),
        ("s281", "gcc-12", 19, "dependence"),
        ("s281", "clang-19", 19, "dependence"),
        ("s3112", "gcc-12", 19, "reduction"),
        ("s3112", "clang-19", 19, "reduction"),
        ("s332", "clang-19", 24, "trip-count"),
        ("s451", "gcc-12", 17, "math-function"),
        ("s451", "clang-19", 17, "math-function"),
        ("s4113", "clang-14", 20, "cost"),
    ],
)
def test_the_cause_of_a_kernel(name: str, compiler: str, line: int, wanted: str) -> None:
    a = kernel(name, compiler, line)
    assert a.outcome is Outcome.MISSED and cause(a, compiler.partition("-")[0]) == wanted


def test_the_loops_own_text_makes_a_cause_more_exact() -> None:
    a = kernel("s332", "gcc-12", 25)
    assert cause(a, "gcc", "for (;;) { if (a[i] > t) { index = i; goto L20; } }") == "early-exit"
    assert cause(a, "gcc", "for (;;) { if (a[i] > t) { b[i] = 1; } }") == "condition"
    assert cause(kernel("s4113", "gcc-12", 20), "gcc", "a[ip[i]] = b[ip[i]] + c[i];") == "scatter"


def test_newer_compilers_see_more() -> None:
    assert kernel("s4113", "clang-19", 20).outcome is Outcome.VECTORIZED


def test_loops_that_are_gone_are_no_misses() -> None:
    (path,) = RECORDED.glob("zlib-trees.clang-19.*")
    seen = Counter(a.outcome for a in attempts_of(path))
    assert seen[Outcome.LIBRARY] == 1 and seen[Outcome.UNROLLED] == 5


@pytest.mark.parametrize("path", [p for p in FILES if kind_of(p) == "gcc"], ids=lambda p: p.name)
def test_in_small_parts_or_large_ones_is_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_large = attempts_of(path)
    monkeypatch.setattr(gcc_record, "_CHUNK", 100)
    assert attempts_of(path) == in_large


@given(st.integers(0, 3000))
def test_a_record_that_was_cut_off_is_read_as_far_as_it_goes(length: int) -> None:
    (path,) = RECORDED.glob("tsvc-s1113.gcc-12.*")
    with gzip.open(path, "rt") as stream:
        text = stream.read()
    whole = attempts_of(path)
    cut = read_gcc_stream(io.StringIO(text[: len(text) * length // 3000]), path.name)
    assert len(cut) <= len(whole)


def note(text: str, kind: str = "note", line: int = 3) -> dict[str, Any]:
    return {
        "kind": kind,
        "pass": "1",
        "message": [text],
        "function": "f",
        "location": {"file": "a.c", "line": line, "column": 5},
    }


def record(*entries: dict[str, Any]) -> list[Any]:
    return [{}, [{"id": "1", "name": "vect"}], list(entries)]


def read_record(values: Any) -> list[Attempt]:
    return read_gcc_stream(io.StringIO(json.dumps(values)), "gcc")


def test_the_first_kind_of_vectors_gives_the_reason_not_the_last() -> None:
    entries = [
        note("\nAnalyzing loop at a.c:3\n"),
        note("relevant stmt not supported: _1 = a / b;", "failure"),
        note("***** Analysis  failed with vector mode V4SI\n"),
        note("not vectorized: no vectype for stmt: x", "failure"),
        note("***** Analysis  failed with vector mode V4QI\n"),
        note("not vectorized: no vectype for stmt: x", "failure"),
        note("couldn't vectorize loop\n", "failure"),
    ]
    (a,) = read_record(record(*entries))
    assert a.why == ("relevant stmt not supported: _1 = a / b;",)


@pytest.mark.parametrize(
    "epilogue", ["loop vectorized using 16 byte vectors", "epilogue loop vectorized using 16 byte vectors"]
)
def test_an_epilogue_is_no_loop_of_its_own(epilogue: str) -> None:
    entries = [
        note("\nAnalyzing loop at a.c:3\n"),
        note("loop vectorized using 32 byte vectors", "success"),
        note(epilogue, "success"),
        note("couldn't vectorize loop\n\nAnalyzing loop at a.c:9\n", "failure", 9),
        note("not vectorized: control flow in loop.", "failure", 9),
        note("couldn't vectorize loop\n", "failure", 9),
    ]
    first, second = read_record(record(*entries))
    assert (first.width_bytes, first.epilogues, second.place.line) == (32, (16,), 9)


def test_vectors_of_the_processors_own_length() -> None:
    entries = [note("Analyzing loop at a.c:3"), note("loop vectorized using variable length vectors", "success")]
    (a,) = read_record(record(*entries))
    assert a.scalable and a.width_bytes is None
    text = (
        "--- !Passed\nPass:            loop-vectorize\nName:            Vectorized\n"
        "DebugLoc:        { File: 'a long, name.c', Line: 3, \n                   Column: 5 }\nFunction:        f\nArgs:\n"
        "  - VectorizationFactor: 'vscale x 4'\n  - InterleaveCount: '2'\n...\n"
    )
    (b,) = read_clang_record(text.splitlines(), "clang")
    assert (b.scalable, b.elements, b.interleave, b.place.file, b.place.column) == (True, 4, 2, "a long, name.c", 5)


LINES = st.lists(
    st.sampled_from(
        [
            "--- !Missed",
            "--- !Passed",
            "--- !AnalysisAliasing",
            "...",
            "Pass:            loop-vectorize",
            "Name:            Vectorized",
            "Name:            MissedDetails",
            "DebugLoc:        { File: a.c, Line: 3, Column: 5 }",
            "Function:        f",
            "Args:",
            "  - String:          'loop not vectorized'",
            "  - VectorizationFactor: '8'",
            "    DebugLoc:        { File: a.c, Line: 3, Column: 5 }",
        ]
    )
    | st.text(max_size=40),
    max_size=40,
)


@given(LINES)
def test_no_lines_are_too_odd_for_the_reader_of_clangs(lines: list[str]) -> None:
    attempts = read_clang_record(lines, "clang")
    begun = sum(line.startswith("--- !") for line in lines)
    assert len(attempts) <= begun and all(a.place.line > 0 or a.function for a in attempts)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "kind",
                    "pass",
                    "message",
                    "location",
                    "line",
                    "file",
                    "column",
                    "children",
                    "function",
                    "inlining_chain",
                    "stmt",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@given(JSON, JSON)
def test_no_record_is_too_odd_for_the_reader_of_gccs(anything: Any, records: Any) -> None:
    assert read_record(anything) == [] or isinstance(anything, list)
    read_record([{}, [{"id": "1", "name": "vect"}, anything], records])
    assert isinstance(message_text(anything if isinstance(anything, list) else []), str)


@given(st.lists(st.sampled_from(["vectorized", "missed", "epilogue"]), max_size=20))
def test_every_loop_of_a_record_appears_once(kinds: list[str]) -> None:
    entries = []
    for i, kind in enumerate(kinds):
        entries.append(note(f"\nAnalyzing loop at a.c:{i + 1}\n", line=i + 1))
        if kind == "missed":
            entries.append(note("not vectorized: control flow in loop.", "failure", i + 1))
            entries.append(note("couldn't vectorize loop", "failure", i + 1))
        else:
            entries.append(note("loop vectorized using 64 byte vectors", "success", i + 1))
            if kind == "epilogue":
                entries.append(note("loop vectorized using 32 byte vectors", "success", i + 1))
    attempts = read_record(record(*entries))
    assert [a.place.line for a in attempts] == list(range(1, len(kinds) + 1))
    assert [a.outcome is Outcome.MISSED for a in attempts] == [k == "missed" for k in kinds]


def test_what_a_compiler_leaves_behind_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passing = tmp_path / "passing"
    passing.mkdir()
    monkeypatch.setenv("TMPDIR", str(passing))
    monkeypatch.setattr(tempfile, "tempdir", None)
    compiler = tmp_path / "gcc"
    # as one that is killed between its parts
    compiler.write_text('#!/bin/sh\n: > "$TMPDIR/ccleft.s" && echo "error: killed after $TMPDIR" >&2\nexit 1\n')
    compiler.chmod(0o755)
    file = tmp_path / "a.c"
    file.write_text("int a;\n")
    compiled = compile_recorded(Compiler("gcc", str(compiler), "12"), file, [])
    assert f"killed after {passing}" in compiled.problem and list(passing.iterdir()) == []
