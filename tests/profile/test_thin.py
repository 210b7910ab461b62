# SPDX-License-Identifier: BSD-3-Clause
"""Call chains of programs with little code of their own: the C runtime's is not theirs, and their libraries' is."""

import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.profile.target import choose_chains

LIBRARY = """
static volatile double sink;
#define WORK(name) void name(long n) { double x = 1; for (long i = 0; i < n; ++i) x = x * 1.0000001 + i; sink = x; }
WORK(a) WORK(b) WORK(c) WORK(d) WORK(e) WORK(f) WORK(g) WORK(h) WORK(i) WORK(j) WORK(k) WORK(l)
"""
MAIN = "void a(long); int main(void) { a(1000); return 0; }"
BARE = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")


@pytest.mark.some(6)
@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
@pytest.mark.parametrize("found", ["rpath", "variable", "path"])
@pytest.mark.parametrize(
    ("main", "library", "kind"), [((), (), "dwarf"), (BARE, (), "dwarf"), ((), BARE, "fp"), (BARE, BARE, "fp")]
)
def test_of_a_thin_program_the_libraries_decide(
    main: tuple[str, ...], library: tuple[str, ...], kind: str, found: str, tmp_path: Path
) -> None:
    (tmp_path / "work.c").write_text(LIBRARY)
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "lib").mkdir()
    named = () if found == "path" else ("-Wl,-soname,libwork.so",)
    link = ("-Wl,-rpath,$ORIGIN/lib",) if found == "rpath" else ()
    made = str(tmp_path / "lib/libwork.so")
    for words in (
        ("-shared", "-fPIC", *library, *named, "work.c", "-o", made),
        (*main, "main.c", made, *link, "-o", "app"),
    ):
        subprocess.run(["gcc", "-O2", *words], cwd=tmp_path, check=True)
    environment = {"LD_LIBRARY_PATH": str(tmp_path / "lib")} if found == "variable" else {}
    assert choose_chains(tmp_path / "app", environment).kind == kind


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
@pytest.mark.parametrize(("flags", "kind"), [((), "dwarf"), (("-s",), "dwarf"), (BARE, "fp")])
def test_the_c_runtimes_code_is_not_the_programs(flags: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    """A main of some bytes beside start-up code that has no tables."""
    (tmp_path / "app.c").write_text("#include <unistd.h>\nint main(void) { return (int)write(1, 0, 0); }\n")
    subprocess.run(["gcc", "-O2", *flags, "app.c", "-o", "app"], cwd=tmp_path, check=True)
    assert choose_chains(tmp_path / "app", {}).kind == kind
