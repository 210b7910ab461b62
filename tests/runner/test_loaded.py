# SPDX-License-Identifier: BSD-3-Clause
"""What programs load: watched while real ones run, and read from their files."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import ProgramError
from nodewise.runner.allocators import find_preloads
from nodewise.runner.library_query import query_library
from nodewise.runner.loaded import (
    Loaded,
    MapsWatcher,
    loaded_from_json,
    mapped_files,
    needs_of,
    openmp_imports,
    run_watched,
    version_of,
)
from nodewise.runner.local import LocalLauncher
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.loaded import libraries_of

LIBRARY = """
#include <stdlib.h>
const char *thing_choice(void) { const char *said = getenv("THING_KIND"); return said ? said : "by itself"; }
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
const char *thing_choice(void);
int main(int argc, char **argv) {
    const char *mark = "THING_IS_INSIDE";
    if (argc > 1 && !dlopen(argv[1], RTLD_NOW)) return 1;
    puts(thing_choice());
    puts(mark);
    usleep(argc > 1 ? 150000 : 0);
    return 0;
}
"""


def compile_c(target: Path, source: str, *flags: str) -> Path:
    text = target.with_suffix(".c")
    text.write_text(source)
    subprocess.run(["cc", "-O1", str(text), "-o", str(target), *flags], check=True)
    return target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("loaded")
    compile_c(made / "libthing.so.3.1.4", LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libthing.so.3")
    compile_c(made / "libextra-r2.5.so", "int extra;", "-shared", "-fPIC")
    (made / "libthing.so.3").symlink_to("libthing.so.3.1.4")
    compile_c(made / "app", PROGRAM, str(made / "libthing.so.3.1.4"), f"-Wl,-rpath,{made}", "-ldl")
    return made


def test_needed_and_opened_libraries_are_seen(folder: Path) -> None:
    loaded = libraries_of(
        [str(folder / "app"), str(folder / "libextra-r2.5.so")], marks=("THING_IS_INSIDE", "NOT_THERE")
    )
    assert loaded.watched and loaded.processes == 1 and loaded.looks > 1
    assert "libthing.so.3" in loaded.needed
    assert {str(folder / "app"), str(folder / "libthing.so.3.1.4"), str(folder / "libextra-r2.5.so")} <= set(
        loaded.mapped
    )
    assert loaded.marks == ("THING_IS_INSIDE",)
    assert loaded.path_of("libextra-r2.5.so") == str(folder / "libextra-r2.5.so")
    assert loaded.path_of("libnone.so") is None
    # the runner that starts the program is not a part of it
    assert not any("nodewise-runner" in path for path in loaded.mapped)


def test_children_are_seen_too(folder: Path) -> None:
    inner = f"{folder}/app {folder}/libextra-r2.5.so & wait"
    loaded = libraries_of(["sh", "-c", inner])
    assert "libextra-r2.5.so" in loaded.names and loaded.processes == 2
    assert loaded.needed and "libextra-r2.5.so" not in loaded.needed


def test_a_short_program_is_known_by_its_needs(folder: Path) -> None:
    loaded = needs_of([str(folder / "app")], os.environ)
    assert not loaded.watched and "libthing.so.3" in loaded.names
    assert "libthing.so.3" in libraries_of([str(folder / "app")]).names


def test_a_python_program_shows_its_blas() -> None:
    loaded = libraries_of([sys.executable, "-c", "import numpy, time; time.sleep(0.2)"])
    assert any("openblas" in n or "mkl" in n or "blas" in n or "accelerate" in n for n in loaded.names)
    assert any(n.startswith("_multiarray_umath") for n in loaded.names)


def test_a_static_program_has_marks_alone(tmp_path: Path) -> None:
    source = '#include <stdio.h>\nint main(void) { puts("THING_IS_INSIDE"); return 0; }\n'
    app = compile_c(tmp_path / "app", source, "-static")
    loaded = libraries_of([str(app)], marks=("THING_IS_INSIDE", "GLIBC_TUNABLES"))
    assert loaded.linkage == "static" and loaded.needed == ()
    assert "THING_IS_INSIDE" in loaded.marks


def test_what_is_taken_from_an_openmp_runtime_is_reported(tmp_path: Path) -> None:
    source = "int main(void) { int s = 0;\n#pragma omp parallel for schedule(runtime) reduction(+:s)\n"
    source += "for (int i = 0; i < 9; i++) s += i;\nreturn s != 36; }\n"
    app = compile_c(tmp_path / "app", source, "-fopenmp")
    assert any("runtime" in name for name in needs_of([str(app)], os.environ).openmp)
    library = compile_c(tmp_path / "libloops.so", source.replace("main", "loops"), "-fopenmp", "-shared", "-fPIC")
    code = f"import ctypes, time; ctypes.CDLL({str(library)!r}); time.sleep(0.1)"
    assert any("runtime" in name for name in libraries_of([sys.executable, "-c", code]).openmp)
    (tmp_path / "empty").write_bytes(b"")
    assert openmp_imports([str(tmp_path / "empty"), str(tmp_path / "gone"), __file__]) == ()


def test_scripts_and_missing_programs_report_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nsleep 0.1\n")
    script.chmod(0o755)
    assert needs_of([str(script)], os.environ).needed == ()
    assert libraries_of([str(script)]).watched
    assert needs_of(["nonexistent-program"], os.environ) == Loaded()
    assert needs_of([], os.environ) == Loaded()
    with pytest.raises(ProgramError, match="no such program"):
        libraries_of(["nonexistent-program"])


def test_it_can_be_stored(folder: Path) -> None:
    loaded = libraries_of([str(folder / "app"), str(folder / "libextra-r2.5.so")], marks=("THING_IS_INSIDE",))
    stored = json.loads(json.dumps(loaded.to_json()))
    assert loaded_from_json(stored) == loaded
    assert stored["versions"]["libthing.so.3.1.4"] == "3.1.4" and stored["versions"]["libextra-r2.5.so"] == "2.5"


def test_the_sample_is_that_of_the_run_and_another_launcher_is_not_watched(folder: Path) -> None:
    with LocalLauncher() as launcher:
        setting = Setting(command=("sh", "-c", 'sleep 0.05; echo \'{"nodewise": 1, "seconds": 7}\''))
        sample, loaded = run_watched(launcher, setting)
        assert sample.seconds == 7 and loaded.watched
        # the same runner goes on
        assert launcher.run(Setting(command=("true",))).ok

    class Elsewhere:
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            return sample

        def close(self) -> None: ...

    seen, loaded = run_watched(Elsewhere(), Setting(command=(str(folder / "app"),)))
    assert seen is sample and not loaded.watched and "libthing.so.3" in loaded.needed


def test_watching_costs_little() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '1'])"])
    begin = time.monotonic()
    with MapsWatcher(os.getpid()) as watcher:
        child.wait()
    assert watcher.cost_s < 0.05 + 0.05 * (time.monotonic() - begin)
    assert any("sleep" in Path(p).name or "coreutils" in Path(p).name for p in watcher.mapped)


MAPS = """\
55d0c8a00000-55d0c8a02000 r--p 00000000 fe:00 1234                       /usr/bin/app
55d0c8a02000-55d0c8a06000 r-xp 00002000 fe:00 1234                       /usr/bin/app
7f00a0000000-7f00a0100000 r-xp 00000000 fe:00 77                         /opt/my libs/libx.so.1
7f00b0000000-7f00b0100000 r--p 00000000 fe:00 78                         /data/libopenblas.bin
7f00c0000000-7f00c0100000 r-xp 00000000 fe:00 79                         /tmp/liby.so (deleted)
7f00d0000000-7f00d0100000 rwxp 00000000 00:00 0
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
7ffd00100000-7ffd00102000 r-xp 00000000 00:00 0                          [vdso]
"""


def test_recorded_maps() -> None:
    assert mapped_files(MAPS) == ["/usr/bin/app", "/opt/my libs/libx.so.1", "/tmp/liby.so"]
    assert mapped_files("") == []
    assert mapped_files(Path("/proc/self/maps").read_text())


@given(st.text(max_size=200))
def test_maps_take_anything(text: str) -> None:
    assert all(path.startswith("/") for path in mapped_files(text))


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("libgomp.so.1.0.0", "1.0.0"),
        ("libopenblasp-r0.3.21.so", "0.3.21"),
        ("libopenblas64_p-r0-0cf96a72.3.23.dev.so", ""),
        ("libscipy_openblas64_-32a4b2a6.so", ""),
        ("libmkl_rt.so.2", ""),
        ("libc-2.31.so", "2.31"),
        ("libc.so.6", ""),
        ("libjvm.so", ""),
    ],
)
def test_versions_of_file_names(name: str, version: str) -> None:
    assert version_of(name) == version


def test_a_library_answers_for_itself(folder: Path) -> None:
    path = str(folder / "libthing.so.3.1.4")
    questions = {"kind": ("none_such", "thing_choice"), "nothing": ("none_such",)}
    assert query_library(path, questions, os.environ) == {"kind": "by itself"}
    assert query_library(path, questions, {**os.environ, "THING_KIND": "other"}) == {"kind": "other"}
    assert query_library(path, {}, os.environ) == {}
    assert query_library("/proc/gone.so", questions, os.environ) == {}


def test_libraries_to_preload_are_found_where_they_fit(tmp_path: Path) -> None:
    compile_c(tmp_path / "libmine.so.2", "int mine;", "-shared", "-fPIC")
    (tmp_path / "libbroken.so").write_text("no library")
    names = {"mine": ["libmine.so.3", "libmine.so.2"], "broken": ["libbroken.so"], "gone": ["libgone.so"]}
    assert find_preloads(names, {}, [tmp_path]) == {"mine": tmp_path / "libmine.so.2"}
    assert find_preloads(names, {"LD_LIBRARY_PATH": str(tmp_path)}) == {"mine": tmp_path / "libmine.so.2"}
    if shutil.which("ldconfig"):
        assert find_preloads({"c": ["libc.so.6"]}, {})["c"].is_file()
