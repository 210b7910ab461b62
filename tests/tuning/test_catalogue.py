# SPDX-License-Identifier: BSD-3-Clause
"""The catalogue of knobs: its files, what is offered for a program on a machine, and the variables that come of it."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.records.experiment import TELLING
from nodewise.runner.loaded import Loaded, libraries_of
from nodewise.tuning.catalogue.choose import (
    Answers,
    allocator_knob,
    ask_libraries,
    follow,
    followers_for,
    knobs_for,
    libraries_loaded,
    marks_of,
)
from nodewise.tuning.catalogue.knob import Choice, Knob, Setter, apply, cleared
from nodewise.tuning.catalogue.read import OWN_FOLDER, load_catalogue, read_library
from nodewise.tuning.catalogue.weigh import weigh_knobs
from nodewise.tuning.catalogue.why import Facts, facts_of, why

CATALOGUE = load_catalogue()
KNOBS = {knob.name: knob for library in CATALOGUE for knob in library.knobs}
AVX512 = ("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd")


def machine(*flags, vendor="AuthenticAMD", text="synthetic:core:4 pu:2"):
    made = load_machine(text)
    processor = replace(made.processor, model="Imaginary 9000", vendor=vendor, flags=tuple(flags))
    return replace(made, processor=processor)


def loading(*names, **fields):
    return Loaded("/app", "dynamic", mapped=tuple(f"/lib/{n}" for n in names), **fields)


def offered(loaded, here, environment=None, answers=None):
    return {k.name: k for k in knobs_for(loaded, here, environment or {}, CATALOGUE, answers)}


def tried(knobs, **known):
    return [w.knob.name for w in weigh_knobs(knobs.values(), CATALOGUE, **known) if w.tried]


OPENBLAS = "libscipy_openblas64_-32a4b2a6.so"


# the files


def test_every_file_is_read_and_packaged():
    files = {p.name for p in resources.files("nodewise.tuning.catalogue").iterdir() if p.name.endswith(".toml")}
    assert files == {f"{library.name}.toml" for library in CATALOGUE}
    assert len(CATALOGUE) >= 17 and len(KNOBS) >= 40


@pytest.mark.parametrize("library", CATALOGUE, ids=lambda library: library.name)
def test_every_entry_is_complete(library):
    text = (OWN_FOLDER / f"{library.name}.toml").read_text()
    assert text.startswith("# SPDX-License-Identifier")
    for knob in library.knobs:
        assert knob.source.startswith("https://") and knob.meaning and knob.helps and knob.usual
        assert re.fullmatch(r"[A-Z][A-Z0-9_a-z]*", knob.setter.variable)
        assert knob.setter.variable.split("_")[0].isupper()
        assert not {"threads", "placement", "memory", "hugepages", "allocator"} & {knob.name}
        for choice in knob.choices:
            assert choice.text.isprintable() and choice.text == choice.text.strip()
            assert all(re.fullmatch(r"[a-z0-9_]+", flag) for flag in choice.needs)
        # numbers of threads are the axis's
        assert not re.search(r"NUM_THREADS|MAXPROCS", knob.setter.variable)
    for follower in library.followers:
        assert follower.follows == "threads" and follower.source.startswith("https://")
    assert all(name in {other.name for other in CATALOGUE} for name in library.unless)


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


GOOD = """
name = "mine"
title = "Mine"
about = "a library"
source = "https://example.org"
files = ["libmine*.so*"]
[[knob]]
name = "mine-speed"
variable = "MINE_SPEED"
values = ["fast", { is = "faster", set = "11", needs = ["avx2"] }]
usual = "slow"
meaning = "how fast"
helps = "it is faster"
exact = true
worth = 50
source = "https://example.org/speed"
"""


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('name = "mine"', "", "name is missing"),
        ('title = "Mine"', "title = 5", "title must be a text"),
        ('title = "Mine"', 'title = " "', "title is empty"),
        ('name = "mine"', 'name = "My Lib"', "name must be words"),
        ('files = ["libmine*.so*"]', "", "files is missing"),
        ('files = ["libmine*.so*"]', "files = [1]", "files must be a list of texts"),
        ('files = ["libmine*.so*"]', 'files = ["a"]\ncolour = "red"', "colour is no key"),
        ('variable = "MINE_SPEED"', 'variable = "MINE SPEED"', "knob mine-speed variable must be the name"),
        ('variable = "MINE_SPEED"', 'variable = "X"\nform = "odd"', "knob mine-speed form must be one of"),
        ('variable = "MINE_SPEED"', 'variable = "X"\nform = "tunable"', "knob mine-speed part is missing"),
        ('variable = "MINE_SPEED"', 'variable = "X"\nform = "options"', "knob mine-speed replaces is missing"),
        ('variable = "MINE_SPEED"', 'variable = "X"\nreplaces = "("', "knob mine-speed replaces is no regular"),
        ('"fast", {', '"fast", "fast", {', "knob mine-speed values must be different"),
        ('"fast", {', '"default", {', "none of them 'default'"),
        ('"fast", {', "3, {", "value 1 must be a table"),
        ('is = "faster"', 'was = "faster"', "knob mine-speed value 2 is is missing"),
        ('needs = ["avx2"]', 'requires = ["avx2"]', "value 2 requires is no key"),
        ("exact = true", "exact = false", "knob mine-speed risk is missing"),
        ("exact = true", "exact = 1", "knob mine-speed exact must be true or false"),
        ('set = "11"', 'spellings = ["11"]', "knob mine-speed ask is missing"),
        ("worth = 50", "worth = 101", "worth must be from 0 to 100"),
        ("worth = 50", "worth = true", "worth must be a whole number"),
        ("https://example.org/speed", "the manual", "knob mine-speed source must be an address"),
        ('usual = "slow"', "", "knob mine-speed usual is missing"),
        ("[[knob]]", "[knob]", "knob must be a list"),
        ("[[knob]]", "[[knob", "is no TOML"),
    ],
)
def test_a_broken_file_is_refused_by_file_and_key(tmp_path, old, new, named):
    assert old in GOOD
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    assert read_library(file).knobs[0].choices[1] == Choice("faster", "11", ("avx2",))
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_library(file)
    assert str(file) in caught.value.what and named in caught.value.what


def test_a_follower_must_say_where_the_number_stands(tmp_path):
    file = tmp_path / "mine.toml"
    text = (
        GOOD
        + '[[follower]]\nvariable = "N"\nfollows = "threads"\ntemplate = "n"\nmeaning = "m"\nsource = "https://x"\n'
    )
    file.write_text(text)
    with pytest.raises(InputError, match="follower N template must hold"):
        read_library(file)
    file.write_text(text.replace('"n"', '"n={n}"'))
    assert read_library(file).followers[0].template == "n={n}"


def test_a_folder_of_ones_own_adds_and_replaces(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    (tmp_path / "go.toml").write_text(GOOD.replace("mine", "go"))
    found = {library.name: library for library in load_catalogue([tmp_path])}
    assert found["mine"].knobs[0].name == "mine-speed"
    assert [k.name for k in found["go"].knobs] == ["go-speed"]
    with pytest.raises(InputError, match="cannot read the catalogue's folder"):
        load_catalogue([tmp_path / "gone"])
    (tmp_path / "third.toml").write_text(GOOD.replace('"mine"', '"third"'))
    from nodewise.tuning.catalogue import read

    read._read_folder.cache_clear()
    with pytest.raises(InputError, match="mine-speed is in mine and in third"):
        load_catalogue([tmp_path])


# what comes into the variables

WORDS = st.text(st.sampled_from("abcxyz_.019-+"), min_size=1, max_size=8)
ENTRIES = st.lists(st.tuples(st.sampled_from(["glibc.a", "glibc.b", "glibc.c", "x"]), WORDS), max_size=6)


@given(ENTRIES, WORDS)
def test_a_tunable_is_joined_to_the_others(entries, text):
    setter = Setter("GLIBC_TUNABLES", "tunable", "glibc.b")
    before = {"GLIBC_TUNABLES": ":".join(f"{k}={v}" for k, v in entries)} if entries else {}
    after = setter.write(text, before)
    assert setter.read(after) == text
    rest = [tuple(e.split("=", 1)) for e in after["GLIBC_TUNABLES"].split(":")]
    assert [e for e in rest if e[0] != "glibc.b"] == [e for e in entries if e[0] != "glibc.b"]
    assert sum(e[0] == "glibc.b" for e in rest) == 1
    assert setter.write(text, after) == after
    assert setter.erase(after) == setter.erase(before)
    assert setter.read({"GLIBC_TUNABLES": setter.erase(after)}) is None


@given(st.text(max_size=40), WORDS)
def test_whatever_the_user_has_there_what_is_written_is_read(held, text):
    for setter in (
        Setter("V"),
        Setter("V", "tunable", "a.b"),
        Setter("V", "conf", "a"),
        Setter("V", "debug", "a"),
        Setter("V", "options", replaces=r"-X[+-]?.*"),
    ):
        said = f"-X{text}" if setter.form == "options" else text
        after = setter.write(said, {"V": held})
        assert setter.read(after) == said
        assert setter.write(said, after) == after


@given(ENTRIES, WORDS, WORDS)
def test_two_tunables_do_not_disturb_each_other(entries, one, two):
    held = {"GLIBC_TUNABLES": ":".join(f"{k}={v}" for k, v in entries)}
    a, b = Setter("GLIBC_TUNABLES", "tunable", "glibc.a"), Setter("GLIBC_TUNABLES", "tunable", "glibc.b")
    after = b.write(two, a.write(one, held))
    assert a.read(after) == one and b.read(after) == two


def test_glibc_itself_takes_what_is_written():
    loader = next((p for p in Path("/lib64").glob("ld-linux*.so*")), None)
    if loader is None:
        pytest.skip("no loader of glibc's at the usual place")
    environment = dict(os.environ)
    for name, value in (("malloc-arenas", "4"), ("malloc-mmap-threshold", "64MiB"), ("malloc-thread-cache", "127")):
        environment |= apply(KNOBS[name], value, environment)
    done = subprocess.run([loader, "--list-tunables"], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this glibc does not list its tunables")
    held = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert held["glibc.malloc.arena_max"].split()[0] == "0x4"
    assert held["glibc.malloc.mmap_threshold"].split()[0] == hex(64 << 20)
    assert held["glibc.malloc.tcache_count"].split()[0] == hex(127)


@pytest.mark.parametrize(("knob", "value", "most"), [("malloc-thread-cache", "4096", 65535)])
def test_values_are_within_bounds(knob, value, most):
    assert int(KNOBS[knob].choice(value).text) <= most


def test_options_of_java_keep_the_users_others():
    knob = KNOBS["java-collector"]
    held = {"JAVA_TOOL_OPTIONS": "-Xmx2g -XX:+UseG1GC -Dx=y"}
    assert apply(knob, "parallel", held) == {"JAVA_TOOL_OPTIONS": "-Xmx2g -Dx=y -XX:+UseParallelGC"}
    assert apply(knob, "serial", {}) == {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"}


def test_values_of_jemalloc_are_joined():
    held = {"MALLOC_CONF": "thp:always,background_thread:false"}
    after = apply(KNOBS["jemalloc-background"], "true", held)
    assert after == {"MALLOC_CONF": "thp:always,background_thread:true"}


def test_the_default_sets_nothing_and_another_value_is_an_error():
    assert apply(KNOBS["wait"], "default", {}) == {}
    assert apply(KNOBS["wait"], "active", {}) == {"OMP_WAIT_POLICY": "active"}
    with pytest.raises(KeyError, match="wait has no value 'lazy'"):
        apply(KNOBS["wait"], "lazy", {})
    with pytest.raises(KeyError):
        apply(KNOBS["wait"], "unset", {})


# what is offered


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
    answers = ask_libraries(libraries_loaded(loaded, CATALOGUE), loaded, here, os.environ)
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


# reasons


def test_the_reason_tells_what_the_library_took_and_what_the_processor_has():
    here = machine("avx2", "fma", *AVX512)
    answers = Answers({"openblas-core-type": "Haswell"}, {}, {"openblas": "0.3.31"})
    knob = offered(loading(OPENBLAS), here, answers=answers)["openblas-core-type"]
    said = why(knob, "SkylakeX", facts_of(here, answers))
    assert "OpenBLAS 0.3.31 takes Haswell here by itself." in said
    assert (
        "This processor (Imaginary 9000) has avx512f, avx512dq, avx512bw, avx512vl and avx512cd, which SkylakeX uses"
        in said
    )
    assert "and Haswell does not" in said and "results change in the last bits" in said
    assert why(knob, "default", facts_of(here, answers)) == ""


def test_the_reason_names_the_users_own_variable():
    here = machine("avx2", "fma", *AVX512)
    answers = Answers({"openblas-core-type": "SkylakeX"}, {}, {})
    knob = offered(loading(OPENBLAS), here, {"OPENBLAS_CORETYPE": "Haswell"}, answers)["openblas-core-type"]
    said = why(knob, "SkylakeX", facts_of(here, answers))
    assert said.startswith(
        "OPENBLAS_CORETYPE is set to Haswell in your environment. Left to itself, OpenBLAS takes SkylakeX"
    )


@pytest.mark.parametrize("knob", KNOBS.values(), ids=KNOBS)
def test_every_value_has_a_reason_in_sentences(knob: Knob):
    for choice in knob.choices:
        said = why(knob, choice.name, Facts())
        assert said.endswith(".") and ".." not in said and "  " not in said
        assert knob.helps_by(choice.name)[1:] in said and knob.risk_of(choice.name) in said


def test_a_value_that_differs_in_kind_has_its_own_reason_and_risk() -> None:
    knobs = {k.name: k for library in CATALOGUE for k in library.knobs}
    cache = knobs["malloc-thread-cache"]
    assert "takes a lock" in why(cache, "0", Facts()) and "more memory" not in why(cache, "0", Facts())
    assert "may hold more memory" in why(cache, "127", Facts()) and "takes a lock" not in why(cache, "127", Facts())
    assert "busy waiting hurts" not in why(knobs["wait"], "passive", Facts())


def test_the_number_of_an_interface_is_no_version(tmp_path: Path) -> None:
    for file, told in (("libgomp.so.1.0.0", "(libgomp.so.1.0.0)"), ("libgomp-r3.0.2.so", "3.0.2")):
        loaded = Loaded(mapped=(f"/lib/{file}",))
        answers = ask_libraries(libraries_loaded(loaded, CATALOGUE), loaded, load_machine(None), {})
        assert answers.versions["openmp"] == told


# all of it, for real


def test_numpys_blas_is_found_and_asked():
    here = load_machine(None)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    loaded = libraries_of(
        [sys.executable, "-c", "import numpy, time; time.sleep(0.2)"], environment, marks_of(CATALOGUE)
    )
    found = libraries_loaded(loaded, CATALOGUE)
    if "openblas" not in {library.name for library in found}:
        pytest.skip("NumPy has another BLAS here")
    answers = ask_libraries(found, loaded, here, environment)
    assert answers.versions["openblas"].startswith("0.")
    assert answers.chosen["openblas-core-type"]
    forced = {**environment, "OPENBLAS_CORETYPE": "Nehalem"}
    # what the user says is not what it takes by itself
    assert ask_libraries(found, loaded, here, forced).chosen == answers.chosen
    knobs = {k.name: k for k in knobs_for(loaded, here, forced, CATALOGUE, answers)}
    if "openblas-core-type" in knobs:
        knob = knobs["openblas-core-type"]
        assert knob.default == "Nehalem" and answers.chosen[knob.name] == knob.own


def test_each_variable_of_a_knob_is_kept_with_an_experiment() -> None:
    variables = {k.setter.variable for library in load_catalogue() for k in library.knobs if k.setter.variable}
    assert len(variables) > 20
    assert {v for v in variables if not v.startswith(TELLING)} == set()
