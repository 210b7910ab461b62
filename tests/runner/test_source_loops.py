# SPDX-License-Identifier: BSD-3-Clause
"""Loops found by the words of a source, and the flags that a file is compiled with."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.runner.compilers.database import find_command, own_flags, says_how
from nodewise.runner.compilers.source_loops import innermost, loops_of, without_noise

C = """\
// for (;;) in a comment
const char* s = "while (1) {";
#define LOOP for (;;)
void f(int n) {
    for (int i = 0; i < n; ++i)
        if (i) { while (n) --n; } else do ++n; while (n < 3);
    for (auto x : v) { g([&](int k) { for (;;) k++; return k; }); }
    auto forward = R"x(for (;;) ")x"; int c = 1'000; char d = '{';
}
void h() { for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) a[i][j] = 0; }
"""


def test_the_loops_of_c() -> None:
    found = loops_of(C)
    assert [(f.keyword, f.line, f.depth) for f in found] == [
        ("for", 5, 0),
        ("while", 6, 1),
        ("do", 6, 1),
        ("for", 7, 0),
        ("for", 7, 1),
        ("for", 10, 0),
        ("for", 10, 1),
    ]
    assert found[0].end_line == 6 and found[3].end_line == 7


def test_the_innermost_loop_of_a_place() -> None:
    found = loops_of(C)
    second = found[-1]
    assert innermost(found, 10, second.column + 3) == second
    assert innermost(found, 10, second.column - 3) == found[-2]
    assert innermost(found, 10, 0) == found[-2]
    assert innermost(found, 8, 5) is None


def test_the_loops_of_fortran() -> None:
    text = "      do 10 i = 1, n\n      do 20 j = 1, n\n 20   continue\n 10   continue\n  outer: do while (x > 0)\n  end do outer\n"
    assert [(f.line, f.end_line, f.depth) for f in loops_of(text, fortran=True)] == [(1, 4, 0), (2, 3, 1), (5, 6, 0)]


@given(st.text(alphabet="forwhiled(){}[];\"'/*\n #\\x", max_size=200))
def test_no_text_is_too_odd(text: str) -> None:
    clean = without_noise(text)
    assert len(clean) == len(text) and clean.count("\n") == text.count("\n")
    for found in (*loops_of(text), *loops_of(text, fortran=True)):
        assert (found.line, found.column) <= (found.end_line, found.end_column)


def test_flags_about_outputs_and_the_file_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    kept, left = own_flags(
        ["-O2", "-c", "-o", "a.o", "-MD", "-MF", "a.d", "-flto=auto", "a.c", "b.c", "-Ix"], file, tmp_path
    )
    assert (kept, left) == (["-O2", "b.c", "-Ix"], ["-flto=auto"])
    assert says_how(["-O"]) and says_how(["-mavx2"]) and not says_how(["-g", "-DOFAST"])


def test_a_compile_database(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    file = tmp_path / "src/a.cpp"
    file.write_text("")
    entries = [
        {"directory": str(tmp_path), "file": "src/b.cpp", "command": "c++ -c src/b.cpp"},
        {"directory": str(tmp_path / "src"), "file": "a.cpp", "command": "ccache c++ -DX='a b' -O2 -o a.o -c a.cpp"},
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    for database in (tmp_path, tmp_path / "compile_commands.json"):
        found = find_command(database, file)
        assert (found.program, found.flags, found.folder) == ("c++", ("-DX=a b", "-O2"), tmp_path / "src")
    with pytest.raises(InputError, match="has no command for"):
        find_command(tmp_path, tmp_path / "c.cpp")
    with pytest.raises(InputError, match="no compile database"):
        find_command(tmp_path / "src", file)
