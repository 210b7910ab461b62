# SPDX-License-Identifier: BSD-3-Clause
"""Threads watched while they run, and the files of /proc that say where they are."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.runner.numa_maps import bytes_by_node, read_numa_maps
from nodewise.runner.observe import Observer
from nodewise.runner.proc_files import rank_of, read_environment, read_stat, read_status, threads_of

STAT = "{} ({}) R 1 7 7 0 -1 4194560 100 0 0 0 50 25 0 0 20 0 4 0 300 1000 200 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0"
SPIN = "import threading, time\ndef work():\n end = time.time() + 0.6\n while time.time() < end: pass\n"


@given(
    st.integers(1, 4194304),
    st.text(st.characters(blacklist_characters="\n\0", blacklist_categories=("Cs",)), max_size=15),
)
def test_a_thread_may_have_any_name(pid, name):
    stat = read_stat(STAT.format(pid, name))
    assert (stat.pid, stat.name, stat.state, stat.parent, stat.processor) == (pid, name, "R", 1, 5)
    assert stat.cpu_s == pytest.approx(75 / os.sysconf("SC_CLK_TCK"))


@given(st.text(max_size=200))
def test_other_texts_are_no_stat(text):
    with pytest.raises(InputError):
        read_stat(text)


def test_the_files_of_this_process_are_read():
    stat = read_stat(Path("/proc/self/stat").read_text())
    assert stat.pid == os.getpid() and stat.parent == os.getppid()
    status = read_status(Path("/proc/self/status").read_text())
    assert set(status.allowed) == os.sched_getaffinity(0)
    assert 0 in status.nodes
    assert threads_of(os.getpid())[0] == os.getpid()
    assert threads_of(4194305) == []
    with pytest.raises(InputError):
        read_status("Name: x\n")


def test_an_environment_is_read_as_it_stands():
    found = read_environment(b"A=1\0B=x=y\0bad\0A=2\0C=\xff\0")
    assert found == {"A": "1", "B": "x=y", "C": "\ufffd"}


@pytest.mark.parametrize(
    "name", ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "ALPS_APP_PE", "SLURM_PROCID"]
)
def test_a_rank_is_known_by_its_launchers_variable(name):
    assert rank_of({name: "17"}) == 17
    assert rank_of({name: "x"}) is None
    assert rank_of({}) is None


#: Lines as Linux 5.15 to 6.10 print them.
MAPS = """\
55d0c8a00000 default file=/usr/bin/cat mapped=2 mapmax=3 active=0 N0=2 kernelpagesize_kB=4
55d0c9e00000 default heap anon=10 dirty=10 N0=6 N1=4 kernelpagesize_kB=4
7f0000000000 bind:1 anon=512 dirty=512 N1=512 kernelpagesize_kB=4
7f0040000000 interleave:0-1 anon=4 dirty=4 N0=2 N1=2 kernelpagesize_kB=4
7f0050000000 prefer (many):0-1 anon=1 dirty=1 N0=1 kernelpagesize_kB=4
7f0060000000 prefer:1 huge anon=1 dirty=1 N1=1 kernelpagesize_kB=2048
7f0070000000 weighted interleave:0-1 anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4
7f0080000000 local
7f0090000000 bind=static:0 anon=1 dirty=1 N0=1 kernelpagesize_kB=4
7ffd00000000 default stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4
"""


def test_recorded_lines_of_numa_maps():
    maps = read_numa_maps(MAPS)
    assert [m.policy for m in maps] == [
        "default", "default", "bind:1", "interleave:0-1", "prefer (many):0-1", "prefer:1", "weighted interleave:0-1",
        "local", "bind=static:0", "default",
    ]  # fmt: skip
    assert [m.kind for m in maps] == ["file", "heap", *["anonymous"] * 7, "stack"]
    assert maps[5].huge and maps[5].bytes_by_node == {1: 2 << 20}
    assert maps[0].file == "/usr/bin/cat"
    assert bytes_by_node(maps)[1] == (4 + 512 + 2 + 1) * 4096 + (2 << 20)
    assert bytes_by_node(maps)[0] - bytes_by_node(maps, private=True)[0] == 2 * 4096
    assert read_numa_maps(Path("/proc/self/numa_maps").read_text())
    with pytest.raises(InputError, match="line 2"):
        read_numa_maps("7f00 default\nnonsense\n")


@given(st.text(max_size=120))
def test_numa_maps_take_anything_or_name_the_line(text):
    try:
        read_numa_maps(text)
    except InputError as problem:
        assert "line " in problem.what


def watch(code, *words, env=None):
    child = subprocess.Popen([sys.executable, "-c", code, *words], env={**os.environ, **(env or {})})
    observer = Observer(child.pid, 0.005)

    def ended(wait):
        try:
            child.wait(wait)
        except subprocess.TimeoutExpired:
            return False
        return True

    seen = observer.watch(ended)
    assert child.wait() == 0
    return seen


def test_a_bound_thread_is_seen_on_its_processor():
    processor = sorted(os.sched_getaffinity(0))[-1]
    seen = watch(f"import os\nos.sched_setaffinity(0, [{processor}])\n{SPIN}work()")
    (process,) = seen.working
    (thread,) = process.in_order
    assert thread.allowed == (processor,)
    # before it bound itself it may have been elsewhere
    assert thread.ran.most_common(1)[0][0] == processor
    assert thread.cpu_s > 0.1
    assert process.memory[0] > 1 << 20
    begins = [a for a, _, _ in thread.track]
    assert begins == sorted(begins) and all(a <= b for a, b, _ in thread.track)
    assert seen.cost_s < seen.seconds / 2


def test_threads_and_children_are_found():
    code = SPIN + "import subprocess, sys\nt = threading.Thread(target=work); t.start()\n"
    code += "c = subprocess.Popen([sys.executable, '-c', sys.argv[1]], env={'PMI_RANK': '3'}); t.join(); c.wait()"
    seen = watch(code, SPIN + "work()")
    assert sorted(len(p.threads) for p in seen.working) == [1, 2]
    assert {p.rank for p in seen.working} == {None, 3}


def test_what_cannot_be_watched_is_said():
    with pytest.raises(InputError, match="no process 4194305"):
        Observer(4194305)
    with pytest.raises(InputError, match="cannot sample"):
        Observer(os.getpid(), 0)


def test_a_running_process_is_left_as_it_is():
    before = os.sched_getaffinity(0)
    stop = threading.Event()
    worker = threading.Thread(target=stop.wait)
    worker.start()
    observer = Observer(os.getpid(), 0.01)
    seen = observer.watch(stop.wait, 0.05)
    stop.set()
    worker.join()
    assert len(seen.processes[os.getpid()].threads) >= 2
    assert os.sched_getaffinity(0) == before


def test_the_kernel_lists_threads_as_they_were_created():
    stop = threading.Event()
    numbers = []
    workers = [
        threading.Thread(target=lambda: (numbers.append(threading.get_native_id()), stop.wait())) for _ in range(20)
    ]
    for worker in workers:
        worker.start()
        while len(numbers) < workers.index(worker) + 1:
            pass
    listed = threads_of(os.getpid())
    stop.set()
    for worker in workers:
        worker.join()
    assert listed[0] == os.getpid()
    assert [t for t in listed if t in numbers] == numbers


def test_what_a_process_had_stays_known_after_its_end(monkeypatch):
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, "OMP_PLACES": "{0}"})
    try:
        observer = Observer(child.pid)
        # a program that has just begun has no variables for a moment
        while observer.sweep() and not observer.seen.processes[child.pid].environment:
            time.sleep(0.01)
        # between the end of its memory and that of the process, the file is there and empty
        monkeypatch.setattr("nodewise.runner.observe.read_environment", lambda _: {})
        observer._look(observer.seen.processes[child.pid])
        assert observer.seen.processes[child.pid].environment["OMP_PLACES"] == "{0}"
    finally:
        child.kill()
        child.wait()


def test_a_runtime_that_was_not_loaded_at_the_first_look_is_seen_at_the_next():
    code = "import ctypes\ninput()\nctypes.CDLL('libgomp.so.1')\nprint('loaded', flush=True)\ninput()\n"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        observer = Observer(child.pid)
        # a program that has just begun has no variables for a moment
        while not observer.sweep() or not observer._looked:
            time.sleep(0.001)
        assert observer.seen.processes[child.pid].runtime == ""
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
        observer.sweep()
        assert observer.seen.processes[child.pid].runtime == "libgomp"
        child.communicate("\n")


def test_what_ran_before_the_program_took_its_place_is_not_the_programs():
    (one, *_) = sorted(os.sched_getaffinity(0))
    # as taskset does: it runs a while where it likes, binds itself and becomes the program
    bind = (
        f"import os, time\nend = time.time() + 0.3\nwhile time.time() < end: pass\nos.sched_setaffinity(0, {{{one}}})\n"
    )
    become = "os.execvp('sh', ['sh', '-c', 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'])"
    child = subprocess.Popen([sys.executable, "-c", bind + become])
    sweeps = Observer(child.pid, 0.005).watch(lambda wait_s: child.poll() is not None or time.sleep(wait_s) is not None)
    (process,) = sweeps.processes.values()
    (thread,) = process.threads.values()
    assert process.command.startswith("sh -c") and set(thread.ran) == {one} and thread.first_s > 0.25


def test_a_short_program_is_seen_behind_what_took_long_to_start_it():
    # longer than samples may cost at once
    busy = "import os, time\nend = time.time() + 0.6\nwhile time.time() < end: pass\n"
    loop = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    become = f"os.execvpe('sh', ['sh', '-c', {loop!r}], {{'OMP_PLACES': '{{0}}', 'PATH': os.environ['PATH']}})"
    child = subprocess.Popen([sys.executable, "-c", busy + become])
    observer = Observer(child.pid, 0.001)
    seen = observer.watch(lambda wait_s: child.poll() is not None or time.sleep(wait_s) is not None)
    (process,) = seen.processes.values()
    (thread,) = process.threads.values()
    assert process.command.startswith("sh -c") and process.environment == {"OMP_PLACES": "{0}"}
    # not the time of what it took the place of
    assert thread.first_s > 0.5 and thread.cpu_s < 0.5 and thread.ran
