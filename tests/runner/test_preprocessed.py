# SPDX-License-Identifier: BSD-3-Clause
"""What the preprocessor leaves of a file, from outputs as GCC and Clang write them."""

from nodewise.runner.compilers.directives import directives_of
from nodewise.runner.compilers.preprocessed import lines_left_out, own_part, with_macros
from nodewise.runner.compilers.source_loops import loops_of

TEXT = """\
#include "m.h"
#if OTHER
void gone(int n) {
    for (int i = 0; i < n; ++i) a[i] = 0;
}
#else
void kept(int n) {
    ALL(i, n) {
        for (int j = 0; j < n; ++j) a[j] += i;
    }
    TWICE(
        for (int i = 0; i < n; ++i) a[i] = 1;
    )
}
#endif
"""
OUTPUT = """\
# 0 "a.c"
# 1 "a.c"
# 1 "m.h" 1
for (;;) in_the_header();
# 2 "a.c" 2





void kept(int n) {

# 8 "a.c"
#pragma omp parallel for
# 8 "a.c"
    for (int i = 0; i < (n); ++i) {
        for (int j = 0; j < n; ++j) a[j] += i;
    }
    for (int i = 0; i < n; ++i) a[i] = 1;


}
"""


def test_lines_that_if_takes_out() -> None:
    seen = own_part(OUTPUT, lambda name: name == "a.c")
    assert "in_the_header" not in seen.text and 7 in seen.present
    # line 12 is there, though the preprocessor puts a macro's arguments on its first line
    assert lines_left_out(TEXT, seen.present) == {3, 4, 5}


def test_loops_and_directives_of_macros_stand_where_these_are_used() -> None:
    seen = own_part(OUTPUT, lambda name: name == "a.c")
    loops = loops_of(TEXT)
    every, directives = with_macros(TEXT, loops, directives_of(TEXT, loops), seen, False)
    assert [(s.line, s.end_line, s.depth, s.macro) for s in every] == [
        (4, 4, 0, False),
        (8, 10, 0, True),
        (9, 9, 1, False),
        (11, 11, 0, True),
        (12, 12, 0, False),
    ]
    assert [(d.line, d.text, d.loop) for d in directives] == [(8, "omp parallel for", every[1])]


def test_a_file_without_macros_stays_as_it_is() -> None:
    text = "void f(int n) {\n    for (;;) n++;\n}\n"
    seen = own_part('# 1 "a.c"\n' + text, lambda name: name == "a.c")
    loops = loops_of(text)
    assert with_macros(text, loops, (), seen, False) == (loops, ())
    assert lines_left_out(text, seen.present) == frozenset()
