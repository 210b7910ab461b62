# SPDX-License-Identifier: BSD-3-Clause
"""Threads that a library makes for itself are held to places of their own, natively and in Python; what cannot be is reported."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nodewise.base.native import native_path
from nodewise.studies.bound_threads import Watch, places_asked
from nodewise.studies.discovery import find_study

PROCESSORS = sorted(os.sched_getaffinity(0))
needs_two = pytest.mark.skipif(len(PROCESSORS) < 2, reason="one processor is all that there is")

#: Its peer has a pool of its own that works while `run` waits; or, with `gone=1`, threads that have ended by then. `team` works with
#: OpenMP's, whose second thread has hardly anything to do.
TABLE = """
#include <omp.h>
#include <sched.h>
#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>
#include <vector>
#include "abi/kernel.h"
namespace {
std::atomic<int> mine{0};
void work_a_while(int which) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    while (std::chrono::steady_clock::now() < end) {}
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    if (CPU_COUNT(&set) == 1) { mine |= 1 << which; }
}
struct Pool {
    std::counting_semaphore<4> go{0}, done{0};
    std::thread helper{[this] { for (;;) { go.acquire(); work_a_while(1); done.release(); } }};
};
Pool* pool() { static Pool* one = new Pool; return one; }
int layout(nw_run* run) { nw_declare(run, "y", NW_F64, NW_OUTPUT, 1); return 0; }
int fill(nw_run*) { return 0; }
int check(nw_run*) { return 0; }
void work(const nw_run*, nw_work* out) { out->items = 1; }
int team(nw_run* run) {
    int held = 0;
#pragma omp parallel num_threads(2) reduction(| : held)
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        held = CPU_COUNT(&set) == 1 ? 1 << omp_get_thread_num() : 0;
        if (omp_get_thread_num() == 0) { work_a_while(0); }
    }
    nw_report(run, "held", held);
    return 0;
}
int peer(nw_run* run) {
    mine = 0;
    if (nw_number(run, "gone", 0) != 0) {
        std::thread helper(work_a_while, 1);
        work_a_while(0);
        helper.join();
    } else {
        pool()->go.release();
        work_a_while(0);
        pool()->done.acquire();
    }
    nw_report(run, "held", mine);
    return 0;
}
constexpr nw_variant kVariants[] = {{.name = "peer", .kind = NW_PEER, .run = peer}, {.name = "own", .run = peer},
                                    {.name = "team", .kind = NW_PEER, .run = team}};
constexpr nw_study kStudy{.abi = NW_ABI, .name = "pools", .layout = layout, .fill = fill, .check = check, .work = work,
                          .variants = kVariants, .variant_count = 3};
}
const nw_study* nodewise_study(void) { return &kStudy; }
"""
STUDY = """
from nodewise.studies.contract import Knob, Study
STUDY = Study(name="pools", title="pools", knobs=(Knob("gone", "threads end", "0", least=0),), default_variant="own",
              plain_variant="own", rate_unit="1/s", rate_scale=1.0, test_points=({},), reference=lambda i, p: {})
"""


def test_places_are_read_as_they_are_written() -> None:
    assert places_asked("0,4:1,5") == [{0, 4}, {1, 5}]
    # one place is what the mask is already
    assert places_asked("0,1") == places_asked("") == []


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared object of the study above."""
    folder = tmp_path_factory.mktemp("studies") / "pools"
    folder.mkdir()
    (folder / "table.cpp").write_text(TABLE)
    (folder / "study.py").write_text(STUDY)
    return find_study(str(folder)).binary


@needs_two
@pytest.mark.parametrize(
    ("name", "knob", "bound", "held"), [("peer", "gone=0", 2, 3), ("peer", "gone=1", 0, 0), ("team", "gone=0", 2, 3)]
)
def test_a_librarys_pool_is_bound_once_it_is_seen_to_work(
    pools: Path, name: str, knob: str, bound: int, held: int
) -> None:
    env = {**os.environ, "NODEWISE_BIND": f"{PROCESSORS[0]}:{PROCESSORS[1]}", "OMP_NUM_THREADS": "2"}
    command = [str(native_path("nodewise-worker")), str(pools), "--variant", name, knob]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout)
    assert (answer["bound"], answer["held"]) == (bound, held)
    # without places nothing is watched, nor of a variant, which OpenMP binds
    for other, more in ((name, {"NODEWISE_BIND": ""}), ("own", {})):
        command[3] = other
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**env, **more})
        assert "bound" not in json.loads(done.stdout)


@pytest.fixture
def unbound() -> Iterator[None]:
    """This process's first thread as it was."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


def _busy(seconds: float, seen: dict[int, set[int]]) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    seen[threading.get_native_id()] = os.sched_getaffinity(0)


@needs_two
def test_threads_of_a_pool_in_python_are_bound_and_those_that_have_ended_are_not(unbound: None) -> None:
    places = [{PROCESSORS[0]}, {PROCESSORS[1]}]
    seen: dict[int, set[int]] = {}
    with ThreadPoolExecutor(2) as pool:
        watch = Watch()
        list(pool.map(lambda _: _busy(0.05, seen), range(2)))
        both = watch.bind(places)
        if len(seen) == 2:
            assert both == 2
            list(pool.map(lambda _: _busy(0.05, seen), range(4)))
            assert sorted(map(tuple, (os.sched_getaffinity(t) for t in seen))) == [(p,) for p in PROCESSORS[:2]]
    watch = Watch()
    ended = threading.Thread(target=_busy, args=(0.1, seen))
    ended.start()
    ended.join()
    # Python's thread has ended before the system's is gone
    while Path(f"/proc/self/task/{ended.native_id}").exists():
        time.sleep(0.001)
    assert watch.bind(places) == 0


@needs_two
def test_what_other_processes_do_cannot_be_bound(unbound: None) -> None:
    watch = Watch()
    loop = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    subprocess.run([sys.executable, "-c", loop], check=True)
    assert watch.bind([{PROCESSORS[0]}, {PROCESSORS[1]}]) == 0
    assert os.sched_getaffinity(0) == set(PROCESSORS)


@needs_two
def test_more_threads_than_places_are_left_as_they_are() -> None:
    """With one thread to two places too many, none is held, since none could be said to have its own."""
    done = threading.Event()

    def work() -> None:
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            pass

    def other() -> None:
        work()
        done.wait(30)

    watch = Watch()
    threads = [threading.Thread(target=other) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        work()
        time.sleep(0.3)
        assert watch.bind([{PROCESSORS[0]}, {PROCESSORS[1]}]) == 0
        assert os.sched_getaffinity(0) == set(PROCESSORS)
    finally:
        done.set()
        for thread in threads:
            thread.join()
