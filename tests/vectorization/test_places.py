# SPDX-License-Identifier: BSD-3-Clause
"""Which loop an attempt is of, for places as GCC, Clang and Flang record them."""

from pathlib import Path

from nodewise.runner.compilers.attempt import NOWHERE, Attempt, Outcome, Place
from nodewise.runner.compilers.directives import directives_of
from nodewise.runner.compilers.functions import functions_of
from nodewise.runner.compilers.source_loops import loops_of
from nodewise.vectorization.places import Places

TEXT = """\
static double& at(int i) { return a[i]; }
void f(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; ++i)
        at(i) = 0;
}
void g(int n) {
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < 4; ++k)
            b[i][k] = 1;
}
void h(int n) {
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            c[i][k] = 1;
#pragma omp parallel sections
    { f(n); }
}
"""
HEADER = "double sum(int n) {\n    for (int i = 0; i < n; ++i) s += a[i];\n    return s;\n}\ndouble one(int i) { return a[i]; }\n"


def places(folder: Path) -> Places:
    (folder / "h.h").write_text(HEADER)
    loops = loops_of(TEXT)
    return Places(loops, directives_of(TEXT, loops), lambda name: name == "a.c", folder, functions_of(TEXT))


def attempt(line: int, column: int = 12, *, file: str = "a.c", sites: tuple[int, ...] = (), **more: object) -> Attempt:
    at = tuple(Place("a.c", site, 9) for site in sites)
    fields: dict[str, object] = {"function": "f", "outcome": Outcome.MISSED, "sites": at, **more}
    return Attempt("c", Place(file, line, column), **fields)  # type: ignore[arg-type]


def lines(folder: Path, kind: str, *attempts: Attempt) -> list[int]:
    return [f.loop.line if f.loop else -f.line for f in places(folder).of(attempts, kind)]


def test_a_place_in_an_accessor_is_of_the_loop_that_calls_it(tmp_path: Path) -> None:
    assert lines(tmp_path, "gcc", attempt(1, sites=(5,))) == [4]
    assert lines(tmp_path, "gcc", attempt(5, file="h.h", sites=(5,))) == [4]


def test_a_loop_of_a_header_stays_there(tmp_path: Path) -> None:
    assert lines(tmp_path, "gcc", attempt(2, 20, file="h.h", sites=(5,))) == [0]


def test_a_directives_line_is_no_loop_of_its_own(tmp_path: Path) -> None:
    assert lines(tmp_path, "clang", attempt(3)) == [4]
    # sections are handed out by a loop that the compiler makes
    assert lines(tmp_path, "clang", attempt(17)) == []


def test_what_gcc_makes_for_a_directive_is_left_out_in_favour_of_the_loop_itself(tmp_path: Path) -> None:
    body = attempt(5, outcome=Outcome.VECTORIZED)
    assert lines(tmp_path, "gcc", attempt(3), body) == [4]
    assert lines(tmp_path, "gcc", attempt(3)) == [4]


def test_collapsed_loops_are_the_outer_one(tmp_path: Path) -> None:
    assert lines(tmp_path, "gcc", attempt(16, function="h")) == [14]
    assert lines(tmp_path, "clang", attempt(13, function="h")) == [14]


def test_a_loop_around_one_that_was_unrolled(tmp_path: Path) -> None:
    gone = attempt(9, 27, function="g", outcome=Outcome.UNROLLED, early=True)
    kept = attempt(10, 20, function="g", outcome=Outcome.VECTORIZED)
    assert lines(tmp_path, "gcc", gone, kept) == [9, 8]
    assert lines(tmp_path, "gcc", kept) == [9]


def test_a_loop_around_one_that_is_still_there(tmp_path: Path) -> None:
    outer = attempt(10, 20, function="g", nest=True)
    inner = attempt(10, 20, function="g", outcome=Outcome.VECTORIZED)
    assert lines(tmp_path, "gcc", outer, inner) == [8, 9]
    unnamed = attempt(10, 20, function="g")
    assert lines(tmp_path, "gcc", unnamed, inner) == [8, 9]
    # another one of which the place is not known may be the outer loop
    nowhere = Attempt("c", NOWHERE, "g", Outcome.MISSED, nest=True)
    assert lines(tmp_path, "gcc", unnamed, inner, nowhere) == [9, 9, 8]


def test_the_loop_that_hands_out_parts_is_the_compilers_own(tmp_path: Path) -> None:
    inner = attempt(5, outcome=Outcome.VECTORIZED)
    assert lines(tmp_path, "gcc", attempt(5, nest=True), inner) == [4]


def test_a_loop_without_a_place_is_known_by_its_function(tmp_path: Path) -> None:
    nowhere = Attempt("c", NOWHERE, "f.omp_outlined", Outcome.VECTORIZED)
    assert lines(tmp_path, "clang", nowhere) == [4]
    assert lines(tmp_path, "clang", nowhere, nowhere) == [0, 0]
    assert lines(tmp_path, "gcc", nowhere, nowhere) == []


def test_a_place_outside_of_all_loops_is_a_line(tmp_path: Path) -> None:
    assert lines(tmp_path, "gcc", attempt(11)) == [-11]
