# SPDX-License-Identifier: BSD-3-Clause
"""Axes and what their values do to a Setting."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.machine.model import Device, Machine
from nodewise.machine.sources import load_machine
from nodewise.runner.loaded import Loaded
from nodewise.search.space import Axis, Point
from nodewise.tuning.axes import isolation
from nodewise.tuning.catalogue.choose import followers_for, knobs_for
from nodewise.tuning.catalogue.read import load_catalogue
from nodewise.tuning.known import KnownAxis
from nodewise.tuning.known_axes import AXES, default_axes, known_axes, tried_by_default
from nodewise.tuning.option import Draft, Option
from nodewise.tuning.options import Options
from nodewise.tuning.outline import named_values
from nodewise.tuning.ranks import read_ranked
from nodewise.tuning.wanted import Wanted
from tests.surfaces import machine

HERE = machine(4, 2, live=True)


def _options(
    command: str, names: str = "threads,placement", environment: dict[str, str] | None = None, **rest: Any
) -> Options:
    wanted = Wanted(**{k: rest.pop(k) for k in list(rest) if k in Wanted.__dataclass_fields__})
    return Options(HERE, command.split(), [n for n in names.split(",") if n], environment or {}, wanted, **rest)


def test_a_parameter_fills_its_place_and_the_first_value_is_the_baselines() -> None:
    options = _options("./app --size {n} {n}", "", parameters={"n": ("4", "8", "2")})
    assert options.baseline().command == ("./app", "--size", "4", "4")
    assert options.space.axes[0].values == (2, 4, 8)
    assert options.setting(Point({"n": 8})).command == ("./app", "--size", "8", "8")


def test_a_parameter_without_a_place_is_refused() -> None:
    with pytest.raises(InputError, match=r"\{k\}"):
        _options("./app {n}", parameters={"k": ("1",)})
    with pytest.raises(InputError, match=r"nothing is given for \{k\}"):
        _options("./app {n} {k}", parameters={"n": ("1",)})
    assert _options("./app {n} {k} {print}x", "", parameters={"n": ("1",), "k": ("{k}",)}).space.size == 1
    assert _options("./app {k}", "").space.size == 1


def test_a_variable_is_set_or_taken_away() -> None:
    options = _options("./app", "", {"MODE": "fast"}, variables={"MODE": ("slow", "unset")})
    assert options.space.axes[0].values == ("fast", "slow", "unset")
    assert options.setting(Point({"MODE": "fast"})).env == {}
    assert options.setting(Point({"MODE": "slow"})).env == {"MODE": "slow"}
    assert options.setting(Point({"MODE": "unset"})).unset == ("MODE",)


def test_numbers_are_ordered_and_words_are_not() -> None:
    options = _options("./app", "", variables={"A": ("16", "1", "4"), "B": ("x", "y")})
    first, second = options.space.axes
    assert (first.ordered, first.values) == (False, ("unset", "16", "1", "4"))
    assert not second.ordered
    assert _options("./app {a}", "", parameters={"a": ("0.5", "2", "1")}).space.axes[0].values == ("0.5", "1", "2")


def test_constraints_leave_points_out_but_never_the_default() -> None:
    options = _options("./app {n}", "threads", parameters={"n": ("1", "2", "8")}, constraints=["n * threads <= 8"])
    allowed = options.space.allowed
    assert allowed(Point({"threads": 4, "n": 2}))
    assert not allowed(Point({"threads": 8, "n": 2}))
    strict = _options("./app {n}", "", parameters={"n": ("1", "2", "8")}, constraints=["n > 5"])
    assert strict.space.allowed(strict.space.default)


@pytest.mark.parametrize(
    ("command", "ranks", "program"),
    [
        ("mpirun -n 4 ./app x", 4, ("./app", "x")),
        ("mpirun --bind-to core -np 2 --mca btl self,sm ./app -n 7", 2, ("./app", "-n", "7")),
        ("srun --ntasks=8 --cpu-bind=none -- ./app", 8, ("./app",)),
        ("mpiexec -genv A 1 -n 3 app", 3, ("app",)),
        ("srun -n4 ./app", 4, ("./app",)),
    ],
)
def test_ranks_are_read_from_a_command(command: str, ranks: int, program: tuple[str, ...]) -> None:
    ranked = read_ranked(command.split())
    assert ranked is not None
    assert (ranked.ranks, ranked.program) == (ranks, program)
    assert ranked.command(ranks) == command.split()
    assert str(ranks + 1) in " ".join(ranked.command(ranks + 1))


def test_what_starts_no_ranks_is_none_or_refused() -> None:
    assert read_ranked(["./app", "-n", "4"]) is None
    assert read_ranked(["mpirun", "./app"]) is None
    for bad in ("mpirun -n four ./app", "mpirun -n 4", "mpirun -n 4 --"):
        with pytest.raises(InputError):
            read_ranked(bad.split())
    with pytest.raises(InputError, match="starts ranks"):
        _options("./app", "ranks")


def test_ranks_and_threads_share_the_processors_and_each_rank_is_started_in_its_place(tmp_path: Path) -> None:
    # whichever mpirun is installed here is not looked at
    nowhere = {"PATH": str(tmp_path)}
    options = _options("mpirun -n 2 ./app", "ranks,threads,placement", nowhere, folder=tmp_path)
    assert options.space.default == Point({"ranks": 2, "threads": 4, "placement": "os"})
    assert not options.space.allowed(Point({"ranks": 4, "threads": 4, "placement": "balanced"}))
    setting = options.setting(Point({"ranks": 4, "threads": 2, "placement": "balanced"}))
    assert setting.command[:4] == ("mpirun", "-n", "4", "sh")
    assert setting.command[-1] == "./app"
    assert setting.env["OMP_NUM_THREADS"] == "2"
    assert setting.env["OMPI_MCA_hwloc_base_binding_policy"] == "none"
    script = Path(setting.command[4]).read_text()
    # four ranks on four cores: each has both hardware threads of one
    assert [line for line in script.splitlines() if "OMP_PLACES" in line and "unset" not in line][1] == (
        "    export OMP_PLACES='{2},{3}'"
    )
    assert setting.mask is None
    free = options.setting(Point({"ranks": 1, "threads": 8, "placement": "os"}))
    assert free.command == ("mpirun", "-n", "1", "./app")


def test_more_threads_of_all_ranks_than_processors_are_tried_only_where_it_is_started_so_now() -> None:
    options = _options("mpirun -n 16 ./app", "ranks,threads")
    assert options.space.default == Point({"ranks": 16, "threads": 1})
    assert options.space.allowed(options.space.default)
    assert not options.space.allowed(Point({"ranks": 8, "threads": 2}))
    assert options.space.allowed(Point({"ranks": 8, "threads": 1}))


def test_a_wrapper_starts_each_rank_with_its_own_places(tmp_path: Path) -> None:
    import subprocess

    options = _options("mpirun -n 2 ./app", "ranks,threads,placement", folder=tmp_path)
    setting = options.setting(Point({"ranks": 2, "threads": 2, "placement": "compact"}))
    said = []
    for rank in range(2):
        environment = {"PATH": "/usr/bin:/bin", "OMPI_COMM_WORLD_LOCAL_RANK": str(rank), "OMP_PROC_BIND": "spread"}
        words = [*setting.command[3:-1], "sh", "-c", "echo $OMP_PLACES $OMP_PROC_BIND"]
        said.append(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout.split())
    assert said == [["{0},{1}", "close"], ["{2},{3}", "close"]]


def test_a_build_makes_the_program_of_a_point() -> None:
    texts = []

    def build(text: str) -> tuple[Path, str]:
        texts.append(text)
        return Path("/made") / str(len(texts)), "" if "-bad" not in text else "the build failed\nwhy"

    wanted = Wanted(parameters={"flags": ("-O2", "-bad")}, build="cc {flags} -o app app.c")
    made = Options(HERE, ["./app", "in"], ["flags"], {}, wanted, build=build)
    assert made.baseline().command == ("/made/1", "in")
    assert made.setting(Point({"flags": "-bad"})).broken == "the build failed\nwhy"
    assert texts == ["cc -O2 -o app app.c", "cc -bad -o app app.c"]


def test_flags_need_a_build_and_have_values_of_their_own() -> None:
    with pytest.raises(InputError, match="build"):
        _options("./app", "flags")
    made = Options(
        HERE, ["./app"], ["flags"], {}, Wanted(build="cc {flags} -o app app.c"), build=lambda t: (Path("a"), "")
    )
    assert made.space.axes[0].values[0] == "-O2"


def test_knobs_become_axes_that_set_their_variables() -> None:
    loaded = Loaded(
        program="app",
        linkage="dynamic",
        needed=("libgomp.so.1", "libopenblas.so.0"),
        openmp=("GOMP_loop_runtime_start",),
    )
    knobs = knobs_for(loaded, HERE, {"OMP_WAIT_POLICY": "passive"}, load_catalogue())
    options = _options("./app", "threads,wait,schedule", {"OMP_WAIT_POLICY": "passive"}, knobs=knobs)
    wait = options.space.axis("wait")
    assert wait.default == "passive"
    setting = options.setting(Point({"threads": 2, "wait": "active", "schedule": "dynamic,4"}))
    assert (setting.env["OMP_WAIT_POLICY"], setting.env["OMP_SCHEDULE"]) == ("active", "dynamic,4")
    assert "OMP_WAIT_POLICY" not in options.setting(Point({"threads": 2, "wait": "passive", "schedule": "default"})).env


def test_what_follows_the_threads_is_set_where_the_user_has_set_it() -> None:
    loaded = Loaded(program="app", linkage="dynamic", needed=("libopenblas.so.0",))
    followers = followers_for(loaded, load_catalogue())
    options = _options("./app", "threads", {"OPENBLAS_NUM_THREADS": "1"}, followers=followers)
    assert options.setting(Point({"threads": 4})).env["OPENBLAS_NUM_THREADS"] == "4"


def test_an_unknown_axis_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="colour") as caught:
        _options("./app", "threads,colour")
    assert "placement" in (caught.value.hint or "")


def test_binding_variables_of_the_user_make_way_for_a_placement() -> None:
    options = _options("./app", "threads,placement", {"KMP_AFFINITY": "compact"})
    setting = options.setting(Point({"threads": 2, "placement": "scatter"}))
    assert setting.unset == ("KMP_AFFINITY",)
    assert set(setting.env) == {"OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND"}
    assert setting.mask == (0, 2)


def test_with_few_runs_no_part_of_a_list_is_left_out_for_its_place() -> None:
    (axis,) = _options("./app {n}", "", parameters={"n": tuple(str(2**k) for k in range(9))}).space.axes
    assert axis.worth[:4] == (256, 16, 4, 64) and sorted(axis.worth) == [2**k for k in range(1, 9)]
    (axis,) = _options("./app {n}", "", parameters={"n": tuple("abcde")}).space.axes
    assert axis.worth == ("e", "c", "b", "d") and axis.default == "a"


def test_an_empty_value_is_shown_in_quotes() -> None:
    (axis,) = _options("./app {n}", "", parameters={"n": ("", "x")}).space.axes
    assert named_values(axis) == "'' (now), x"


def _with_choices() -> Machine:
    """One on which every axis has a choice."""
    made = load_machine("synthetic:pack:2 numa:1 core:4 pu:2")
    gpu = Device("gpu0", "gpu", tuple(range(8)))
    return replace(made, source="live", devices=(gpu,), transparent_huge_pages="always")


@pytest.mark.parametrize("name", known_axes())
def test_each_axis_sets_something(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # that runc is there
    monkeypatch.setattr(isolation, "check_rankable", lambda _: None)
    made = _with_choices()
    command = ("mpirun", "-n", "2", "./app") if name == "ranks" else ("./app",)
    both = ("threads", "placement") if name in ("threads", "placement") else (name,)
    options = Options(
        made, command, both, {"OMP_NUM_THREADS": "2"}, Wanted(isolation=("runc",) if name == "isolation" else ())
    )
    axis = next(axis for axis in options.space.axes if axis.name == name)
    default, others = options.space.default, [v for v in axis.values if v != axis.default]
    assert others
    started = options.setting(default).start({}, made.allowed)
    assert all(options.setting(default.having(**{name: v})).start({}, made.allowed) != started for v in others)


def test_what_is_tried_unasked_is_what_the_machine_and_the_ranks_make_worth_it() -> None:
    usual = ["threads", "placement", "hugepages"]
    one, two = (load_machine(f"synthetic:pack:1 numa:{nodes} core:4 pu:1") for nodes in (1, 2))
    assert default_axes(one, False) == usual
    assert default_axes(two, False) == [*usual, "memory"]
    assert default_axes(one, True) == ["ranks", *usual]
    assert tried_by_default() == ["ranks", *usual, "memory"]


def test_what_is_last_sees_what_the_others_have_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def show(draft: Draft, value: Any, point: Any) -> None:
        draft.env["SEEN"] = f"{value} {' '.join(draft.command)}"

    for last in (True, False):
        axis = Axis("shown", ("a", "b"), ("a", "b"), "a")
        AXES.all()
        shown = KnownAxis("shown", lambda _, last=last, axis=axis: Option(axis, show, last=last))  # type: ignore[misc]
        monkeypatch.setitem(AXES._registered, "shown", shown)
        options = _options("./app {n}", "shown", parameters={"n": ("1", "2")})
        seen = options.setting(Point({"shown": "b", "n": 2})).env["SEEN"]
        assert seen == ("b ./app 2" if last else "b ./app {n}")
