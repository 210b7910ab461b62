# SPDX-License-Identifier: BSD-3-Clause
"""What a program says of itself by the markers, in each language, as nodewise reads it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.markers import INCLUDE_DIR
from nodewise.runner.protocol import Reported, read_protocol

C = """
#include "nodewise.h"
void part(void);
int main(void) {
    for (int i = 0; i < 3; ++i) {
        nodewise_start("outer");
        part();
        nodewise_stop("outer");
    }
    nodewise_stop("never started");
    nodewise_count("items", 2);
    nodewise_count("items", 3);
    nodewise_count("a \\"name\\"\\n", 0.25);
    nodewise_verified(1);
    nodewise_report("outer");
    return 0;
}
"""
PART = """
#include "nodewise.h"
extern "C" void part() {
    nodewise_start("inner");
    const timespec nap{0, 10'000'000};
    nanosleep(&nap, nullptr);
    nodewise_stop("inner");
}
"""
THREADS = """
#include "nodewise.h"
#include <pthread.h>
static void* work(void* argument) {
    const struct timespec nap = {0, (long)(size_t)argument * 1000000};
    nodewise_start("work");
    nanosleep(&nap, 0);
    nodewise_stop("work");
    nodewise_count("flops", 1);
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (size_t i = 0; i < 4; ++i) pthread_create(&threads[i], 0, work, (void*)(10 * (i + 1)));
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
    nodewise_verified(1);
    nodewise_verified(0);
    nodewise_report(0);
    return 0;
}
"""
FORTRAN = """
program solver
    use nodewise
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none
    integer :: i
    do i = 1, 3
        call nodewise_start("outer")
        call nodewise_start("inner")
        call execute_command_line("sleep 0.01")
        call nodewise_stop("inner")
        call nodewise_stop("outer")
    end do
    call nodewise_stop("never started")
    call nodewise_count("items", 2.0_real64)
    call nodewise_count("items", 3.0_real64)
    call nodewise_count('a "name"', 0.25_real64)
    call nodewise_verified(.true.)
    call nodewise_report("outer")
end program
"""
PYTHON = """
import time
from nodewise.markers import count, region, report, verified
for _ in range(3):
    with region("outer"):
        with region("inner"):
            time.sleep(0.01)
count("items", 2)
count("items", 3)
count('a "name"', 0.25)
verified(True)
report("outer")
"""


def _reported(*command: str, cwd: Path) -> Reported:
    done = subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True)
    return read_protocol([line for line in done.stdout.splitlines() if line.startswith('{"nodewise":')])


def _compiled(folder: Path, compiler: str, *words: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE_DIR}", *words], cwd=folder, check=True)


def _is_as_said(found: Reported, name: str) -> None:
    assert found.problem is None and found.unread == "" and found.verified is True
    assert found.seconds is not None and 0.03 <= found.seconds == pytest.approx(found.metrics["outer_s"], abs=1e-6)
    assert 0.03 <= found.metrics["inner_s"] <= found.seconds
    assert found.metrics["outer_calls"] == found.metrics["inner_calls"] == 3
    assert found.metrics["items"] == 5 and found.metrics[name] == 0.25


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_files_in_c_and_cpp_share_what_they_count(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(C)
    (tmp_path / "part.cpp").write_text(PART)
    cpp = {"gcc": "g++", "clang": "clang++"}[compiler]
    _compiled(tmp_path, compiler, "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wpedantic", "-c", "main.c")
    _compiled(tmp_path, cpp, "-std=c++17", "-c", "part.cpp")
    _compiled(tmp_path, cpp, "main.o", "part.o", "-o", "program")
    _is_as_said(_reported("./program", cwd=tmp_path), "a _name__")


def test_of_several_threads_the_slowest_counts(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(THREADS)
    _compiled(tmp_path, "gcc", "main.c", "-pthread", "-o", "program")
    found = _reported("./program", cwd=tmp_path)
    assert found.seconds is None and found.verified is False
    assert 0.04 <= found.metrics["work_s"] < 0.1 * 4 and found.metrics["work_calls"] == 1
    assert found.metrics["flops"] == 4


def test_more_names_than_there_is_room_for_are_left_out(tmp_path: Path) -> None:
    body = 'char name[8]; for (int i = 0; i < 100; ++i) { snprintf(name, sizeof name, "n%d", i); nodewise_count(name, i); }'
    (tmp_path / "main.c").write_text(
        f'#include "nodewise.h"\nint main(void) {{ {body} nodewise_report(0); return 0; }}\n'
    )
    _compiled(tmp_path, "gcc", "main.c", "-o", "program")
    assert _reported("./program", cwd=tmp_path).metrics == {f"n{i}": i for i in range(64)}


def test_fortran_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "solver.f90").write_text(FORTRAN)
    _compiled(tmp_path, "gfortran", "-std=f2008", str(INCLUDE_DIR / "nodewise.f90"), "solver.f90", "-o", "program")
    _is_as_said(_reported("./program", cwd=tmp_path), "a _name_")


def test_python_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "solver.py").write_text(PYTHON)
    _is_as_said(_reported(sys.executable, "solver.py", cwd=tmp_path), 'a "name"')


def test_a_region_that_decides_was_entered() -> None:
    from nodewise.markers import report

    with pytest.raises(ValueError, match="no region 'solve' was entered"):
        report("solve")
