# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP directives by the words of a source: which loop each is about, and what it makes of loops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.runner.compilers.directives import collapsed_into, directives_of, openmp_of
from nodewise.runner.compilers.source_loops import loops_of

C = """\
void f(int n) {
#pragma omp parallel
    {
#pragma omp for nowait \\
    schedule(static)
        for (int i = 0; i < n; ++i) a[i] = 0;
        // #pragma omp for
        for (int i = 0; i < n; ++i) a[i] = 1;
    }
#pragma omp parallel for simd collapse(2)
#pragma GCC ivdep
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            for (int k = 0; k < n; ++k) b[i][j] += k;
#pragma omp declare simd
    char* s = "_Pragma(\\"omp simd\\")";
    _Pragma("omp simd") for (int i = 0; i < n; ++i) a[i]++;
#pragma omp for
    n++;
    [[omp::directive(taskloop)]] while (n) --n;
}
"""
FORTRAN = """\
      subroutine s(a, n)
!$omp parallel do collapse(2) &
!$omp& private(j)
      do i = 1, n
      do j = 1, n
        a(i, j) = 0
      end do
      end do
!$omp end parallel do
c$omp do
c$omp+ schedule(dynamic)
      do 10 i = 1, n
 10   a(i, 1) = 1
!$omp parallel workshare
      a = a + 1
!$omp end parallel workshare
      end
"""


def test_directives_of_c_and_their_loops() -> None:
    found = directives_of(C, loops_of(C))
    assert [(d.constructs[:3], d.line, d.end_line, d.loop.line if d.loop else 0) for d in found] == [
        (("parallel",), 2, 2, 0),
        (("for",), 4, 5, 6),
        (("parallel", "for", "simd"), 10, 10, 12),
        (("declare", "simd"), 15, 15, 0),
        (("simd",), 17, 17, 17),
        (("for",), 18, 18, 0),
        (("taskloop",), 20, 20, 20),
    ]
    assert found[1].text == "omp for nowait schedule(static)"
    assert [d.line for d in found if d.simd] == [10, 17]


def test_directives_of_fortran_go_on_over_lines() -> None:
    found = directives_of(FORTRAN, loops_of(FORTRAN, True), True)
    assert [(d.line, d.end_line, d.loop.line if d.loop else 0, d.statement) for d in found] == [
        (2, 3, 4, 0),
        (9, 9, 0, 0),
        (10, 11, 12, 0),
        (14, 14, 0, 15),
        (16, 16, 0, 0),
    ]
    assert found[2].text == "omp do schedule(dynamic)"


def test_collapse_makes_loops_one() -> None:
    loops = loops_of(C)
    into = collapsed_into(directives_of(C, loops), loops)
    assert {a.line: b.line for a, b in into.items()} == {13: 12}
    loops = loops_of(FORTRAN, True)
    into = collapsed_into(directives_of(FORTRAN, loops, True), loops)
    assert {a.line: b.line for a, b in into.items()} == {5: 4}


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ((), (False, False)),
        (("-fopenmp",), (True, True)),
        (("-fopenmp=libomp", "-fno-openmp"), (False, False)),
        (("-fopenmp-simd",), (False, True)),
    ],
)
def test_whether_flags_turn_directives_on(flags: tuple[str, ...], wanted: tuple[bool, bool]) -> None:
    assert openmp_of(flags) == wanted


PIECES = [
    "#pragma omp ",
    "for",
    "simd ",
    "collapse(2)",
    "\\\n",
    "\n",
    "!$omp ",
    "do i = 1, n\n",
    "{",
    "}",
    "(",
    ")",
    '"',
    "_Pragma",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30), st.booleans())
def test_no_text_is_too_odd(pieces: list[str], fortran: bool) -> None:
    text = "".join(pieces)
    loops = loops_of(text, fortran)
    for d in directives_of(text, loops, fortran):
        assert 1 <= d.line <= d.end_line and (d.loop is None or d.loop in loops)
