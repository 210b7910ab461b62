# SPDX-License-Identifier: BSD-3-Clause
"""The worker's own promises: memory, arrays to and from other programs, instruction sets, libraries of peers."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nodewise.base.errors import InputError
from nodewise.base.native import native_path
from nodewise.studies.commands import (
    contenders_of,
    native_contenders,
    script_contenders,
    settled_command,
    settling_command,
    simd_targets,
    work_of,
)
from nodewise.studies.contract import Library
from nodewise.studies.discovery import Found, find_study
from nodewise.studies.libraries import find_library, how_it_runs, neighbours

#: A study that shows what the worker gives it: the address and pages of its memory, metrics, a peer of libc's.
TABLE = """
#include <dlfcn.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include "abi/kernel.h"
namespace {
int layout(nw_run* run) {
    const auto count = static_cast<std::uint64_t>(nw_number(run, "n", 100));
    if (count == 13) { return nw_fail(run, "13 with %d threads brings no luck\\nhint: give n=12", run->threads); }
    if (count == 14) { return nw_fail(run, "14 neither"); }
    nw_declare(run, "x", NW_F64, NW_INPUT, count);
    nw_declare(run, "kind", NW_U8, NW_INPUT, 3);
    nw_declare(run, "scratch", NW_I64, NW_SCRATCH, 7);
    nw_declare(run, "y", NW_F64, NW_OUTPUT, count);
    return 0;
}
double* data(const nw_run* run, const char* name) { return static_cast<double*>(nw_data(run, name)); }
int fill(nw_run* run) {
    for (std::uint64_t i = 0; i < run->buffers[0].count; ++i) { data(run, "x")[i] = static_cast<double>(i + run->seed); }
    std::memcpy(nw_data(run, "kind"), "abc", 3);
    return 0;
}
int check(nw_run* run) {
    for (std::uint64_t i = 0; i < run->buffers[0].count; ++i) {
        if (data(run, "y")[i] != 2 * data(run, "x")[i]) { return nw_fail(run, "y[%d] is wrong", static_cast<int>(i)); }
    }
    return 0;
}
void work(const nw_run* run, nw_work* out) { out->items = out->flops = static_cast<double>(run->buffers[0].count); }
void twice_the_work(const nw_run* run, nw_work* out) { work(run, out); out->flops *= 2; }
int twice(nw_run* run) {
    for (std::uint64_t i = 0; i < run->buffers[0].count; ++i) { data(run, "y")[i] = 2 * data(run, "x")[i]; }
    return 0;
}
int prepare(nw_run* run) {
    void* large = run->memory(run, 3 << 20, NW_HUGE);
    void* small = run->memory(run, 0, 0);
    void* fast = run->memory(run, 100, NW_FAST);
    if (large == nullptr || small == nullptr || fast == nullptr) { return 1; }
    std::memset(large, 1, 3 << 20);
    std::memset(fast, 1, 100);
    nw_report(run, "large_at", static_cast<double>(reinterpret_cast<std::uintptr_t>(large) % (2 << 20)));
    nw_report(run, "small_at", static_cast<double>(reinterpret_cast<std::uintptr_t>(small) % 64));
    nw_report(run, "array_at", static_cast<double>(reinterpret_cast<std::uintptr_t>(nw_data(run, "y")) % (2 << 20)));
    nw_report(run, "reported_again", 1);
    nw_report(run, "reported_again", 2);
    return 0;
}
// what each rank gives the others: reported, so that a test sees it
int together(nw_run* run) {
    double sums[2] = {run->rank + 1.0, 10.0 * (run->rank + 1)};
    run->sum(run, sums, 2);
    double largest = run->rank * 3.0;
    run->largest(run, &largest, 1);
    int said = run->rank == run->ranks - 1 ? 77 : 0;
    run->broadcast(run, &said, sizeof said, run->ranks - 1);
    // to the next and from the one before, the first from nobody, the last to nobody; each as many as its number and one
    double out[8] = {100.0 + run->rank, 0, 0, 0, 0, 0, 0, 200.0 + run->rank};
    double in[8] = {-1, 0, 0, 0, 0, 0, 0, -1};
    const int to = run->rank + 1 < run->ranks ? run->rank + 1 : NW_NOBODY;
    run->exchange(run, out, sizeof out, to, in, sizeof in, run->rank - 1);
    run->barrier(run);
    nw_report(run, "rank", run->rank);
    nw_report(run, "ranks", run->ranks);
    nw_report(run, "sum", sums[0]);
    nw_report(run, "sum_of_tens", sums[1]);
    nw_report(run, "largest", largest);
    nw_report(run, "said", said);
    nw_report(run, "first_in", in[0]);
    nw_report(run, "last_in", in[7]);
    if (nw_number(run, "unlucky", -1) == run->rank) { return nw_fail(run, "rank %d is out of luck", run->rank); }
    const int wrong = nw_number(run, "wrong", -1) == run->rank;
    for (std::uint64_t i = 0; i < run->buffers[0].count; ++i) { data(run, "y")[i] = 2 * data(run, "x")[i] + wrong; }
    return 0;
}
int too_much(nw_run* run) { return run->memory(run, SIZE_MAX / 4, 0) == nullptr ? 1 : 0; }
int by_library(nw_run* run) {
    auto* absolute = reinterpret_cast<int (*)(int)>(dlsym(run->library, "abs"));
    return absolute != nullptr && absolute(-2) == 2 ? twice(run) : nw_fail(run, "no abs");
}
constexpr nw_variant kVariants[] = {
    {"twice", NW_VARIANT, "", twice, prepare, nullptr, nullptr},
    {"redundant", NW_VARIANT, "", twice, nullptr, twice_the_work, nullptr},
    {"greedy", NW_VARIANT, "", twice, too_much, nullptr, nullptr},
    {"together", NW_VARIANT, "", together, nullptr, nullptr, nullptr},
    {"libc", NW_PEER, "", by_library, nullptr, nullptr, "c"},
    {"nowhere", NW_PEER, "", by_library, nullptr, nullptr, "none"},
    {"nothing", NW_LIMIT, "", twice, nullptr, nullptr, nullptr},
};
constexpr nw_study kStudy{NW_ABI, "mine", layout, fill, nullptr, check, work, nullptr, kVariants, 7};
}
const nw_study* nodewise_study(void) { return &kStudy; }
"""

STUDY = """
from nodewise.studies.contract import Knob, Library, Study
STUDY = Study(name="mine", title="twice", knobs=(Knob("n", "how many", "100", tries=("10",)),), default_variant="twice",
              plain_variant="twice", rate_unit="Gflop/s", rate_scale=1e-9, test_points=(), reference=lambda i, p: {},
              libraries={"c": Library(("libc.so.6",), "libc6", env={"LOCPATH": "", "MINE": "1"}),
                         "none": Library(("libnowhere.so.9",), "apt-get install libnowhere9")})
"""

PEER = """
ENVIRONMENT = {"MINE": "2", "LOCPATH": ""}
def available():
    return None
def prepare(inputs, point, threads):
    assert inputs["kind"].tobytes() == b"abc" and inputs["x"].size == int(point["n"])
    return {"x": inputs["x"], "threads": threads}
def run(state):
    state["y"] = state["x"] * 2
def outputs(state):
    return {"y": state["y"]}
"""


PROGRAM = """
def contenders():
    return {"first": None, "second": "second is not here"}
def prepare(inputs, point, threads):
    return {"x": inputs["x"], "name": point["contender"]}
def run(state):
    state["y"] = state["x"] + state["x"]
def outputs(state):
    return {"y": state["y"]}
def metrics(state):
    return {"letters": len(state["name"])}
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("studies") / "mine"
    (folder / "peers").mkdir(parents=True)
    (folder / "programs").mkdir()
    (folder / "programs" / "adding.py").write_text(PROGRAM)
    (folder / "study.py").write_text(STUDY)
    (folder / "table.cpp").write_text(TABLE)
    (folder / "peers" / "numpy_twice.py").write_text(PEER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODEWISE_CACHE", str(folder.parent / "cache"))
        return find_study(str(folder))


def worker(found: Found, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(native_path("nodewise-worker")), str(found.binary), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("storage", ["plain", "huge", "fast"])
def test_memory_is_aligned_and_what_cannot_be_fast_is_said(mine: Found, storage: str) -> None:
    done = worker(mine, "--variant", "twice", "--storage", storage, "n=1000000")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["large_at"] == answer["small_at"] == 0
    assert answer["array_at"] == 0 or storage == "plain"
    assert answer["reported_again"] == 2
    # only a machine with two kinds of memory has what is asked for here
    assert answer.get("fast_memory") in (0, None)


def test_a_variant_that_gets_no_memory_says_so(mine: Found) -> None:
    done = worker(mine, "--variant", "greedy")
    assert done.returncode == 1 and "not enough memory" in done.stderr


def test_arrays_that_do_not_fit_the_memory_are_refused_before_they_are_touched(mine: Found) -> None:
    with Path("/proc/meminfo").open() as file:
        free = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    # each array for itself is promised by the system
    with pytest.raises(InputError, match="study mine: not enough memory: the arrays take") as problem:
        work_of(mine, {"n": str(int(free * 0.6) // 8)})
    assert problem.value.hint == "make the problem smaller"
    assert work_of(mine, {"n": "1000"}, 1) == {"items": 1000, "flops": 1000, "working_set": 16003}


def test_what_a_layout_refuses_is_reported_with_what_to_do(mine: Found) -> None:
    with pytest.raises(InputError) as problem:
        work_of(mine, {"n": "13"}, 3)
    assert problem.value.what == "study mine: 13 with 3 threads brings no luck"
    assert problem.value.hint == "give n=12"
    with pytest.raises(InputError, match="study mine: 14 neither") as problem:
        work_of(mine, {"n": "14"})
    assert problem.value.hint and "nodewise study" in problem.value.hint


def test_a_variants_own_work_is_reported_with_the_studys(mine: Found) -> None:
    assert json.loads(worker(mine, "--variant", "redundant", "n=50").stdout)["flops"] == 100
    assert work_of(mine, {"n": "50"}) == {"items": 50, "flops": 50, "working_set": 803}


def test_arrays_are_numpys(mine: Found, tmp_path: Path) -> None:
    done = worker(mine, "--variant", "twice", "--seed", "3", "--dump", str(tmp_path), "n=5")
    assert done.returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kind.npy", "x.npy", "y.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.arange(5) + 3.0)
    assert np.load(tmp_path / "kind.npy").dtype == np.uint8


def test_a_peer_in_python_gets_the_inputs_and_is_judged(mine: Found) -> None:
    *_, peer = script_contenders(mine, {"n": "1000"})
    assert peer.not_run is None and peer.env == {"MINE": "2", "LOCPATH": ""}
    done = subprocess.run(peer.command, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["verified"] is True and answer["items"] == 1000 and answer["seconds"] > 0


def test_one_file_can_stand_for_several_contenders_with_metrics(mine: Found) -> None:
    first, second, _ = script_contenders(mine, {"n": "7"})
    assert (first.name, first.kind, first.not_run) == ("first", "variant", None)
    assert (second.name, second.not_run) == ("second", "second is not here")
    answer = json.loads(subprocess.run(first.command, capture_output=True, text=True, check=True).stdout)
    assert answer["verified"] is True and answer["letters"] == 5
    done = subprocess.run(second.command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "second is not here" in done.stderr


def test_a_reason_that_takes_time_to_find_is_asked_of_who_is_wanted_only(mine: Found, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    script = tmp_path / "programs" / "slow.py"
    script.parent.mkdir()
    script.write_text(
        PROGRAM.replace(
            '{"first": None, "second": "second is not here"}',
            '{name: __import__("functools").partial(why, name) for name in ("first", "second")}',
        )
        + f"""
def why(name, point):
    with open({str(asked)!r}, "a") as file:
        file.write(name + point["n"] + " ")
    return name + " is slow" if name == "second" else None
"""
    )

    def told() -> str:
        text = asked.read_text() if asked.exists() else ""
        asked.unlink(missing_ok=True)
        return text

    found = replace(mine, folder=tmp_path)
    assert [c.not_run for c in script_contenders(found, {"n": "7"})] == [None, "second is slow"]
    assert told() == "first7 second7 "
    assert {c.name: c.not_run for c in contenders_of(found, {"n": "7"}, ["second"])}["second"] == "second is slow"
    assert told() == "second7 "
    chosen = replace(found, study=replace(mine.study, select=lambda point: ("twice", "first")))
    assert [c.name for c in contenders_of(chosen, {"n": "7"})] == ["twice", "first"]
    assert told() == "first7 "
    first, second = script_contenders(found, {"n": "7"}, ())
    assert told() == ""
    assert subprocess.run(first.command, capture_output=True, check=True).returncode == 0
    assert told() == "first7 "
    done = subprocess.run(second.command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "second is slow" in done.stderr


def test_a_point_that_is_for_none_is_refused_before_anything_is_started(mine: Found) -> None:
    def refuse(point: Mapping[str, str]) -> list[str]:
        raise InputError(f"there is no {point['n']}")

    broken = replace(mine, binary=Path("/none"), study=replace(mine.study, select=refuse))
    with pytest.raises(InputError, match="there is no 7"):
        contenders_of(broken, {"n": "7"})


def test_a_point_can_be_for_some_contenders_only(mine: Found) -> None:
    chosen = replace(mine, study=replace(mine.study, select=lambda point: ("twice", "first")))
    assert [c.name for c in contenders_of(chosen, {"n": "7"})] == ["twice", "first"]
    assert len(contenders_of(mine, {"n": "7"})) == 10


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("state['y'] + (state['x'] == 7)", "y[7] is wrong"),
        ("state['y'][:-1]", "arrays are not those"),
        ("state['y'].astype('float32')", "arrays are not those"),
    ],
)
def test_a_wrong_peer_gives_no_time(mine: Found, tmp_path: Path, made: str, why: str) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(PEER.replace('{"y": state["y"]}', '{"y": ' + made + "}"))
    command = [sys.executable, "-m", "nodewise.studies.peer_worker", str(bad), str(mine.binary), "n=1000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and why in done.stderr
    assert "seconds" not in done.stdout and "Traceback" not in done.stderr


def test_what_has_to_hold_for_all_runs_is_found_once_and_given_to_each(mine: Found, tmp_path: Path) -> None:
    settles = tmp_path / "settles.py"
    settles.write_text(
        PEER.replace("assert", "threads = float(point['times']); assert", 1)
        .replace("* 2", "* state['threads']")
        .replace(
            "def run", "def settle(inputs, point, threads):\n    return {'times': inputs['x'].size / 500}\ndef run"
        )
    )
    command = [sys.executable, "-m", "nodewise.studies.peer_worker", str(settles), str(mine.binary), "n=1000"]
    asked = subprocess.run([*command, "--available"], capture_output=True, text=True, check=True)
    assert json.loads(asked.stdout)["settles"] is True
    assert not any(c.settles for c in script_contenders(mine, {"n": "10"}))

    def answer(words: Sequence[str]) -> dict[str, object]:
        return dict(json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout))

    assert answer(settling_command(command)) == {"nodewise": 1, "times": 2.0}
    assert answer(settled_command(command, {"times": 2.0}))["verified"] is True
    assert answer(settled_command(command, {"times": 3.0}))["verified"] is False
    # by itself it finds the same
    assert answer(command)["verified"] is True


def test_a_peer_of_a_library_runs_or_says_what_brings_it(mine: Found) -> None:
    rows = {c.name: c for c in native_contenders(mine, {"n": "10"})}
    assert rows["libc"].env == {"LOCPATH": "", "MINE": "1"}
    done = subprocess.run(rows["libc"].command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["verified"] is True
    assert rows["nowhere"].not_run == "libnowhere.so.9 is not installed: apt-get install libnowhere9"
    assert "needs --library" in worker(mine, "--variant", "libc").stderr
    assert "cannot load the peer" in worker(mine, "--variant", "libc", "--library", "/proc/gone.so").stderr
    several = f"other=/none.so,c={find_library(mine.study.libraries['c'])}"
    assert worker(mine, "--variant", "libc", "--library", several).returncode == 0


def test_a_library_is_found_in_a_package_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "some_wheel" / "lib" / "libsome-1.2.so"
    inside.parent.mkdir(parents=True)
    inside.write_text("")
    library = Library(("libc.so.6",), "", wheels=("some_wheel/lib/libsome*.so",))
    assert find_library(library) == find_library(Library(("libc.so.6",), ""))
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path)])
    assert find_library(library) == inside
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    assert neighbours(inside) == {"LD_LIBRARY_PATH": f"{inside.parent}:/mine"}
    assert neighbours(find_library(Library(("libc.so.6",), "")) or Path()) == {}


def test_an_instruction_set_that_is_not_there_is_refused(mine: Found) -> None:
    assert simd_targets(mine) == []
    done = worker(mine, "--variant", "twice", "--simd", "AVX2")
    assert done.returncode == 2 and "there is no AVX2" in done.stderr


def test_a_row_says_which_library_it_is_by_and_how(tmp_path: Path) -> None:
    real = tmp_path / "libthing.so.2.0.31"
    real.write_bytes(b"")
    link = tmp_path / "libthing.so.2"
    link.symlink_to(real)
    library = Library(
        ("libthing.so.2",), "apt-get install x", env={"CORE": "new", "OLD": ""}, notes={"AMD": "held back"}
    )
    assert how_it_runs(library, link, "AMD") == "libthing.so.2.0.31, CORE=new, held back"
    assert how_it_runs(replace(library, env={}), link, "Intel") == "libthing.so.2.0.31, as it dispatches by itself"
    assert how_it_runs(replace(library, env={}, dispatches=False), link, "Intel") == "libthing.so.2.0.31"
    # of a package the version is the package's
    packed = replace(library, install="pip install numpy", env={})
    inside = Path(np.__file__)
    assert how_it_runs(packed, inside, "") == f"numpy {np.__version__}, as it dispatches by itself"
    assert how_it_runs(packed, link, "").startswith("libthing.so.2.0.31")
