# SPDX-License-Identifier: BSD-3-Clause
"""What of a point is said to a program: only what it reads, and no more than it takes."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.sources import restrict
from nodewise.runner.loaded import Loaded
from nodewise.search.space import Point
from nodewise.tuning import holding
from nodewise.tuning.catalogue.choose import allocator_knob, followers_for, knobs_for
from nodewise.tuning.catalogue.read import load_catalogue
from nodewise.tuning.options import Options
from nodewise.tuning.ranks import read_wrapper
from nodewise.tuning.wanted import Wanted
from tests.surfaces import machine

HERE = replace(machine(4, 2, live=True), transparent_huge_pages="madvise")
THREADED = Path("/bin/true")


@pytest.fixture(autouse=True)
def all_of_it(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that may use all eight processors of the machine."""
    monkeypatch.setattr(holding, "inherited_processors", lambda: frozenset(range(8)))
    return iter(())


def _seen(*libraries: str, program: str = "/bin/true", **rest: Any) -> Loaded:
    """A run of a program that was watched, and mapped these besides itself."""
    return Loaded(program, "dynamic", mapped=(program, *(f"/usr/lib/{name}" for name in libraries)), looks=9, **rest)


def _options(
    loaded: Loaded | None,
    environment: dict[str, str] | None = None,
    command: str = "/bin/true",
    names: str = "threads,placement",
    **rest: Any,
) -> Options:
    followers = followers_for(loaded, load_catalogue()) if loaded is not None else ()
    return Options(
        HERE, command.split(), names.split(","), environment or {}, Wanted(), followers=followers, loaded=loaded, **rest
    )


def _setting(options: Options, **values: Any) -> Any:
    return options.setting(options.space.default.having(**values))


def test_an_openmp_program_gets_its_runtimes_variables_and_no_preload() -> None:
    setting = _setting(_options(_seen("libgomp.so.1")), threads=2, placement="balanced")
    assert setting.env == {"OMP_NUM_THREADS": "2", "OMP_PLACES": "{0},{2}", "OMP_PROC_BIND": "close"}
    assert setting.mask == (0, 2)
    whole = _setting(_options(_seen("libgomp.so.1")), threads=8, placement="compact")
    # a mask of all processors says nothing
    assert (whole.mask, whole.env["OMP_NUM_THREADS"]) == (None, "8")


def test_a_go_program_is_held_by_a_mask_and_counts_for_itself() -> None:
    options = _options(Loaded("/bin/true", "static", mapped=("/bin/true",), marks=(" Go buildinf:",), looks=9))
    assert options.binding.name == "mask"
    held = _setting(options, threads=4, placement="balanced")
    assert (held.env, held.unset, held.mask) == ({}, (), (0, 2, 4, 6))
    free = _setting(options, threads=3)
    assert (free.env, free.mask) == ({"GOMAXPROCS": "3"}, None)
    setting = _setting(_options(options._loaded, {"GOMAXPROCS": "1"}), threads=4, placement="balanced")
    assert setting.env == {"GOMAXPROCS": "4"}


def test_java_gets_no_openmp_and_its_own_count_only_where_the_mask_says_another() -> None:
    options = _options(_seen("libjvm.so"))
    assert _setting(options, threads=2, placement="compact").env == {}
    assert _setting(options, threads=2).env == {"JAVA_TOOL_OPTIONS": "-XX:ActiveProcessorCount=2"}


def test_a_library_with_threads_of_its_own_is_set_by_its_own_variable() -> None:
    """Python with OpenBLAS's own threads: nothing reads OMP_NUM_THREADS as an OpenMP runtime would."""
    options = _options(_seen("libopenblas64_p-r0.3.23.so"))
    assert _setting(options, threads=2).env == {"OPENBLAS_NUM_THREADS": "2"}
    assert _setting(options, threads=2, placement="compact").env == {}
    both = _options(_seen("libopenblas64_p-r0.3.23.so", "libgomp.so.1"))
    assert _setting(both, threads=2).env == {"OMP_NUM_THREADS": "2"}


def test_a_program_that_was_not_seen_may_have_openmp() -> None:
    """A launcher's program may run where nobody could look."""
    assert _options(None).binding.name == "openmp"
    assert _options(Loaded("/bin/true", "dynamic", needed=("libc.so.6",))).binding.name == "openmp"
    assert _options(_seen("libc.so.6", program="/elsewhere/app")).binding.name == "openmp"


def test_what_equals_the_environment_is_not_said_again() -> None:
    environment = {"OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "close", "KMP_AFFINITY": "none"}
    setting = _setting(_options(_seen("libgomp.so.1"), environment), threads=2, placement="compact")
    assert setting.env == {"OMP_PLACES": "{0},{1}"}
    assert setting.unset == ("KMP_AFFINITY",)
    assert setting.environment(environment)["OMP_NUM_THREADS"] == "2"


def test_the_default_point_starts_what_the_user_starts() -> None:
    for loaded in (_seen("libgomp.so.1"), _seen("libc.so.6"), _seen("libjvm.so"), None):
        options = _options(loaded)
        default, baseline = options.setting(options.space.default), options.baseline()
        assert (
            (default.env, default.mask, default.unset)
            == (baseline.env, baseline.mask, baseline.unset)
            == ({}, None, ())
        )


def test_points_that_start_alike_are_one_setting() -> None:
    space = _options(_seen("libc.so.6")).space
    default = space.default
    # one that counts nothing is the same with any number of threads, unless it is held
    assert space.identity(default) == space.identity(default.having(threads=3))
    assert space.identity(default) == space.identity(default.having(threads=8, placement="scatter"))
    held = default.having(threads=4, placement="balanced")
    assert space.identity(held) == space.identity(held.having(placement="scatter"))
    assert space.identity(held) != space.identity(held.having(placement="compact"))
    openmp = _options(_seen("libgomp.so.1")).space
    assert openmp.identity(held) != openmp.identity(held.having(placement="scatter", threads=3))


def test_an_axis_that_the_program_would_not_notice_is_named() -> None:
    options = _options(_seen("libc.so.6"), names="threads,hugepages")
    assert "threads" in options.without_effect and "threads" not in options.space.default
    with pytest.raises(InputError, match="would notice nothing of the axis placement"):
        _options(_seen("libc.so.6"), names="placement")
    assert not _options(_seen("libjvm.so"), names="threads").without_effect


def test_ranks_without_openmp_are_held_by_masks_alone(tmp_path: Path) -> None:
    options = _options(
        _seen("libc.so.6"), command="mpirun -n 2 /bin/true", names="ranks,threads,placement", folder=tmp_path
    )
    setting = options.setting(Point({"ranks": 2, "threads": 2, "placement": "compact"}))
    script, program = read_wrapper(setting.command[3:])
    assert script is not None and program == ("/bin/true",)
    assert "OMP" not in script.read_text().replace("OMPI_", "") and "OMP_NUM_THREADS" not in setting.env
    (tmp_path / "taskset").write_text("#!/bin/sh\necho $1 $2 >&2\n")
    (tmp_path / "taskset").chmod(0o755)
    done = subprocess.run(
        ["sh", str(script), "sh", "-c", "echo $OMP_PLACES"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMP_PLACES": "mine"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("mine\n", "-cp 2-3\n")


def _with_allocators(tmp_path: Path, **rest: Any) -> Options:
    for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
        (tmp_path / name).write_bytes(Path("/proc/self/exe").read_bytes()[:4096])
    loaded = _seen("libc.so.6")
    allocator = allocator_knob(loaded, {}, folders=[tmp_path])
    assert allocator is not None
    knobs = [*knobs_for(loaded, HERE, {}), allocator]
    return _options(loaded, names="hugepages,knobs", knobs=knobs, **rest)


def test_nothing_is_set_of_an_allocator_that_another_one_replaces(tmp_path: Path) -> None:
    options = _with_allocators(tmp_path)
    default = options.space.default
    assert "malloc-mmap-threshold" in default
    tuned = default.having(**{"malloc-mmap-threshold": "64MiB"})
    assert options.space.allowed(tuned)
    assert "GLIBC_TUNABLES" in options.setting(tuned).env
    for allocator in ("jemalloc", "tcmalloc"):
        assert options.space.allowed(default.having(allocator=allocator))
        assert not options.space.allowed(tuned.having(allocator=allocator))
    assert "transparent" in options.space.axis("hugepages").values
    both = options.setting(default.having(allocator="jemalloc", hugepages="transparent"))
    assert both.env.keys() == {"LD_PRELOAD", "MALLOC_CONF"}
    assert options.space.allowed(default.having(allocator="jemalloc", hugepages="transparent"))
    assert not options.space.allowed(default.having(allocator="tcmalloc", hugepages="transparent"))


def test_a_preload_is_joined_to_what_the_user_has(tmp_path: Path) -> None:
    knob = allocator_knob(_seen("libc.so.6"), {"LD_PRELOAD": "/my/lib.so"}, folders=[tmp_path])
    assert knob is None
    options = _with_allocators(tmp_path, environment={"LD_PRELOAD": "/my/lib.so other.so"})
    setting = options.setting(options.space.default.having(allocator="jemalloc"))
    assert setting.env["LD_PRELOAD"] == f"{tmp_path}/libjemalloc.so.2:/my/lib.so:other.so"


def test_what_has_no_allocator_that_can_be_set_is_offered_no_huge_pages() -> None:
    from dataclasses import replace

    here = replace(HERE, transparent_huge_pages="always")
    static = Loaded("/bin/true", "static", mapped=("/bin/true",), looks=9)
    for loaded, values in ((static, ("default", "never")), (_seen("libc.so.6"), ("default", "transparent", "never"))):
        axis = Options(here, ["/bin/true"], ["hugepages"], {}, loaded=loaded).space.axis("hugepages")
        assert tuple(v for v in axis.values if v != "reserved") == values


@pytest.mark.parametrize(
    ("library", "program", "environment"),
    [
        ("libgomp.so.1", "/bin/true", {"OMP_NUM_THREADS": "1"}),
        ("libopenblas64_p-r0.3.23.so", "/bin/true", {"OPENBLAS_NUM_THREADS": "1"}),
        ("libopenblas64_p-r0.3.23.so", "/bin/true", {"OMP_NUM_THREADS": "1"}),
        ("_polars_runtime.abi3.so", "/bin/true", {"POLARS_MAX_THREADS": "1"}),
        ("libjvm.so", "/bin/true", {"JAVA_TOOL_OPTIONS": "-Xmx1g -XX:ActiveProcessorCount=1"}),
    ],
)
def test_as_many_threads_as_the_user_says_are_those_of_now_and_more_are_set(
    library: str, program: str, environment: dict[str, str]
) -> None:
    options = _options(_seen(library, program=program), environment)
    assert options.space.default["threads"] == 1
    assert options.setting(options.space.default).env == {}
    more = _setting(options, threads=8).environment(environment)
    assert any("8" in value for name, value in more.items() if name in {*environment, "OPENBLAS_NUM_THREADS"})


def test_a_number_that_nothing_reads_is_not_that_of_now() -> None:
    assert _options(_seen("libm.so.6"), {"OMP_NUM_THREADS": "3"}).space.default["threads"] == HERE.parallelism


def test_a_second_library_keeps_its_own_number_where_the_first_has_as_many_as_now() -> None:
    """OpenMP with all processors, and its BLAS held to one thread, as inside of parallel regions."""
    options = _options(_seen("libgomp.so.1", "libopenblas64_p-r0.3.23.so"), {"OPENBLAS_NUM_THREADS": "1"})
    assert options.setting(options.space.default).env == {}
    assert _setting(options, threads=2).env["OPENBLAS_NUM_THREADS"] == "2"


def test_over_nodes_each_gets_its_share(tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path)}
    options = _options(None, nowhere, "srun -N 2 -n 8 -- /bin/true", "ranks,threads,placement", folder=tmp_path)
    # each of the two nodes has 8 processors on 4 cores
    assert options.space.default == Point({"ranks": 8, "threads": 2, "placement": "os"})
    assert options.space.axes[0].values == (2, 4, 8, 16)
    assert options.space.allowed(Point({"ranks": 16, "threads": 1, "placement": "balanced"}))
    assert options.space.allowed(Point({"ranks": 4, "threads": 4, "placement": "balanced"}))
    assert not options.space.allowed(Point({"ranks": 8, "threads": 4, "placement": "balanced"}))
    setting = options.setting(Point({"ranks": 4, "threads": 2, "placement": "compact"}))
    assert setting.command[:4] == ("srun", "-N", "2", "-n") and setting.ranks_per_node == 2
    script, _ = read_wrapper(setting.command[setting.command.index("sh") :])
    assert script is not None and "\n1)" in script.read_text() and "\n2)" not in script.read_text()


@pytest.mark.parametrize("libraries", [(), ("libgomp.so.1",)])
def test_of_a_part_of_the_machine_every_setting_is_held_to_it_but_a_launcher(libraries: tuple[str, ...]) -> None:
    part = restrict(HERE, "0-3")
    loaded = _seen(*libraries)
    followers = followers_for(loaded, load_catalogue())

    def options(command: str) -> Options:
        return Options(
            part, command.split(), ["threads", "placement"], {}, Wanted(), followers=followers, loaded=loaded
        )

    plain = options("/bin/true")
    settings = [plain.baseline(), plain.setting({}), plain.setting({"threads": 4}), plain.setting({"threads": 2})]
    assert {s.mask for s in settings} == {(0, 1, 2, 3)}
    # which is how it starts by itself
    assert plain.setting({"threads": 4}).start({}, part.allowed) == plain.baseline().start({}, part.allowed)
    held = plain.setting({"threads": 2, "placement": "balanced"})
    assert held.mask is not None and len(held.mask) == 2 and set(held.mask) < {0, 1, 2, 3}
    assert options("mpirun -n 2 /bin/true").baseline().mask is None
    # all that it may use anyway needs nobody to hold it
    assert HERE.held_to is None and restrict(HERE, "0-7").held_to is None
    assert restrict(restrict(HERE, "0-3"), "0-3").held_to == (0, 1, 2, 3)
