# SPDX-License-Identifier: BSD-3-Clause
"""Which knobs are offered for a program on a machine."""

import os
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from nodewise.machine.sources import load_machine
from nodewise.runner.loaded import Loaded
from nodewise.tuning.catalogue.choose import (
    Answers,
    allocator_knob,
    follow,
    followers_for,
    knobs_for,
    libraries_loaded,
    marks_of,
    query_libraries,
)
from nodewise.tuning.catalogue.knob import apply, cleared
from tests.catalogue import AVX512, CATALOGUE, OPENBLAS, loading, machine, offered, tried
from tests.loaded import libraries_of


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("libopenblas.so.0", "openblas"),
        ("libopenblasp-r0.3.21.so", "openblas"),
        ("libopenblas64_p-r0-0cf96a72.3.23.dev.so", "openblas"),
        (OPENBLAS, "openblas"),
        ("libmkl_rt.so.2", "mkl"),
        ("libmkl_core.so.1", "mkl"),
        ("libblis.so.4", "blis"),
        ("libblis-mt.so.5", "blis"),
        ("libgomp.so.1.0.0", "gnu-openmp"),
        ("libgomp-a34b3233.so.1.0.0", "gnu-openmp"),
        ("libiomp5.so", "intel-llvm-openmp"),
        ("libomp.so.5", "intel-llvm-openmp"),
        ("libc.so.6", "glibc-malloc"),
        ("libjemalloc.so.2", "jemalloc"),
        ("libtcmalloc_minimal.so.4.5.9", "tcmalloc"),
        ("libmimalloc.so.2.1", "mimalloc"),
        ("libopen-pal.so.40.30.2", "openmpi"),
        ("libopen-pal.so.40.30.2", "openmpi-4"),
        ("libopen-pal.so.80.0.5", "openmpi-5"),
        ("libmpich.so.12.2.1", "mpich"),
        ("libucp.so.0.0.0", "ucx"),
        ("libfabric.so.1.20.0", "libfabric"),
        ("_multiarray_umath.cpython-311-x86_64-linux-gnu.so", "numpy"),
        ("libtorch_cpu.so", "pytorch"),
        ("libdnnl.so.3", "onednn"),
        ("libjvm.so", "java"),
    ],
)
def test_libraries_are_known_by_the_names_that_they_have(file, name):
    assert name in {library.name for library in libraries_loaded(loading(file), CATALOGUE)}


def test_other_files_are_not_taken_for_them():
    for file in (
        "libm.so.6",
        "libopenblas.txt",
        "libgompers.so.1",
        "libcurl.so.4",
        "libblistering.txt",
        "libmpi.so.40",
    ):
        assert not any(fnmatchcase(file, pattern) for library in CATALOGUE for pattern in library.files), file


def test_values_are_those_that_the_processor_can_run():
    def values(*flags):
        found = offered(loading(OPENBLAS), machine(*flags)).get("openblas-core-type")
        return () if found is None else found.values

    assert values() == ()
    assert values("avx2", "fma") == ("default", "Haswell", "Zen")
    assert "SkylakeX" not in values("avx2", "fma", *AVX512[:-1])
    assert "SkylakeX" in values("avx2", "fma", *AVX512) and "Cooperlake" not in values("avx2", "fma", *AVX512)
    assert values("asimd", "atomics") == ("default", "NEOVERSEN1")


def test_what_the_library_takes_by_itself_or_lacks_is_left_out():
    here = machine("avx2", "fma", "avx512_bf16", *AVX512)
    answers = Answers(
        {"openblas-core-type": "Haswell"}, {"openblas-core-type": {"Haswell": "Haswell", "SkylakeX": "SkylakeX"}}
    )
    knob = offered(loading(OPENBLAS), here, answers=answers)["openblas-core-type"]
    assert knob.values == ("default", "SkylakeX")
    answers = Answers({"openblas-core-type": "SkylakeX"}, {"openblas-core-type": {"SkylakeX": "SkylakeX"}})
    assert "openblas-core-type" not in offered(loading(OPENBLAS), here, answers=answers)


def test_a_value_with_several_spellings_takes_the_one_that_the_library_takes():
    here = machine("avx2", "fma", *AVX512)
    assert "blis-architecture" not in offered(loading("libblis.so.4"), here)
    answers = Answers({"blis-architecture": "generic"}, {"blis-architecture": {"skx": "0", "haswell": "3"}})
    knob = offered(loading("libblis.so.4"), here, answers=answers)["blis-architecture"]
    assert knob.values == ("default", "skx", "haswell")
    assert apply(knob, "haswell", {}) == {"BLIS_ARCH_TYPE": "3"}


SPELLER = """
#include <stdlib.h>
#include <string.h>
static int begun;
void bli_init(void) { begun = 1; }
int bli_arch_query_id(void) { if (!begun) abort(); const char *said = getenv("BLIS_ARCH_TYPE"); return said ? atoi(said) : 4; }
const char *bli_arch_string(int id) {
    static const char *names[] = {"skx", "knl", "knc", "haswell", "generic"};
    return id < 0 || id > 4 ? "error" : names[id];
}
const char *bli_info_get_version_str(void) { return "0.9.0"; }
"""


def test_a_library_that_takes_numbers_is_asked_which(tmp_path):
    (tmp_path / "b.c").write_text(SPELLER)
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "b.c", "-o", tmp_path / "libblis.so.4"], check=True)
    loaded = Loaded("/app", "dynamic", mapped=(str(tmp_path / "libblis.so.4"),))
    here = machine("avx2", "fma", *AVX512)
    answers = query_libraries(libraries_loaded(loaded, CATALOGUE), loaded, here, os.environ)
    assert answers.chosen == {"blis-architecture": "generic"} and answers.versions == {"blis": "0.9.0"}
    assert answers.taken == {"blis-architecture": {"skx": "skx", "haswell": "3"}}


def test_what_the_user_has_set_is_the_default_and_can_be_taken_back():
    here = machine("avx2", "fma", *AVX512)
    held = {"OPENBLAS_CORETYPE": "HASWELL", "GLIBC_TUNABLES": "glibc.malloc.arena_max=3:glibc.rtld.nns=2"}
    found = offered(loading(OPENBLAS, "libc.so.6"), here, held)
    knob = found["openblas-core-type"]
    assert knob.default == "Haswell" and knob.set_by_user and knob.values == ("Haswell", "unset", "SkylakeX", "Zen")
    assert apply(knob, "Haswell", held) == {} and cleared(knob, "Haswell", held) == ()
    assert apply(knob, "unset", held) == {} and cleared(knob, "unset", held) == ("OPENBLAS_CORETYPE",)
    arenas = found["malloc-arenas"]
    assert arenas.values == ("3", "unset", "1", "4")
    assert (
        apply(arenas, "unset", held) == {"GLIBC_TUNABLES": "glibc.rtld.nns=2"} and cleared(arenas, "unset", held) == ()
    )
    # where the library's own choice is known and can be said, taking it back is no other value
    answers = Answers({"openblas-core-type": "SkylakeX"})
    assert offered(loading(OPENBLAS), here, held, answers)["openblas-core-type"].values == (
        "Haswell",
        "SkylakeX",
        "Zen",
    )


def test_a_knob_that_the_user_has_set_in_another_way_is_left_alone():
    loaded = loading("libc.so.6", "libgomp.so.1.0.0")
    assert "gomp-spin" in offered(loaded, machine())
    assert "gomp-spin" not in offered(loaded, machine(), {"OMP_WAIT_POLICY": "passive"})
    assert "malloc-arenas" not in offered(loaded, machine(), {"MALLOC_ARENA_MAX": "2"})


def test_mkl_offers_instructions_on_its_makers_processors_only():
    loaded = loading("libmkl_rt.so.2")
    assert "mkl-instructions" in offered(loaded, machine("avx2", "fma", vendor="GenuineIntel"))
    assert "mkl-instructions" not in offered(loaded, machine("avx2", "fma"))
    assert "mkl-dynamic" in offered(loaded, machine("avx2", "fma"))


def test_what_takes_several_threads_is_not_offered_to_one_processor():
    loaded = loading("libgomp.so.1.0.0", "libjvm.so")
    assert {"wait", "schedule", "gomp-spin"} <= offered(loaded, machine()).keys()
    alone = offered(loaded, machine(text="synthetic:core:1 pu:1"))
    assert alone and not {"wait", "schedule", "gomp-spin"} & alone.keys()


def test_schedules_are_offered_unless_the_program_is_known_to_have_no_such_loop():
    has = loading("libgomp.so.1.0.0", openmp=("GOMP_parallel", "GOMP_loop_maybe_nonmonotonic_runtime_start"))
    assert "schedule" in offered(has, machine())
    assert "schedule" not in offered(replace(has, openmp=("GOMP_parallel", "GOMP_loop_end")), machine())
    unknown = offered(replace(has, openmp=()), machine())
    assert "schedule" in unknown and "schedule" not in tried(unknown)
    assert "schedule" in tried(offered(has, machine()))


def test_static_programs_are_known_by_their_marks():
    static = Loaded("/app", "static", marks=("GOMP_parallel", "GOMP_SPINCOUNT", "GLIBC_TUNABLES"))
    assert {"wait", "gomp-spin", "malloc-arenas"} <= offered(static, machine()).keys()
    # the same texts in a program with libraries say nothing
    assert not offered(replace(static, linkage="dynamic"), machine())
    go = Loaded("/app", "dynamic", marks=(" Go buildinf:",))
    assert set(offered(go, machine())) == {"go-collector"}
    assert " Go buildinf:" in marks_of(CATALOGUE)


def test_a_preloaded_allocator_takes_the_place_of_glibcs():
    found = offered(loading("libc.so.6", "libjemalloc.so.2"), machine())
    assert "jemalloc-decay" in found and not any(name.startswith("malloc-") for name in found)


def test_nothing_that_the_loader_drops_is_offered_to_guarded_programs():
    found = offered(loading("libc.so.6", "libgomp.so.1.0.0", guarded=True), machine())
    assert "wait" in found and "malloc-arenas" not in found
    assert allocator_knob(loading("libc.so.6", guarded=True), {}) is None


def test_huge_pages_of_a_library_are_offered_where_the_system_heeds_them():
    loaded = loading("libjvm.so")
    for pages, there in (("madvise", True), (None, True), ("always", False), ("never", False)):
        here = replace(machine(), transparent_huge_pages=pages)
        assert ("java-huge-pages" in offered(loaded, here)) is there


# variables that follow the threads


def test_libraries_with_threads_of_their_own_follow_the_axis():
    followers = followers_for(loading(OPENBLAS, "libjvm.so"), CATALOGUE)
    assert follow(followers, "threads", 3, {}) == {"JAVA_TOOL_OPTIONS": "-XX:ActiveProcessorCount=3"}
    held = {"OPENBLAS_NUM_THREADS": "1", "JAVA_TOOL_OPTIONS": "-Xmx1g -XX:ActiveProcessorCount=9"}
    assert follow(followers, "threads", 3, held) == {
        "OPENBLAS_NUM_THREADS": "3",
        "JAVA_TOOL_OPTIONS": "-Xmx1g -XX:ActiveProcessorCount=3",
    }
    assert follow(followers, "ranks", 3, held) == {}


# allocators


@pytest.fixture
def allocators(tmp_path):
    for name in ("libjemalloc.so.2", "libmimalloc.so.2"):
        (tmp_path / "empty.c").write_text("int allocator_of_the_test;")
        subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "empty.c", "-o", tmp_path / name], check=True)
    return tmp_path


def test_allocators_of_the_machine_are_an_axis(allocators):
    loaded = loading("libc.so.6")
    knob = allocator_knob(loaded, {}, CATALOGUE, [allocators])
    assert knob.name == "allocator" and knob.values == ("default", "jemalloc", "mimalloc")
    held = {"LD_PRELOAD": "/mine/libpin.so /old/libtcmalloc.so.4"}
    assert apply(knob, "jemalloc", held) == {"LD_PRELOAD": f"{allocators}/libjemalloc.so.2:/mine/libpin.so"}
    assert apply(knob, "mimalloc", {}) == {"LD_PRELOAD": f"{allocators}/libmimalloc.so.2"}
    # each is documented by its own page
    assert all(name in knob.source_of(name) for name in ("jemalloc", "mimalloc"))
    assert allocator_knob(loaded, {}, CATALOGUE, [allocators / "none"]) is None
    assert allocator_knob(Loaded("/app", "static"), {}, CATALOGUE, [allocators]) is None


def test_the_users_own_allocator_is_the_default(allocators):
    held = {"LD_PRELOAD": f"{allocators}/libjemalloc.so.2"}
    knob = allocator_knob(loading("libc.so.6"), held, CATALOGUE, [allocators])
    assert knob.default == "jemalloc" and knob.values == ("jemalloc", "unset", "mimalloc")
    assert cleared(knob, "unset", held) == ("LD_PRELOAD",)


def test_a_preloaded_library_is_really_loaded(allocators):
    knob = allocator_knob(loading("libc.so.6"), {}, CATALOGUE, [allocators])
    environment = {**os.environ, **apply(knob, "jemalloc", os.environ)}
    loaded = libraries_of([sys.executable, "-c", "import time; time.sleep(0.1)"], environment)
    assert "libjemalloc.so.2" in loaded.names


def test_the_number_of_an_interface_is_no_version(tmp_path: Path) -> None:
    for file, version in (("libgomp.so.1.0.0", "(libgomp.so.1.0.0)"), ("libgomp-r3.0.2.so", "3.0.2")):
        loaded = Loaded(mapped=(f"/lib/{file}",))
        answers = query_libraries(libraries_loaded(loaded, CATALOGUE), loaded, load_machine(None), {})
        assert answers.versions["openmp"] == version


def test_numpys_blas_is_found_and_asked():
    here = load_machine(None)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    loaded = libraries_of(
        [sys.executable, "-c", "import numpy, time; time.sleep(0.2)"], environment, marks_of(CATALOGUE)
    )
    found = libraries_loaded(loaded, CATALOGUE)
    if "openblas" not in {library.name for library in found}:
        pytest.skip("NumPy has another BLAS here")
    answers = query_libraries(found, loaded, here, environment)
    assert answers.versions["openblas"].startswith("0.")
    assert answers.chosen["openblas-core-type"]
    forced = {**environment, "OPENBLAS_CORETYPE": "Nehalem"}
    # what the user says is not what it takes by itself
    assert query_libraries(found, loaded, here, forced).chosen == answers.chosen
    knobs = {k.name: k for k in knobs_for(loaded, here, forced, CATALOGUE, answers)}
    if "openblas-core-type" in knobs:
        knob = knobs["openblas-core-type"]
        assert knob.default == "Nehalem" and answers.chosen[knob.name] == knob.own


@pytest.mark.parametrize(
    ("memory", "limit", "there"), [(64, None, True), (64, 2, False), (2, 64, False), (64, 64, True), (0, 64, True)]
)
def test_a_limit_of_memory_bounds_what_a_program_may_grow_to(memory: int, limit: int | None, there: bool) -> None:
    """Of one that takes a gigabyte; sizes in gigabytes, the limit as that of a group of processes."""
    here = machine()
    limits = replace(here.limits, memory_bytes=None if limit is None else limit << 30)
    here = replace(here, memory_bytes=memory << 30, limits=limits)
    go = Loaded("/app", "static", marks=(" Go buildinf:",))
    knobs = {k.name: k for k in knobs_for(go, here, {}, CATALOGUE, usage={"peak_bytes": float(1 << 30)})}
    assert ("400" in knobs["go-collector"].values) is there
