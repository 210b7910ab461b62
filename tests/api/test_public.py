# SPDX-License-Identifier: BSD-3-Clause
"""`import nodewise`: typed answers, one family of errors, nothing printed, and the caller's process left as it was."""

import asyncio
import dataclasses
import doctest
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import typing
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nodewise
from nodewise.api.caller import in_keywords
from nodewise.records.neighbours import turn
from tests.started import started

ROOT = Path(__file__).parent.parent.parent
#: `machine` is the package of machines, too, and has its type in `__call__`.
QUESTIONS = [name for name in nodewise.__all__ if name.islower() and name != "machine"]
#: On a busy machine, too, and soon.
SOON: dict[str, Any] = {"accept_disturbed": True, "warmup": 0}


# --- importing


def test_importing_is_cheap() -> None:
    code = (
        "import sys; before = set(sys.modules); import nodewise; new = set(sys.modules) - before;"
        "print(*sorted(n for n in new if n.partition('.')[0] in ('numpy', 'rich', 'click', 'altair', 'vl_convert', 'jinja2')));"
        "print(len(new))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, count = done.stdout.splitlines()
    # Python itself brings ninety at its start
    assert heavy == "" and int(count) < 60, done.stdout


def test_all_that_is_public_is_there() -> None:
    for name in nodewise.__all__:
        assert getattr(nodewise, name) is not None and name in dir(nodewise)
    with pytest.raises(AttributeError, match="tone"):
        _ = nodewise.tone  # type: ignore[attr-defined]
    assert issubclass(nodewise.ProgramError, nodewise.NodewiseError)


def test_the_package_of_machines_is_the_function_too() -> None:
    code = "import nodewise; import nodewise.machine.sources; print(len(nodewise.machine('synthetic:core:2 pu:2').pus))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "4\n", done.stderr


def test_answers_are_typed() -> None:
    returned = {n: typing.get_type_hints(getattr(nodewise, n))["return"] for n in QUESTIONS}
    assert returned == {
        "tune": nodewise.TuneVerdict,
        "compare": nodewise.CompareVerdict,
        "confirm": nodewise.ConfirmVerdict,
        "roofline": nodewise.RooflineVerdict,
        "run": nodewise.RunSummary,
        "scale": nodewise.ScaleVerdict,
        "study": nodewise.StudyVerdict,
        "submit": nodewise.Submitted,
        "suite": nodewise.SuiteVerdict,
        "pipeline": nodewise.PipelineResult,
        "place": nodewise.PlaceOutput,
        "where": nodewise.WhereOutput,
    }
    assert all(kind.__dataclass_params__.frozen for kind in returned.values())  # type: ignore[attr-defined]
    assert (ROOT / "src/nodewise/py.typed").exists()


@pytest.mark.long
def test_a_users_program_passes_strict_type_checks(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests/api/user_program.py", tmp_path)
    wrong = "import nodewise\nnodewise.run('true', runs='x')\nnodewise.tune('true').ration\nnodewise.compare('a', 'b', wat=1)\n"
    (tmp_path / "wrong.py").write_text(wrong)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    found = {}
    for name in ("user_program.py", "wrong.py"):
        done = subprocess.run(
            [*command, name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        found[name] = done.stdout
    assert "Success" in found["user_program.py"], found
    assert [line.split(":")[1] for line in found["wrong.py"].splitlines() if "error:" in line] == ["2", "3", "4"], found


@pytest.mark.parametrize(
    "module",
    ["nodewise.machine.given", *(f"nodewise.api.{name}" for name in QUESTIONS)],
)
def test_the_examples_of_the_docstrings(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried and not failed


# --- folders


def test_runs_are_kept_where_that_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    summary = nodewise.run("true", runs=2, out="x", **SOON)
    assert summary.experiment == str(tmp_path / "x") and (tmp_path / "x/samples.jsonl").exists()
    with pytest.raises(nodewise.InputError, match="holds an experiment already") as caught:
        nodewise.run("true", runs=2, out=tmp_path / "x", **SOON)
    assert "--" not in str(caught.value)


def test_without_a_folder_they_are_among_the_temporary_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    summary = nodewise.run("true", runs=2, **SOON)
    folder = Path(summary.experiment)
    assert folder.parent == tmp_path and (folder / "samples.jsonl").exists()
    with pytest.raises(nodewise.ProgramError):
        nodewise.run("no-such-program")
    nodewise.study("is", knobs={"class": "S"}, threads=1, blocks=1, only=["bucketed"])
    # one in which nothing was measured is gone, and one of which nobody hears
    assert list(tmp_path.iterdir()) == [folder]


def test_what_was_cut_off_goes_on(tmp_path: Path) -> None:
    def stop(progress: nodewise.Progress) -> None:
        if progress.runs >= 5:
            raise RuntimeError("enough")

    words: dict[str, Any] = {"out": tmp_path / "x", "runs": 5, **SOON}
    with pytest.raises(RuntimeError, match="enough"):
        nodewise.compare("sleep 0.01", "sleep 0.02", progress=stop, **words)
    before = (tmp_path / "x/samples.jsonl").read_text()
    verdict = nodewise.compare("sleep 0.01", "sleep 0.02", resume=True, **words)
    assert verdict.blocks >= 5 and (tmp_path / "x/samples.jsonl").read_text().startswith(before)
    with pytest.raises(nodewise.InputError, match="none is given"):
        nodewise.compare("true", "true", resume=True)
    with pytest.raises(nodewise.InputError, match="cannot be continued"):
        nodewise.compare("sleep 0.03", "sleep 0.02", resume=True, **words)


# --- the caller's process


def _state() -> tuple[Any, ...]:
    handlers = [
        signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD)
    ]
    plain = (Path.cwd(), dict(os.environ), list(sys.path), list(sys.argv), sys.stdout, os.sched_getaffinity(0))
    more = (warnings.filters[:], threading.active_count(), len([*Path("/proc/self/fd").iterdir()]), os.umask(0o22))
    os.umask(more[-1])
    return (handlers, *plain, *more)


def _all_of_them(tmp_path: Path) -> None:
    nodewise.machine("synthetic:core:2 pu:2")
    nodewise.run("echo took 0.5", runs=2, metrics={"seconds": "took ([0-9.]+)"}, expect="took", **SOON)
    nodewise.compare("sleep 0.01", "sleep 0.02", runs=2, cwd=tmp_path, env={"X": 1}, **SOON)
    words = {"parameters": {"s": [0.002, 0.001]}, "axes": [], "max_runs": 20, "accept_disturbed": True}
    nodewise.tune("sleep {s}", out=tmp_path / "t", **words)  # type: ignore[arg-type]
    nodewise.study("is", knobs={"class": "S"}, threads=1, blocks=1, only=["bucketed"], accept_disturbed=True)
    nodewise.place("compact", threads=1).render("omp")
    nodewise.where(["sh", "-c", "echo said; sleep 0.05"])


def test_nothing_is_printed_and_nothing_is_left_changed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    nodewise.run("true", runs=1)  # what is imported for the first time
    before = _state()
    _all_of_them(tmp_path)
    assert _state() == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("wrong", "said"), [({"runs": 0}, "at least one run is needed"), ({"warmup": -1}, "warmup: -1 is less than none")]
)
def test_runs_and_warm_up_that_cannot_be_are_refused(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(nodewise.InputError, match=said):
        nodewise.run("true", **wrong)
    with pytest.raises(nodewise.InputError, match=said):
        nodewise.compare("true", "false", **wrong)


def test_another_thread_may_ask(tmp_path: Path) -> None:
    found: list[Any] = []

    def ask(folder: Path) -> None:
        folder.mkdir()
        try:
            _all_of_them(folder)
            found.append(None)
        except BaseException as problem:
            found.append(problem)

    threads = [threading.Thread(target=ask, args=(tmp_path / str(i),)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [None, None]


def test_a_loop_of_events_goes_on_meanwhile() -> None:
    async def main() -> int:
        ticks = 0
        asked = asyncio.create_task(asyncio.to_thread(nodewise.run, "sleep 0.05", runs=3, **SOON))
        while not asked.done():
            await asyncio.sleep(0.01)
            ticks += 1
        process = await asyncio.create_subprocess_exec("true")
        assert await process.wait() == 0
        # in the loop's own thread, too
        assert (await asked).runs == nodewise.run("true", runs=3, **SOON).runs == 3
        return ticks

    assert asyncio.run(main()) > 2


INTERRUPTED = """
import os, sys
from pathlib import Path
import nodewise
def left():
    # the runner is a child, and what it has started is below it
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
asks = {
    "run": lambda **more: nodewise.run(["sh", "-c", "echo $$ >> pids; sleep 30 & wait"], runs=5, **more),
    "compare": lambda **more: nodewise.compare("echo $$ >> pids; sleep 30", "echo $$ >> pids; sleep 0.01", warmup=0, budget=100, **more),
    "tune": lambda **more: nodewise.tune(["sh", "-c", "echo $$ >> pids; sleep {s}"], parameters={"s": [3, 30]}, axes=[], budget=300, **more),
}
try:
    asks[sys.argv[1]](out="x")
except KeyboardInterrupt as problem:
    print("interrupted", left())
"""


@pytest.mark.some(2)
@pytest.mark.parametrize("what", ["run", "compare", "tune"])
def test_ctrl_c_is_raised_once_the_programs_have_ended(what: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, what],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _until((tmp_path / "pids").exists)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert out == "interrupted []\n", error
    for pid in (tmp_path / "pids").read_text().split():
        assert not Path(f"/proc/{pid}").exists()


def _until(condition: Callable[[], bool], limit_s: float = 60.0) -> None:
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < limit_s
        time.sleep(0.02)


# --- what is reported meanwhile, and what is wrong


def test_progress_and_notes_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KMP_AFFINITY", "nonsense,42,x")
    seen: list[nodewise.Progress] = []
    notes: list[nodewise.Note] = []
    nodewise.run("true", runs=3, progress=seen.append, note=notes.append, **SOON)
    assert [p.runs for p in seen] == sorted(p.runs for p in seen) and seen[-1].runs >= 3
    assert notes and notes[0].kind == "warning" and str(notes[0]).startswith("warning: ")


def test_who_waits_for_others_learns_for_whom() -> None:
    notes: list[nodewise.Note] = []
    entered, done = threading.Event(), threading.Event()

    def first() -> None:
        with turn(lambda _: None):
            entered.set()
            done.wait(30)

    other = threading.Thread(target=first)
    other.start()
    entered.wait(30)

    def noted(note: nodewise.Note) -> None:
        notes.append(note)
        done.set()

    nodewise.run("true", runs=1, wait=True, note=noted, **SOON)
    other.join()
    assert str(notes[0]).startswith("waiting for another experiment")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: nodewise.tune("true", max_runs=3), "give max_runs 15 or more"),
        (lambda: nodewise.tune("true", budget=None), "give budget, max_runs or both"),
        (lambda: nodewise.tune("true", axes=["thread"]), "did you mean threads"),
        (lambda: nodewise.tune("true", within="x"), "not a share: 'x'"),
        (lambda: nodewise.tune("true", machine="nowhere"), "not a machine"),
        (lambda: nodewise.run("true", timeout="x"), "timeout: 'x'"),
        (lambda: nodewise.run("true", runs=0), "give runs 1 or more"),
        (lambda: nodewise.run("true", stdin="/proc/gone"), "stdin: cannot read"),
        (lambda: nodewise.run("true", allow="x"), "not a list of processors"),
        (lambda: nodewise.compare("true"), "two commands are needed"),
        (lambda: nodewise.compare("true", "true {n}", parameters={"m": [1]}), "no command has {m}"),
        (lambda: nodewise.compare("true", "true", min_runs=3, max_runs=2), "max_runs 2 is less than"),
        (lambda: nodewise.compare("true", "true", baseline="/proc/gone"), "no such directory"),
        (lambda: nodewise.compare("true", "true", minimize="a", maximize="b"), "minimize and maximize cannot both"),
        (lambda: nodewise.place(threads=2), "nothing says where threads are to go"),
        (lambda: nodewise.place("nowhere"), "nowhere"),
        (lambda: nodewise.place(zones="x", places="cores"), "zones 'x' is not known"),
        (lambda: nodewise.place(tongue="x"), "no keyword 'tongue'"),
        (lambda: nodewise.place("compact", memory="x"), "x"),
        (lambda: nodewise.where("true", pid=1), "give command or pid"),
        (lambda: nodewise.where("true", interval=0), "a duration must be above zero"),
        (lambda: nodewise.where("true", plan="/proc/gone"), "cannot read /proc/gone"),
        (lambda: nodewise.study("no-such-study"), "unknown study"),
        (lambda: nodewise.study("is", threads=0), "give threads from 1"),
        (lambda: nodewise.machine("synthetic:core:2 pu:1", allow=[5]), "has no processor 5"),
    ],
)
def test_what_cannot_be_asked_is_one_error(ask: Callable[[], object], said: str) -> None:
    with pytest.raises(nodewise.InputError) as caught:
        ask()
    assert said in str(caught.value) and "--" not in str(caught.value).partition("nodewise ")[0]


def test_words_of_a_program_are_left_as_they_are() -> None:
    with pytest.raises(nodewise.ProgramError) as caught, in_keywords(nodewise.run):
        raise nodewise.ProgramError("a run of ./app --out x failed", "look at: nodewise report x --budget")
    assert caught.value.what == "a run of ./app --out x failed" and "--budget" in str(caught.value)


def test_a_failure_of_a_step_names_it(tmp_path: Path) -> None:
    with pytest.raises(nodewise.ProgramError, match="failed with exit code 3"):
        nodewise.compare("true", "sleep 0", prepare="exit 3", out=tmp_path / "x", **SOON)
    assert not (tmp_path / "x").exists()


def test_a_plan_is_held_against_what_is_seen(tmp_path: Path) -> None:
    (one, *_) = sorted(os.sched_getaffinity(0))
    plan = nodewise.place(taskset=f"-c {one}", threads=1)
    busy = ["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]
    as_planned = nodewise.where(["taskset", "-c", str(one), "sh", *busy], plan=plan)
    (process,) = as_planned.processes
    assert as_planned.agrees and set(process.threads[0].ran) == {one} and process.command.startswith("sh -c")
    (tmp_path / "plan.json").write_text(started("place", "--taskset", f"-c {one}", "--threads", "1", "--json").stdout)
    assert nodewise.where(["taskset", "-c", str(one), "sh", *busy], plan=tmp_path / "plan.json").agrees
    if len(os.sched_getaffinity(0)) > 1:
        assert not nodewise.where(["sh", *busy], plan=plan).agrees


def test_a_process_that_runs_is_watched() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        try:
            seen = nodewise.where(pid=process.pid, seconds=0.3)
        finally:
            process.kill()
    assert [p.pid for p in seen.processes] == [process.pid] and seen.seconds >= 0.3


def test_a_program_that_fails_while_it_is_watched_says_so() -> None:
    with pytest.raises(nodewise.ProgramError, match="exit code 3; it printed"):
        nodewise.where(["sh", "-c", "echo why; exit 3"])


def test_what_a_place_writes_has_its_memory(tmp_path: Path) -> None:
    there = nodewise.place("compact", threads=2, machine="synthetic:numa:2 core:2 pu:1", memory="bind:1")
    assert there.memory == "bind:1" and "--membind=1" in there.render("gomp").line()
    assert there.launch() is not None
    assert nodewise.place("os", machine="synthetic:core:2 pu:1").launch() is None


def test_an_answer_is_that_of_the_command_line(tmp_path: Path) -> None:
    """What is kept is read by the commands, and says the same."""
    verdict = nodewise.compare("sleep 0.01", "sleep 0.02", runs=3, out=tmp_path / "x", threshold=0.02, **SOON)
    answer = json.loads(started("report", str(tmp_path / "x"), "--json").stdout)
    assert [c["median"] for c in answer["contenders"]] == [c.median for c in verdict.contenders]
    assert answer["runs"] == verdict.runs and dataclasses.is_dataclass(verdict)
