# SPDX-License-Identifier: BSD-3-Clause
"""The functions of a source by its words, and names in records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.runner.compilers.functions import function_at, function_name, functions_of

C = """\
#define X {
namespace n {
struct Grid {
    double at(int i) const {
        return p[i];
    }
    double* p;
};
}
template <typename T>
void Grid<T>::run(T (*f)(int))
    noexcept
{
    auto g = [&](int i) { for (;;) f(i); };
    if (p) { g(1); }
}
int table[] = { 1, 2 };
static int plain(int a) { return a; }
"""
FORTRAN = """\
module m
contains
  pure real(8) function f(x) result(y)
    if (x > 0) then
    end if
  end function f
  subroutine s
  end
end module
"""


def test_functions_of_c() -> None:
    found = functions_of(C)
    assert [(f.name, f.line, f.end_line) for f in found] == [("at", 4, 6), ("Grid<T>::run", 13, 16), ("plain", 18, 18)]
    assert [function_at(found, line) for line in (5, 14, 17)] == ["at", "Grid<T>::run", ""]


def test_functions_of_fortran() -> None:
    assert [(f.name, f.line, f.end_line) for f in functions_of(FORTRAN, True)] == [("f", 3, 6), ("s", 7, 8)]


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ("w_add._omp_fn.0", "w_add"),
        ("w_add.omp_outlined.3", "w_add"),
        (".omp_outlined..20", ""),
        (".omp_task_entry..5", ""),
        ("__fields_MOD_add._omp_fn.0", "add"),
        ("_QMfieldsPadd..omp_par", "add"),
        ("_QPfx", "fx"),
        ("f.constprop.0.isra.0", "f"),
        ("void N::f<int>(int) [clone ._omp_fn.0]", "void N::f<int>(int)"),
        ("main", "main"),
    ],
)
def test_names_in_records(recorded: str, name: str) -> None:
    assert function_name(recorded) == name


@given(st.text(alphabet="voidf(){};:<>\"'/*\n #\\", max_size=120), st.booleans())
def test_no_text_is_too_odd(text: str, fortran: bool) -> None:
    assert all(f.line <= f.end_line for f in functions_of(text, fortran))
