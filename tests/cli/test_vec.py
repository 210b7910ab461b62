# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise vec` from outside, with the compilers that are here; what it says is compared with the object code."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command

SOURCE = """\
#include <math.h>
void add(float* a, const float* b, int n) {
    for (int i = 0; i < n; ++i) a[i] += b[i];
}
void chain(float* a, int n) {
    for (int i = 1; i < n; ++i) a[i] = a[i - 1] * 0.5f + 1.0f;
}
void sines(double* a, int n) {
    for (int i = 0; i < n; ++i) a[i] = sin(a[i]);
}
void roots(double* a, int n) {
    for (int i = 0; i < n; ++i) a[i] = sqrt(a[i]);
}
int find(const int* a, int n, int x) {
    for (int i = 0; i < n; ++i) {
        if (a[i] == x) return i;
    }
    return -1;
}
double sum(const double* a, int n) {
    double s = 0;
    for (int i = 0; i < n; ++i) s += a[i];
    return s;
}
void zero(char* a, int n) {
    for (int i = 0; i < n; ++i) a[i] = 0;
}
"""
FLAGS = ("-O3", "-ffp-contract=off")
PACKED = {"x86_64": r"\bv?(add|mul|sqrt)p[sd]\b", "aarch64": r"\bf(add|mul|sqrt)\s+v\d+\.[24][sd]"}
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]
MACHINE = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=False).stdout.strip()


@pytest.fixture
def nodewise(nodewise_here: Command) -> Command:
    """The command line, in this process."""
    return nodewise_here


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "loops.cpp"
    path.write_text(SOURCE)
    return path


def result(nodewise: Command, *arguments: str) -> dict[str, Any]:
    done = nodewise("vec", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def by_function(answer: dict[str, Any]) -> dict[str, Any]:
    return {f: loop["compilers"][0] for loop in answer["loops"] for f in loop["functions"]}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "flags", [FLAGS, (*FLAGS, "-fno-math-errno", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")]
)
@pytest.mark.skipif(MACHINE not in PACKED or not shutil.which("objdump"), reason="needs objdump for this processor")
def test_what_it_says_is_in_the_object_code(
    nodewise: Command, source: Path, compiler: str, flags: tuple[str, ...]
) -> None:
    said = by_function(result(nodewise, str(source), "--compiler", compiler, "--", *flags))
    subprocess.run([compiler, *flags, "-c", source, "-o", source.with_suffix(".o")], check=True)
    listing = subprocess.run(
        ["objdump", "-dr", "-C", "--no-show-raw-insn", source.with_suffix(".o")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    code = dict(re.findall(r"<(\w+)\([^\n]*\)>:\n((?:.+\n)*)", listing))
    for function in ("add", "chain", "roots"):
        packed = re.search(PACKED[MACHINE], code[function]) is not None
        assert (said[function]["status"] == "vectorized") == packed, function
    assert said["roots"]["status"] == ("vectorized" if "-fno-math-errno" in flags else "not vectorized")
    assert said["zero"]["status"] == "no loop any more" and "memset" in code["zero"]


#: Each loop's marker is the packed instruction that only it has, or what becomes of the loop.
OPENMP = """\
#include "accessors.h"
#define EACH(i, n) _Pragma("omp parallel for") for (int i = 0; i < (n); ++i)
void accessors(Field& d, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; ++i) //= addpd
        d.u(i) = d.v(i) + d.v(i + 1);
}
template <typename F> void for_each(int n, F body) {
#pragma omp parallel for schedule(dynamic, 64)
    for (int i = 0; i < n; ++i) //= mulps
        body(i);
}
void lambda(float* __restrict a, const float* __restrict b, int n) {
    for_each(n, [=](int i) { a[i] = a[i] * b[i]; });
}
void region(double* a, const double* b, int n) {
#pragma omp parallel
    {
#pragma omp for simd \\
    nowait
        for (int i = 0; i < n; ++i) //= divpd
            a[i] = b[i] / a[i];
#pragma omp for
        for (int i = 0; i < n; ++i) //= sqrtpd
            if (a[i] > 0) a[i] = chain(a[i]);
    }
}
void task(float* a, int n) {
#pragma omp task
    for (int i = 0; i < n; ++i) //= subps
        a[i] = a[i] - a[n];
}
void nest(float* a, const float* b, int n, int m) {
#pragma omp parallel for
    for (int i = 0; i < n; ++i) //= outer
        for (int j = 0; j < m; ++j) //= addps
            a[i * m + j] = b[j] + a[i * m + j];
}
void collapsed(double* a, double* b, int n, int m) {
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; ++i) //= mulpd
        for (int j = 0; j < m; ++j) //= collapsed
            a[i * m + j] = b[j * n + i] * a[i * m + j];
}
void macro(float* a, const float* b, int n) {
    EACH(i, n) { //= divps
        a[i] = a[i] / b[i];
    }
}
#ifdef NEVER
void left(float* a, int n) {
    for (int i = 0; i < n; ++i) a[i] = 0; //= not compiled
}
#endif
template <typename T> void unused(T* a, int n) {
    for (int i = 0; i < n; ++i) a[i] = 0; //= not compiled
}
"""
ACCESSORS = """\
struct Field {
    double *m_u, *m_v;
    double& u(int i) { return m_u[i]; }
    double& v(int i) { return m_v[i]; }
};
double chain(double);
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.skipif(MACHINE != "x86_64" or not shutil.which("objdump"), reason="needs objdump for x86")
def test_openmp_is_read_as_what_it_is(nodewise: Command, tmp_path: Path, compiler: str) -> None:
    (tmp_path / "accessors.h").write_text(ACCESSORS)
    (tmp_path / "omp.cpp").write_text(OPENMP)
    flags = ("-O3", "-mavx2", "-ffp-contract=off", "-fopenmp")
    subprocess.run([compiler, *flags, "-c", "omp.cpp", "-o", "omp.o"], check=True, cwd=tmp_path)
    code = subprocess.run(["objdump", "-d", tmp_path / "omp.o"], capture_output=True, text=True, check=True).stdout
    answer = result(nodewise, "omp.cpp", "--compiler", compiler, "--", *flags)
    loops = {loop["line"]: loop for loop in answer["loops"]}
    marks = {n: line.partition("//= ")[2] for n, line in enumerate(OPENMP.splitlines(), 1) if "//= " in line}
    assert set(loops) == set(marks)
    for line, mark in marks.items():
        status = loops[line]["compilers"][0]["status"]
        if mark == "outer":
            assert status in ("outer loop", "not vectorized")
        elif mark in ("collapsed", "not compiled"):
            assert status == mark
        else:
            packed = re.search(rf"\bv?{mark}\b", code) is not None
            assert (status == "vectorized") == packed, (line, mark, status)
    functions = {name for loop in loops.values() for name in loop["functions"]}
    assert functions >= {"accessors", "for_each", "region", "task", "nest", "collapsed", "macro"}
    simd = next(loop for loop in loops.values() if loop["directive"] and "simd" in loop["directive"])
    assert simd["directive"] == "omp for simd nowait" and simd["compilers"][0]["simd_honoured"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_simd_directive_that_was_not_honoured_is_named(nodewise: Command, tmp_path: Path, compiler: str) -> None:
    (tmp_path / "s.cpp").write_text(
        "double g(double);\nvoid f(double* a, int n) {\n#pragma omp simd\n"
        "    for (int i = 0; i < n; ++i) a[i] = g(a[i]);\n}\n"
    )
    for flag, said in (("-fopenmp-simd", "was not honoured"), ("-g0", "is ignored: neither -fopenmp nor")):
        done = nodewise("vec", "s.cpp", "--compiler", compiler, "--", "-O3", flag)
        assert "under omp simd" in done.stdout and f"omp simd {said}" in " ".join(done.stdout.split())
    (loop,) = result(nodewise, "s.cpp", "--compiler", compiler, "--", "-O3", "-fopenmp-simd")["loops"]
    assert loop["compilers"][0]["simd_honoured"] is False


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_parallel_region_in_a_loop_is_the_reason(nodewise: Command, tmp_path: Path, compiler: str) -> None:
    (tmp_path / "r.cpp").write_text(
        "void f(double* a, int n, int m) {\n    for (int k = 0; k < m; ++k) {\n#pragma omp parallel for\n"
        "        for (int i = 0; i < n; ++i) a[i] += k;\n    }\n}\n"
    )
    outer, inner = result(nodewise, "r.cpp", "--compiler", compiler, "--", "-O3", "-fopenmp")["loops"]
    assert [r["name"] for r in outer["compilers"][0]["reasons"]] == ["parallel-region"]
    assert inner["compilers"][0]["status"] == "vectorized" and inner["functions"] == ["f"]


@pytest.mark.some(4)
@pytest.mark.parametrize("directive", ["parallel for", "task", "critical", "single"])
@pytest.mark.parametrize("flag", ["-O3", "-fopenmp-simd"])
def test_directives_that_do_not_count_are_no_reason(
    nodewise: Command, tmp_path: Path, directive: str, flag: str
) -> None:
    body = f"#pragma omp {directive}\nfor (int i = 1; i < n; ++i) a[i * n] = a[i - 1] * 0.5f;"
    (tmp_path / "n o.cpp").write_text(
        f"void f(float* a, int n, int m) {{ for (int k = 0; k < m; ++k) {{\n{body} }} }}\n"
    )
    line = f"nodewise vec 'n o.cpp' -- -O3 {flag} -fopenmp"
    found = nodewise("vec", "n o.cpp", "--", "-O3", flag).stdout
    assert "around" in found and "region" not in found and "other threads" not in found
    assert line in " ".join(found.split())
    with_openmp = nodewise(*shlex.split(line)[1:]).stdout
    assert ("region" in with_openmp or "other threads" in with_openmp) and "without -fopenmp" not in with_openmp


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_loop_that_is_gone_is_said_to_be(nodewise: Command, tmp_path: Path, compiler: str) -> None:
    (tmp_path / "g.cpp").write_text(
        "int f(int n) {\n    int s = 0;\n    for (int i = 0; i < n; ++i) s += i;\n    return n;\n}\n"
        "static void g(int* a) {\n    for (int i = 0; i < 9; ++i) a[i] = 0;\n}\n"
    )
    removed, never = result(nodewise, "g.cpp", "--compiler", compiler, "--", "-O3")["loops"]
    assert removed["compilers"][0]["status"] == "no loop any more"
    assert never["compilers"][0]["status"] == "not compiled" and "no machine code" in never["compilers"][0]["why"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_why_and_what_to_change(nodewise: Command, source: Path, compiler: str) -> None:
    answer = result(nodewise, str(source), "--compiler", compiler, "--", *FLAGS)
    assert len(answer["loops"]) == 7 and len({loop["line"] for loop in answer["loops"]}) == 7
    assert answer["reasons_unknown"] == 0 and answer["flags"] == list(FLAGS) and answer["flags_from"] == "given"
    said = by_function(answer)
    (root,) = said["roots"]["reasons"]
    assert root["name"] == "math-errno" and "-fno-math-errno" in root["do"][0] and root["risk"]
    (sine,) = said["sines"]["reasons"]
    assert "sin" in sine["words"] and any("libmvec" in do for do in sine["do"])
    # GCC 15 vectorizes it
    assert all(reason["name"] == "early-exit" for reason in said["find"]["reasons"])
    assert said["chain"]["reasons"][0]["name"] in ("distance", "reduction")
    advice = [*said["sum"]["reasons"], *said["sum"]["notes"]]
    assert any("omp simd reduction" in do for entry in advice for do in entry["do"])


WIDENED = """\
#include <cmath>
void power(float* a, int n) { for (int i = 0; i < n; ++i) a[i] = std::pow(a[i], 2) + std::pow(a[i] - 1.5f, 2); }
void constant(float* a, int n) { for (int i = 0; i < n; ++i) a[i] = a[i] * 0.1 + a[i]; }
void as_it_should(float* a, int n) { for (int i = 0; i < n; ++i) a[i] = (a[i] - 1.5f) * (a[i] - 1.5f); }
void meant(double* a, int n) { for (int i = 0; i < n; ++i) a[i] = std::pow(a[i] - 1.5, 2); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.skipif(shutil.which("objdump") is None, reason="what is widened is read by objdump (package binutils)")
def test_floats_that_become_doubles_are_named_with_the_cure(nodewise: Command, tmp_path: Path, compiler: str) -> None:
    (file := tmp_path / "widened.cpp").write_text(WIDENED)
    loops = by_function(result(nodewise, str(file), "--compiler", compiler, "--", "-O3"))
    notes = {name: {n["name"]: n for n in loop["notes"]} for name, loop in loops.items()}
    assert "x * x in place of pow(x, 2)" in notes["power"]["power-of-doubles"]["do"][0]
    assert "0.5f" in notes["constant"]["constant-of-doubles"]["do"][0] and "power-of-doubles" not in notes["constant"]
    for name in ("as_it_should", "meant"):
        assert not any(note.endswith("-of-doubles") for note in notes[name])


def test_templates_and_inlining_are_one_loop_with_a_count(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "t.cpp").write_text(
        "template <typename T> void twice(T* a, int n) {\n    for (int i = 0; i < n; ++i) a[i] += a[i];\n}\n"
        "void f(float* a, int n) { twice(a, n); }\nvoid g(int* a, int n) { twice(a, n); }\n"
    )
    answer = result(nodewise, "t.cpp", "--compiler", COMPILERS[0])
    (loop,) = answer["loops"]
    assert loop["compilers"][0]["instances"] >= 2 and loop["compilers"][0]["status"] == "vectorized"
    assert answer["flags_from"].startswith("default") and "-O3" in answer["flags"]


def test_the_text_shows_source_flags_and_counts(nodewise: Command, source: Path) -> None:
    done = nodewise("vec", str(source), "--compiler", COMPILERS[0])
    assert done.returncode == 0 and done.stderr == ""
    assert "7 loops" in done.stdout and "a[i] = sin(a[i]);" in done.stdout and "-O3 -m" in done.stdout
    assert "\x1b" not in done.stdout
    few = nodewise("vec", str(source), "--compiler", COMPILERS[0], "--function", "roots")
    assert "1 of 7 loops shown" in few.stdout and "a[i] = sin" not in few.stdout
    missed = result(nodewise, str(source), "--compiler", COMPILERS[0], "--loops", "missed")["loops"]
    assert all(loop["compilers"][0]["status"] == "not vectorized" for loop in missed) and missed
    assert [loop["line"] for loop in result(nodewise, str(source), "--lines", "8-10")["loops"]] == [9]


def test_flags_come_from_a_compile_database(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "d.c").write_text("void f(T* a, int n) {\n    for (int i = 0; i < n; ++i) a[i] += 1;\n}\n")
    entry = {"directory": str(tmp_path), "file": "d.c", "arguments": ["cc", "-DT=float", "-O3", "-flto", "-c", "d.c"]}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    answer = result(nodewise, "d.c", "-p", ".", "--compiler", "gcc")
    assert answer["loops"][0]["compilers"][0]["status"] == "vectorized"
    assert "-flto" in answer["remarks"][0] and answer["flags"] == ["-DT=float", "-O3"]


def test_a_flag_that_a_compiler_does_not_know_is_left_out(nodewise: Command, source: Path) -> None:
    answer = result(nodewise, str(source), "--compiler", COMPILERS[0], "--", "-O3", "-fno-such-thing-at-all")
    assert answer["compilers"][0]["flags_left_out"] == ["-fno-such-thing-at-all"] and answer["loops"]


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler")
def test_fortran(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "f.f90").write_text(
        "subroutine s(a, b, n)\n  integer :: n, i\n  real :: a(n), b(n)\n  do i = 1, n\n    a(i) = a(i) + b(i)\n  end do\nend subroutine\n"
    )
    (loop,) = result(nodewise, "f.f90", "--compiler", "gcc")["loops"]
    assert loop["line"] == 4 and loop["compilers"][0]["status"] == "vectorized"


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler")
def test_openmp_in_fortran(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "f.f90").write_text(
        "module m\ncontains\nsubroutine s(a, b, n)\n  integer :: n, i, j\n  real :: a(n, n), b(n, n)\n"
        "  !$omp parallel do &\n  !$omp& private(j)\n  do i = 1, n\n    do j = 1, n\n      a(j, i) = a(j, i) + b(j, i)\n"
        "    end do\n  end do\n  !$omp parallel workshare\n  a = b\n  !$omp end parallel workshare\nend subroutine\nend module\n"
    )
    loops = result(nodewise, "f.f90", "--compiler", "gcc", "--", "-O3", "-fopenmp")["loops"]
    assert [loop["line"] for loop in loops if loop["line"] != 14] == [8, 9]
    assert loops[0]["directive"] == "omp parallel do private(j)" and loops[0]["functions"] == ["s"]
    assert [loop["compilers"][0]["status"] for loop in loops[:2]] == ["not vectorized", "vectorized"]


def test_a_compiler_that_is_missing_is_a_line(nodewise: Command, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = source.parent / "bin"
    folder.mkdir()
    for name in ("g++", "as", "c++filt"):
        (folder / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(folder))
    done = nodewise("vec", str(source))
    assert done.returncode == 0 and "clang++ is not installed (package clang)" in done.stdout
    (folder / "g++").unlink()
    none = nodewise("vec", str(source))
    assert none.returncode == 2 and "g++ is not installed (package g++)" in none.stderr


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("bad.c", (), "error: expected"),
        ("gone.c", (), "no such file"),
        ("notes.txt", (), "no C, C++ or Fortran file"),
        ("good.c", ("--compiler", "nonexistent"), "no compiler that is known"),
        ("good.c", ("--lines", "9-3"), "no span of lines"),
        ("good.c", ("--lines", "1000-1002"), "no loop begins on lines 1000-1002"),
        ("good.c", ("--function", "nothing"), "no loop in a function"),
        ("good.c", ("--causes", "gone.toml"), "cannot read gone.toml"),
        ("good.c", ("--causes", "wrong.toml"), "a [[cause]] is wrong"),
        ("good.c", ("--causes", "text.toml"), 'gcc is no list of texts: write gcc = ["a text"]'),
        ("good.c", ("-p", "."), "no compile database"),
    ],
)
def test_bad_input_is_one_clear_message(
    nodewise: Command, tmp_path: Path, name: str, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "bad.c").write_text("void f( { }\n")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "good.c").write_text("void f(int* a) { for (int i = 0; i < 99; ++i) a[i]++; }\n")
    (tmp_path / "wrong.toml").write_text('[[cause]]\nname = "x"\nwords = "y"\nwhy = []\n')
    (tmp_path / "text.toml").write_text('[[cause]]\nname = "x"\nwords = "y"\ngcc = "a text"\n')
    done = nodewise("vec", name, *arguments)
    assert done.returncode == 2 and said in done.stderr and done.stderr.startswith("error: ") and done.stdout == ""
    assert "\nhint: " in done.stderr


SLOW = """#!/bin/sh
[ "$1" != --version ] || { printf 'gcc (slow) 12.2.0\nFree Software\n'; exit; }
echo $$ >> pids
sh -c 'echo $$ >> pids; sleep 60; true'
true
"""


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        signal.SIGKILL,
        *(pytest.param(n, marks=pytest.mark.long) for n in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)),
    ],
)
def test_no_compiler_and_no_file_is_left_by_an_early_end(source: Path, number: int) -> None:
    folder = source.parent
    (folder / "slow").write_text(SLOW)
    (folder / "slow").chmod(0o755)
    (folder / "t").mkdir()
    command = [sys.executable, "-m", "nodewise", "vec", "--compiler", "./slow", str(source)]
    # where the tests run in the background of a shell, SIGQUIT is ignored, and what is started has that from here
    before = signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    try:
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": "t"})
    finally:
        signal.signal(signal.SIGQUIT, before)
    pids = folder / "pids"
    until = time.monotonic() + 30
    while not pids.exists() or len(pids.read_text().split()) < 2:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert len(list((folder / "t").iterdir())) == 1
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    # who was killed has others to clear up behind it
    while any(Path("/proc", pid).exists() for pid in pids.read_text().split()) or any((folder / "t").iterdir()):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_causes_of_ones_own_go_first(nodewise: Command, source: Path) -> None:
    (source.parent / "own.toml").write_text(
        '[[cause]]\nname = "ours"\nwords = "see our wiki"\ngcc = ["."]\nclang = ["."]\n'
    )
    done = nodewise("vec", str(source), "--causes", "own.toml", "--function", "find")
    assert "see our wiki" in done.stdout


def test_where_no_temporary_file_can_be_made_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "loop.c").write_text(SOURCE)
    words = f"ulimit -f 0; {shlex.quote(sys.executable)} -m nodewise vec loop.c"
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("error: no temporary file can be written"), done.stderr
    assert "TMPDIR" in done.stderr and "raise `ulimit -f`" in done.stderr
